//! Selectors in both forms: what they select, what they are called, and why one is refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::selector::{Requirement, Selector};

fn text(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

fn structured(value: Value) -> Selector {
    Selector::from_value(&value).unwrap()
}

fn refused(value: Value) -> String {
    Selector::from_value(&value).unwrap_err()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

#[test]
fn a_missing_selector_is_an_empty_one() {
    assert_eq!(structured(Value::Null), Selector::default());
}

#[test]
fn an_empty_selector_holds_for_everything_and_selects_nothing() {
    for empty in [text(""), text(" , "), structured(json!({})), structured(json!({"matchLabels": null}))] {
        assert!(empty.is_empty() && empty.matches(None) && empty.matches(Some(&json!({"a": "b"}))));
        assert!(!empty.selects(None) && !empty.selects(Some(&json!({"a": "b"}))));
    }
}

#[test]
fn a_selector_of_absence_selects_what_has_no_labels() {
    assert!(text("!a").selects(None));
}

#[test]
fn one_equals_sign_is_as_good_as_two() {
    assert_eq!(text("env=fv"), text("env==fv"));
}

#[test]
fn blanks_around_the_parts_do_not_count() {
    assert_eq!(text("  env = fv ,  tier   in  ( a , b ) , ! x "), text("env=fv,tier in (a,b),!x"));
}

#[test]
fn another_value_and_none_both_differ() {
    let differs = text("env!=fv");
    assert!(differs.matches(Some(&json!({"env": "other"}))) && differs.matches(Some(&json!({}))));
    assert!(!differs.matches(Some(&json!({"env": "fv"}))));
}

#[test]
fn not_in_holds_where_the_label_is_missing() {
    let differs = structured(expression("env", "NotIn", &["a", "b"]));
    assert!(differs.matches(None) && differs.matches(Some(&json!({"env": "c"}))));
    assert!(!differs.matches(Some(&json!({"env": "b"}))));
}

#[test]
fn an_empty_value_is_a_value() {
    assert!(text("env=").matches(Some(&json!({"env": ""}))));
    assert!(!text("env=").matches(Some(&json!({}))));
    assert!(text("env").matches(Some(&json!({"env": ""}))));
}

#[test]
fn a_label_that_is_no_text_counts_as_missing() {
    let labels = json!({"env": 5});
    assert!(text("!env").matches(Some(&labels)) && !text("env").matches(Some(&labels)));
}

#[test]
fn all_requirements_must_hold() {
    let both = structured(json!({"matchLabels": {"a": "1", "b": "2"}}));
    assert!(both.matches(Some(&json!({"a": "1", "b": "2", "c": "3"}))));
    assert!(!both.matches(Some(&json!({"a": "1"}))));
}

#[test]
fn a_key_may_be_said_twice() {
    let range = text("env in (a,b,c),env!=b");
    let of = |env: &str| range.matches(Some(&json!({"env": env})));
    assert_eq!(["a", "b", "c", "d"].map(of), [true, false, true, false]);
}

#[test]
fn every_operator_of_a_structured_selector_has_its_text() {
    for (value, expected) in [
        (expression("a", "In", &["x"]), "a=x"),
        (expression("a", "In", &["x", "y"]), "a in (x,y)"),
        (expression("a", "NotIn", &["x"]), "a!=x"),
        (expression("a", "NotIn", &["x", "y"]), "a notin (x,y)"),
        (expression("a", "Exists", &[]), "a"),
        (expression("a", "DoesNotExist", &[]), "!a"),
    ] {
        assert_eq!(structured(value.clone()).to_string(), expected, "{value}");
    }
}

#[test]
fn labels_come_before_expressions_in_the_text() {
    let both = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"b": "c"}});
    assert_eq!(structured(both).to_string(), "b=c,a");
}

#[test]
fn a_prefix_of_a_key_is_a_name_of_dns() {
    assert_eq!(text("app.kubernetes.io/name=web").to_string(), "app.kubernetes.io/name=web");
    for wrong in ["App.Example.com/x=1", "/x", "a/b/c", "a/", "-a=1"] {
        assert!(Selector::parse(wrong).unwrap_err().contains("write it as [prefix/]name"), "{wrong}");
    }
}

#[test]
fn values_are_no_longer_than_labels_may_be() {
    assert!(Selector::parse(&format!("a={}", "x".repeat(63))).is_ok());
    let error = Selector::parse(&format!("a in (b,{})", "x".repeat(64))).unwrap_err();
    assert!(error.contains("is not a label value; use at most 63"), "{error}");
}

#[test]
fn an_open_bracket_is_refused() {
    assert!(Selector::parse("env in (a, b").is_err());
}

#[test]
fn orders_of_values_are_no_selectors() {
    for text in ["a > 1", "a < 1", "a gt (1)"] {
        assert!(Selector::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_misspelt_field_is_named_with_the_right_ones() {
    let error = refused(json!({"matchLabel": {"a": "b"}}));
    assert_eq!(error, "unknown field \"matchLabel\"; a label selector has matchLabels and matchExpressions");
}

#[test]
fn a_number_as_a_label_is_to_be_quoted() {
    assert_eq!(refused(json!({"matchLabels": {"port": 80}})), "matchLabels.port must be a string, quote it");
}

#[test]
fn labels_that_are_no_map_are_refused_and_do_not_match_everything() {
    for labels in [json!("env=fv"), json!(["env"]), json!(true)] {
        let error = refused(json!({"matchLabels": labels}));
        assert!(error.starts_with("matchLabels must be a map"), "{error}");
    }
}

#[test]
fn expressions_that_are_no_list_are_refused_and_do_not_match_everything() {
    for expressions in [json!({"key": "a", "operator": "Exists"}), json!("a")] {
        let error = refused(json!({"matchExpressions": expressions}));
        assert!(error.starts_with("matchExpressions must be a list"), "{error}");
    }
}

#[test]
fn an_expression_that_cannot_be_read_is_named_by_its_place() {
    let good = json!({"key": "a", "operator": "Exists"});
    for (wrong, reason) in [
        (json!({"operator": "Exists"}), "key is missing"),
        (json!("a"), "key is missing"),
        (json!({"key": "a"}), "unknown operator \"\"; use In, NotIn, Exists or DoesNotExist"),
        (json!({"key": "a", "operator": "in", "values": ["b"]}), "unknown operator \"in\""),
        (
            json!({"key": "a", "operator": "NotIn", "values": []}),
            "values must be a list of at least one string",
        ),
        (
            json!({"key": "a", "operator": "In", "values": "b"}),
            "values must be a list of at least one string",
        ),
        (json!({"key": "a", "operator": "In", "values": ["b", 5]}), "values must be strings, quote them"),
        (json!({"key": "a b", "operator": "Exists"}), "\"a b\" is not a label key"),
    ] {
        let error = refused(json!({"matchExpressions": [good, wrong]}));
        assert!(error.starts_with(&format!("matchExpressions[1]: {reason}")), "{wrong}: {error}");
    }
}

#[test]
fn what_is_no_selector_at_all_is_shown_with_both_forms() {
    for value in [json!(5), json!(true), json!(["env=fv"])] {
        let error = refused(value.clone());
        assert!(error.starts_with(&format!("{value} is not a selector; ")), "{error}");
        assert!(error.contains("matchLabels") && error.contains("env=fv"), "{error}");
    }
}

#[test]
fn filters_of_event_sources_have_operations_of_their_own() {
    for (operation, expected) in
        [("Equal", "k=v"), ("Different", "k!=v"), ("Has", "k"), ("DoesNotHave", "!k")]
    {
        assert_eq!(Requirement::filter("k", operation, "v").unwrap().to_string(), expected);
    }
}

#[test]
fn a_filter_of_presence_does_not_look_at_its_value() {
    assert!(Requirement::filter("k", "Has", "no label value!").is_ok());
    assert!(Requirement::filter("k", "Equal", "no label value!").is_err());
}

#[test]
fn an_unknown_operation_of_a_filter_is_named_with_the_known_ones() {
    let error = Requirement::filter("k", "Equals", "v").unwrap_err();
    assert_eq!(error, "unknown operation \"Equals\"; use Equal, Different, Has or DoesNotHave");
}

#[test]
fn what_is_unmet_names_the_requirement_and_what_there_is() {
    let both = text("env=fv,tier");
    assert_eq!(
        both.unmet(Some(&json!({"env": "prod", "tier": "a"}))).unwrap(),
        "env=fv is wanted, and the label env is \"prod\""
    );
    assert_eq!(
        both.unmet(Some(&json!({"env": "fv"}))).unwrap(),
        "tier is wanted, and there is no label tier"
    );
    assert_eq!(both.unmet(Some(&json!({"env": "fv", "tier": "a"}))), None);
}

#[test]
fn requirements_of_another_selector_are_added() {
    let mut all = text("a=b");
    all.and_all(text("c,!d"));
    all.and(Requirement::filter("e", "Has", "").unwrap());
    assert_eq!(all.to_string(), "a=b,c,!d,e");
}

fn requirement() -> impl Strategy<Value = Value> {
    let key = proptest::sample::select(vec!["a", "b", "example.com/c"]);
    let value = proptest::sample::select(vec!["", "x", "y", "z-1"]);
    let values = proptest::collection::vec(value, 1..4);
    let operator = proptest::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist"]);
    (key, operator, values).prop_map(|(key, operator, values)| match operator {
        "In" | "NotIn" => json!({"key": key, "operator": operator, "values": values}),
        _ => json!({"key": key, "operator": operator}),
    })
}

fn selector() -> impl Strategy<Value = Selector> {
    proptest::collection::vec(requirement(), 0..5)
        .prop_map(|all| structured(json!({"matchExpressions": all})))
}

fn labels() -> impl Strategy<Value = Value> {
    let key = proptest::sample::select(vec!["a", "b", "example.com/c", "other"]);
    let value = proptest::sample::select(vec!["", "x", "y", "other"]);
    proptest::collection::btree_map(key, value, 0..4).prop_map(|labels| json!(labels))
}

proptest! {
    #[test]
    fn the_text_of_a_selector_is_read_as_the_same(selector in selector()) {
        prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }

    #[test]
    fn both_forms_select_the_same(selector in selector(), labels in labels()) {
        let other = Selector::from_value(&selector.to_label_selector()).unwrap();
        prop_assert_eq!(other.matches(Some(&labels)), selector.matches(Some(&labels)));
    }

    #[test]
    fn a_selector_matches_exactly_where_nothing_is_unmet(selector in selector(), labels in labels()) {
        prop_assert_eq!(selector.unmet(Some(&labels)).is_none(), selector.matches(Some(&labels)));
        prop_assert_eq!(selector.unmet(None).is_none(), selector.matches(None));
    }

    #[test]
    fn what_two_selectors_match_is_what_both_together_match(one in selector(), other in selector(), labels in labels()) {
        let each = one.matches(Some(&labels)) && other.matches(Some(&labels));
        let mut both = one;
        both.and_all(other);
        prop_assert_eq!(both.matches(Some(&labels)), each);
    }

    #[test]
    fn whatever_is_written_is_read_or_refused_with_a_reason(
        key in "[ -~]{0,12}", operator in "(In|NotIn|Exists|x)?", value in "[ -~]{0,12}",
    ) {
        let entry = json!({"key": key, "operator": operator, "values": [value]});
        if let Err(reason) = Selector::from_value(&json!({"matchExpressions": [entry]})) {
            prop_assert!(reason.starts_with("matchExpressions[0]: "), "{}", reason);
        }
    }
}
