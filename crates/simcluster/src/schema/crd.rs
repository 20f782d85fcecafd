//! The shape of a custom resource, read from `openAPIV3Schema`.

use std::sync::Arc;

use serde_json::Value;

use super::{ListMap, Schema, object_meta};

/// The shape of a custom resource; a CRD without a schema has free content.
pub fn from_crd(schema: Option<&Value>) -> Arc<Schema> {
    let root = schema.map_or(Schema::Untyped, convert);
    let mut fields = match root {
        Schema::Custom(fields) => fields,
        _ => std::collections::HashMap::from([
            ("spec".into(), Arc::new(Schema::Untyped)),
            ("status".into(), Arc::new(Schema::Untyped)),
        ]),
    };
    fields.insert("metadata".into(), object_meta());
    Arc::new(Schema::Custom(fields))
}

fn convert(schema: &Value) -> Schema {
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => convert_list(schema),
        Some("object") => convert_object(schema),
        Some(_) => Schema::Any,
        None if is_true(schema, "x-kubernetes-preserve-unknown-fields") => Schema::Untyped,
        None => Schema::Any,
    }
}

fn convert_object(schema: &Value) -> Schema {
    if schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic") {
        return Schema::Atomic;
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let fields = properties.iter().map(|(name, field)| (name.as_str().into(), Arc::new(convert(field))));
        return Schema::Custom(fields.collect());
    }
    match schema.get("additionalProperties") {
        Some(values @ Value::Object(_)) => Schema::Map(Arc::new(convert(values))),
        _ => Schema::Untyped,
    }
}

fn convert_list(schema: &Value) -> Schema {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Schema::Set,
        Some("map") => convert_list_map(schema),
        _ => Schema::Atomic,
    }
}

fn convert_list_map(schema: &Value) -> Schema {
    let item = schema.get("items").cloned().unwrap_or_default();
    let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let mut names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(patch_key) = names.first().map(|name| Box::<str>::from(*name)) else { return Schema::Atomic };
    names.sort_unstable();
    let default_of = |name: &str| item.get("properties")?.get(name)?.get("default").cloned();
    let keys = names.into_iter().map(|name| (name.into(), default_of(name))).collect();
    Schema::ListMap(ListMap { keys, patch_key, item: Arc::new(convert(&item)) })
}

fn is_true(schema: &Value, field: &str) -> bool {
    schema.get(field).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn list_types_are_read() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "plain": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "rules": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "name"],
                "items": {"type": "object", "properties": {"port": {"type": "integer", "default": 1}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let root = from_crd(Some(&schema));
        let spec = root.field("spec");
        assert!(matches!(spec.field("plain"), Schema::Atomic));
        assert!(matches!(spec.field("set"), Schema::Set));
        assert!(spec.field("free").is_map());
        let Schema::ListMap(rules) = spec.field("rules") else { unreachable!("a list with keys") };
        assert_eq!(rules.keys, vec![("name".into(), None), ("port".into(), Some(json!(1)))]);
        assert_eq!(&*rules.patch_key, "port");
    }

    #[test]
    fn no_schema_means_free_content() {
        assert!(from_crd(None).field("spec").is_map());
    }
}
