//! `sluice eval` as people run it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use common::sluice;

mod common;

const SOURCE: &str = "apiVersion: lib.projectsveltos.io/v1beta1
kind: EventSource
metadata: {name: sveltos-service}
spec:
  resourceSelectors:
  - group: \"\"
    version: v1
    kind: Service
    evaluate: |
      function evaluate()
        hs = {matching = false, message = \"\"}
        if obj.metadata.labels ~= nil then
          hs.matching = obj.metadata.labels[\"sveltos\"] == \"fv\"
          hs.message = \"looked at the labels\"
        end
        return hs
      end
";

fn service(name: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: default, labels: {labels}}}\n"
    )
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(dir).unwrap();
    files.iter().for_each(|(name, text)| fs::write(dir.join(name), text).unwrap());
}

fn eval(arguments: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    sluice("eval", arguments, dir)
}

#[test]
fn folders_that_hold_what_they_promise_are_well() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (service("a", "{sveltos: fv}"), service("b", "{}"));
    let files = [("eventsource.yaml", SOURCE), ("matching.yaml", &good), ("non-matching.yaml", &bad)];
    write(&dir.path().join("events/service/lua"), &files);
    write(&dir.path().join("events/service/source-only"), &files[..1]);
    let (code, out, error) = eval(&["events"], dir.path());
    assert_eq!(out, "ok   events/service/lua\nok   events/service/source-only\n", "{error}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_folder_that_does_not_says_what_is_wrong_and_the_others_are_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (service("a", "{sveltos: fv}"), service("b", "{}"));
    let swapped = [("eventsource.yaml", SOURCE), ("matching.yaml", &bad), ("non-matching.yaml", &good)];
    write(&dir.path().join("a"), &swapped);
    write(&dir.path().join("b"), &[("eventsource.yaml", &SOURCE.replace("kind: Service", "knd: Service"))]);
    write(&dir.path().join("c"), &swapped[..1]);
    let (code, out, _) = eval(&["."], dir.path());
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "FAIL ./a");
    assert!(
        lines[1]
            .contains("matching.yaml: Service default/b is no event, and should be: looked at the labels")
    );
    assert!(lines[2].contains("non-matching.yaml: Service default/a is an event, and should not be"));
    assert_eq!(lines[3], "FAIL ./b");
    assert!(lines[4].contains("spec.resourceSelectors[0].kind: is required"), "{out}");
    assert_eq!(lines[5], "ok   ./c");
}

#[test]
fn each_object_is_a_line_of_json() {
    let dir = tempfile::tempdir().unwrap();
    let objects = format!("{}---\n{}", service("a", "{sveltos: fv}"), service("b", "{}"));
    write(dir.path(), &[("source.yaml", SOURCE), ("objects.yaml", &objects)]);
    let (code, out, error) = eval(&["-f", "source.yaml", "objects.yaml"], dir.path());
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wanted = |object: &str, matching: bool| serde_json::json!({"object": object, "matching": matching, "message": "looked at the labels", "error": null});
    assert_eq!(lines, [wanted("Service default/a", true), wanted("Service default/b", false)], "{error}");
    assert_eq!(code, Some(0));

    // A script that fails is no verdict.
    write(dir.path(), &[("source.yaml", &SOURCE.replace("return hs", "return hs.no.such"))]);
    let (code, out, _) = eval(&["-f", "source.yaml", "objects.yaml"], dir.path());
    assert!(out.contains("\"error\":\"") && out.contains("index nil"), "{out}");
    assert_eq!(code, Some(1));
}

#[test]
fn what_a_script_chooses_among_all_is_chosen_among_what_is_in_both_files() {
    let dir = tempfile::tempdir().unwrap();
    let first = "  aggregatedSelection: |
    function evaluate()
      local sum = {apiVersion = \"v1\", kind = \"Sum\", metadata = {name = tostring(#resources)}}
      return {resources = {resources[1], sum}}
    end
";
    let source = format!("{SOURCE}{first}");
    let labels = "{sveltos: fv}";
    let (a, b) = (service("a", labels), service("b", labels));
    let sum = "---\napiVersion: v1\nkind: Sum\nmetadata: {name: \"2\"}\n";
    let files = [
        ("eventsource.yaml", source.as_str()),
        ("matching.yaml", &format!("{a}{sum}")),
        ("non-matching.yaml", &b),
    ];
    write(dir.path(), &files);
    let (code, out, error) = eval(&["."], dir.path());
    assert_eq!((code, out.as_str()), (Some(0), "ok   .\n"), "{error}");
    write(dir.path(), &[("non-matching.yaml", &a), ("matching.yaml", &b)]);
    let (code, out, _) = eval(&["."], dir.path());
    assert_eq!(code, Some(1), "{out}");
    let reason = "aggregatedSelection does not choose it";
    assert!(
        out.contains(&format!("matching.yaml: Service default/b is no event, and should be: {reason}")),
        "{out}"
    );

    let arguments = ["-f", "eventsource.yaml", "matching.yaml", "non-matching.yaml"];
    let (code, out, error) = eval(&[&arguments[..], &["-o", "table"]].concat(), dir.path());
    let row = |object: &str, matching: &str, message: &str| {
        format!("| {object:<17} | {matching:<8} | {message:<38} |       |\n")
    };
    let rows = [
        row("Service default/b", "no", reason),
        row("Service default/a", "yes", "looked at the labels"),
        row("Sum 2", "yes", "aggregatedSelection makes it"),
    ];
    assert!(out.contains(&rows.concat()), "{out}");
    assert_eq!(code, Some(0), "{error}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_file() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("source.yaml", SOURCE), ("objects.yaml", "a: [")]);
    for (arguments, part) in [
        (vec!["-f", "source.yaml", "objects.yaml"], "objects.yaml"),
        (vec!["-f", "missing.yaml", "objects.yaml"], "missing.yaml"),
        (vec!["."], "there is no eventsource.yaml"),
    ] {
        let (code, _, error) = eval(&arguments, dir.path());
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn folders_are_a_table_or_data_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("e/a"), &[("eventsource.yaml", SOURCE)]);
    write(&dir.path().join("e/b"), &[("eventsource.yaml", SOURCE), ("matching.yaml", &service("b", "{}"))]);
    let wrong = "matching.yaml: Service default/b is no event, and should be: looked at the labels";
    let table = format!(
        "\
+--------+---------+{line}+
| FOLDER | VERDICT | {header:^width$} |
+--------+---------+{line}+
| e/a    | ok      | {nothing:<width$} |
| e/b    | FAIL    | {wrong} |
+--------+---------+{line}+
",
        header = "WRONG",
        nothing = "",
        width = wrong.len(),
        line = "-".repeat(wrong.len() + 2),
    );
    let bare: Vec<&str> = table.lines().skip(2).collect();
    let json = format!(
        "{{\"folder\":\"e/a\",\"verdict\":\"ok\",\"wrong\":[]}}\n{{\"folder\":\"e/b\",\"verdict\":\"FAIL\",\"wrong\":[\"{wrong}\"]}}\n"
    );
    let yaml = format!(
        "---\nfolder: e/a\nverdict: ok\nwrong: []\n---\nfolder: e/b\nverdict: FAIL\nwrong:\n- '{wrong}'\n"
    );
    for (arguments, wanted) in [
        (&["-o", "table"][..], &table),
        (&["-o", "wide"], &table),
        (&["-o", "table", "--no-headers"], &format!("{}\n", bare.join("\n"))),
        (&["-o", "json"], &json),
        (&["-o", "yaml"], &yaml),
    ] {
        let (code, out, error) = eval(&[&["e"], arguments].concat(), dir.path());
        assert_eq!((code, &out, error.as_str()), (Some(1), wanted, ""), "{arguments:?}");
    }
}

#[test]
fn objects_are_a_table_or_data_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let objects = format!("{}---\n{}", service("a", "{sveltos: fv}"), service("b", "{}"));
    write(dir.path(), &[("source.yaml", SOURCE), ("objects.yaml", &objects)]);
    let asked = |format: &str| eval(&["-f", "source.yaml", "objects.yaml", "-o", format], dir.path());
    let table = "\
+-------------------+----------+----------------------+-------+
|      OBJECT       | MATCHING |       MESSAGE        | ERROR |
+-------------------+----------+----------------------+-------+
| Service default/a | yes      | looked at the labels |       |
| Service default/b | no       | looked at the labels |       |
+-------------------+----------+----------------------+-------+
";
    assert_eq!(asked("table"), (Some(0), table.to_owned(), String::new()));
    assert_eq!(asked("json"), eval(&["-f", "source.yaml", "objects.yaml"], dir.path()));
    let (code, out, _) = asked("yaml");
    let document =
        "---\nerror: null\nmatching: true\nmessage: looked at the labels\nobject: Service default/a\n";
    assert!(code == Some(0) && out.starts_with(document), "{out}");

    // A script that fails is no verdict, in a table neither.
    write(dir.path(), &[("source.yaml", &SOURCE.replace("return hs", "return hs.no.such"))]);
    let (code, out, _) = asked("table");
    assert!(code == Some(1) && out.contains("| Service default/a |          |         | "), "{out}");
}

#[test]
fn a_file_may_hold_more_than_its_event_source() {
    let dir = tempfile::tempdir().unwrap();
    let content = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n";
    let all = format!("{content}---\n{SOURCE}---\n{content}");
    let service = service("a", "{sveltos: fv}");
    write(&dir.path().join("events"), &[("eventsource.yaml", &all), ("matching.yaml", &service)]);
    assert_eq!(eval(&["events"], dir.path()).1, "ok   events\n");
    let (code, out, error) = eval(&["-f", "events/eventsource.yaml", "events/matching.yaml"], dir.path());
    assert!(out.contains("\"matching\":true") && code == Some(0), "{out}{error}");
    for (text, expected) in [
        (format!("{SOURCE}---\n{SOURCE}"), "it holds 2 EventSources; write one"),
        (content.to_owned(), "it holds no EventSource; write one"),
    ] {
        write(&dir.path().join("events"), &[("eventsource.yaml", &text)]);
        let (code, out, _) = eval(&["events"], dir.path());
        assert!(out.contains(expected) && code == Some(1), "{out}");
    }
}
