//! Random data, paths into it, literals, and damage to a text.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Map, Value as Json, json};

const KEYS: [&str; 12] = ["a", "b", "name", "items", "spec", "n", "f", "s", "Upper", "x1", "list", "empty"];
const STRINGS: [&str; 26] = [
    "",
    "a",
    "hello world",
    "Web",
    "12",
    "3.5",
    "true",
    "null",
    "a: b",
    "- x",
    "é世界",
    "tab\tx",
    "l1\nl2\n",
    " pad ",
    "<a href=\"x\">&</a>",
    "a,b,c",
    "foo-bar_baz",
    "HTTPServer2",
    "1.2.3",
    "2020-01-02",
    "yes",
    "0644",
    "x=1&y=2",
    "{}",
    "words that go on and on, far beyond the eighty columns at which some printers of YAML like to break: here",
    "it's  two  spaces  and \u{1F600} more of it until the line is really, really long \"quoted\" # with  an end",
];

fn string(random: &mut StdRng) -> String {
    STRINGS.choose(random).copied().unwrap_or_default().to_owned()
}

fn number(random: &mut StdRng) -> Json {
    match random.random_range(0..8) {
        0 => json!(0),
        1 => json!(-7),
        2 => json!(12),
        3 => json!(1_000_000.0),
        4 => json!(1.5),
        5 => json!(-0.25),
        6 => json!(1e21),
        _ => json!(random.random_range(-3..15)),
    }
}

pub fn value(random: &mut StdRng, depth: usize) -> Json {
    match random.random_range(0..if depth == 0 { 7 } else { 11 }) {
        0..=2 => json!(string(random)),
        3..=4 => number(random),
        5 => json!(random.random_bool(0.5)),
        6 => Json::Null,
        7..=8 => {
            let count = random.random_range(0..4);
            Json::Array((0..count).map(|_| value(random, depth - 1)).collect())
        }
        _ => object(random, depth - 1),
    }
}

pub fn object(random: &mut StdRng, depth: usize) -> Json {
    let count = random.random_range(0..6);
    let mut map = Map::new();
    for _ in 0..count {
        let key = KEYS.choose(random).copied().unwrap_or("a");
        map.insert(key.to_owned(), value(random, depth));
    }
    Json::Object(map)
}

/// A field path, mostly one that exists.
pub fn path(random: &mut StdRng, data: &Json) -> String {
    let mut text = if random.random_bool(0.3) { "$".to_owned() } else { String::new() };
    let mut at = Some(data);
    loop {
        let keys: Vec<&String> = at.and_then(Json::as_object).map(|m| m.keys().collect()).unwrap_or_default();
        let key = match keys.choose(random) {
            Some(key) if random.random_bool(0.97) => (*key).clone(),
            _ => KEYS.choose(random).copied().unwrap_or("a").to_owned(),
        };
        text = format!("{text}.{key}");
        at = at.and_then(|v| v.get(&key));
        if !at.is_some_and(Json::is_object) || random.random_bool(0.4) {
            return text;
        }
    }
}

fn quoted(text: &str) -> String {
    if text.contains('`') { "\"`\"".to_owned() } else { format!("`{text}`") }
}

pub fn literal(random: &mut StdRng) -> String {
    match random.random_range(0..12) {
        0..=3 => format!(
            "\"{}\"",
            ["a", "x y", "\\n", "b-c", "é", "%d", "%v %s", ""].choose(random).unwrap_or(&"")
        ),
        4 => quoted(&string(random)),
        5..=7 => random.random_range(-3..12).to_string(),
        8 => ["1.5", "1e3", "0x1F", "1_0", "'a'", "-0", "2.0", "1e400", "017", "3i"]
            .choose(random)
            .copied()
            .unwrap_or("1")
            .to_owned(),
        9 => ["true", "false"].choose(random).copied().unwrap_or("true").to_owned(),
        10 => "nil".to_owned(),
        _ => random.random_range(0..5).to_string(),
    }
}

/// Removes, repeats or replaces a piece of a text.
pub fn damage(random: &mut StdRng, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return "{{".to_owned();
    }
    let at = random.random_range(0..chars.len());
    let head: String = chars[..at].iter().collect();
    let tail: String = chars[at + 1..].iter().collect();
    let insert = [
        "", "{{", "}}", "|", "(", ")", "\"", "`", " ", ".", "$", "{{end}}", "{{else}}", ",", ":=", "\u{1}",
        "é", "/*",
    ];
    format!("{head}{}{tail}", insert.choose(random).copied().unwrap_or(""))
}

/// A string literal.
pub fn literal_string(random: &mut StdRng) -> String {
    quoted(&string(random))
}
