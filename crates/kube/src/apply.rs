//! Server-side apply as its users mean it: a part that is empty now is empty.

use kube::api::{Patch, PatchParams};
use kube::core::Request;
use kube::{Api, Client};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

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
    match api.patch(&segment(name), params, &Patch::Apply(body)).await {
        Err(error) if is_null_refused(&error) => in_two_steps(api, name, params, body, error).await,
        result => result,
    }
}

/// The same for an object that is JSON already: it is sent as it is, and nothing is made of the answer.
///
/// # Errors
/// Those of the API server, and that the text is no JSON.
pub async fn apply_text(
    client: &Client,
    api: &Api<Raw>,
    name: &str,
    params: &PatchParams,
    text: &str,
) -> kube::Result<()> {
    let body: &RawValue = serde_json::from_str(text).map_err(kube::Error::SerdeError)?;
    let request = Request::new(api.resource_url()).patch(&segment(name), params, &Patch::Apply(body));
    match client.request::<IgnoredAny>(request.map_err(kube::Error::BuildRequest)?).await {
        Err(error) if is_null_refused(&error) => {
            let body = serde_json::from_str(text).map_err(kube::Error::SerdeError)?;
            in_two_steps(api, name, params, &body, error).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// Whether the server would have left null in the place of a part that was emptied.
fn is_null_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422 && status.message.contains("\"null\""))
}

/// Without its empty parts first, then with them; where there are none, it stays refused.
async fn in_two_steps(
    api: &Api<Raw>,
    name: &str,
    params: &PatchParams,
    body: &Value,
    refused: kube::Error,
) -> kube::Result<Raw> {
    let (name, Some(filled)) = (&segment(name), filled(body)) else { return Err(refused) };
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
    async fn a_text_is_sent_as_it_is_and_takes_the_same_way_where_a_part_is_emptied() {
        for (message, steps) in [(r#"spec: Invalid value: "null""#, 3), ("spec: Invalid value: -1", 1)] {
            let (api, server) = stubborn(message);
            let text = r#"{"spec": {}, "metadata": {"name": "x"}, "kind": "ConfigMap", "apiVersion": "v1"}"#;
            let params = PatchParams::apply("test").force();
            let applied = apply_text(&server.client(), &api, "x", &params, text).await;
            let sent = server.requests();
            assert_eq!((applied.is_ok(), sent.len(), sent[0].body.as_str()), (steps == 3, steps, text));
            assert!(sent.iter().all(|request| request.path.contains("fieldManager=test")));
        }
    }

    #[tokio::test]
    async fn any_other_refusal_is_told() {
        let (applied, sent) = apply_emptied("spec.replicas: Invalid value: -1").await;
        assert_eq!((applied, sent.len()), (false, 1));
    }
}
