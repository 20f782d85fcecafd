//! What the README and the quick start say of a running Sluice: their commands are given beside a `sluice up`, with the real `kubectl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use regex::Regex;

use crate::common::{Running, sluice};
use crate::markdown::{Document, Shown, root};
use crate::offline::{copy, is_shown};
use crate::{programs, shell};

/// What has not come by now will not.
const PATIENCE: Duration = Duration::from_secs(60);
/// The folder of whoever tries it, as the README calls it.
const HOME: &str = "/home/you/sluice";
/// Commands that only look.
const READ_ONLY: &[&str] = &["explain", "problems", "shards", "show", "status", "trace"];
/// What the README says to do, on the example's way.
const EVENT: [&str; 2] = ["create service clusterip web --tcp=80", "label service web sveltos=fv"];

/// A person in a folder with the examples, beside a `sluice up`.
struct Person {
    dir: PathBuf,
    variables: Vec<(String, String)>,
}

impl Person {
    /// Calls a program as a shell does. Exit code, and what is printed.
    fn call(&mut self, line: &str) -> (Option<i32>, Vec<String>) {
        let call = shell::calls(line).remove(0);
        let Some((program, arguments)) = call.words.split_first() else {
            self.variables.extend(call.variables);
            return (Some(0), Vec::new());
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, out, error) = if programs::is_sluice(&call) {
            sluice(arguments[0], &arguments[1..], &self.dir)
        } else {
            self.kubectl(program, &arguments)
        };
        (code, out.lines().chain(error.lines()).map(|line| self.plain(line)).collect())
    }

    fn kubectl(&self, program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.dir).env("HOME", &self.dir);
        let Output { status, stdout, stderr } =
            command.envs(self.variables.clone()).output().expect("kubectl must be installed for this test");
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    /// A line without what is another one each time: ports, times, the folder. Newer `kubectl`s name the namespace of what is deleted.
    fn plain(&self, line: &str) -> String {
        let line = line.replace(self.dir.to_str().unwrap(), HOME);
        [
            (r"127\.0\.0\.1:\d+", "127.0.0.1:1"),
            (r"[\d.]+ ms$", "1 ms"),
            (r"\b\d+s$", "1s"),
            (r" deleted from .*$", " deleted"),
        ]
        .iter()
        .fold(line.trim_end().to_owned(), |line, (from, to)| {
            Regex::new(from).unwrap().replace_all(&line, *to).into_owned()
        })
    }

    /// Gives a command of a document; one that only looks until it prints what is shown: what follows from an event takes a moment.
    fn give(&mut self, shown: &Shown) {
        let wanted: Vec<String> = shown.output.iter().map(|line| self.plain(line)).collect();
        let is_question = |name: &&str| shown.line.contains(&format!("/sluice {name} "));
        let only_looks = shown.line.contains(" get ") || READ_ONLY.iter().any(is_question);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (code, printed) = self.call(&shown.line);
            if code == Some(0) && is_shown(&wanted, &printed) {
                return;
            }
            let is_over = !only_looks || Instant::now() > deadline;
            assert!(
                !is_over,
                "{}: {} prints, with {code:?},\n{}",
                shown.place,
                shown.line,
                printed.join("\n")
            );
        }
    }

    /// Gives a command until it ends with 0.
    fn until_well(&mut self, line: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (code, printed) = self.call(line);
            if code == Some(0) {
                return;
            }
            assert!(Instant::now() < deadline, "{line} ends with {code:?}:\n{}", printed.join("\n"));
        }
    }
}

/// The commands of `sluice` in the README's sentences that only look.
fn questions(readme: &Document) -> Vec<String> {
    let names = readme.inline().into_iter().filter_map(|shown| {
        let call = shell::calls(&shown.line).into_iter().next()?;
        let words = &call.words[usize::from(programs::is_sluice(&call))..];
        READ_ONLY.contains(&words.first()?.as_str()).then(|| format!("sluice '{}'", words.join("' '")))
    });
    names.collect()
}

fn start(dir: &Path) -> (Running, Person) {
    copy(&root().join("examples"), &dir.join("examples"));
    let person = Person { dir: dir.canonicalize().unwrap(), variables: Vec::new() };
    (Running::start(&["up"], dir), person)
}

#[test]
fn what_the_readme_says_to_try_prints_what_it_shows() {
    let place = tempfile::tempdir().unwrap();
    let readme = Document::read("README.md");
    let commands = readme.commands();
    let (mut up, mut person) = start(place.path());

    let made = commands.iter().find(|shown| shown.line == "make up" && !shown.output.is_empty()).unwrap();
    let shown = commands.iter().filter(|shown| !shown.output.is_empty() || shown.line.starts_with("export "));
    let started: Vec<String> =
        [up.line("ready "), up.line("page "), up.line("try ")].map(|line| person.plain(&line)).into();
    let wanted: Vec<String> = made.output.iter().map(|line| person.plain(line)).collect();
    assert!(is_shown(&wanted, &started), "{}: {started:#?}", made.place);

    for shown in shown.filter(|shown| shown.place != made.place) {
        person.give(shown);
    }
    EVENT.iter().for_each(|event| person.until_well(&format!("kubectl --context cluster-1 {event}")));
    let questions = questions(&readme);
    assert!(questions.len() >= 5, "{questions:#?}");
    questions.iter().for_each(|question| person.until_well(question));

    let told: Vec<String> = up.rest().lines().map(|line| person.plain(line)).collect();
    let lines = readme.printed().concat();
    assert!(lines.len() >= 5, "{lines:?}");
    let missing: Vec<_> = lines.iter().filter(|line| !told.contains(&person.plain(line))).collect();
    assert!(missing.is_empty(), "{missing:#?} of\n{}", told.join("\n"));
}

#[test]
fn the_quick_start_prints_what_it_shows() {
    let place = tempfile::tempdir().unwrap();
    let commands = Document::read("docs/quick-start.md").commands();
    let (mut up, mut person) = start(place.path());
    up.line("try ");
    // What is started stands in the README, too.
    let given: Vec<_> = commands.iter().filter(|shown| shown.line != "make up").collect();
    assert!(given.len() >= 9, "{given:#?}");
    given.into_iter().for_each(|shown| person.give(shown));
}
