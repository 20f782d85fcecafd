//! Sending what is text already: it is not read again, and nothing is made of an answer.

use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use kube::core::Request;
use kube::{Api, Client, Error};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use sluice_api::ObjectKey;
use sluice_kube::{NEVER, Raw, apply_text, segment};

/// The status of an object; of the rest only what names it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusOf<'a> {
    api_version: String,
    kind: &'a str,
    metadata: Named<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a RawValue>,
}

#[derive(Debug, Serialize)]
struct Named<'a> {
    name: &'a str,
}

/// Labels of an object, and nothing else of it.
#[derive(Debug, Serialize)]
struct LabelsOf<'a> {
    metadata: Labels<'a>,
}

#[derive(Debug, Serialize)]
struct Labels<'a> {
    labels: &'a RawValue,
}

/// An object of the management cluster that is written.
pub(super) struct Target<'a> {
    pub(super) client: &'a Client,
    pub(super) api: Api<Raw>,
    pub(super) key: &'a ObjectKey,
    pub(super) params: PatchParams,
}

impl Target<'_> {
    /// Applies the object, given as JSON.
    pub(super) async fn object(&self, text: &str) -> Result<(), Error> {
        apply_text(self.client, &self.api, &self.key.name, &self.params, text).await
    }

    /// Applies its status, given as JSON. One that says nothing is left out as a whole: the API server refuses to empty one.
    pub(super) async fn status(&self, text: &str) -> Result<(), Error> {
        let (key, said) = (self.key, serde_json::from_str::<&RawValue>(text).map_err(Error::SerdeError)?);
        let body = StatusOf {
            api_version: key.gvk.api_version(),
            kind: &key.gvk.kind,
            metadata: Named { name: &key.name },
            status: (said.get() != "{}").then_some(said),
        };
        let (calls, body) = (Request::new(self.api.resource_url()), Patch::Apply(body));
        let request = calls.patch_subresource("status", &segment(&key.name), &self.params, &body);
        self.client.request::<IgnoredAny>(request.map_err(Error::BuildRequest)?).await.map(drop)
    }

    /// Adds labels, given as JSON. It makes no object where there is none, as an apply would.
    pub(super) async fn labels(&self, text: &str) -> Result<(), Error> {
        let labels = serde_json::from_str::<&RawValue>(text).map_err(Error::SerdeError)?;
        let (calls, body) = (Request::new(self.api.resource_url()), LabelsOf { metadata: Labels { labels } });
        let params = PatchParams { force: false, ..self.params.clone() };
        let request = calls.patch(&segment(&self.key.name), &params, &Patch::Merge(body));
        self.client.request::<IgnoredAny>(request.map_err(Error::BuildRequest)?).await.map(drop)
    }
}

/// The object with a version that none has, so that it is created where there is none, and a conflict where there is one.
pub(super) fn as_new(text: &str) -> Result<String, Error> {
    type Fields<'a> = BTreeMap<String, &'a RawValue>;
    let read = || -> serde_json::Result<String> {
        let mut object: Fields = serde_json::from_str(text)?;
        let version = serde_json::value::to_raw_value(NEVER)?;
        let mut metadata: Fields = match object.get("metadata") {
            Some(metadata) => serde_json::from_str(metadata.get())?,
            None => Fields::new(),
        };
        metadata.insert("resourceVersion".into(), &version);
        let metadata = serde_json::value::to_raw_value(&metadata)?;
        object.insert("metadata".into(), &metadata);
        serde_json::to_string(&object)
    };
    read().map_err(Error::SerdeError)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_new_object_has_a_version_that_none_has_and_is_the_same_otherwise() {
        let of = |object: Value| -> Value { as_new(&object.to_string()).unwrap().parse().unwrap() };
        let object =
            json!({"kind": "K", "metadata": {"name": "a\"b", "labels": {"x": "y"}}, "spec": {"n": 1.50}});
        let mut expected = object.clone();
        expected["metadata"]["resourceVersion"] = NEVER.into();
        assert_eq!(of(object), expected);
        assert_eq!(of(json!({})), json!({"metadata": {"resourceVersion": NEVER}}));
        assert!(as_new("[]").is_err());
    }
}
