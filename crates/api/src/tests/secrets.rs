//! Nothing that a Secret holds is in a message, and what helps to find the mistake is.

use proptest::prelude::*;
use serde_json::json;

use crate::object::Gvk;
use crate::secrets::{is_secret, without_message, without_text, without_values};

fn secret() -> Gvk {
    Gvk::new("", "v1", "Secret")
}

#[test]
fn a_secret_is_one_of_the_core_group() {
    assert!(is_secret(&json!({"apiVersion": "v1", "kind": "Secret"})));
    assert!(!is_secret(&json!({"apiVersion": "example.com/v1", "kind": "Secret"})));
    assert!(!is_secret(&json!({"apiVersion": "v1", "kind": "ConfigMap"})) && !is_secret(&json!("Secret")));
}

#[test]
fn a_secret_of_another_group_is_no_secret() {
    let message = "spec.a: Invalid value: \"x\": too long";
    assert_eq!(without_values(&Gvk::new("example.com", "v1", "Secret"), message), message);
}

#[test]
fn a_message_without_a_value_is_told_as_it_is() {
    let message = "secrets \"s\" is forbidden: User \"u\" cannot patch resource";
    assert_eq!(without_values(&secret(), message), message);
}

#[test]
fn the_first_value_of_a_message_ends_it() {
    let message = r#"data[a]: Duplicate value: "one", data[b]: Invalid value: "two""#;
    let told = without_values(&secret(), message);
    assert!(told.starts_with("data[a] (") && !told.contains("one") && !told.contains("two"), "{told}");
}

#[test]
fn the_line_of_a_text_is_told_in_whatever_form_it_is_written() {
    for (error, place) in [
        ("found x at line 3 column 5", "at line 3, column 5"),
        ("yaml: line 12: mapping values", "at line 12"),
        ("template: p:7: unexpected", "at line 7"),
        ("template: p:7:9: unexpected", "at line 7, column 9"),
    ] {
        assert!(without_text(error).starts_with(&format!("cannot be rendered or read {place} (")), "{error}");
    }
}

#[test]
fn a_text_without_a_place_has_none() {
    assert!(without_text("line of nothing").starts_with("cannot be rendered or read ("));
}

#[test]
fn of_a_script_the_line_is_told() {
    assert!(without_message("evaluate:12: attempt to compare").starts_with("evaluate:12 fails ("));
}

#[test]
fn of_a_template_the_expression_is_told() {
    let told =
        without_message(r#"template: p:1:3: executing "p" at <index .data "a">: error calling index: x"#);
    assert!(told.starts_with(r#"template: p:1:3: executing "p" at <index .data "a"> fails ("#), "{told}");
}

#[test]
fn of_a_missing_field_the_whole_is_told() {
    let error = r#"template: p:1:3: executing "p" at <.data.x>: map has no entry for key "x""#;
    assert_eq!(without_message(error), error);
}

#[test]
fn that_a_limit_was_reached_is_told_without_what_reached_it() {
    assert!(without_message("limit: hunter2 is too long").starts_with("limit fails ("));
    assert!(without_message("tera: hunter2 is no number").starts_with("tera fails ("));
}

#[test]
fn what_a_script_raises_without_a_place_is_not_told() {
    for error in ["hunter2: is wrong", "db:5432: is wrong", "hunter2", "hunter2:", "\"hunter2\": is wrong"] {
        assert!(without_message(error).starts_with("fails ("), "{error}");
    }
}

proptest! {
    #[test]
    fn whatever_a_script_says_is_not_told(value in "[A-Z]{4,12}[ -~]{0,20}") {
        for error in [format!("evaluate:4: {value}"), format!("execution error at (a.yaml:1:2): {value}")] {
            let told = without_message(&error);
            // A mark of an expression is one of templates, which do not begin so.
            if !value.contains("at <") {
                prop_assert!(!told.contains(&value[..4]), "{}", told);
            }
        }
    }

    #[test]
    fn whatever_a_text_holds_is_not_told(value in "[A-Z]{6,12}") {
        let told = without_text(&format!("template: p:2:7: unexpected {value:?} in line {value}"));
        prop_assert!(!told.contains(&value));
    }

    #[test]
    fn no_value_that_a_server_repeats_is_told(value in "[A-Z]{6,12}", words in "(Invalid value|Unsupported value|Duplicate value)") {
        let message = format!("Secret \"s\" is invalid: data[k]: {words}: {value:?}: must be less");
        let told = without_values(&secret(), &message).into_owned();
        prop_assert!(!told.contains(&value) && told.contains("data[k]"), "{}", told);
    }

    #[test]
    fn no_message_panics(error in "\\PC{0,60}") {
        let _told = (without_message(&error), without_text(&error), without_values(&secret(), &error));
    }
}
