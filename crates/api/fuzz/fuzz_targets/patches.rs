//! A patch of a user changes an object, deletes it, or says why not. A merge keeps who the object is.
//!
//! An input is a patch and an object, with a line `---` between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_api::patch::Patch;
use sluice_api::{ObjectKey, yaml};

fuzz_target!(|text: &str| {
    let (patch, object) = text
        .split_once("\n---\n")
        .unwrap_or((text, "{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}"));
    let Ok(patch) = Patch::parse(patch) else { return };
    let Ok(objects) = yaml::documents(object) else { return };
    for object in objects.iter().filter(|object| ObjectKey::of(object).is_some()) {
        let _ = patch.is_for(None, object);
        match patch.apply(object) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(None) => {}
            Ok(Some(patched)) => assert!(ObjectKey::of(&patched).is_some()),
        }
    }
});
