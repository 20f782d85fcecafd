//! Arithmetic on what Helm takes for integers: its library for casts is an older one than Sveltos's.

use super::whole;
use crate::{
    funcs::Row,
    sprig::numbers::{add, add1, div, max, min, mul, rem, sub},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("add1(value any) int64", |cx, a| add1(cx, &integers(a)), "value + 1"),
    ("add(...values any) int64", |cx, a| add(cx, &integers(a)), "The sum."),
    ("sub(a any, b any) int64", |cx, a| sub(cx, &integers(a)), "a - b"),
    ("mul(first any, ...more any) int64", |cx, a| mul(cx, &integers(a)), "The product."),
    ("div(a any, b any) int64", |cx, a| div(cx, &integers(a)), "a / b, towards zero."),
    ("mod(a any, b any) int64", |cx, a| rem(cx, &integers(a)), "The remainder of a / b."),
    ("max(first any, ...more any) int64", |cx, a| max(cx, &integers(a)), "The largest."),
    ("biggest(first any, ...more any) int64", |cx, a| max(cx, &integers(a)), "The older name of `max`."),
    ("min(first any, ...more any) int64", |cx, a| min(cx, &integers(a)), "The smallest."),
];

fn integers<'a>(values: &[Value<'a>]) -> Vec<Value<'a>> {
    values.iter().map(|value| Value::int64(whole(value))).collect()
}
