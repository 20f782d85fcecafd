//! Random YAML: values of charts with all the ways to write a scalar.

use rand::{Rng, rngs::StdRng};

use super::pick;

/// The keys that templates know, and some that they do not.
const KEYS: &[&str] =
    &["count", "config", "text", "list", "image", "labels", "enabled", "nested", "a", "b", "tag", "name"];
const ODD_KEYS: &[&str] = &[
    "1",
    "1.5",
    "true",
    "null",
    "~",
    "on",
    "\"quoted key\"",
    "'single: x'",
    "a.b/c",
    "é",
    "0x1F",
    "2020-01-02",
    "\"\"",
    "a b",
    "? x",
    "-1",
    "1e3",
    "!!str 5",
    "\"\\u00e9\\n\"",
    "No",
    "key with: colon",
    "[a, b]",
    "{a: b}",
    ".5",
    "0o7",
    "017",
    "=",
    "y",
    "n",
    "\"1\"",
];

const SCALARS: &[&str] = &[
    "1",
    "0",
    "-1",
    "007",
    "0o17",
    "0x1F",
    "0b101",
    "1_000",
    "1.0",
    "1.50",
    "-0",
    "-0.0",
    "0.1",
    "1e3",
    "1E+3",
    "1e-7",
    "1e21",
    "1e20",
    "123456789",
    "12345678901234567890",
    "9223372036854775807",
    "-9223372036854775808",
    "9007199254740993",
    "18446744073709551616",
    "1.7976931348623157e308",
    "1e309",
    ".inf",
    "-.inf",
    ".nan",
    ".5",
    "5.",
    "+1",
    "+.5",
    "1e",
    "e1",
    "0x",
    "0xG",
    "0o8",
    "08",
    "0b2",
    "1__0",
    "_1",
    "12e03",
    "1:30",
    "190:20:30",
    "true",
    "True",
    "TRUE",
    "tRue",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "null",
    "Null",
    "NULL",
    "~",
    "",
    "2020-01-02",
    "2020-01-02T03:04:05Z",
    "2001-12-14 21:59:43.10 -5",
    "2020-1-2",
    "20-01-02",
    "abc",
    "a b c",
    "a:b",
    "a #b",
    "a#b",
    "http://x.y/z?a=b&c",
    "é世界",
    "\u{1F600}",
    "x\u{a0}y",
    "-x",
    "?x",
    ":x",
    "!x y",
    "&x y",
    "!!str 1",
    "!!float 1",
    "!!binary \"aGk\"",
    "!!timestamp 2020-01-02",
    "! 12",
    "!foo bar",
    "=",
    "<<",
    "\"\"",
    "''",
    "\"1\"",
    "'true'",
    "\"a\\nb\"",
    "\"\\t\\\"\\\\\\/\"",
    "\"\\x41\\u00e9\\U0001F600\"",
    "\"\\0\\a\\e\\_\\N\\L\\P\"",
    "'it''s'",
    "\"a\\\n  b\"",
    "\"line one\n    two\n\n    three \"",
    "'x\n\n    y'",
    "plain\n    goes on",
    "[]",
    "{}",
    "[1, 2.50, a]",
    "{a: 1, b: }",
    "[a, [b, {c: d}], ]",
    "{\"a\":1}",
    "{? x : y}",
    "[\"a\",'b']",
    "\"no\"",
    "\"0644\"",
    "0644",
    "'1e3'",
    "\" lead\"",
    "trail  ",
    "\"#\"",
    "\"a: b\"",
    "|\n    block\n    text",
    "|-\n    strip\n\n",
    "|+\n    keep\n\n",
    ">\n    folded\n    text\n\n    para",
    ">-\n    x\n      more\n    y",
    "|2\n      deep\n    less",
    "|\n\n    blank first\n",
    ">+\n    f\n\n\n",
    "|\n    tab\there\n    \ttab",
    "| # comment\n    x",
    "\"\u{1F600} words that go on and on, far beyond the eighty columns at which some printers of YAML like to break\"",
    "some words that go on and on  and on, with two spaces, far beyond the eighty columns at which some printers like to break: no",
    "\"\\u2028\\u2029\\u0085\\ufeff\"",
    "\"\\u0000\\u007f\\u0080\"",
    "'\ttab'",
    "a\tb",
    "1,2",
    "1.2.3",
    "v1",
    "0.0",
    "1e-400",
    "4.9e-324",
    "100000000000000000000000",
    "0.30000000000000004",
    "123456.789",
    "1000000",
    "10000000.5",
    "0.000001",
    "0.0000001",
    "255",
    "-12.5e-3",
    "\"\\ud83d\\ude00\"",
    "0x7FFFFFFFFFFFFFFF",
    "0xFFFFFFFFFFFFFFFF",
    "-0x10",
    "0o777",
    "-0o17",
    "-017",
];

/// What no reader takes there, or few.
const BAD: &[&str] = &[
    "a: ",
    "- x",
    "@x",
    "`x`",
    "%x",
    "*x",
    "[1,2",
    "\"open",
    "|1\n x",
    "{a, b: c}",
    "[a: b, c]",
    "!!int \"3\"",
    "!!bool \"yes\"",
    "!!null \"\"",
    "!!binary aGVsbG8=",
];

/// What most people write.
const CALM: &[&str] = &[
    "1",
    "3",
    "80",
    "8080",
    "true",
    "false",
    "web",
    "nginx",
    "1.25",
    "\"\"",
    "a b",
    "prod",
    "\"1.10\"",
    "100m",
    "example.com/x:1",
];

/// A scalar, or a small collection, as it may stand after a key of the first level.
pub fn scalar(r: &mut StdRng) -> String {
    match r.random_range(0..100) {
        0 => pick(r, BAD).to_owned(),
        1 => noise(r, true),
        2..=5 => noise(r, false),
        6..=49 => pick(r, CALM).to_owned(),
        50..=55 => r.random_range(-20..2000).to_string(),
        56..=62 => {
            format!("{}", f64::from(r.random_range(-100_000..100_000)) / 10f64.powi(r.random_range(0..9)))
        }
        _ => pick(r, SCALARS).to_owned(),
    }
}

/// A plain or quoted text of random characters that mean something in YAML.
fn noise(r: &mut StdRng, plain: bool) -> String {
    const PIECES: &[&str] = &[
        "a", "1", " ", ":", "-", "#", ",", "\"", "'", "é", "x ", ": ", " #", "0", ".", "e", "_", "\\", "!",
        "&", "*", "{", "}", "[", "]", "|", ">", "%", "@", "=", "~", "+", "\t", "<", "?", "/", "\u{a0}",
        "\u{200b}",
    ];
    let count = r.random_range(1..7);
    let text: String = (0..count).map(|_| pick(r, PIECES)).collect();
    match r.random_range(0..3) {
        _ if plain => text,
        0 => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// A file of values; the names are tables of charts below.
pub fn values(r: &mut StdRng, tables: &[&str]) -> String {
    readable(r, |r| document(r, tables))
}

/// One that can be read, nearly always.
pub fn readable(r: &mut StdRng, make: impl Fn(&mut StdRng) -> String) -> String {
    let mut text = make(r);
    for _ in 0..if r.random_bool(0.04) { 0 } else { 30 } {
        if sluice_chart::read_values(&text).is_ok() {
            break;
        }
        text = make(r);
    }
    text
}

fn document(r: &mut StdRng, tables: &[&str]) -> String {
    let mut text = String::new();
    for number in 0..if r.random_bool(0.06) { 2 } else { 1 } {
        if number > 0 || r.random_bool(0.08) {
            text +=
                pick(r, &["---\n", "--- # next\n", "---\n# only a comment\n---\n", "---\n---\n", "--- \n"]);
        }
        map(r, &mut text, 0, 2, KEYS);
        for table in tables.iter().chain(&["global", "tags"]) {
            if r.random_bool(0.4) {
                section(r, &mut text, table);
            }
        }
    }
    match r.random_range(0..60) {
        0..=1 => text.replace('\n', "\r\n"),
        2 => format!("\u{feff}{text}"),
        3 => text.trim_end().to_owned(),
        4 => format!("{text}...\n"),
        5 => format!("%YAML 1.1\n---\n{text}"),
        6 => format!("\n# comment\n\n{text}\n\n"),
        _ => text,
    }
}

/// What a chart below, all charts, or tags are given.
fn section(r: &mut StdRng, text: &mut String, name: &str) {
    match (name, r.random_range(0..30)) {
        (_, 0) => *text += &format!("{name}: {}\n", pick(r, &["null", "1", "x", "[]", "{}", "true", ""])),
        ("tags", _) => *text += &format!("tags: {{front: {}, back: {}}}\n", truth(r), truth(r)),
        ("global", _) => {
            *text += &format!(
                "global:\n  env: {}\n  on: {}\n  deep: {{a: 1, b: {{c: {}}}}}\n",
                pick(r, &["prod", "prod", "null", "1", "{x: y}", "[1]"]),
                truth(r),
                truth(r)
            )
        }
        _ => {
            *text += &format!("{name}:\n  enabled: {}\n", truth(r));
            map(r, text, 2, 2, KEYS);
            if r.random_bool(0.15) {
                *text += &format!(
                    "  global: {{env: {}, deep: {{a: {}}}}}\n",
                    pick(r, &["sub", "null", "2"]),
                    truth(r)
                );
            }
            if r.random_bool(0.15) {
                *text += &format!("  exports: {{config: {{e: {}}}, nothing: {{}}}}\n", truth(r));
            }
        }
    }
}

fn truth(r: &mut StdRng) -> &'static str {
    pick(r, &["true", "false", "true", "false", "yes", "\"true\"", "null", "1"])
}

fn map(r: &mut StdRng, text: &mut String, indent: usize, depth: usize, keys: &[&str]) {
    let count = r.random_range(1..if indent == 0 { 7 } else { 4 });
    let mut known = Vec::new();
    for _ in 0..count {
        let odd = r.random_bool(0.03);
        let key = pick(r, if odd { ODD_KEYS } else { keys });
        if known.contains(&key) && r.random_bool(0.97) {
            continue;
        }
        known.push(key);
        if r.random_bool(0.04) {
            *text += pick(r, &["# comment\n", "\n", "   # indented\n", "    \n"]);
        }
        let space = " ".repeat(indent);
        *text += &format!("{space}{key}:");
        match key {
            _ if r.random_bool(0.08) => node(r, text, indent, depth),
            "config" | "labels" | "image" | "nested" if depth > 0 => table(r, text, indent, depth),
            "list" => list(r, text, indent, depth),
            _ => node(r, text, indent, 0),
        }
    }
    if r.random_bool(0.03) {
        merges(r, text, indent);
    }
}

/// An anchor and what refers to it.
fn merges(r: &mut StdRng, text: &mut String, indent: usize) {
    let space = " ".repeat(indent);
    let use_of = pick(
        r,
        &[
            "*m1",
            "<<: *m1",
            "<<: [*m1, {q: 2}]",
            "{<<: *m1, p: 3}",
            "[*m1, *m1]",
            "{p: 9, <<: *m1}",
            "*unknown",
            "{<<: [*m1]}",
            "{<<: 1}",
        ],
    );
    *text += &format!("{space}anchor: &m1 {{p: 1, z: [x]}}\n");
    if use_of.starts_with("<<") {
        *text +=
            &format!("{space}merged:\n{space}  {use_of}\n{space}  p: {}\n", pick(r, &["2", "null", "*m1"]));
    } else {
        *text += &format!("{space}merged: {use_of}\n");
    }
}

/// What stands after a key.
fn node(r: &mut StdRng, text: &mut String, indent: usize, depth: usize) {
    match r.random_range(0..if depth == 0 { 6 } else { 10 }) {
        0..=5 => {
            let shift = format!("\n{}", " ".repeat(indent));
            *text += &format!(
                " {}{}\n",
                scalar(r).replace('\n', &shift),
                pick(r, &["", "", "", "", " # note", "  "])
            );
        }
        6..=7 => table(r, text, indent, depth),
        _ => list(r, text, indent, depth),
    }
}

fn table(r: &mut StdRng, text: &mut String, indent: usize, depth: usize) {
    *text += pick(r, &["\n", "\n", "\n", "\n", " # note\n", " &n\n", " !!map\n"]);
    map(r, text, indent + 2, depth - 1, KEYS);
}

fn list(r: &mut StdRng, text: &mut String, indent: usize, depth: usize) {
    *text += "\n";
    let space = " ".repeat(indent + if r.random_bool(0.5) { 2 } else { 0 });
    for _ in 0..r.random_range(1..4) {
        match r.random_range(0..8) {
            0 if depth > 0 => {
                *text += &format!("{space}- name: {}\n{space}  a: {}\n", truth(r), r.random_range(0..9))
            }
            1 => *text += &format!("{space}- - x\n{space}  - {}\n", r.random_range(0..9)),
            2 => *text += &format!("{space}-\n{space}  b: {}\n", truth(r)),
            _ => {
                let shift = format!("\n{space}");
                *text += &format!("{space}- {}\n", scalar(r).replace('\n', &shift));
            }
        }
    }
}
