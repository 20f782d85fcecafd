//! What an API server is and serves.

use std::collections::BTreeSet;

use kube::Client;
use kube::core::ApiResource;
use kube::core::discovery::v2::APIGroupDiscovery;
use kube::discovery::verbs::{DELETE, LIST};
use kube::discovery::{ApiGroup, Discovery, Scope};

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// Its version, `v1.33.4` for example.
    pub version: String,
    /// The major version.
    pub major: String,
    /// The minor version; some servers add a `+`.
    pub minor: String,
    /// `group/version` and `group/version/Kind` of everything that it serves.
    pub api_versions: BTreeSet<String>,
}

/// Asks a server for all of it: three calls, or one for each group where the server is older than 1.26.
///
/// # Errors
/// When the server does not answer, or not as an API server does.
pub async fn discover(client: &Client) -> Result<Discovered, kube::Error> {
    let info = client.apiserver_version().await?;
    let mut api_versions = BTreeSet::new();
    match aggregated(client).await {
        Ok(groups) => groups.iter().for_each(|group| add_group(group, &mut api_versions)),
        Err(kube::Error::SerdeError(_)) => one_by_one(client, &mut api_versions).await?,
        Err(error) => return Err(error),
    }
    Ok(Discovered { version: info.git_version, major: info.major, minor: info.minor, api_versions })
}

/// Every kind whose objects are in namespaces and can be listed and deleted, each once, as its group prefers it: the order is that
/// of groups and kinds, the core group first.
///
/// # Errors
/// When the server does not answer, or not as an API server does.
pub async fn kinds_in_namespaces(client: &Client) -> Result<Vec<ApiResource>, kube::Error> {
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Err(kube::Error::SerdeError(_)) => Discovery::new(client.clone()).run().await?,
        discovery => discovery?,
    };
    let mut kinds: Vec<ApiResource> = discovery
        .groups()
        .flat_map(ApiGroup::resources_by_stability)
        .filter(|(_, can)| {
            can.scope == Scope::Namespaced && [LIST, DELETE].iter().all(|verb| can.supports_operation(verb))
        })
        .map(|(kind, _)| kind)
        .collect();
    kinds.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
    Ok(kinds)
}

async fn aggregated(client: &Client) -> Result<Vec<APIGroupDiscovery>, kube::Error> {
    let mut groups = client.list_core_api_versions_aggregated().await?.items;
    groups.extend(client.list_api_groups_aggregated().await?.items);
    Ok(groups)
}

fn add_group(group: &APIGroupDiscovery, to: &mut BTreeSet<String>) {
    let name = group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
    for version in &group.versions {
        let Some(of) = &version.version else { continue };
        let group_version = if name.is_empty() { of.clone() } else { format!("{name}/{of}") };
        for resource in &version.resources {
            let below = resource.subresources.iter().map(|below| &below.response_kind);
            let kinds = [&resource.response_kind].into_iter().chain(below).flatten();
            to.extend(kinds.filter_map(|of| Some(format!("{group_version}/{}", of.kind.as_ref()?))));
        }
        to.insert(group_version);
    }
}

async fn one_by_one(client: &Client, to: &mut BTreeSet<String>) -> Result<(), kube::Error> {
    for version in client.list_core_api_versions().await?.versions {
        let list = client.list_core_api_resources(&version).await?;
        to.extend(list.resources.iter().map(|resource| format!("{version}/{}", resource.kind)));
        to.insert(version);
    }
    for group in client.list_api_groups().await?.groups {
        for version in group.versions {
            let of = version.group_version;
            let list = client.list_api_group_resources(&of).await?;
            to.extend(list.resources.iter().map(|resource| format!("{of}/{}", resource.kind)));
            to.insert(of);
        }
    }
    Ok(())
}
