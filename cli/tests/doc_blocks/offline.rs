//! Commands that need no server are given, in a copy of the files that their document speaks of.

use std::path::Path;

use tempfile::TempDir;

use crate::common::sluice;
use crate::markdown::{Document, Shown, documents, root};
use crate::{programs, shell};

/// Commands that need neither a bus nor a cluster.
const OFFLINE: &[&str] = &["build", "check", "completion", "eval", "man", "nats", "template"];

/// Lines that a document leaves out.
const LEFT_OUT: &[&str] = &["…", "..."];

/// A copy of the examples, and of the folder beside a document that has its name.
fn place_of(document: &Document) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    copy(&root().join("examples"), &place.path().join("examples"));
    let beside = root().join(document.path.trim_end_matches(".md"));
    if beside.is_dir() {
        copy(&beside, place.path());
    }
    place
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

/// Whether lines are those that a document shows, which may leave some out.
pub fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return printed.is_empty() };
    if LEFT_OUT.contains(&first.trim()) {
        return (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..]));
    }
    printed.first() == Some(first) && is_shown(rest, &printed[1..])
}

/// What is wrong with a command when it is given.
fn complaint(shown: &Shown, place: &Path) -> Option<String> {
    let call = shell::calls(&shown.line).into_iter().next().filter(programs::is_sluice)?;
    let arguments: Vec<&str> = call.words[2..].iter().map(String::as_str).collect();
    let (code, out, error) = sluice(&call.words[1], &arguments, place);
    if shown.output.is_empty() {
        return (code != Some(0))
            .then(|| format!("{}: {} ends with {code:?}: {error}", shown.place, shown.line));
    }
    let printed: Vec<String> = out.lines().chain(error.lines()).map(str::to_owned).collect();
    let is_right = is_shown(&shown.output, &printed);
    (!is_right).then(|| format!("{}: {} prints\n{}", shown.place, shown.line, printed.join("\n")))
}

/// The reference has examples with files that nobody has; they are looked at elsewhere.
#[test]
fn commands_that_need_no_server_print_what_the_document_says() {
    let (mut wrong, mut given, mut compared) = (Vec::new(), 0, 0);
    for document in documents().iter().filter(|document| document.path != "docs/cli.md") {
        let is_offline = |shown: &&Shown| {
            shell::calls(&shown.line).first().is_some_and(|call| {
                programs::is_sluice(call)
                    && call.words.get(1).is_some_and(|word| OFFLINE.contains(&word.as_str()))
            })
        };
        let place = place_of(document);
        for shown in document.commands().iter().filter(is_offline) {
            given += 1;
            compared += usize::from(!shown.output.is_empty());
            wrong.extend(complaint(shown, place.path()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(given >= 13 && compared >= 3, "only {given} were given, and {compared} compared");
}

#[test]
fn a_document_may_leave_lines_out() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, printed, is_right) in [
        ("a\nb", "a\nb", true),
        ("a\n  ...\nd", "a\nb\nc\nd", true),
        ("a\n…", "a", true),
        ("a\nc", "a\nb\nc", false),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
    ] {
        assert_eq!(is_shown(&lines(shown), &lines(printed)), is_right, "{shown:?} {printed:?}");
    }
}
