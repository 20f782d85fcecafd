//! Charts that would take too much: each ends with an error that says what the limit is.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::Map;
use sluice_chart::{Capabilities, Chart, Error, LoadLimits, Options, Release, RenderLimits, Rendered};
use sluice_template::Env;

fn mk_chart(files: &[(&str, &str)]) -> Chart {
    let own = [("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")];
    let all = own.iter().chain(files).map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    Chart::from_folder(&all.collect::<BTreeMap<_, _>>(), LoadLimits::default()).unwrap()
}

fn render(files: &[(&str, &str)], seed: u8) -> Result<Rendered, Error> {
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let (env, values) = (Env::new(0, [seed; 32]), Map::new());
    let options = Options::default();
    sluice_chart::render(&mk_chart(files), &values, &release, &Capabilities::default(), &env, &options)
}

fn limit(text: &str) -> String {
    match render(&[("templates/a.yaml", text)], 1) {
        Err(Error::Limit(text)) => text,
        other => panic!("no limit: {other:?}"),
    }
}

#[test]
fn recursion_ends_with_helms_words() {
    let text = limit("{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}");
    let words = "rendering template has a nested reference name: x: unable to execute template";
    assert!(text.ends_with(words), "{text}");
    let text =
        limit("{{ define \"x\" }}{{ tpl \"{{ include \\\"x\\\" . }}\" . }}{{ end }}{{ include \"x\" . }}");
    assert!(text.ends_with(words), "{text}");
}

#[test]
fn loops_and_output_are_limited() {
    assert!(
        limit("{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}")
            .contains("limit: more than")
    );
    let text = limit("{{ $x := repeat 1000000 \"x\" }}{{ range until 100 }}{{ $x }}{{ end }}");
    assert!(text.contains("bytes of output"), "{text}");
}

#[test]
fn random_values_are_the_same_for_the_same_seed() {
    let files = [
        ("templates/a.yaml", "kind: A\nv: {{ randAlphaNum 20 }}\n"),
        ("templates/b.yaml", "kind: A\nv: {{ randAlphaNum 20 }}\n"),
    ];
    let (one, same, other) =
        (render(&files, 1).unwrap(), render(&files, 1).unwrap(), render(&files, 2).unwrap());
    assert_eq!(one, same);
    assert_ne!(one, other);
    assert_ne!(one.manifests[0].content, one.manifests[1].content);
}

#[test]
fn charts_nested_too_deeply_are_refused() {
    let path = |depth: usize, name: &str| format!("{}{name}", "charts/c/".repeat(depth));
    let chart = b"name: c\nversion: 1.0.0\n".to_vec();
    let files = (0..12).map(|depth| (path(depth, "Chart.yaml"), chart.clone())).collect();
    let error = Chart::from_folder(&files, LoadLimits::default()).unwrap_err();
    assert!(
        matches!(&error, Error::Limit(text) if text.ends_with("limit: charts are nested deeper than 10")),
        "{error}"
    );
}

#[test]
fn a_path_that_leaves_the_folder_is_refused() {
    for path in ["../Chart.yaml", "/Chart.yaml", "a//b", "a/../../b"] {
        let files = BTreeMap::from([(path.to_owned(), Vec::new())]);
        assert!(matches!(Chart::from_folder(&files, LoadLimits::default()), Err(Error::Load(_))), "{path}");
    }
}

/// A schema is the chart's alone: nothing is fetched for one, and no file of the machine is read.
#[test]
fn a_schema_that_refers_to_elsewhere_is_refused() {
    for reference in ["http://127.0.0.1:1/schema.json", "https://example.com/a.json#/b", "file:///etc/passwd"]
    {
        let schema = format!("{{\"properties\": {{\"a\": {{\"$ref\": \"{reference}\"}}}}}}");
        let error = render(&[("values.schema.json", &schema), ("values.yaml", "a: 1\n")], 1).unwrap_err();
        let (text, end) = (
            error.to_string(),
            "nothing is fetched for a schema; put what it refers to into values.schema.json",
        );
        assert!(
            matches!(error, Error::Values(_)) && text.contains("app:\n") && text.ends_with(end),
            "{text}"
        );
        let place = reference.split('#').next().unwrap();
        assert!(text.contains(place), "{text}");
    }
}

/// They are known without a network.
#[test]
fn a_schema_may_refer_to_the_schemas_of_the_drafts() {
    let any = "- at '/a/type': 'anyOf' failed
  - at '/a/type': value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'
  - at '/a/type': got number, want array
";
    let all = format!(
        "- at '/a': 'allOf' failed\n{}",
        any.lines().map(|line| format!("  {line}\n")).collect::<String>()
    );
    for (reference, problem) in [
        ("http://json-schema.org/draft-04/schema#", any),
        ("http://json-schema.org/draft-06/schema", any),
        ("http://json-schema.org/draft-07/schema#", any),
        ("https://json-schema.org/draft/2019-09/schema", &all),
        ("https://json-schema.org/draft/2020-12/schema", &all),
        ("http://json-schema.org/schema#", &all),
    ] {
        let schema = format!("{{\"properties\": {{\"a\": {{\"$ref\": \"{reference}\"}}}}}}");
        let of = |values: &str| render(&[("values.schema.json", &schema), ("values.yaml", values)], 1);
        assert_eq!(of("a: {type: object}\n").err(), None, "{reference}");
        let error = of("a: {type: 3}\n").unwrap_err().to_string();
        assert!(error.ends_with(&format!("app:\n{problem}")), "{reference}: {error}");
        // Whoever refers to one pays for all that is in the value.
        let many = format!("a: {{enum: [{}]}}\n", (0..7_000).map(|at| format!("{at},")).collect::<String>());
        let error = of(&many).unwrap_err().to_string();
        assert!(error.contains("more than 200000 checks"), "{reference}: {error}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_is_taken() {
    let schema =
        r##"{"properties": {"a": {"$ref": "#/definitions/n"}}, "definitions": {"n": {"type": "number"}}}"##;
    assert_eq!(render(&[("values.schema.json", schema), ("values.yaml", "a: 1\n")], 1).err(), None);
    let error = render(&[("values.schema.json", schema), ("values.yaml", "a: x\n")], 1).unwrap_err();
    assert!(error.to_string().contains("at '/a': got string, want number"), "{error}");
}

/// As for Helm, which says so.
#[test]
fn a_name_that_leads_nowhere_allows_everything() {
    let schema = r#"{"properties": {"a": {"$ref": "urn:example:thing"}}}"#;
    let rendered = render(&[("values.schema.json", schema), ("values.yaml", "a: x\n")], 1).unwrap();
    let warnings: Vec<String> = rendered.warnings.iter().map(ToString::to_string).collect();
    let text =
        "level=WARN msg=\"unresolved URN reference ignored; using permissive schema\" urn=urn:example:thing";
    assert_eq!(warnings, [text]);
}

/// Definitions that want the next one twice are a trillion checks after forty steps.
#[test]
fn a_schema_that_multiplies_is_refused_and_a_large_one_is_not() {
    let schema = |depth: usize| {
        let next = |at: usize| format!("{{\"$ref\": \"#/definitions/d{}\"}}", at + 1);
        let one = |at: usize| format!("\"d{at}\": {{\"allOf\": [{0}, {0}]}}", next(at));
        let all: Vec<String> = (0..depth).map(one).collect();
        format!(
            "{{\"$ref\": \"#/definitions/d0\", \"definitions\": {{{}, \"d{depth}\": {{\"type\": \"object\"}}}}}}",
            all.join(", ")
        )
    };
    let values = ("values.yaml", "a: 1\n");
    assert!(render(&[("values.schema.json", &schema(14)), values], 1).is_ok());
    let error = render(&[("values.schema.json", &schema(40)), values], 1).unwrap_err();
    assert_eq!(error, Error::Limit("app: limit: values.schema.json leads to more than 200000 checks".into()));
}

/// A chart with three megabytes of definitions in files, each of which a template reads, changes and prints.
fn mk_definitions() -> Chart {
    let property = "                  a-property-of-the-definition-NUMBER:\n                    description: What it is for, in some words, as definitions have them.\n                    x-kubernetes-preserve-unknown-fields: true\n                    type: object\n";
    let body: String = (0..1_600).map(|number| property.replace("NUMBER", &number.to_string())).collect();
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: NAME\nspec:\n  versions:\n  - schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n              properties:\n";
    let template = "{{- range $path, $_ := .Files.Glob \"files/*.yaml\" }}\n---\n{{ regexReplaceAllLiteral \"(?m)^metadata:\\\\s*$\" ($.Files.Get $path) \"metadata:\\n  annotations:\\n    kept: yes\\n\" }}\n{{- end }}\n".to_owned();
    let mut files = vec![("templates/crds.yaml".to_owned(), template)];
    for number in 0..9 {
        let name = format!("files/{number}.yaml");
        files.push((name, definition.replace("NAME", &format!("thing{number}s.example.com")) + &body));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    mk_chart(&files)
}

fn renders(chart: &Chart, limits: sluice_template::Limits) -> Result<Rendered, Error> {
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let options = Options { limits: RenderLimits(limits), ..Options::default() };
    let env = Env::new(0, [1; 32]);
    sluice_chart::render(chart, &Map::new(), &release, &Capabilities::default(), &env, &options)
}

/// A limit, and what sets it to a share of what it is.
type Part = (&'static str, fn(&mut sluice_template::Limits, f64));

const PARTS: [Part; 5] = [
    ("steps", |limits, share| limits.steps = (limits.steps as f64 * share) as u64),
    ("output_bytes", |limits, share| limits.output_bytes = (limits.output_bytes as f64 * share) as usize),
    ("string_bytes", |limits, share| limits.string_bytes = (limits.string_bytes as f64 * share) as usize),
    ("memory_bytes", |limits, share| limits.memory_bytes = (limits.memory_bytes as f64 * share) as usize),
    ("template_bytes", |limits, share| {
        limits.template_bytes = (limits.template_bytes as f64 * share) as usize
    }),
];

#[test]
fn three_megabytes_of_definitions_need_a_tenth_of_every_limit() {
    let chart = mk_definitions();
    let printed: usize = renders(&chart, RenderLimits::default().0)
        .unwrap()
        .manifests
        .iter()
        .map(|one| one.content.len())
        .sum();
    assert!(printed > 3_000_000, "{printed}");
    for (name, set) in PARTS {
        let mut limits = RenderLimits::default().0;
        set(&mut limits, 0.1);
        let rendered = renders(&chart, limits);
        assert!(rendered.is_ok(), "{name}: {:?}", rendered.err());
    }
}

/// Each is a limit by its class: templates, YAML, and schemas that cannot be read.
#[test]
fn what_takes_too_much_is_a_limit_and_what_is_wrong_is_none() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let values = |text: &str| sluice_chart::read_values(text).unwrap_err();
    assert!(values(&format!("a: {deep}\n")).is_limit());
    assert!(!values("a: [\n").is_limit());
    let fails = |file: (&str, &str)| render(&[file], 1).unwrap_err();
    let unread = |values: &str| {
        let files = [("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"), ("values.yaml", values)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        Chart::from_folder(&BTreeMap::from(files), LoadLimits::default()).unwrap_err()
    };
    assert!(unread(&format!("a: {deep}\n")).is_limit());
    assert!(!unread("a: 'limit: \n").is_limit());
    assert!(fails(("values.schema.json", &deep)).is_limit());
    assert!(fails(("templates/a.yaml", &format!("kind: {deep}\n"))).is_limit());
    assert!(!fails(("templates/a.yaml", "{{ fail \"limit: x\" }}")).is_limit());
}
