#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Limits;
use crate::cel::value::Shared;

fn budget() -> Budget {
    Budget::new(&Limits::default())
}

fn are_equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    let found = equal(left, right, &mut budget()).unwrap();
    assert_eq!(equal(right, left, &mut budget()).unwrap(), found, "{left:?} {right:?}");
    found
}

fn ordered(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, String> {
    match order(left, right, &mut budget()) {
        Err(Fault::Data(text) | Fault::Limit(text)) => Err(text),
        Ok(ordering) => Ok(ordering),
    }
}

fn made(items: Vec<Value<'_>>) -> Value<'_> {
    Value::List(List::Made(items.into()))
}

#[test]
fn numbers_of_all_types_are_equal_when_they_mean_the_same() {
    for (left, right) in [
        (Value::Int(1), Value::Uint(1)),
        (Value::Int(1), Value::Double(1.0)),
        (Value::Uint(1), Value::Double(1.0)),
        (Value::Double(0.0), Value::Double(-0.0)),
        (Value::Int(i64::MAX), Value::Uint(i64::MAX as u64)),
    ] {
        assert!(are_equal(&left, &right), "{left:?} {right:?}");
    }
    for (left, right) in [
        (Value::Int(-1), Value::Uint(u64::MAX)),
        (Value::Int(1), Value::Double(1.5)),
        (Value::Double(f64::NAN), Value::Double(f64::NAN)),
        (Value::Int(1), Value::Double(f64::NAN)),
    ] {
        assert!(!are_equal(&left, &right), "{left:?} {right:?}");
    }
}

#[test]
fn values_of_different_types_are_not_equal() {
    let json = json!({});
    let values = [
        Value::Null,
        Value::Bool(false),
        Value::Int(0),
        Value::lend(""),
        Value::bytes([]),
        made(vec![]),
        Value::of(&json),
        Value::Timestamp(jiff::Timestamp::UNIX_EPOCH),
        Value::Duration(jiff::SignedDuration::ZERO),
        Value::Type("int"),
    ];
    for (at, left) in values.iter().enumerate() {
        for (other, right) in values.iter().enumerate() {
            assert_eq!(are_equal(left, right), at == other, "{left:?} {right:?}");
        }
    }
}

#[test]
fn what_stands_in_the_object_equals_what_was_made() {
    let (list, map) = (json!([1, [2.0], null]), json!({"a": 1, "b": [true]}));
    assert!(are_equal(
        &Value::of(&list),
        &made(vec![Value::Uint(1), made(vec![Value::Int(2)]), Value::Null])
    ));
    let entries =
        vec![(Value::lend("b"), made(vec![Value::Bool(true)])), (Value::text("a"), Value::Double(1.0))];
    assert!(are_equal(&Value::of(&map), &Value::Map(Map::Made(entries.into()))));
    assert!(are_equal(&Value::Text(Shared::Lent("a")), &Value::text("a")));
}

#[test]
fn maps_are_equal_when_each_key_has_the_same_value() {
    let map = |entries: &[(i64, i64)]| {
        let entries: Vec<_> =
            entries.iter().map(|(key, value)| (Value::Int(*key), Value::Int(*value))).collect();
        Value::Map(Map::Made(entries.into()))
    };
    assert!(are_equal(&map(&[(1, 2), (3, 4)]), &map(&[(3, 4), (1, 2)])));
    assert!(!are_equal(&map(&[(1, 2)]), &map(&[(1, 3)])));
    assert!(!are_equal(&map(&[(1, 2)]), &map(&[(2, 2)])));
    assert!(!are_equal(&map(&[(1, 2)]), &map(&[(1, 2), (3, 4)])));
}

#[test]
fn a_key_is_found_by_any_number_that_equals_it_in_a_map_that_was_made() {
    let made = Map::Made(vec![(Value::Int(1), Value::lend("x"))].into());
    let find = |map: &Map<'_>, key: Value<'_>| lookup(map, &key, &mut budget()).unwrap().is_some();
    assert!(find(&made, Value::Uint(1)) && find(&made, Value::Double(1.0)));
    assert!(!find(&made, Value::lend("1")) && !find(&made, Value::Double(1.5)));
    let json = json!({"1": "x"});
    let Value::Map(of_object) = Value::of(&json) else { panic!() };
    assert!(find(&of_object, Value::lend("1")) && !find(&of_object, Value::Int(1)));
}

#[test]
fn values_of_one_ordered_type_have_an_order() {
    for (less, more) in [
        (Value::Bool(false), Value::Bool(true)),
        (Value::lend("Z"), Value::lend("a")),
        (Value::lend("a"), Value::lend("aa")),
        (Value::bytes([1]), Value::bytes([1, 0])),
        (Value::Duration(jiff::SignedDuration::from_secs(-1)), Value::Duration(jiff::SignedDuration::ZERO)),
        (Value::Timestamp(jiff::Timestamp::MIN), Value::Timestamp(jiff::Timestamp::UNIX_EPOCH)),
        (Value::Int(-1), Value::Uint(0)),
        (Value::Uint(1), Value::Double(1.5)),
        (Value::Double(f64::NEG_INFINITY), Value::Int(i64::MIN)),
    ] {
        assert_eq!(ordered(&less, &more), Ok(Ordering::Less), "{less:?} {more:?}");
        assert_eq!(ordered(&more, &less), Ok(Ordering::Greater), "{less:?} {more:?}");
        assert_eq!(ordered(&less, &less), Ok(Ordering::Equal), "{less:?}");
    }
}

#[test]
fn what_has_no_order_is_named() {
    assert_eq!(ordered(&Value::lend("a"), &Value::Int(1)), Err("no such overload: string < int".into()));
    assert_eq!(ordered(&made(vec![]), &made(vec![])), Err("no such overload: list < list".into()));
    assert_eq!(ordered(&Value::Null, &Value::Null), Err("no such overload: null_type < null_type".into()));
    assert_eq!(ordered(&Value::Double(f64::NAN), &Value::Int(1)), Err("NaN values cannot be ordered".into()));
}

#[test]
fn comparing_costs_what_it_looks_at() {
    let text = "x".repeat(64_000);
    let few = Limits { steps: 500, ..Limits::default() };
    let long = equal(&Value::lend(&text), &Value::text(text.as_str()), &mut Budget::new(&few));
    assert!(matches!(long, Err(Fault::Limit(_))));
    assert!(equal(&Value::lend(&text), &Value::lend("x"), &mut Budget::new(&few)).is_ok());
    let json = json!(vec![1; 600]);
    assert!(matches!(
        equal(&Value::of(&json), &Value::of(&json), &mut Budget::new(&few)),
        Err(Fault::Limit(_))
    ));
}

#[test]
fn a_double_is_cut_off_to_a_whole_number_where_it_fits() {
    assert_eq!([4.7, -4.7, -0.5].map(to_int), [Some(4), Some(-4), Some(0)]);
    assert_eq!([9.3e18, -9_223_372_036_854_775_808.0, f64::NAN, f64::INFINITY].map(to_int), [None; 4]);
    assert_eq!([4.7, -0.0, 1.8e19].map(to_uint), [Some(4), Some(0), Some(18_000_000_000_000_000_000)]);
    assert_eq!([-0.5, 18_446_744_073_709_551_616.0, f64::NAN].map(to_uint), [None; 3]);
}

proptest! {
    #[test]
    fn numbers_are_ordered_as_they_are_equal(left in any_number(), right in any_number()) {
        let (left, right) = (left.value(), right.value());
        let order = ordered(&left, &right).unwrap();
        prop_assert_eq!(order == Ordering::Equal, are_equal(&left, &right));
        prop_assert_eq!(ordered(&right, &left).unwrap(), order.reverse());
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i64),
    Uint(u64),
    Double(f64),
}

impl Number {
    fn value(self) -> Value<'static> {
        match self {
            Self::Int(value) => Value::Int(value),
            Self::Uint(value) => Value::Uint(value),
            Self::Double(value) => Value::Double(value),
        }
    }
}

/// Few that are close to each other, and any.
fn any_number() -> impl Strategy<Value = Number> {
    let ends = prop::sample::select(vec![0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1]);
    prop_oneof![
        prop_oneof![ends.clone(), any::<i64>()].prop_map(Number::Int),
        prop_oneof![ends.clone().prop_map(|int| int as u64), any::<u64>()].prop_map(Number::Uint),
        prop_oneof![ends.prop_map(|int| int as f64), -1e20..1e20_f64].prop_map(Number::Double),
    ]
}
