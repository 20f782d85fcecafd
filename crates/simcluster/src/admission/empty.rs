//! Empty lists and maps, which the types of the real server leave out when they write an object.

use serde_json::Value;

use crate::kinds::ResourceDef;
use crate::object::{Json, metadata_mut};
use crate::schema::Schema;

/// Drops empty lists and maps: in the metadata of all kinds, everywhere in built-in ones.
pub fn drop_empty(body: &mut Json, def: &ResourceDef, schema: &Schema) {
    drop_within(metadata_mut(body), schema.field("metadata"));
    // These types write their lists even when they are empty.
    let keeps_lists = matches!(
        &*def.key,
        "endpointslices.discovery.k8s.io" | "customresourcedefinitions.apiextensions.k8s.io"
    );
    if !def.custom && !keeps_lists {
        drop_within(body, schema);
    }
}

fn drop_within(map: &mut Json, schema: &Schema) {
    map.retain(|name, value| {
        let schema = schema.field(name);
        match value {
            Value::Array(items) => {
                items
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|item| drop_within(item, schema.item()));
                !items.is_empty()
            }
            Value::Object(inner) => {
                drop_within(inner, schema);
                !(inner.is_empty() && schema.is_map())
            }
            _ => true,
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kinds::builtins;
    use serde_json::json;

    #[test]
    fn empty_maps_and_lists_go_and_empty_structs_stay() {
        let def = builtins().get("networkpolicies.networking.k8s.io").unwrap();
        let body = json!({"metadata": {"name": "a", "labels": {}, "finalizers": []}, "spec": {"podSelector": {}, "ingress": []}});
        let mut body = body.as_object().unwrap().clone();
        drop_empty(&mut body, def, &def.versions[0].schema);
        assert_eq!(Value::Object(body), json!({"metadata": {"name": "a"}, "spec": {"podSelector": {}}}));
    }
}
