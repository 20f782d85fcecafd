//! What Helm's charts found to differ from Go in the engine, and the set of templates that they run as.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicUsize;

use serde_json::json;
use sluice_template::{Data, Env, Job, Limits, MissingKey, Options, Program, Stage, TemplateSet};

fn render(text: &str, dot: &Data<'_>) -> String {
    let options =
        Options { missing_key: MissingKey::Zero, stage: Stage::Helm, lenient_numbers: false, extras: false };
    let program = Program::compile("t", text, &options).unwrap();
    program.render(dot, &Env::default(), &Limits::default()).unwrap()
}

#[test]
fn a_field_of_a_nil_root_is_no_value() {
    assert_eq!(render("{{ .foo }}", &Data::Null), "<no value>");
}

#[test]
fn words_without_case_are_cut_where_the_writing_changes() {
    let text = "{{ kebabcase \"日本語テキスト\" }} {{ snakecase \"日本語-テキスト\" }}";
    assert_eq!(render(text, &Data::Null), "日本語-テキスト 日本語_テキスト");
}

#[test]
fn a_key_that_is_null_names_its_value() {
    let error = "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: ";
    assert_eq!(render("{{ (fromYaml \"~: 5\").Error }}", &Data::Null), format!("{error}5"));
    let nested = "map[interface {}]interface {}{\"a\":[]interface {}{1, \"b\"}}";
    assert_eq!(render("{{ (fromYaml \"~: {a: [1, b]}\").Error }}", &Data::Null), format!("{error}{nested}"));
}

#[test]
fn later_templates_replace_earlier_ones_and_writes_last() {
    let texts = [
        ("a", "{{ define \"x\" }}one{{ end }}{{ define \"y\" }}kept{{ end }}"),
        ("b", "{{ define \"x\" }}two{{ end }}{{ define \"y\" }} {{ end }}"),
        ("c", "{{ $_ := set .v \"k\" 2 }}{{ include \"x\" . }}{{ .nope }}"),
        ("d", "{{ .v.k }}{{ include \"y\" . }}"),
    ];
    let limits = Limits::default();
    let set = TemplateSet::compile(texts, &limits).unwrap();
    let value = json!({"v": {"k": 1}});
    let (dot, env) = (Data::Json(&value), Env::default());
    let jobs = [Job { name: "c", dot: &dot }, Job { name: "d", dot: &dot }];
    assert_eq!(set.render(&jobs, &AtomicUsize::new(0), &env, &limits).unwrap(), ["two", "2kept"]);
}
