//! What is said of a Secret, without what is in it: errors repeat what is wrong.
//!
//! | what fails | what is told |
//! |---|---|
//! | an API server refuses a Secret | the path up to the first value |
//! | a text of a Secret cannot be rendered or read | the line and the column |
//! | a template, script or chart that reads a Secret | the place and the expression in it |

// D-1209: no message holds a value of a Secret.

use std::borrow::Cow;

use serde_json::Value;

use crate::object::Gvk;

/// What servers say before a value.
const BEFORE_VALUES: [&str; 4] = ["Invalid value", "Unsupported value", "Duplicate value", ", got "];
/// What errors begin with that are of no place, and that are nobody's values.
const OWN_WORDS: [&str; 2] = ["limit", "tera"];
const UNSAID: &str = " (what a Secret holds is not shown)";

/// A server's message about an object of this kind: of a Secret everything up to the first value, which is the path to it.
pub fn without_values<'m>(gvk: &Gvk, message: &'m str) -> Cow<'m, str> {
    if !gvk.is_secret() {
        return message.into();
    }
    let first = BEFORE_VALUES.iter().filter_map(|words| message.find(words)).min();
    first
        .map_or(message.into(), |at| format!("{}{UNSAID}", message[..at].trim_end_matches([':', ' '])).into())
}

/// Whether this is a Secret, as an object says.
pub fn is_secret(object: &Value) -> bool {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    text("kind") == "Secret" && !text("apiVersion").contains('/')
}

/// Why a text of a Secret cannot be rendered or read: where, and nothing of the text.
pub fn without_text(error: &str) -> String {
    let place = place(error).map_or_else(String::new, |place| format!(" at {place}"));
    format!("cannot be rendered or read{place}{UNSAID}")
}

/// Why something failed that reads a Secret: the place and the expression, as far as the error tells them, without the message,
/// which may repeat what was read.
pub fn without_message(error: &str) -> String {
    let within = |from: usize, words: &str| error[from..].find(words).map(|at| from + at);
    let expression = within(0, "at <").and_then(|at| Some((within(at, ">: ")? + 1, 2)));
    let Some((end, between)) = expression.or_else(|| Some((beginning(error)?, 0))) else {
        return format!("fails{UNSAID}");
    };
    let message = &error[end + between..];
    // A key that a template writes.
    if between > 0 && message.starts_with("map has no entry for key ") {
        return error.to_owned();
    }
    format!("{} fails{UNSAID}", error[..end].trim_end())
}

/// Where the first words of an error end: a chart's template and line, a script's line, or what kind of error it is.
fn beginning(error: &str) -> Option<usize> {
    let skipped = ["template: ", "execution error at "].iter().find(|words| error.starts_with(**words));
    let from = skipped.map_or(0, |words| words.len());
    let end = error[from..].find([' ', '\n', '"', '\'', '`'])?;
    let words = error[from..from + end].strip_suffix(':')?;
    if OWN_WORDS.contains(&words) {
        return Some(from + words.len());
    }
    // An error that a script raises without a place begins with what the script says: with a value, if it likes.
    let (_, line) = words.trim_end_matches(')').rsplit_once(':')?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = is_line && (skipped.is_some() || words.starts_with("evaluate:"));
    is_place.then_some(from + words.len())
}

/// `line 3, column 5`, or what there is of it.
fn place(error: &str) -> Option<String> {
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    };
    let after = |words: &str| error.split_once(words).and_then(|(_, rest)| number(rest));
    if let Some(line) = after("line ") {
        let column = after("column ").map_or_else(String::new, |column| format!(", column {column}"));
        return Some(format!("line {line}{column}"));
    }
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut numbers = error.split(':').skip(1).skip_while(|part| !is_number(part)).take_while(is_number);
    let line = numbers.next()?;
    Some(
        numbers
            .next()
            .map_or_else(|| format!("line {line}"), |column| format!("line {line}, column {column}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_the_place_is_told_and_nothing_of_it() {
        let told = |error: &str| without_text(error).replace(UNSAID, "");
        assert_eq!(
            told("template: p:2:7: unexpected \"hunter2\""),
            "cannot be rendered or read at line 2, column 7"
        );
        assert_eq!(
            told("found hunter2 at line 3 column 5"),
            "cannot be rendered or read at line 3, column 5"
        );
        assert_eq!(told("evaluate:4: hunter2"), "cannot be rendered or read at line 4");
        assert_eq!(told("hunter2"), "cannot be rendered or read");
    }

    #[test]
    fn of_who_reads_a_secret_the_expression_is_told_and_not_what_came_of_it() {
        let told = |error: &str| without_message(error).replace(UNSAID, "");
        let of_template =
            r#"template: p:1:3: executing "p" at <atoi .Secret.data.p>: error calling atoi: "hunter2""#;
        assert_eq!(told(of_template), r#"template: p:1:3: executing "p" at <atoi .Secret.data.p> fails"#);
        assert_eq!(told("evaluate:4: hunter2"), "evaluate:4 fails");
        assert_eq!(
            told("execution error at (web/templates/a.yaml:1:3): hunter2"),
            "execution error at (web/templates/a.yaml:1:3) fails"
        );
        for error in
            ["values don't fit: hunter2", "hunter2", "'hunter2': no", "hunter2: no", "hunter2:22: no", ""]
        {
            assert_eq!(told(error), "fails", "{error}");
        }
        let key = r#"template: p:1:3: executing "p" at <.a.b>: map has no entry for key "b""#;
        assert_eq!(told(key), key);
    }

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
