//! `--set`: `a.b[0].c=1,d={x,y}` laid over values.

use serde_json::{Map, Value as Json};
use sluice_template::go_quoted as quoted;

use crate::error::cut;

const MAX_INDEX: usize = 65_536;
const MAX_DEPTH: usize = 30;

/// Lays a line of settings over values.
///
/// # Errors
/// What is wrong with the line, in Helm's words.
pub fn set(values: &mut Map<String, Json>, line: &str) -> Result<(), String> {
    let mut parser = Parser { rest: line.chars().collect(), at: 0 };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Wrong(text)) => return Err(text),
        }
    }
}

struct Parser {
    rest: Vec<char>,
    at: usize,
}

/// Why the parser does not go on.
enum Stop {
    /// The line ends, which is how every line should end.
    End,
    Wrong(String),
}

type Step<T> = Result<T, Stop>;

fn wrong<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Wrong(cut(text)))
}

fn put(map: &mut Map<String, Json>, key: String, value: Json) {
    if !key.is_empty() {
        map.insert(key, value);
    }
}

fn put_at(list: &mut Vec<Json>, index: usize, value: Json) -> Step<()> {
    if index > MAX_INDEX {
        return wrong(format!("index of {index} is greater than maximum supported index of {MAX_INDEX}"));
    }
    if list.len() <= index {
        list.resize(index + 1, Json::Null);
    }
    list[index] = value;
    Ok(())
}

// === impl Parser ===

impl Parser {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// The text before a stop, and the stop; none at the end of the line.
    fn until(&mut self, stops: &str) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                c if stops.contains(c) => return (text, Some(c)),
                '\\' => match self.next() {
                    Some(next) => text.push(next),
                    None => return (text, None),
                },
                other => text.push(other),
            }
        }
        (text, None)
    }

    fn key(&mut self, into: &mut Map<String, Json>, depth: usize) -> Step<()> {
        match self.until("=[,.") {
            (key, None) if key.is_empty() => Err(Stop::End),
            (key, None) => wrong(format!("key {} has no value", quoted(&key))),
            (key, Some('[')) => {
                let index = self.index()?;
                let mut list = match into.get(&key) {
                    None => Vec::new(),
                    Some(Json::Array(list)) => list.clone(),
                    Some(other) => return wrong(not_a(other, "[]interface {}")),
                };
                let done = self.item(&mut list, index, depth);
                put(into, key, Json::Array(list));
                done
            }
            (key, Some('=')) => {
                let (value, end) = self.value()?;
                put(into, key, value);
                if end { Err(Stop::End) } else { Ok(()) }
            }
            (key, Some(',')) => {
                let text = format!("key {} has no value (cannot end with ,)", quoted(&key));
                put(into, key, "".into());
                wrong(text)
            }
            (key, _) => self.inner(into, key, depth + 1),
        }
    }

    fn inner(&mut self, into: &mut Map<String, Json>, key: String, depth: usize) -> Step<()> {
        if depth > MAX_DEPTH {
            return wrong(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_DEPTH}"
            ));
        }
        let mut inner = match into.get(&key) {
            None => Map::new(),
            Some(Json::Object(map)) => map.clone(),
            Some(other) => return wrong(not_a(other, "map[string]interface {}")),
        };
        let done = self.key(&mut inner, depth);
        if done.is_ok() && inner.is_empty() {
            return wrong(format!("key map {} has no value", quoted(&key)));
        }
        if !inner.is_empty() {
            put(into, key, Json::Object(inner));
        }
        done
    }

    fn index(&mut self) -> Step<usize> {
        let (text, end) = self.until("]");
        let failed = |why: String| wrong(format!("error parsing index: {why}"));
        if end.is_none() {
            return failed("EOF".to_owned());
        }
        match text.parse::<i64>() {
            Ok(index) if index < 0 => wrong(format!("negative {index} index not allowed")),
            Ok(index) => Ok(usize::try_from(index).unwrap_or(usize::MAX)),
            Err(_) => failed(format!("strconv.Atoi: parsing {}: invalid syntax", quoted(&text))),
        }
    }

    /// What follows an index.
    fn item(&mut self, list: &mut Vec<Json>, index: usize, depth: usize) -> Step<()> {
        let (text, stop) = self.until("[.=");
        if !text.is_empty() {
            return wrong(format!("unexpected data at end of array index: {}", quoted(&text)));
        }
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let (value, _) = self.value()?;
                put_at(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match list.get(index) {
                    None | Some(Json::Null) => Vec::new(),
                    Some(Json::Array(inner)) => inner.clone(),
                    Some(other) => return wrong(not_a(other, "[]interface {}")),
                };
                self.item(&mut inner, next, depth)?;
                put_at(list, index, Json::Array(inner))
            }
            Some(_) => {
                let mut inner = match list.get(index) {
                    Some(Json::Object(map)) => map.clone(),
                    _ => Map::new(),
                };
                let done = self.key(&mut inner, depth);
                if done.is_ok() { put_at(list, index, Json::Object(inner)) } else { done }
            }
        }
    }

    /// A value and whether the line ends where one was expected.
    fn value(&mut self) -> Step<(Json, bool)> {
        match self.rest.get(self.at) {
            None => return Ok(("".into(), true)),
            Some('{') => self.at += 1,
            Some(_) => {
                let (text, _) = self.until(",");
                return Ok((typed(text), false));
            }
        }
        let mut items = Vec::new();
        loop {
            match self.until(",}") {
                (_, None) => return wrong("list must terminate with '}'"),
                (text, Some('}')) => {
                    items.push(typed(text));
                    if self.rest.get(self.at) == Some(&',') {
                        self.at += 1;
                    }
                    return Ok((Json::Array(items), false));
                }
                (text, _) => items.push(typed(text)),
            }
        }
    }
}

fn not_a(value: &Json, wanted: &str) -> String {
    let found = match value {
        Json::Null => "nil",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

fn typed(text: String) -> Json {
    match text.to_lowercase().as_str() {
        "true" => return true.into(),
        "false" => return false.into(),
        "null" => return Json::Null,
        "0" => return 0.into(),
        _ => {}
    }
    match text.parse::<i64>() {
        Ok(int) if !text.starts_with('0') => int.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn after(lines: &[&str]) -> Result<Json, String> {
        let mut values = json!({"old": {"kept": 1, "list": ["a", {"b": 2}]}}).as_object().cloned().unwrap();
        for line in lines {
            set(&mut values, line)?;
        }
        values
            .remove("old")
            .filter(|old| *old != json!({"kept": 1, "list": ["a", {"b": 2}]}))
            .map_or_else(|| Ok(Json::Object(values.clone())), |old| Ok(json!({"old": old})))
    }

    #[test]
    fn values_have_types() {
        let line = "a=1,b=true,c=null,d=text,e=007,f=0,g=1.5,h=";
        assert_eq!(
            after(&[line]).unwrap(),
            json!({"a": 1, "b": true, "c": null, "d": "text", "e": "007", "f": 0, "g": "1.5", "h": ""})
        );
    }

    #[test]
    fn paths_lists_and_escapes() {
        assert_eq!(
            after(&["a.b\\.c=x\\,y,l={1,two},m[1].n=z,k[0][1]=q"]).unwrap(),
            json!({"a": {"b.c": "x,y"}, "l": [1, "two"], "m": [null, {"n": "z"}], "k": [[null, "q"]]})
        );
        assert_eq!(
            after(&["old.list[1].c=3,old.new=4"]).unwrap(),
            json!({"old": {"kept": 1, "new": 4, "list": ["a", {"b": 2, "c": 3}]}})
        );
    }

    #[test]
    fn what_is_wrong_is_said_as_helm_says_it() {
        for (line, why) in [
            ("a", "key \"a\" has no value"),
            ("a,b=1", "key \"a\" has no value (cannot end with ,)"),
            ("a={1", "list must terminate with '}'"),
            ("a[-1]=1", "negative -1 index not allowed"),
            ("a[70000]=1", "index of 70000 is greater than maximum supported index of 65536"),
            (
                "old.kept.x=1",
                "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
            ),
        ] {
            assert_eq!(after(&[line]).unwrap_err(), why, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_ends(line in "[a\\[\\].,=0-9{}\\\\ ]{0,40}") {
            let mut values = Map::new();
            drop(set(&mut values, &line));
        }
    }
}
