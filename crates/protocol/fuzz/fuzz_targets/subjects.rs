//! Any text is no subject, or exactly the one that what was read of it is written as: a row has one key.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_protocol::Subject;
use sluice_protocol::subject::{group_of_member, members_subject, token};

fuzz_target!(|text: &str| {
    match text.parse::<Subject>() {
        Ok(subject) => assert_eq!(subject.to_string(), text),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let one = token(text);
    assert!(!one.is_empty() && !one.contains(['.', '*', '>', '~']) && !one.contains(char::is_whitespace));
    assert_eq!(group_of_member(&members_subject(text, None)).as_deref(), Some(text));
});
