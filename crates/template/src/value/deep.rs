//! Taking nested values apart without recursion, so that no nesting overflows the stack.

use std::rc::Rc;

use super::{List, Map, Value};

/// Drops values; containers that nobody else holds are emptied first.
pub(super) fn dismantle(mut values: Vec<Value<'_>>) {
    while let Some(value) = values.pop() {
        match value {
            Value::List(List::Own(own)) => {
                if let Some(mut last) = Rc::into_inner(own) {
                    values.append(last.items.get_mut());
                }
            }
            Value::Map(Map::Own(own)) => {
                if let Some(mut last) = Rc::into_inner(own) {
                    values.extend(std::mem::take(last.entries.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}
