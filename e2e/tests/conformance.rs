//! What Sveltos really deployed, and what `sluice build` makes of the same input: `e2e/conformance/README.md`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_dryrun::{Input, build_at};
use sluice_e2e::scenario::{Expected, differences};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    cases
}

/// The objects without the names that Sveltos makes at random: `sveltos-` and 20 characters.
fn without_names(objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        for (_, value) in annotations.into_iter().flatten() {
            let rest = value.as_str().and_then(|text| text.strip_prefix("sveltos-"));
            if rest.is_some_and(|rest| rest.len() == 20) {
                *value = "sveltos-".into();
            }
        }
    }
    objects
}

/// The objects without the labels that Sluice writes for those who select by them, as earlier versions of Sveltos did, and the
/// recorded one does not.
fn without_references(mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        let labels = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut);
        labels.into_iter().for_each(|labels| {
            labels.retain(|name, _| !name.starts_with("projectsveltos.io/reference-"));
        });
    }
    objects
}

/// What differs: in a cluster, and whose objects there are.
fn complaints(case: &Path) -> Vec<String> {
    let expected = Expected::read(&case.join("expected.json")).unwrap();
    let built = build_at(&Input::read(&case.join("input")).unwrap(), 0);
    let mut found: Vec<String> = built.problems.iter().map(Value::to_string).collect();
    assert!(built.clusters.keys().eq(expected.clusters.keys()), "{}", case.display());
    for (cluster, made) in &built.clusters {
        // API servers fill in more than is made.
        let made = without_references(without_names(made));
        found.extend(differences(cluster, &made, &without_names(&expected.clusters[cluster])));
    }
    found
}

#[test]
fn what_is_made_is_what_sveltos_deployed() {
    let cases = cases();
    assert!(cases.len() >= 5, "{cases:?}");
    for case in cases {
        assert_eq!(complaints(&case), [] as [String; 0], "{}", case.display());
    }
}
