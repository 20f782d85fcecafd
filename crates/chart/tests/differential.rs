//! Random charts and values, Sluice against official Helm: equal output, to the byte, equal errors, and equal warnings.
//!
//! It needs Go, which compiles Helm once (some minutes), so it runs when it is asked for:
//! `cargo test -p sluice-chart --test differential -- --ignored --nocapture`. `SLUICE_FUZZ_CASES` and `SLUICE_FUZZ_SEED`
//! choose another run; `SLUICE_FUZZ_KEEP` names a folder in which what differs is kept, made smaller, as cases.
#![allow(clippy::unwrap_used)]

mod common;
mod generate;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    panic::catch_unwind,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use generate::Files;
use serde_json::Value as Json;
use sluice_chart::Warnings;

type CaseResult = Result<String, String>;

/// An answer, and the warnings, which are in no order.
type Said = (CaseResult, Vec<String>);

/// Helm, as a process that renders case after case.
struct Helm {
    binary: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

// === impl Helm ===

impl Helm {
    /// Compiles the oracle.
    fn build(folder: &Path) -> PathBuf {
        let binary = folder.join("oracle");
        let go = ["go", "/usr/local/go/bin/go"]
            .into_iter()
            .find(|go| Command::new(go).arg("version").output().is_ok_and(|output| output.status.success()));
        let built = Command::new(go.expect("a Go toolchain"))
            .args(["build", "-o"])
            .arg(&binary)
            .arg(".")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/oracle"))
            .status();
        assert!(built.unwrap().success(), "the oracle does not build");
        binary
    }

    fn start(binary: PathBuf) -> Self {
        let mut command = Command::new(&binary);
        let mut child = command
            .arg("-template")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { binary, child, input, output }
    }

    fn template(&mut self, folder: &Path) -> Said {
        writeln!(self.input.as_mut().unwrap(), "{}", folder.display()).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if line.is_empty() {
            // Values that contain themselves are the end of Go.
            *self = Self::start(self.binary.clone());
            return (Err("panic: Helm has ended".to_owned()), Vec::new());
        }
        let answer: Json = serde_json::from_str(&line).unwrap();
        let mut warnings: Vec<String> =
            answer["warnings"].as_str().unwrap().lines().map(str::to_owned).collect();
        // Helm logs some errors too, which it gives as an answer.
        warnings.retain(|line| !line.starts_with("level=ERROR"));
        warnings.sort();
        match answer.get("err").and_then(Json::as_str) {
            Some(error) => (Err(plain(error)), warnings),
            None => (Ok(answer["out"].as_str().unwrap().to_owned()), warnings),
        }
    }
}

impl Drop for Helm {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}

/// An error without the path of the file of values, which only the command line knows.
fn plain(error: &str) -> String {
    let rest = error.strip_prefix("failed to parse ").and_then(|rest| rest.split_once(".yaml: "));
    rest.map_or(error, |(_, rest)| rest).trim().to_owned()
}

fn sluice(folder: &Path) -> Said {
    let answer = catch_unwind(|| {
        let mut warnings = Warnings::default();
        let answer = common::run_aloud(folder, &mut warnings);
        (answer, common::lines(&warnings))
    });
    let (answer, warnings) = answer.unwrap_or_else(|_| (Err("a panic".to_owned()), Vec::new()));
    (answer.map_err(|error| plain(&error)), warnings)
}

fn write(folder: &Path, files: &Files) {
    fs::remove_dir_all(folder).ok();
    for (path, data) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, data).unwrap();
    }
}

/// Both answers where they differ. Where Go's own order of a map decides, one of Helm's answers has to be ours.
fn difference(helm: &mut Helm, folder: &Path, files: &Files) -> Option<(Said, Said)> {
    write(folder, files);
    let got = sluice(folder);
    let mut wanted = helm.template(folder);
    for _ in 0..12 {
        if wanted == got || wanted.0.as_ref().is_err_and(|error| error.contains("panic:")) {
            return None;
        }
        wanted = helm.template(folder);
    }
    if wanted.1 == got.1 && is_known(&wanted.0, &got.0) {
        return None;
    }
    // What Helm cannot take itself, and what is beyond the limits of Sluice.
    let is_out = |answer: &CaseResult, words: &[&str]| {
        answer.as_ref().is_err_and(|error| words.iter().any(|word| error.contains(word)))
    };
    let ignored = is_out(
        &wanted.0,
        &["panic:", "runtime error", "UTF-8 octet", "jsonType", "$schema", "failing loading", "metaschema"],
    ) || is_out(&got.0, &["limit: ", "unsupported value: ", "has a nested reference name"]);
    (!ignored).then_some((wanted, got))
}

/// What is known to differ in an error: the name of a map's type, where Go converts one map to another; the order of
/// properties, which is another one each time; and which of several null keys of one map is named.
fn is_known(wanted: &CaseResult, got: &CaseResult) -> bool {
    let (Err(wanted), Err(got)) = (wanted, got) else { return false };
    let plain = |text: &str| {
        let text = text.replace("common.Values", "map[string]interface {}");
        text.replace("map[string]string", "map[string]interface {}")
    };
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    let names = ["additional properties", "failed\n"].iter().any(|words| wanted.contains(words));
    let both = |words: &str| wanted.contains(words) && got.contains(words);
    plain(wanted) == plain(got)
        || both("unsupported map key of type: %!s(<nil>)")
        || names && sorted(wanted) == sorted(got)
}

/// The same difference with as few files and lines as possible.
fn smaller(helm: &mut Helm, folder: &Path, mut files: Files) -> Files {
    let kind = |(wanted, got): &(Said, Said)| (wanted.0.is_ok(), got.0.is_ok(), wanted.0 == got.0);
    let Some(first) = difference(helm, folder, &files).as_ref().map(kind) else { return files };
    let mut still = |files: &Files| difference(helm, folder, files).as_ref().map(kind) == Some(first);
    for path in files.keys().cloned().collect::<Vec<_>>() {
        let mut fewer = files.clone();
        fewer.remove(&path);
        if !["case.json", "chart/Chart.yaml"].contains(&path.as_str()) && still(&fewer) {
            files = fewer;
        }
    }
    for path in files
        .keys()
        .filter(|path| !path.ends_with(".bin") && *path != "case.json")
        .cloned()
        .collect::<Vec<_>>()
    {
        let mut at = 0;
        loop {
            let text = String::from_utf8_lossy(&files[&path]).into_owned();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            if at >= lines.len() {
                break;
            }
            let mut fewer = files.clone();
            fewer.insert(path.clone(), [&lines[..at], &lines[at + 1..]].concat().concat().into_bytes());
            if still(&fewer) {
                files = fewer;
            } else {
                at += 1;
            }
        }
    }
    files
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn report(name: &str, files: &Files, (wanted, got): &(Said, Said)) {
    println!("=== {name}");
    for (path, data) in files.iter().filter(|(path, _)| !path.ends_with(".bin")) {
        println!(
            "--- {path}\n{}",
            String::from_utf8_lossy(data).escape_debug().to_string().replace("\\n", "\n")
        );
    }
    match (&wanted.0, &got.0) {
        (Ok(wanted), Ok(got)) if wanted != got => {
            let pair = wanted.lines().zip(got.lines()).find(|(wanted, got)| wanted != got);
            match pair {
                Some((wanted, got)) => println!("wanted {wanted:?}\ngot    {got:?}"),
                None => println!("wanted {} bytes, got {}", wanted.len(), got.len()),
            }
        }
        _ => println!("wanted {wanted:?}\ngot    {got:?}"),
    }
    if let Some(kept) = std::env::var_os("SLUICE_FUZZ_KEEP") {
        write(&PathBuf::from(kept).join(name), files);
    }
}

#[test]
#[ignore = "it compiles Helm"]
fn random_charts_are_rendered_as_helm_renders_them() {
    let folder = tempfile::tempdir().unwrap();
    let (mut helm, case) = (Helm::start(Helm::build(folder.path())), folder.path().join("case"));
    let (seed, count) = (number("SLUICE_FUZZ_SEED", 1), number("SLUICE_FUZZ_CASES", 20_000));
    let first = number("SLUICE_FUZZ_FIRST", 0);
    let (mut failing, mut different) = (0, 0);
    for at in first..first + count {
        let files = generate::case(seed, at);
        if let Some(mut pair) = difference(&mut helm, &case, &files) {
            different += 1;
            if different <= 25 {
                let files = smaller(&mut helm, &case, files);
                if let Some(smaller) = difference(&mut helm, &case, &files) {
                    pair = smaller;
                }
                report(&format!("fuzz-{seed}-{at}"), &files, &pair);
            }
        } else {
            failing += usize::from(sluice(&case).0.is_err());
        }
    }
    println!("{count} charts, {failing} of them with an equal error; {different} with a difference");
    assert_eq!(different, 0);
}
