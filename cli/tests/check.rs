//! `sluice check` as people run it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use common::sluice;

mod common;

const BAD: &str = "apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {name: t}
spec:
  sourceClusterSelector: {matchLabels: {env: fv}}
  eventSourceName: s
  oneForEvents: true
  policyRefs:
  - kind: ConfigMap
    namespace: default
    name: '{{ .Resource.metadata.name }'
---
apiVersion: v1
kind: Pod
metadata: {name: p}
";

fn check(arguments: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    sluice("check", arguments, dir)
}

#[test]
fn errors_name_file_line_object_and_field() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t.yaml"), BAD).unwrap();
    let (code, out, error) = check(&["t.yaml"], dir.path());
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("t.yaml:11: error: EventTrigger t: spec.policyRefs[0].name: "), "{out}");
    assert!(lines[1].starts_with("t.yaml:7: warning: EventTrigger t: spec.oneForEvents: "), "{out}");
    assert_eq!((error.as_str(), code), ("objects: 2, errors: 1, warnings: 1\n", Some(1)));

    let (code, out, _) = check(&["-o", "json", "."], dir.path());
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["line"], &first["severity"], &first["document"]),
        (&11.into(), &"error".into(), &1.into())
    );
    assert_eq!((&first["file"], &first["object"]), (&"./t.yaml".into(), &"EventTrigger t".into()));
    assert_eq!(code, Some(1));
}

#[test]
fn warnings_are_no_failure_and_what_cannot_be_read_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t.yaml"), BAD.replace("name }'", "name }}'")).unwrap();
    let (code, out, _) = check(&["t.yaml"], dir.path());
    assert_eq!((out.lines().count(), code), (1, Some(0)), "{out}");
    fs::write(dir.path().join("broken.yaml"), "a: [").unwrap();
    for arguments in [vec!["."], vec!["missing.yaml"]] {
        let (code, _, error) = check(&arguments, dir.path());
        assert!(code == Some(2) && error.contains(".yaml: "), "{error}");
    }
}

#[test]
fn the_examples_have_no_errors_and_one_warning() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let (code, out, error) = check(&["."], &examples);
    assert_eq!(code, Some(0), "{error}");
    // It is written as the first documents of Sveltos were.
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 1 && lines[0].contains("network-policy/event-source.yaml:11: warning"), "{out}");
}

#[test]
fn findings_are_data_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t.yaml"), BAD).unwrap();
    let findings = |format: &str| {
        let (code, out, error) = check(&["t.yaml", "-o", format], dir.path());
        assert_eq!((code, error.as_str()), (Some(1), "objects: 2, errors: 1, warnings: 1\n"), "{format}");
        out
    };
    assert_eq!(findings("text"), check(&["t.yaml"], dir.path()).1);

    let lines = findings("json");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["document", "field", "file", "line", "object", "reason", "severity"]);
    let severities: Vec<&serde_json::Value> = lines.iter().map(|line| &line["severity"]).collect();
    assert_eq!(severities, ["error", "warning"]);

    let documents = findings("yaml");
    let documents: Vec<serde_json::Value> = sluice_api::yaml::documents(&documents).unwrap();
    assert_eq!(documents, lines);
}

const SHORT: &str = "apiVersion: v1
kind: Pod
metadata: {name: p}
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {name: t}
spec:
  sourceClusterSelector: {matchLabels: {env: fv}}
  eventSourceName: s
  oneForEvents: true
";

#[test]
fn findings_are_a_table_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t.yaml"), SHORT).unwrap();
    let table = |more: &[&str]| {
        let (code, out, error) = check(&[&["t.yaml"], more].concat(), dir.path());
        assert_eq!((code, error.as_str()), (Some(0), "objects: 2, errors: 0, warnings: 1\n"), "{more:?}");
        out
    };
    let narrow = "\
+--------+------+----------+----------------+-------------------+----------------------------------------------------------------+
|  FILE  | LINE | SEVERITY |     OBJECT     |       FIELD       |                             REASON                             |
+--------+------+----------+----------------+-------------------+----------------------------------------------------------------+
| t.yaml | 11   | warning  | EventTrigger t | spec.oneForEvents | is no field of it and has no effect; did you mean oneForEvent? |
+--------+------+----------+----------------+-------------------+----------------------------------------------------------------+
";
    assert_eq!(table(&["-o", "table"]), narrow);
    let wide = "\
+--------+----------+------+----------+----------------+-------------------+----------------------------------------------------------------+
| t.yaml | 2        | 11   | warning  | EventTrigger t | spec.oneForEvents | is no field of it and has no effect; did you mean oneForEvent? |
+--------+----------+------+----------+----------------+-------------------+----------------------------------------------------------------+
";
    assert_eq!(table(&["-o", "wide", "--no-headers"]), wide);
}

#[test]
fn a_file_that_cannot_be_read_counts_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for format in ["text", "json", "yaml"] {
        let (code, out, error) = check(&["missing.yaml", "-o", format], dir.path());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{format}");
        assert!(error.starts_with("sluice check: missing.yaml: "), "{error}");
    }
    let (code, _, error) = check(&["missing.yaml", "-o", "html"], dir.path());
    assert!(code == Some(2) && error.contains("[possible values: text, table, wide, json, yaml]"), "{error}");
}
