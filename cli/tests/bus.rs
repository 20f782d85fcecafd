//! `sluice bus check` as people run it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use common::{Running, sluice, value};
use serde_json::Value;

mod common;

/// A server that is not there.
const NOBODY: &str = "nats://127.0.0.1:9";
/// Members of the report.
const MEMBERS: [&str; 7] = ["api_level", "owners", "problems", "sealed", "servers", "store", "streams"];

/// A bus with all stages.
fn mk_bus(dir: &Path) -> (Running, String) {
    let mut up = Running::start(&["up", "--clusters=1", "--no-examples"], dir);
    let url = value(&up.line("ready "), "nats");
    (up, url)
}

fn check(url: &str, more: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    sluice("bus", &[&["check", "--nats-url", url], more].concat(), dir)
}

/// Whether a line begins with these letters.
fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

#[test]
fn a_bus_that_is_well_is_told_in_every_format() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    let (_up, url) = mk_bus(dir);

    let (code, table, error) = check(&url, &[], dir);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{table}");
    for start in
        [&format!("server {url} "), "JetStream API level ", "STREAM ", "CHANGES-00 ", "STATUS ", "agent  "]
    {
        assert!(has_line(&table, start), "no {start:?} in\n{table}");
    }
    assert!(!table.contains("problem: "), "{table}");
    for more in [&["-o", "table"][..], &["-o", "wide"]] {
        let (code, wide, _) = check(&url, more, dir);
        assert!(code == Some(0) && has_line(&wide, "STREAM "), "{wide}");
    }
    let (code, bare, _) = check(&url, &["--no-headers"], dir);
    assert!(code == Some(0) && !has_line(&bare, "STREAM ") && has_line(&bare, "CHANGES-00 "), "{bare}");

    let (code, json, _) = check(&url, &["-o", "json"], dir);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, json.lines().count()), (Some(0), 1));
    assert_eq!(report.as_object().unwrap().keys().collect::<Vec<_>>(), MEMBERS);
    assert_eq!(
        (&report["servers"][0]["url"], &report["problems"]),
        (&url.as_str().into(), &Value::Array(vec![]))
    );
    let (code, old, _) = check(&url, &["--json"], dir);
    let old: Value = serde_json::from_str(&old).unwrap();
    assert_eq!((code, old["servers"].clone()), (Some(0), report["servers"].clone()));

    let (code, yaml, _) = check(&url, &["-o", "yaml"], dir);
    let documents: Vec<Value> = sluice_api::yaml::documents(&yaml).unwrap();
    assert_eq!((code, documents.len()), (Some(0), 1));
    assert_eq!(documents[0]["servers"], report["servers"]);
}

#[test]
fn what_is_wrong_with_a_bus_is_told_in_every_format_and_by_the_exit_code() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    let (_up, url) = mk_bus(dir);
    let urls = format!("{url},{NOBODY}");
    let problem = |report: &Value| report["problems"][0].as_str().unwrap().contains("127.0.0.1:9");

    let (code, table, error) = check(&urls, &[], dir);
    assert!(code == Some(1) && error.ends_with("sluice: 1 things are wrong\n"), "{error}{table}");
    assert!(
        table.lines().any(|line| line.starts_with("problem: ") && line.contains("127.0.0.1:9")),
        "{table}"
    );
    let (code, json, _) = check(&urls, &["-o", "json"], dir);
    assert!(code == Some(1) && problem(&serde_json::from_str(&json).unwrap()), "{json}");
    let (code, yaml, _) = check(&urls, &["-o", "yaml"], dir);
    let documents: Vec<Value> = sluice_api::yaml::documents(&yaml).unwrap();
    assert!(code == Some(1) && problem(&documents[0]), "{yaml}");
}

#[test]
fn a_bus_that_is_not_there_is_an_error_and_no_report() {
    let dir = tempfile::tempdir().unwrap();
    for format in ["table", "json", "yaml"] {
        let (code, out, error) = check(NOBODY, &["-o", format], dir.path());
        assert_eq!((code, out.as_str()), (Some(1), ""), "{error}");
        let last = error.lines().last().unwrap();
        assert!(last.starts_with(&format!("sluice: server {NOBODY} does not answer; ")), "{error}");
    }
}
