//! What `sluice build -o json` makes of folders of `examples/`: `tests/examples/<name>.json` is all that it prints. Names of generated
//! objects follow from their cause, so they are in it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;
use sluice_dryrun::{Input, Options, make};

#[test]
fn examples_lead_to_what_is_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(root.join("tests/examples")).unwrap();
    let mut names = Vec::new();
    for file in files {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let input = Input::read(&root.join("../../examples").join(&name)).unwrap();
        let mut json = Vec::new();
        make(input, &Options { now: 0, ..Options::default() }).write_json(&mut json).unwrap();
        let built: Value = serde_json::from_slice(&json).unwrap();
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(built, expected, "{name} leads to {}", String::from_utf8(json).unwrap());
        names.push(name);
    }
    assert!(names.contains(&"job-on-cloud-event".to_owned()), "{names:?}");
}
