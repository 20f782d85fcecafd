//! Server-side apply as its users mean it: a part that is empty now is empty.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::path::segment;
use crate::raw::Raw;

// D-1004: a new object is created without reading it first.
/// A resourceVersion that no object has: servers give later ones. An apply with it creates what is absent, and is a conflict with
/// what is there.
pub const NEVER: &str = "1";

/// Applies `body` to the object of this name.
///
/// Where all that the field manager owned below a part of a custom resource goes while the part itself
/// stays (`{a: 1}` became `{}`), a real API server leaves null in its place and then refuses that. The part
/// is taken away first, and applied anew.
///
/// # Errors
/// Those of the API server.
pub async fn apply(api: &Api<Raw>, name: &str, params: &PatchParams, body: &Value) -> kube::Result<Raw> {
    let name = &segment(name);
    let result = api.patch(name, params, &Patch::Apply(body)).await;
    let Err(kube::Error::Api(status)) = &result else { return result };
    let Some(filled) = filled(body).filter(|_| status.code == 422 && status.message.contains("\"null\""))
    else {
        return result;
    };
    let between = api.patch(name, params, &Patch::Apply(&filled)).await?;
    let mut body = body.clone();
    if let Some(version) = body.pointer_mut("/metadata/resourceVersion") {
        *version = between.value["metadata"]["resourceVersion"].clone();
    }
    api.patch(name, params, &Patch::Apply(&body)).await
}

/// The object without its empty parts; `None` when it has none.
fn filled(object: &Value) -> Option<Value> {
    let mut filled = object.clone();
    drop_empty(&mut filled);
    (filled != *object).then_some(filled)
}

/// A part is empty when it is, not when it becomes so.
fn drop_empty(value: &mut Value) {
    let empty = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !empty(value));
            map.values_mut().for_each(drop_empty);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;

    use super::*;
    use crate::fake_api::FakeApi;

    #[test]
    fn empty_parts_are_left_out_and_items_of_lists_stay() {
        let object = json!({"a": {}, "b": {"c": [], "d": {"e": {}}}, "f": [{}, {"g": {}}], "h": ""});
        assert_eq!(filled(&object).unwrap(), json!({"b": {"d": {}}, "f": [{}, {}], "h": ""}));
        assert_eq!(filled(&json!({"a": {"b": 1}})), None);
    }

    fn config_map() -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"))
    }

    /// A server that cannot empty a part, and the patches that it took.
    fn stubborn(message: &'static str) -> (Api<Raw>, FakeApi) {
        let server = FakeApi::start(move |request| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            if body["spec"] == json!({}) && request.number == 0 {
                let status = json!({"kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": message});
                return (422, status.to_string());
            }
            (200, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "resourceVersion": "8"}}).to_string())
        });
        (Api::default_namespaced_with(server.client(), &config_map()), server)
    }

    async fn apply_emptied(message: &'static str) -> (bool, Vec<Value>) {
        let (api, server) = stubborn(message);
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "resourceVersion": "7"}, "spec": {}});
        let result = apply(&api, "x", &PatchParams::apply("test").force(), &body).await;
        (
            result.is_ok(),
            server.requests().iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect(),
        )
    }

    #[tokio::test]
    async fn a_part_that_a_server_cannot_empty_is_taken_away_first() {
        let (applied, sent) = apply_emptied(r#"spec: Invalid value: "null": must be of type object"#).await;
        assert!(applied);
        assert_eq!(sent.len(), 3);
        assert_eq!((sent[1].get("spec"), &sent[2]["spec"]), (None, &json!({})));
        assert_eq!(sent[2]["metadata"]["resourceVersion"], "8", "against what the second one made");
    }

    #[tokio::test]
    async fn any_other_refusal_is_told() {
        let (applied, sent) = apply_emptied("spec.replicas: Invalid value: -1").await;
        assert_eq!((applied, sent.len()), (false, 1));
    }
}
