//! JSON Patch (RFC 6902), with limits: a patch is somebody's input, and `copy` can double a document again and again.

use json_patch::{PatchOperation, jsonptr::Pointer, patch_unsafe};
use serde_json::Value;

use crate::error::TextError;
use crate::yaml::{MAX_DEPTH, is_deeper, too_deep};

/// Operations of one patch: as many as API servers take.
const MAX_OPERATIONS: usize = 10_000;

/// Bytes of a document to which something is copied, roughly: no API server takes an object of a quarter of that.
const MAX_BYTES: usize = 8 << 20;

/// Reads the operations of a patch.
///
/// # Errors
/// The operation, and what is wrong with it.
pub(super) fn read(operations: Vec<Value>) -> Result<Vec<PatchOperation>, TextError> {
    if operations.len() > MAX_OPERATIONS {
        return Err(TextError::Limit(format!(
            "limit: {} operations, more than {MAX_OPERATIONS} (MAX_OPERATIONS of sluice-api)",
            operations.len()
        )));
    }
    let read = |(index, value): (usize, Value)| {
        let named = |error: &dyn std::fmt::Display| {
            let words = "write op, path and value or from as RFC 6902 has them";
            TextError::Wrong(format!("operation {}: {error}; {words}", index + 1))
        };
        if !value.is_object() {
            return Err(named(&"is no map"));
        }
        serde_json::from_value(value).map_err(|error| named(&error))
    };
    operations.into_iter().enumerate().map(read).collect()
}

/// Changes a document. What is already gone need not be removed.
///
/// # Errors
/// The operation, and why it does not apply.
pub(super) fn apply(mut document: Value, operations: &[PatchOperation]) -> Result<Value, TextError> {
    let mut bytes = None;
    for (index, operation) in operations.iter().enumerate() {
        if matches!(operation, PatchOperation::Remove(op) if at(&document, &op.path).is_none()) {
            continue;
        }
        let named = |error: TextError| error.within(format!("operation {}, {}", index + 1, name(operation)));
        if let PatchOperation::Copy(op) = operation {
            let whole = bytes.get_or_insert_with(|| weight(&document));
            *whole += at(&document, &op.from).map_or(0, weight);
            if *whole > MAX_BYTES {
                return Err(named(TextError::Limit(format!(
                    "limit: the object becomes larger than {MAX_BYTES} bytes (MAX_BYTES of sluice-api)"
                ))));
            }
        }
        check_depth(&document, operation).map_err(named)?;
        // On a copy, and not undone when it fails: undoing a move that has failed half-way panics in this library.
        patch_unsafe(&mut document, std::slice::from_ref(operation))
            .map_err(|error| named(error.kind.to_string().into()))?;
    }
    Ok(document)
}

fn at<'v>(document: &'v Value, path: &Pointer) -> Option<&'v Value> {
    document.pointer(path.as_str())
}

/// What an operation is, for messages.
fn name(operation: &PatchOperation) -> String {
    let (op, from) = match operation {
        PatchOperation::Add(_) => ("add", None),
        PatchOperation::Remove(_) => ("remove", None),
        PatchOperation::Replace(_) => ("replace", None),
        PatchOperation::Move(op) => ("move", Some(&op.from)),
        PatchOperation::Copy(op) => ("copy", Some(&op.from)),
        PatchOperation::Test(_) => ("test", None),
    };
    let from = from.map(|from| format!("{from} to ")).unwrap_or_default();
    format!("{op} {from}{:?}", operation.path().as_str())
}

/// That what an operation puts somewhere is not too deep there.
fn check_depth(document: &Value, operation: &PatchOperation) -> Result<(), TextError> {
    let value = match operation {
        PatchOperation::Add(op) => Some(&op.value),
        PatchOperation::Replace(op) => Some(&op.value),
        PatchOperation::Copy(op) => at(document, &op.from),
        PatchOperation::Move(op) => at(document, &op.from),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    let above = operation.path().count();
    let fits = |value: &Value| above <= MAX_DEPTH && !is_deeper(value, MAX_DEPTH - above);
    if value.is_none_or(fits) { Ok(()) } else { Err(too_deep()) }
}

/// About as many bytes as the text of a value has.
fn weight(value: &Value) -> usize {
    4 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(document: Value, operations: Value) -> Result<Value, TextError> {
        let Value::Array(operations) = operations else { panic!("a list is a patch") };
        apply(document, &read(operations)?)
    }

    #[test]
    fn every_operation_does_what_the_standard_says() {
        let document = json!({"a": {"b/c": 1, "d~e": 2}, "list": [1, 2]});
        let result = patched(
            document,
            json!([
                {"op": "test", "path": "/a/b~1c", "value": 1},
                {"op": "replace", "path": "/a/d~0e", "value": 3},
                {"op": "add", "path": "/list/-", "value": 4},
                {"op": "add", "path": "/list/0", "value": 0},
                {"op": "remove", "path": "/list/1"},
                {"op": "move", "from": "/a/b~1c", "path": "/moved"},
                {"op": "copy", "from": "/list", "path": "/copied"},
            ]),
        );
        let expected = json!({"a": {"d~e": 3}, "list": [0, 2, 4], "moved": 1, "copied": [0, 2, 4]});
        assert_eq!(result, Ok(expected));
    }

    #[test]
    fn what_is_absent_need_not_be_removed() {
        let operations = json!([{"op": "remove", "path": "/spec/replicas"}, {"op": "remove", "path": "/list/7"},
            {"op": "add", "path": "/a", "value": 2}]);
        assert_eq!(patched(json!({"a": 1, "list": []}), operations), Ok(json!({"a": 2, "list": []})));
    }

    #[test]
    fn what_does_not_apply_is_named() {
        for (operation, part) in [
            (
                json!({"op": "replace", "path": "/x", "value": 1}),
                "operation 1, replace \"/x\": path is invalid",
            ),
            (json!({"op": "test", "path": "/a", "value": 2}), "value did not match"),
            (json!({"op": "move", "from": "/a", "path": "/x/y"}), "move /a to \"/x/y\": path is invalid"),
            (json!({"op": "add", "path": "/list/9", "value": 1}), "add \"/list/9\""),
            (json!({"op": "drop", "path": "/a"}), "operation 1: unknown variant `drop`"),
            (json!({"op": "add", "path": "a", "value": 1}), "operation 1: "),
            (json!("add"), "operation 1: is no map"),
        ] {
            let error = patched(json!({"a": 1, "list": []}), json!([operation])).unwrap_err();
            assert!(error.text().contains(part) && !error.is_limit(), "{error}");
        }
    }

    #[test]
    fn a_failed_move_after_others_is_an_error() {
        let operations =
            json!([{"op": "add", "path": "/a/b", "value": 1}, {"op": "move", "from": "/a", "path": "/x/y"}]);
        assert!(patched(json!({"a": {}}), operations).is_err());
    }

    #[test]
    fn documents_that_grow_without_end_are_refused() {
        let double = json!({"op": "copy", "from": "", "path": "/a"});
        let deeper: Vec<_> = (0..200).map(|_| double.clone()).collect();
        let is_limited = |document: Value, operations: Vec<Value>, part: &str| {
            let error = patched(document, operations.into()).unwrap_err();
            assert!(error.is_limit() && error.text().contains(part), "{error}");
        };
        is_limited(json!({}), deeper, "deeper than 100");
        let wider: Vec<_> =
            (0..9_000).map(|_| json!({"op": "copy", "from": "/text", "path": "/list/-"})).collect();
        let document = json!({"text": "x".repeat(10_000), "list": []});
        is_limited(document, wider, "larger than 8388608 bytes");
        let many = vec![json!({"op": "remove", "path": "/a"}); MAX_OPERATIONS + 1];
        is_limited(json!({}), many, "10001 operations");
    }
}
