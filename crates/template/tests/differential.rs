//! Random templates over random data, this engine against Go. Skipped with a message where
//! there is no Go toolchain. `SLUICE_FUZZ_CASES` and `SLUICE_FUZZ_SEED` choose another run.
#![allow(clippy::unwrap_used)]

mod common;
mod generate;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use common::Case;
use serde_json::{Value as Json, json};

fn go() -> Option<PathBuf> {
    let candidates = ["go", "/usr/local/go/bin/go"];
    let runs = |c: &&&str| Command::new(c).arg("version").output().is_ok_and(|o| o.status.success());
    candidates.iter().find(runs).map(PathBuf::from)
}

/// Builds the oracle; nothing if its modules cannot be had.
fn build_oracle(go: &Path) -> Option<PathBuf> {
    let binary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    let built = Command::new(go)
        .args(["build", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oracle"))
        .output()
        .ok()?;
    if !built.status.success() {
        println!("skipped: the oracle does not build: {}", String::from_utf8_lossy(&built.stderr));
    }
    built.status.success().then_some(binary)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// What Go prints for every case.
fn ask_go(oracle: &Path, cases: &[Case]) -> Vec<Result<String, String>> {
    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = cases
        .iter()
        .map(|c| {
            let missing = c.missing_key.clone().unwrap_or_default();
            json!({"group": c.group, "template": c.template, "data": c.data, "missingkey": missing})
                .to_string()
        })
        .collect();
    let writer = thread::spawn(move || {
        for line in lines {
            writeln!(input, "{line}").unwrap();
        }
    });
    let output = BufReader::new(child.stdout.take().unwrap());
    let answers = output.lines().map(|line| {
        let answer: Json = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |key: &str| answer.get(key).and_then(Json::as_str).map(str::to_owned);
        match text("err") {
            Some(error) => Err(error),
            None => Ok(text("out").unwrap_or_default()),
        }
    });
    let answers = answers.collect();
    writer.join().unwrap();
    child.wait().unwrap();
    answers
}

/// Short cases that call every function a few times, as a file of conformance cases.
fn record(cases: &[Case], answers: &[Result<String, String>]) -> String {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for (case, answer) in cases.iter().zip(answers) {
        let plain = !answer.as_ref().is_err_and(|e| e.contains("panic:")) && case.template.len() < 140;
        let called = generate::functions().filter(|f| case.template.contains(&format!("{f} ")));
        let new: Vec<&str> = called.filter(|f| seen.get(f).copied().unwrap_or(0) < 3).collect();
        if !plain || new.is_empty() || (answer.is_err() && case.name.ends_with(['1', '3', '5', '7', '9'])) {
            continue;
        }
        new.into_iter().for_each(|f| *seen.entry(f).or_default() += 1);
        let mut entry = json!({
            "name": format!("own_{}", case.name), "group": case.group, "template": case.template, "data": case.data,
        });
        let (key, text) = match answer {
            Ok(output) => ("expect", output),
            Err(error) => ("expect_error", error),
        };
        entry[key] = json!(text);
        if let Some(missing) = &case.missing_key {
            entry["missingkey"] = json!(missing);
        }
        kept.push(entry);
    }
    serde_json::to_string_pretty(&kept).unwrap()
}

#[test]
fn random_templates_print_what_go_prints() {
    let Some(go) = go() else {
        println!("skipped: there is no Go toolchain");
        return;
    };
    let Some(oracle) = build_oracle(&go) else { return };
    let cases = generate::cases(number("SLUICE_FUZZ_SEED", 1), number("SLUICE_FUZZ_CASES", 20_000));
    let answers = ask_go(&oracle, &cases);
    assert_eq!(answers.len(), cases.len(), "the oracle ended early");
    if let Some(path) = std::env::var_os("SLUICE_FUZZ_RECORD") {
        std::fs::write(path, record(&cases, &answers)).unwrap();
    }
    let (mut same, mut different, mut failing) = (0, 0, 0);
    for (case, expected) in cases.iter().zip(answers) {
        let got = case.run();
        if expected.as_ref().is_err_and(|e| e.starts_with("panic:") || e.contains("stack overflow")) {
            continue;
        }
        failing += usize::from(expected.is_err());
        if got == expected {
            same += 1;
        } else {
            different += 1;
            if different <= 40 {
                println!(
                    "{}\n  data     {}\n  expected {expected:?}\n  got      {got:?}",
                    case.template, case.data
                );
            }
        }
    }
    println!("{same} templates without a difference ({failing} of all with an error), {different} with one");
    assert_eq!(different, 0);
}
