//! One key of a Secret, set to what follows from what it holds: whoever is faster keeps what it has put there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, ApiResource, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::json;
use sluice_kube::Raw;

/// How often another process may change the same Secret in between.
const TRIES: usize = 5;

/// What became of a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not there.
    Made,
    /// It held something else under the key, or nothing.
    Changed,
    /// It held just that.
    Kept,
}

/// Why a Secret does not hold what it should.
#[derive(Debug)]
pub enum HoldError {
    /// What it holds is not what could be there; in words.
    Refused(String),
    /// The server does not do this: `get`, `create` or `patch`. What it says may repeat what is in the Secret.
    Server(&'static str, Error),
    /// Others change it all the time.
    Busy,
}

/// The Secrets of a namespace, as they are.
pub fn secrets_of(client: Client, namespace: &str) -> Api<Raw> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Secret"), "secrets");
    Api::namespaced_with(client, namespace, &resource)
}

/// Lets `wanted` say what a Secret holds under `key`, from what it held so far. No other key is touched.
///
/// # Errors
/// When `wanted` refuses what is there, or the server does.
pub async fn hold_secret(
    secrets: &Api<Raw>,
    name: &str,
    key: &str,
    wanted: impl Fn(Option<Vec<u8>>) -> Result<Vec<u8>, String>,
) -> Result<(Vec<u8>, Fate), HoldError> {
    for _ in 0..TRIES {
        let found = secrets.get_opt(name).await.map_err(|error| HoldError::Server("get", error))?;
        let former = found.as_ref().and_then(|found| found.value["data"][key].as_str());
        let former = former.map(|text| STANDARD.decode(text)).transpose();
        let former = former.map_err(|_| HoldError::Refused("it is no base64".to_owned()))?;
        let content = wanted(former.clone()).map_err(HoldError::Refused)?;
        if former.as_ref() == Some(&content) {
            return Ok((content, Fate::Kept));
        }
        let data = json!({ key: STANDARD.encode(&content) });
        let (written, verb, fate) = match found {
            Some(found) => {
                // Only as it was found.
                let version = &found.value["metadata"]["resourceVersion"];
                let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "data": data}));
                let patched = secrets.patch(name, &PatchParams::default(), &patch).await;
                (patched.map(drop), "patch", Fate::Changed)
            }
            None => {
                let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
                    "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "sluice"}}});
                let created = secrets.create(&PostParams::default(), &Raw::from(secret)).await;
                (created.map(drop), "create", Fate::Made)
            }
        };
        match written {
            Ok(()) => return Ok((content, fate)),
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(HoldError::Server(verb, error)),
        }
    }
    Err(HoldError::Busy)
}
