//! OpenAPI v3, as small as clients accept: every path of a kind tells that it takes a
//! `fieldValidation` parameter, so that clients leave validation to the server.

use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::discovery::group_versions;
use crate::kinds::ResourceDef;

/// The answer to `/openapi/v2`, in the only form that clients ask for: a document of version "2.0" that defines nothing. kubectl reads
/// it where it validates by itself, for a `List`, and leaves out what is not defined.
pub const DOCUMENT_V2: &[u8] = b"\x0a\x032.0";

/// The answer to `/openapi/v3`.
pub fn index(cluster: &Cluster) -> Value {
    let paths: Map<String, Value> = group_versions(cluster)
        .into_iter()
        .map(|((group, version), defs)| {
            let path = root(&group, &version);
            // Clients cache documents by this hash: it changes with the kinds in the document.
            let text: String = defs.iter().map(|def| def.kind.as_ref()).collect();
            let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            let url = format!("/openapi/v3/{path}?hash={hash:016X}");
            (path, json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

/// The document of one group-version.
pub fn document(cluster: &Cluster, group: &str, version: &str) -> Option<Value> {
    let defs = group_versions(cluster).remove(&(group.to_owned(), version.to_owned()))?;
    let paths: Map<String, Value> = defs.iter().map(|def| path(def, version)).collect();
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": paths,
    }))
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn path(def: &ResourceDef, version: &str) -> (String, Value) {
    let namespace = if def.namespaced { "namespaces/{namespace}/" } else { "" };
    let path = format!("/{}/{namespace}{}/{{name}}", root(&def.group, version), def.plural);
    let parameter =
        json!({"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let patch = json!({
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": &*def.group, "version": version, "kind": &*def.kind},
        "parameters": [parameter],
        "responses": {"200": {"description": "OK"}},
    });
    (path, json!({"patch": patch}))
}
