//! `slice` goes beyond the length of a list as far as Go's decoder has left room in it.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_template::{Data, Env, Limits, Options, Program, Stage};

fn rendered(text: &str, stage: Stage) -> Result<String, String> {
    let data = json!({"il": [3, 1, 2], "five": [1, 2, 3, 4, 5]});
    let program = Program::compile("t", text, &Options { stage, ..Options::default() }).unwrap();
    program.render(&Data::Json(&data), &Env::default(), &Limits::default()).map_err(|error| error.to_string())
}

#[test]
fn what_a_list_has_room_for_is_nil() {
    for (text, expected) in [
        ("{{ slice .il 0 4 }}", "[3 1 2 <nil>]"),
        ("{{ slice (slice .il 0 2) 0 4 }}", "[3 1 2 <nil>]"),
        ("{{ slice (slice .il 1 2) 0 3 }}", "[1 2 <nil>]"),
        ("{{ len (slice .five 2 8) }} {{ slice .five 2 8 }}", "6 [3 4 5 <nil> <nil> <nil>]"),
        ("{{ slice .il 3 }}", "[]"),
        ("{{ slice .il 3 4 }}", "[<nil>]"),
        ("{{ slice .il 0 2 4 }}", "[3 1]"),
        ("{{ range slice .il 2 4 }}[{{ . }}]{{ end }}", "[2][<no value>]"),
    ] {
        assert_eq!(rendered(text, Stage::Plain).as_deref(), Ok(expected), "{text}");
    }
    assert_eq!(rendered("{{ slice .il 0 4 }}", Stage::Event).as_deref(), Ok("[3 1 2 <nil>]"));
}

#[test]
fn beyond_that_there_is_nothing() {
    for (text, stage, expected) in [
        ("{{ slice .il 0 5 }}", Stage::Plain, "error calling slice: index out of range: 5"),
        ("{{ slice (slice .il 1 2) 0 4 }}", Stage::Plain, "error calling slice: index out of range: 4"),
        ("{{ slice (slice .il 0 1 2) 0 3 }}", Stage::Plain, "error calling slice: index out of range: 3"),
        ("{{ slice .il 4 }}", Stage::Plain, "error calling slice: invalid slice index: 4 > 3"),
        ("{{ slice .il 0 2 5 }}", Stage::Plain, "error calling slice: index out of range: 5"),
        ("{{ slice .il 0 5 }}", Stage::Event, "reflect.Value.Slice: slice index out of bounds"),
    ] {
        let error = rendered(text, stage).unwrap_err();
        assert!(error.ends_with(expected), "{text}: {error}");
    }
}
