//! A selector as a text is refused with a reason, or is the same in its structured form, and says yes exactly where it misses nothing.
//!
//! An input is a selector, and in the lines after it labels, `key=value` each.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use sluice_api::Selector;

fuzz_target!(|text: &str| {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let selector = match Selector::parse(first) {
        Err(error) => return assert!(!error.is_empty()),
        Ok(selector) => selector,
    };
    let labels = rest.lines().filter_map(|line| line.split_once('='));
    let labels: Map<String, Value> = labels.map(|(key, value)| (key.to_owned(), value.into())).collect();
    let labels = Value::Object(labels);
    let structured = Selector::from_value(&selector.to_label_selector());
    let structured = structured.unwrap_or_else(|error| panic!("{first:?}: {error}"));
    assert_eq!(structured.matches(Some(&labels)), selector.matches(Some(&labels)), "{first:?}");
    assert_eq!(selector.matches(Some(&labels)), selector.unmet(Some(&labels)).is_none(), "{first:?}");
});
