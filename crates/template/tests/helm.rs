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
fn a_text_of_blank_lines_is_one_block_of_them() {
    let value = json!({"t": "\n\n", "u": "\n\na", "l": [1, {"b": "\n\n"}]});
    let dot = Data::Json(&value);
    let wanted = "l:\n  - 1\n  - b: |2+\n\n\nt: |2+\n\n\nu: |2-\n\n\n  a";
    assert_eq!(render("{{ toYamlPretty . }}", &dot), wanted);
}

#[test]
fn a_key_that_is_null_names_its_value() {
    let error = "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: ";
    assert_eq!(render("{{ (fromYaml \"~: 5\").Error }}", &Data::Null), format!("{error}5"));
    let nested = "map[interface {}]interface {}{\"a\":[]interface {}{1, \"b\"}}";
    assert_eq!(render("{{ (fromYaml \"~: {a: [1, b]}\").Error }}", &Data::Null), format!("{error}{nested}"));
}

#[test]
fn dates_beyond_the_range_of_a_year_are_those_of_go() {
    let text = "{{ date \"2006-01-02\" 99999999999999 }} {{ date \"2006\" 4611686018427387904 }} \
                {{ date \"2006-01-02\" 9223372036854775807 }}";
    assert_eq!(render(text, &Data::Null), "3170843-11-07 146138514283 292277026596-12-04");
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
