//! `sluice import --apply` and `--undo`: what Sveltos has deployed becomes Sluice's, and back, without a change to what it does.
//!
//! ```text
//! nobody else runs ─► each cluster: names are written down ─► marks and managers of objects ─► inventories
//!                 └─► management cluster: finalizers of controllers that do not run any more go
//! ```
//!
//! Only metadata is written, so that no object has a new uid or generation, and no pod starts anew. Everything can be said twice.

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, object};
use sluice_deployer_core::Kept;
use sluice_kube::{Raw, Trust, client_of_kubeconfig, resource_of, segment};
use sluice_runtime::{Accepted, access_feed};
use sluice_tasks::Tasks;
use tokio_util::sync::CancellationToken;

mod adopt;
mod claims;
mod fields;
mod marks;
mod outcome;
mod profiles;
mod record;
mod release;
mod site;
mod undo;

use claims::ReleaseClaim;
pub(super) use outcome::{Left, Outcome, Taken};
use profiles::KnownProfiles;
use site::Site;

use crate::original::{stop_it, stop_us};

/// Clusters that are worked on at a time.
const AT_ONCE: usize = 8;

/// In which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Adopt,
    Undo,
}

/// What is asked for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) way: Way,
    /// Whether nothing is written.
    pub(super) dry_run: bool,
    /// Only these clusters; empty for all, and the management cluster.
    pub(super) clusters: Vec<ClusterRef>,
}

/// Does it. `objects` is everything of the management cluster.
pub(super) async fn run(client: &Client, objects: &[Value], request: &Request) -> anyhow::Result<Outcome> {
    let running: Vec<String> =
        objects.iter().filter_map(|object| stop_it(object).or_else(|| stop_us(object))).collect();
    if !running.is_empty() && !request.dry_run {
        bail!("controllers still run that write the same objects; stop them first: {}", running.join("; "));
    }
    let (profiles, claims) = (KnownProfiles::of(objects), claims::of(objects));
    let mut outcome = Outcome::default();
    let (sites, unreached) = sites(client, request).await?;
    outcome.left.extend(unreached);
    let each = |(cluster, site): (ClusterRef, Site)| {
        let (profiles, claims) = (&profiles, &claims);
        async move {
            let own: Vec<ReleaseClaim> =
                claims.iter().filter(|claim| claim.cluster == cluster).cloned().collect();
            let done = match request.way {
                Way::Adopt => adopt::adopt(&site, profiles, &own).await,
                Way::Undo => undo::undo(&site, profiles).await,
            };
            done.unwrap_or_else(|error| {
                let (what, why) = ("what it has".to_owned(), format!("{}; say it once more", told(&error)));
                Outcome { left: vec![Left { cluster: site.name, what, why }], ..Outcome::default() }
            })
        }
    };
    let mut all = futures::stream::iter(sites).map(each).buffered(AT_ONCE);
    while let Some(one) = all.next().await {
        outcome.add(one);
    }
    if request.way == Way::Adopt {
        let left = loosen(client, objects, request.dry_run).await?;
        outcome.left.extend(left);
    }
    Ok(outcome)
}

/// An error as people read it: of an API server what it says, once.
fn told(error: &anyhow::Error) -> String {
    let mut texts = Vec::new();
    for cause in error.chain() {
        match cause.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => {
                texts.push(status.message.clone());
                break;
            }
            _ => texts.push(cause.to_string()),
        }
    }
    texts.join(": ")
}

/// The clusters, and those that cannot be reached.
async fn sites(client: &Client, request: &Request) -> anyhow::Result<(Vec<(ClusterRef, Site)>, Vec<Left>)> {
    let tasks = Tasks::new(CancellationToken::new());
    let feed = access_feed(client, &tasks, Accepted { proxies: true, ..Accepted::default() });
    crate::reach::in_time(std::time::Duration::from_secs(30), async {
        feed.synced().await;
        Ok(())
    })
    .await
    .context("registered clusters")?;
    let (mut found, mut left) = (Vec::new(), Vec::new());
    let is_meant = |cluster: &ClusterRef| request.clusters.is_empty() || request.clusters.contains(cluster);
    for access in feed.values() {
        let Some(kubeconfig) = access.kubeconfig.filter(|_| is_meant(&access.cluster)) else { continue };
        let client = match kubeconfig {
            _ if access.trust == Trust::Identity => Err(
                "it has no kubeconfig, and the identity of agents and deployers is not that of who calls this".to_owned()
            ),
            Ok(text) => client_of_kubeconfig(&text, Trust::Registered { proxies: true }).await,
            Err(why) => Err(why),
        };
        let name = access.cluster.path();
        match client {
            Ok(client) => {
                let (namespace, dry_run) = (access.cluster.namespace.clone(), request.dry_run);
                let site = Site { name, namespace, client, kept: Kept::Registered, dry_run };
                found.push((access.cluster, site));
            }
            Err(why) => left.push(Left { cluster: name, what: "what it has".to_owned(), why }),
        }
    }
    tasks.stop().cancel();
    if let Some(unknown) = request.clusters.iter().find(|cluster| !feed.keys().contains(cluster)) {
        bail!("cluster {} is not registered", unknown.path());
    }
    if request.clusters.is_empty() {
        let site = Site {
            name: sluice_api::MANAGEMENT.to_owned(),
            namespace: String::new(),
            client: client.clone(),
            kept: Kept::Management,
            dry_run: request.dry_run,
        };
        found.push((ClusterRef::management(), site));
    }
    Ok((found, left))
}

/// Finalizers of Sveltos' controllers hold its objects for ever once nobody runs who lets them go.
async fn loosen(client: &Client, objects: &[Value], dry_run: bool) -> anyhow::Result<Vec<Left>> {
    let mut left = Vec::new();
    for object in objects {
        let Some(kept) = without_finalizers(object) else { continue };
        let described = object::describe(object);
        if !object::text(object, &["metadata", "deletionTimestamp"]).is_empty() {
            let why = "it is being deleted: let Sveltos finish that, or take its finalizers off";
            left.push(Left {
                cluster: sluice_api::MANAGEMENT.to_owned(),
                what: described,
                why: why.to_owned(),
            });
            continue;
        }
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        let Some((resource, is_namespaced)) = resource_of(client, &gvk).await?.filter(|_| !dry_run) else {
            continue;
        };
        let api: Api<Raw> = match is_namespaced {
            true => Api::namespaced_with(client.clone(), object::namespace(object), &resource),
            false => Api::all_with(client.clone(), &resource),
        };
        let patch = json!({"metadata": {"finalizers": kept}});
        match api.patch(&segment(object::name(object)), &PatchParams::default(), &Patch::Merge(&patch)).await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            done => drop(done.context(described)?),
        }
    }
    Ok(left)
}

/// The finalizers of others on an object of Sveltos' kinds; `None` when Sveltos has none on it.
fn without_finalizers(object: &Value) -> Option<Vec<&str>> {
    let of_sveltos = |group: &str| group.ends_with("projectsveltos.io");
    let (group, _) = object::text(object, &["apiVersion"]).split_once('/')?;
    let all = object::at(object, &["metadata", "finalizers"])?.as_array()?;
    let names = || all.iter().filter_map(Value::as_str);
    let is_own = |name: &str| of_sveltos(name.split('/').next().unwrap_or_default());
    (of_sveltos(group) && names().any(is_own)).then(|| names().filter(|name| !is_own(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finalizers_of_sveltos_go_and_only_from_its_kinds() {
        let of = |api_version: &str, finalizers: &[&str]| json!({"apiVersion": api_version, "kind": "X", "metadata": {"name": "a", "finalizers": finalizers}});
        let object = of(
            "config.projectsveltos.io/v1beta1",
            &["clusterprofilefinalizer.projectsveltos.io", "example.com/x"],
        );
        assert_eq!(without_finalizers(&object), Some(vec!["example.com/x"]));
        let path = of("lib.projectsveltos.io/v1beta1", &["eventtrigger.projectsveltos.io/finalizer"]);
        assert_eq!(without_finalizers(&path), Some(vec![]));
        assert_eq!(without_finalizers(&of("lib.projectsveltos.io/v1beta1", &["example.com/x"])), None);
        assert_eq!(without_finalizers(&of("example.com/v1", &["a.projectsveltos.io"])), None);
        assert_eq!(without_finalizers(&json!({"apiVersion": "v1"})), None);
    }
}
