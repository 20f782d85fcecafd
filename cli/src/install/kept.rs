//! Secrets of a namespace that are made once and kept.

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, ApiResource, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};
use sluice_kube::Raw;

/// How often another process may change the same Secret in between.
const TRIES: usize = 5;

/// The Secrets of one namespace, each with one text that counts.
pub(super) struct KeptSecrets {
    namespace: String,
    api: Api<Raw>,
}

/// What became of a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Made,
    Changed,
    Kept,
}

impl KeptSecrets {
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Secret"), "secrets");
        Self { namespace: namespace.to_owned(), api: Api::namespaced_with(client, namespace, &resource) }
    }

    /// Lets `text` say what a Secret holds under `key`, from what it held so far; no other key is touched.
    pub(super) async fn hold(
        &self,
        name: &str,
        key: &str,
        text: impl Fn(Option<String>) -> anyhow::Result<String>,
    ) -> anyhow::Result<(String, Fate)> {
        for _ in 0..TRIES {
            let found = self.api.get_opt(name).await.map_err(|error| self.told(name, "get", &error))?;
            let former =
                found.as_ref().map(|found| self.held(&found.value, name, key)).transpose()?.flatten();
            let wanted = text(former.clone())
                .with_context(|| format!("Secret {}/{name}, data.{key}", self.namespace))?;
            if former.as_ref() == Some(&wanted) {
                return Ok((wanted, Fate::Kept));
            }
            let data = json!({ key: STANDARD.encode(&wanted) });
            let (written, verb, fate) = match &found {
                Some(found) => {
                    // Only as it was found: whoever is faster keeps what it has put there.
                    let version = &found.value["metadata"]["resourceVersion"];
                    let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "data": data}));
                    let patched = self.api.patch(name, &PatchParams::default(), &patch).await;
                    (patched.map(drop), "patch", Fate::Changed)
                }
                None => {
                    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                        "metadata": {"name": name, "namespace": self.namespace,
                            "labels": {"app.kubernetes.io/part-of": "sluice"}}, "data": data});
                    let created = self.api.create(&PostParams::default(), &Raw::from(secret)).await;
                    (created.map(drop), "create", Fate::Made)
                }
            };
            match written {
                Ok(()) => return Ok((wanted, fate)),
                Err(Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(self.told(name, verb, &error)),
            }
        }
        bail!("the Secret {}/{name} changes all the time; is this command running twice?", self.namespace)
    }

    fn held(&self, secret: &Value, name: &str, key: &str) -> anyhow::Result<Option<String>> {
        let Some(text) = secret["data"][key].as_str() else { return Ok(None) };
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let remedy = "is no text; delete the Secret, and call this again";
        Ok(Some(bytes.with_context(|| format!("Secret {}/{name}: data.{key} {remedy}", self.namespace))?))
    }

    /// What API servers say of Secrets may repeat what is in them: only the code is told.
    fn told(&self, name: &str, verb: &str, error: &Error) -> anyhow::Error {
        let namespace = &self.namespace;
        match error {
            Error::Api(status) if status.code == 404 => {
                anyhow::anyhow!("there is no namespace {namespace}: kubectl create namespace {namespace}")
            }
            Error::Api(status) => anyhow::anyhow!(
                "Secret {namespace}/{name}: {} {}; this account needs the right to {verb} Secrets in {namespace}",
                status.code,
                status.reason
            ),
            _ => anyhow::anyhow!(
                "Secret {namespace}/{name}: the management cluster does not answer; is --kubeconfig right?"
            ),
        }
    }
}
