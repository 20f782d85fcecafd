//! Changing an object that users wrote, by its name.

use anyhow::{Context as _, bail};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::Value;
use sluice_api::Gvk;
use sluice_inspect::instead;
use sluice_kube::{Raw, resource_of};

/// Changes the object of this name, of the first of these kinds that has one. Returns its kind.
pub(crate) async fn patch(
    client: &Client,
    kinds: &[Gvk],
    namespace: Option<&str>,
    name: &str,
    patch: &Value,
) -> anyhow::Result<String> {
    let mut others = Vec::new();
    for gvk in kinds {
        let Some(api) = api(client, gvk, namespace).await? else { continue };
        match api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => return Ok(gvk.kind.to_string()),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let listed = api.list_metadata(&ListParams::default()).await;
                let names = listed.map(|list| list.items).unwrap_or_default().into_iter();
                others.extend(names.filter_map(|item| item.metadata.name));
            }
            Err(error) => return Err(error).with_context(|| format!("writing {} {name}", gvk.kind)),
        }
    }
    let kind = kinds.first().map_or("object", |gvk| &gvk.kind);
    bail!("there is no {kind} {name}; {}", instead(name, others.iter().map(String::as_str)))
}

/// Where objects of a kind are, of one namespace where they have one; nothing where the server does not know the kind.
pub(crate) async fn api(
    client: &Client,
    gvk: &Gvk,
    namespace: Option<&str>,
) -> anyhow::Result<Option<Api<Raw>>> {
    let known = resource_of(client, gvk).await.context("asking the management cluster what it knows")?;
    Ok(known.map(|(resource, namespaced)| match namespaced {
        true => Api::namespaced_with(client.clone(), namespace.unwrap_or("default"), &resource),
        false => Api::all_with(client.clone(), &resource),
    }))
}
