//! A text of a user is read as objects, or refused with a reason: manifests of every kind, and what is read of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sluice_api::model::{ClusterSet, EventSource, Profile, Trigger};
use sluice_api::{ObjectKey, kinds, yaml};

/// What is read is written, and read again as the same.
fn comes_back(value: &Value) {
    let again = yaml::documents(&value.to_string());
    assert_eq!(again.as_deref(), Ok(std::slice::from_ref(value)));
}

fuzz_target!(|text: &str| {
    match yaml::documents(text) {
        Err(error) => assert!(!error.text().is_empty()),
        Ok(objects) => {
            for object in &objects {
                if object.is_object() && object.get("kind").and_then(Value::as_str) != Some("List") {
                    comes_back(object);
                }
                let _ = (ObjectKey::of(object), kinds::key_of(object));
                let _ = (Trigger::read(object).is_ok(), EventSource::read(object).is_ok());
                let _ = (Profile::read(object).is_ok(), ClusterSet::read(object).is_ok());
            }
        }
    }
});
