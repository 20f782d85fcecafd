//! Random charts and values: mostly such as people write, some odd, some broken.

mod expressions;
mod templates;
mod yaml;

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;

/// The files of a case, by their paths.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The case of that number, always the same for a seed.
pub fn case(seed: u64, number: u64) -> Files {
    let mut random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let mut files = Files::new();
    let r = &mut random;
    let depth = r.random_range(0..3);
    chart(r, &mut files, "chart/", "app", depth);
    for (name, chance) in [("values.yaml", 0.7), ("values2.yaml", 0.15)] {
        if r.random_bool(chance) {
            let text = yaml::values(r, &["alpha", "beta", "lib", "other"]);
            put(&mut files, name, text);
        }
    }
    if r.random_bool(0.06) {
        damage(r, &mut files);
    }
    put(&mut files, "case.json", settings(r));
    files
}

fn settings(r: &mut StdRng) -> String {
    let mut case = json!({
        "release": pick(r, &["site", "r1", "a.b"]),
        "namespace": pick(r, &["default", "web"]),
        "includeCRDs": r.random_bool(0.3),
        "skipTests": r.random_bool(0.3),
    });
    if r.random_bool(0.2) {
        case["kubeVersion"] = json!(pick(r, &["1.33", "v1.29.4", "1.30.1-gke.5", "v1.31.0+k3s1"]));
    }
    if r.random_bool(0.2) {
        case["apiVersions"] = json!(["monitoring.coreos.com/v1", "example.com/v1/Thing"]);
    }
    if r.random_bool(0.15) {
        let count = r.random_range(1..3);
        let lines: Vec<&str> = (0..count).map(|_| pick(r, SETTINGS)).collect();
        case["set"] = json!(lines);
    }
    case.to_string()
}

const SETTINGS: &[&str] = &[
    "count=3",
    "config.a=true,config.b=null",
    "list[0]=x",
    "list={a,1,true}",
    "text=a\\,b",
    "global.env=prod",
    "alpha.enabled=false",
    "tags.front=true",
    "count=0123",
    "count=1e3",
    "config=null",
    "image.tag=1.10",
    "labels.app\\.kubernetes\\.io/name=x",
    "list[2].name=z",
    "alpha=null",
    "text=",
];

fn pick<'t>(r: &mut StdRng, all: &[&'t str]) -> &'t str {
    all.choose(r).copied().unwrap_or_default()
}

fn put(files: &mut Files, path: impl Into<String>, text: impl Into<String>) {
    files.insert(path.into(), text.into().into_bytes());
}

/// Writes a chart and the charts below it.
fn chart(r: &mut StdRng, files: &mut Files, folder: &str, name: &str, depth: usize) {
    let below: Vec<&str> = if depth == 0 {
        Vec::new()
    } else {
        ["alpha", "beta", "lib"].into_iter().filter(|sub| *sub != name && r.random_bool(0.4)).collect()
    };
    metadata(r, files, folder, name, &below);
    for sub in &below {
        let inner = format!("{folder}charts/{sub}/");
        let depth = if r.random_bool(0.3) { depth - 1 } else { 0 };
        chart(r, files, &inner, sub, depth);
    }
    if r.random_bool(0.8) {
        let text = yaml::values(r, &[&below[..], &["other"]].concat());
        put(files, format!("{folder}values.yaml"), text);
    }
    if r.random_bool(0.07) {
        put(files, format!("{folder}values.schema.json"), schema(r));
    }
    put(files, format!("{folder}templates/_helpers.tpl"), templates::helpers(r, name));
    for number in 0..r.random_range(0..3) + usize::from(folder == "chart/") {
        let extension = pick(r, &["yaml", "yaml", "yaml", "yml", "txt", "json"]);
        let text = templates::file(r, name, &below);
        put(files, format!("{folder}templates/{}{number}.{extension}", pick(r, &["a", "b", "deep/c"])), text);
    }
    extras(r, files, folder, name);
}

fn extras(r: &mut StdRng, files: &mut Files, folder: &str, name: &str) {
    if r.random_bool(0.1) {
        put(
            files,
            format!("{folder}templates/NOTES.txt"),
            format!("Notes of {name} {{{{ .Release.Name }}}}\n"),
        );
    }
    if r.random_bool(0.2) {
        let text =
            "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n";
        put(files, format!("{folder}crds/x.yaml"), text);
    }
    if r.random_bool(0.5) {
        let text = yaml::values(r, &[]);
        put(files, format!("{folder}data/v.yaml"), text);
        put(
            files,
            format!("{folder}data/t.txt"),
            pick(r, &["one\ntwo\n", "", "é\r\nx", "a: 1\n", "\n\n x \n"]),
        );
        files.insert(format!("{folder}data/b.bin"), vec![0, 255, 1, 10, 13, 200]);
    }
    if r.random_bool(0.05) {
        put(
            files,
            format!("{folder}.helmignore"),
            pick(r, &["data/\n", "*.txt\n", "# x\n!*.yaml\ndata/b*\n", "/data/v.yaml"]),
        );
    }
}

/// What `Chart.yaml` says.
fn metadata(r: &mut StdRng, files: &mut Files, folder: &str, name: &str, below: &[&str]) {
    let old = r.random_bool(0.1);
    let mut text = format!("apiVersion: {}\nname: {name}\n", if old { "v1" } else { "v2" });
    text += &format!(
        "version: {}\n",
        pick(r, &["1.2.3", "1.2.3", "1.2.3", "1.2.3", "v1.0.0", "1.0.0-rc.1+b", "\"1.2.3\"", "1.2"])
    );
    if r.random_bool(0.4) {
        text += &yaml::readable(r, |r| format!("appVersion: {}\n", yaml::scalar(r)));
    }
    if name == "lib" && folder != "chart/" {
        text += "type: library\n";
    }
    for (line, chance) in [
        ("description: >-\n  some text\n  of two lines\n", 0.2),
        ("keywords: [a, 1, true, null]\n", 0.1),
        ("kubeVersion: \">=1.20.0-0\"\n", 0.1),
        ("kubeVersion: \">=1.30\"\n", 0.02),
        ("annotations: {a: b, n: \"1\"}\n", 0.1),
        ("annotations: {a: 1, t: true}\n", 0.05),
        ("home: https://example.com\nsources: [a]\nicon: i\n", 0.1),
        ("maintainers: [{name: x, email: y}]\n", 0.1),
        ("deprecated: true\n", 0.05),
    ] {
        if r.random_bool(chance) {
            text += line;
        }
    }
    let list = dependencies(r, below);
    if old {
        if !list.is_empty() {
            put(files, format!("{folder}requirements.yaml"), list);
        }
    } else {
        text += &list;
    }
    put(files, format!("{folder}Chart.yaml"), text);
}

fn dependencies(r: &mut StdRng, below: &[&str]) -> String {
    let mut text = String::new();
    for name in below.iter().filter(|_| r.random_bool(0.75)).collect::<Vec<_>>() {
        let wanted = pick(r, &["1.x.x", "\"*\"", "\">=0.1.0-0\"", "1.2.3", "\"\"", "^1.0.0-0", "\">= 1\""]);
        text += &format!("- name: {name}\n  version: {wanted}\n");
        if r.random_bool(0.1) {
            text += "  alias: other\n";
        }
        if r.random_bool(0.3) {
            let conditions = [
                format!("{name}.enabled"),
                "enabled".into(),
                format!("no.{name},config.a"),
                "global.on".into(),
            ];
            text += &format!("  condition: {}\n", conditions.choose(r).map_or("", String::as_str));
        }
        if r.random_bool(0.25) {
            text += &format!("  tags: [{}]\n", pick(r, &["front", "back", "front, back", "1"]));
        }
        if r.random_bool(0.3) {
            let imports = [
                "[config]",
                "[{child: config, parent: imported}]",
                "[{child: config, parent: config}]",
                "[nothing, config]",
                "[{child: ., parent: all}]",
                "[{child: config.a, parent: x.y}]",
                "[{child: labels, parent: .}]",
                "[{child: config}]",
            ];
            text += &format!("  import-values: {}\n", pick(r, &imports));
        }
    }
    if text.is_empty() { text } else { format!("dependencies:\n{text}") }
}

fn schema(r: &mut StdRng) -> String {
    let property = pick(r, &["count", "config", "text", "list", "image"]);
    let rule = pick(
        r,
        &[
            r#"{"type": "string"}"#,
            r#"{"type": ["integer", "null"]}"#,
            r#"{"type": "object"}"#,
            r#"{"minimum": 2}"#,
            r#"{"enum": [1, "a", null]}"#,
            r#"{"maxLength": 3}"#,
            r#"{"pattern": "^a"}"#,
            r#"{"minItems": 2}"#,
            r#"{"const": true}"#,
            r#"{"not": {"type": "string"}}"#,
            r#"{"multipleOf": 2}"#,
            r#"{"maximum": 1000}"#,
            r#"{"exclusiveMinimum": 12345.5}"#,
            r#"{"minProperties": 3}"#,
            r#"{"required": ["x", "y"]}"#,
            r#"{"additionalProperties": false}"#,
            r#"{"anyOf": [{"type": "string"}, {"required": ["x"]}]}"#,
            r#"{"oneOf": [{"type": "null"}, {"type": "array", "maxItems": 1}]}"#,
            r#"{"oneOf": [{}, {"type": "object"}, true]}"#,
            r#"{"allOf": [{"type": "string"}, {"minLength": 4}]}"#,
            r#"{"enum": [[1], "a"]}"#,
            r#"{"const": 1.5}"#,
            r#"{"uniqueItems": true}"#,
            r#"{"items": {"type": "string"}}"#,
            "false",
        ],
    );
    let required =
        if r.random_bool(0.2) { format!(", \"required\": [\"{property}\"]") } else { String::new() };
    format!(
        "{{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"properties\": {{\"{property}\": {rule}}}{required}}}"
    )
}

/// Removes, repeats or replaces a piece of a file.
fn damage(r: &mut StdRng, files: &mut Files) {
    let paths: Vec<String> = files.keys().filter(|path| !path.ends_with(".bin")).cloned().collect();
    let Some(path) = paths.choose(r) else { return };
    let Some(text) = files.get(path).map(|data| String::from_utf8_lossy(data).into_owned()) else { return };
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let Some(&at) = starts.choose(r) else { return };
    let end = text[at..].char_indices().nth(r.random_range(0..3)).map_or(text.len(), |(more, _)| at + more);
    let insert = pick(
        r,
        &[
            "",
            "",
            "\n",
            "\t",
            ": ",
            "- ",
            "\"",
            "'",
            "{",
            "}",
            "[",
            "]",
            "#",
            " #",
            "&a ",
            "*a",
            "!!str ",
            "|",
            ">",
            "%",
            "@",
            "`",
            "? ",
            "---\n",
            "...\n",
            "\r\n",
            "\u{feff}",
            "\u{85}",
            "\u{2028}",
            "\0",
            "é",
            "{{",
            "}}",
            ",",
            "<<: ",
            "!!binary ",
            "  ",
        ],
    );
    let damaged = format!("{}{insert}{}", &text[..at], &text[end..]);
    files.insert(path.clone(), damaged.into_bytes());
}
