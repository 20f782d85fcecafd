//! Why each object exists, as `sluice build -o json` says it: `tests/because` is the input, `tests/because.json` what is said.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::{Map, Value};
use sluice_api::object;
use sluice_dryrun::{Input, Options, make};

/// The reasons by object; generated names are left out.
fn reasons(list: &Value) -> Map<String, Value> {
    let reason = |object: &Value| {
        let name = object::name(object);
        let named = if name.starts_with("sveltos-") && !name.contains("--") {
            format!("{} generated", object::text(object, &["kind"]))
        } else {
            object::describe(object)
        };
        (named, object["because"].clone())
    };
    list.as_array().unwrap().iter().map(reason).collect()
}

fn built(because: bool) -> Value {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let input = Input::read(&tests.join("because")).unwrap();
    let mut json = Vec::new();
    make(input, &Options { because, now: 0, ..Options::default() }).write_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[test]
fn every_object_says_why_it_exists() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let expected = std::fs::read_to_string(tests.join("because.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let built = built(true);
    assert_eq!(built["problems"], Value::Array(Vec::new()));
    let said = [("default/c1", &built["clusters"]["default/c1"]), ("management", &built["management"])];
    for (place, list) in said {
        assert_eq!(Value::Object(reasons(list)), expected[place], "{place}");
    }
}

#[test]
fn who_does_not_ask_is_told_the_same_without_it() {
    let (mut with, without) = (built(true), built(false));
    let lists = ["/clusters/default~1c1", "/management"];
    for list in lists {
        let objects = with.pointer_mut(list).and_then(Value::as_array_mut).unwrap();
        objects.iter_mut().for_each(|object| drop(object.as_object_mut().unwrap().remove("because")));
    }
    assert_eq!(with, without);
}
