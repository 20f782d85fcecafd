//! Charts that would take too much: each ends with an error that says what the limit is.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::Map;
use sluice_chart::{Capabilities, Chart, Error, LoadLimits, Options, Release, Rendered};
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
