//! What an API server says of a Secret, without what is in it: its errors repeat the value that is wrong.

use std::borrow::Cow;

use crate::object::Gvk;

/// What servers say before a value.
const BEFORE_VALUES: [&str; 4] = ["Invalid value", "Unsupported value", "Duplicate value", ", got "];
const UNSAID: &str = " (what a Secret holds is not shown)";

/// A server's message about an object of this kind: of a Secret everything up to the first value, which is the path to it.
pub fn without_values<'m>(gvk: &Gvk, message: &'m str) -> Cow<'m, str> {
    if gvk.kind != "Secret" || !gvk.group.is_empty() {
        return message.into();
    }
    let first = BEFORE_VALUES.iter().filter_map(|words| message.find(words)).min();
    first
        .map_or(message.into(), |at| format!("{}{UNSAID}", message[..at].trim_end_matches([':', ' '])).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_secret_the_path_is_told_and_no_value() {
        let secret = Gvk::new("", "v1", "Secret");
        let told = [
            r#"Secret "s" is invalid: data[k]: Invalid value: "hunter2": too long"#,
            r#"failed to create typed patch object: .stringData.p: expected string, got &value.valueUnstructured{Value:"hunter2"}"#,
            r#"Secret "s" is invalid: type: Unsupported value: "hunter2""#,
        ];
        for message in told {
            let text = without_values(&secret, message);
            assert!(!text.contains("hunter2") && text.ends_with(UNSAID), "{text}");
        }
        assert!(without_values(&secret, told[0]).starts_with(r#"Secret "s" is invalid: data[k] ("#));
        assert_eq!(without_values(&secret, "it cannot patch"), "it cannot patch");
        assert_eq!(without_values(&Gvk::new("", "v1", "ConfigMap"), told[0]), told[0]);
    }
}
