//! What would go along with an object that is deleted: what is in a namespace, the objects of a definition, what a volume holds.

use kube::Api;
use kube::api::{ListParams, PartialObjectMeta};
use kube::core::ApiResource;
use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey, ProfileId, few, object};
use sluice_deployer_core::{Failure, Live, Reply};
use sluice_kube::{Raw, kinds_in_namespaces, segment};

use super::{PAGE, Site};
use crate::failure;

/// What Kubernetes writes for what is there, as `group Kind`: it is nobody's.
const DERIVED: [&str; 5] = [
    " Endpoints",
    " Event",
    "coordination.k8s.io Lease",
    "discovery.k8s.io EndpointSlice",
    "events.k8s.io Event",
];
/// What Kubernetes and its distributions put into every namespace, as `Kind name`.
const EVERYWHERE: [&str; 5] = [
    "ConfigMap kube-root-ca.crt",
    "ConfigMap openshift-service-ca.crt",
    "ServiceAccount builder",
    "ServiceAccount default",
    "ServiceAccount deployer",
];
/// Secrets with it are made for accounts.
const ACCOUNT_OF_TOKEN: &str = "kubernetes.io/service-account.name";

impl Site {
    /// The first thing that would go along and is not of this profile, in words.
    pub(super) async fn along(&self, holder: &ObjectKey, profile: &ProfileId) -> Result<Reply, Failure> {
        let found = match holder.gvk.kind.as_str() {
            "Namespace" => self.stranger_in(&holder.name, profile).await?,
            "PersistentVolumeClaim" => {
                let claim = self.whole(holder).await?;
                let is_bound =
                    claim.is_some_and(|claim| object::text(&claim, &["status", "phase"]) == "Bound");
                is_bound.then(|| "what is in its volume".to_owned())
            }
            _ => {
                let definition = self.whole(holder).await?;
                let of = |object: &Value| !is_of(profile, object);
                match definition.as_ref().and_then(defined) {
                    Some(resource) => self.first(&resource, None, of).await?,
                    None => None,
                }
            }
        };
        Ok(Reply::Along(found.map(Into::into)))
    }

    /// Kind by kind, until something is found. Objects of one kind may be all that the account cannot see: then nobody knows.
    async fn stranger_in(&self, namespace: &str, profile: &ProfileId) -> Result<Option<String>, Failure> {
        let kinds = kinds_in_namespaces(&self.client).await;
        let kinds = kinds.map_err(|error| self.failure(&error, false))?;
        let (mut unseen, mut first) = (Vec::new(), None);
        for kind in kinds.iter().filter(|kind| !DERIVED.contains(&kind_of(kind).as_str())) {
            let counts = |object: &Value| !is_of(profile, object) && is_its_own(&kind.kind, object);
            match self.first(kind, Some(namespace), counts).await {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                // Another kind may still show something, which says more.
                Err(failure) => {
                    unseen.push(kind.plural.as_str());
                    first = first.or(Some(failure));
                }
            }
        }
        let Some(failure) = first else { return Ok(None) };
        let message = match unseen.len() {
            1 => failure.message,
            count => format!(
                "{count} kinds cannot be listed in it ({}); of the first: {}",
                few(", ", unseen),
                failure.message
            ),
        };
        Err(Failure { message, ..failure })
    }

    /// The first object of a kind that counts.
    async fn first(
        &self,
        kind: &ApiResource,
        namespace: Option<&str>,
        counts: impl Fn(&Value) -> bool,
    ) -> Result<Option<String>, Failure> {
        let api: Api<Raw> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), &segment(namespace), kind),
            None => Api::all_with(self.client.clone(), kind),
        };
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match api.list_metadata(&params).await {
                Ok(page) => page,
                // The kind has gone meanwhile, and its objects with it.
                Err(error) if failure::is_no_kind(&error) => return Ok(None),
                Err(error) => return Err(self.failure(&error, false)),
            };
            if let Some(found) = page.items.into_iter().filter_map(metadata).find(&counts) {
                let (namespace, name) = (object::namespace(&found).into(), object::name(&found).into());
                let gvk = Gvk::new(&kind.group, &kind.version, &kind.kind);
                return Ok(Some(ObjectKey { gvk, namespace, name }.to_string()));
            }
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return Ok(None),
            }
        }
    }

    async fn whole(&self, key: &ObjectKey) -> Result<Option<Value>, Failure> {
        let Some((api, _)) = self.api(key, &self.client).await? else { return Ok(None) };
        let found = api.get_opt(&segment(&key.name)).await.map_err(|error| self.failure(&error, false))?;
        Ok(found.map(|object| object.value))
    }
}

fn kind_of(kind: &ApiResource) -> String {
    format!("{} {}", kind.group, kind.kind)
}

/// What is said of an object, as an object.
fn metadata(item: PartialObjectMeta<Raw>) -> Option<Value> {
    Some(json!({"metadata": serde_json::to_value(item.metadata).ok()?}))
}

/// Whether the profile has deployed it, or it goes already.
fn is_of(profile: &ProfileId, object: &Value) -> bool {
    let live = Live::of(object);
    live.going || live.owner.is_some_and(|owner| owner.is(profile))
}

/// Whether somebody has put it into its namespace: it goes with no owner of its own, and is not in every namespace.
fn is_its_own(kind: &str, object: &Value) -> bool {
    let name = object::name(object);
    let has_owner = object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    let is_everywhere = EVERYWHERE.contains(&format!("{kind} {name}").as_str())
        || (kind == "RoleBinding" && name.starts_with("system:"))
        || (kind == "Secret" && object::annotation(object, ACCOUNT_OF_TOKEN).is_some());
    !has_owner && !is_everywhere
}

/// The kind that a definition makes, in a version that is served.
fn defined(definition: &Value) -> Option<ApiResource> {
    let text =
        |path: &[&str]| Some(object::text(definition, path).to_owned()).filter(|text| !text.is_empty());
    let versions = definition["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|version| version["served"] == true)?["name"].as_str()?;
    let (group, kind) = (text(&["spec", "group"])?, text(&["spec", "names", "kind"])?);
    Some(ApiResource {
        api_version: format!("{group}/{version}"),
        group,
        version: version.to_owned(),
        kind,
        plural: text(&["spec", "names", "plural"])?,
    })
}

#[cfg(test)]
mod tests;
