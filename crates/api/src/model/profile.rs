//! Which add-ons go to which clusters: user-written profiles, and what triggers share with them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::check::{Check, JobCheck};
use super::cluster_set::ClusterSetId;
use super::drift::DriftExclusion;
use super::helm::HelmChart;
use super::ignored::ignored;
use super::patch::{self, PatchSpec};
use super::read::Field;
use super::resources::ResourceRef;
use super::rollout::Rollout;
use crate::cluster::{ClusterKind, ClusterRef};
use crate::error::FieldError;
use crate::object;
use crate::profile::ProfileId;
use crate::selector::Selector;
use crate::service_account::ServiceAccount;

/// A reference to a ConfigMap or Secret whose content is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRef {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Its namespace; empty means the cluster's. May be a template.
    pub namespace: String,
    /// Its name. May be a template.
    pub name: String,
    /// Lower wins where two references claim one object.
    pub tier: i32,
    /// Whether a missing object is no error.
    pub optional: bool,
    /// Whether namespaces that are missing are left missing.
    pub skip_namespace_creation: bool,
    /// Whether an object that the server does not let be changed as wanted is deleted and made anew.
    pub force: bool,
    /// Where it is deployed.
    pub deployment: Deployment,
    /// Path of the field, for messages.
    pub path: String,
    /// Every field as written, for projections.
    pub raw: Map<String, Value>,
}

/// Where the content of a reference goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deployment {
    /// To every destination.
    #[default]
    Remote,
    /// To the management cluster, because of every destination.
    Local,
}

/// What triggers and profiles say alike.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecCommon {
    /// Charts that are deployed, in order, before `policy_refs`.
    pub helm_charts: Vec<HelmChart>,
    /// What is deployed, in order.
    pub policy_refs: Vec<PolicyRef>,
    /// What templates read of the management cluster.
    pub resource_refs: Vec<ResourceRef>,
    /// Changes of everything that is deployed, in order.
    pub patches: Vec<PatchSpec>,
    /// ConfigMaps and Secrets with more of them, which come after.
    pub patches_from: Vec<PolicyRef>,
    /// ConfigMaps and Secrets with the Jobs of checks, in their order.
    pub job_refs: Vec<PolicyRef>,
    /// Labels that everything gets, over its own.
    pub extra_labels: BTreeMap<String, String>,
    /// Annotations that everything gets, over its own.
    pub extra_annotations: BTreeMap<String, String>,
    /// Lower wins where two profiles claim one object.
    pub tier: i32,
    /// Whether add-ons stay when their cause goes.
    pub leave: bool,
    /// Whether nothing may be changed in the cluster (`syncMode: DryRun`).
    pub dry_run: bool,
    /// Whether add-ons are deployed once and never updated (`syncMode: OneTime`).
    pub one_time: bool,
    /// How a new content goes to its clusters, where not to all at once.
    pub rollout: Option<Rollout>,
    /// With what it was last asked to be applied once more; empty where it was not.
    pub redeploy: String,
    /// What it may delete at once although that is much of what it has; empty where nothing is said.
    pub allow_prune: String,
    /// Who draws the same random values.
    pub random: Sharing,
    /// Every field of the spec as written, for projections.
    pub raw: Map<String, Value>,
    /// Fields that this version cannot act upon; named in a problem, while the rest is deployed.
    pub unsupported: Vec<FieldError>,
    /// What is written and has no effect; only told of.
    pub ignored: Vec<FieldError>,
}

/// Who draws the same random values from the same text or chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody: each profile or trigger draws others, for each destination.
    #[default]
    No,
    /// All destinations of a profile or trigger.
    Destinations,
    /// Everybody, as it was before.
    AsFormerly,
}

// === impl Sharing ===

impl Sharing {
    fn of(object: &Value) -> Self {
        match object::annotation(object, super::SHARED_RANDOM) {
            Some("true") => Self::Destinations,
            Some("as-formerly") => Self::AsFormerly,
            _ => Self::No,
        }
    }
}

/// A `ClusterProfile` or `Profile` that a user wrote, or a `RoleRequest`.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Namespace and name; they say of which kind it is.
    pub id: ProfileId,
    /// Clusters by label; empty selects nothing.
    pub selector: Selector,
    /// Clusters by name.
    pub clusters: Vec<ClusterRef>,
    /// Clusters that these sets select.
    pub sets: Vec<ClusterSetId>,
    /// Whether what it has deployed stays as it is, whatever changes.
    pub paused: bool,
    /// For whom it acts.
    pub account: Option<ServiceAccount>,
    /// Of a RoleRequest: who gets the Roles and ClusterRoles that it deploys, and it deploys nothing else.
    pub grants_to: Option<ServiceAccount>,
    /// What and how.
    pub common: SpecCommon,
}

// === impl SpecCommon ===

/// Parts of a profile that deploy something else than referenced manifests.
const NOT_YET: [(&str, &str); 1] =
    [("kustomizationRefs", "Kustomize directories are not deployed by this version")];

impl SpecCommon {
    pub(super) fn read(spec: &Field<'_>) -> Result<Self, FieldError> {
        let policy_refs = PolicyRef::deployed(&spec.get("policyRefs"))?;
        let items = |field: &str| spec.get(field).items();
        let patches = items("patches")?.iter().map(PatchSpec::read).collect::<Result<_, _>>()?;
        let patches_from = items("patchesFrom")?.iter().map(PolicyRef::read).collect::<Result<_, _>>()?;
        let sync_mode = spec.get("syncMode");
        let mode = sync_mode.text()?;
        if !["", "OneTime", "Continuous", "ContinuousWithDriftDetection", "DryRun"].contains(&mode.as_str()) {
            return Err(sync_mode.error(format!(
                "unknown mode {mode:?}; use OneTime, Continuous, ContinuousWithDriftDetection or DryRun"
            )));
        }
        let stop = spec.get("stopMatchingBehavior");
        let leave = match stop.text()?.as_str() {
            "" | "WithdrawPolicies" => false,
            "LeavePolicies" => true,
            other => {
                return Err(
                    stop.error(format!("unknown behaviour {other:?}; use WithdrawPolicies or LeavePolicies"))
                );
            }
        };
        let refused = NOT_YET.iter().filter_map(|(field, what)| spec.get(field).refuse(what).err());
        let (helm_charts, without_effect) = HelmChart::all(spec)?;
        for field in ["continueOnError", "continueOnConflict"] {
            spec.get(field).flag()?;
        }
        Check::read_all(spec)?;
        DriftExclusion::read_all(spec)?;
        items("dependsOn")?.iter().try_for_each(|name| name.required_text().map(drop))?;
        Ok(Self {
            helm_charts,
            policy_refs,
            resource_refs: ResourceRef::all(spec)?,
            patches,
            patches_from,
            job_refs: JobCheck::references(spec)?,
            extra_labels: patch::labels(&spec.get("extraLabels"))?,
            extra_annotations: patch::texts(&spec.get("extraAnnotations"))?,
            tier: spec.get("tier").positive(100)?,
            leave,
            dry_run: mode == "DryRun",
            one_time: mode == "OneTime",
            rollout: None,
            redeploy: String::new(),
            allow_prune: String::new(),
            random: Sharing::No,
            raw: raw(spec),
            unsupported: refused.chain(Check::unsupported(spec)?).chain(without_effect).collect(),
            ignored: Vec::new(),
        })
    }

    /// The same with what the annotations of its object say.
    ///
    /// # Errors
    /// The first of them that cannot be used.
    pub(super) fn of(self, object: &Value) -> Result<Self, FieldError> {
        let (rollout, mut ignored) = (Rollout::read(object)?, ignored(object));
        ignored.extend(Rollout::idle(object, rollout.as_ref()));
        let allow_prune = object::annotation(object, super::ALLOW_PRUNE).unwrap_or_default().to_owned();
        let (redeploy, random) = (asked(object), Sharing::of(object));
        Ok(Self { rollout, redeploy, allow_prune, random, ignored, ..self })
    }

    /// Whether something of it is for the management cluster.
    pub fn is_partly_local(&self) -> bool {
        self.policy_refs.iter().any(|item| item.deployment == Deployment::Local)
    }

    /// References alone, and everything else as it is where nothing is said.
    pub(super) fn of_refs(policy_refs: Vec<PolicyRef>, spec: &Field<'_>) -> Self {
        Self {
            helm_charts: Vec::new(),
            policy_refs,
            resource_refs: Vec::new(),
            patches: Vec::new(),
            patches_from: Vec::new(),
            job_refs: Vec::new(),
            extra_labels: BTreeMap::new(),
            extra_annotations: BTreeMap::new(),
            tier: 100,
            leave: false,
            dry_run: false,
            one_time: false,
            rollout: None,
            redeploy: String::new(),
            allow_prune: String::new(),
            random: Sharing::No,
            raw: raw(spec),
            unsupported: Vec::new(),
            ignored: Vec::new(),
        }
    }
}

/// Every field below this one as written.
fn raw(field: &Field<'_>) -> Map<String, Value> {
    field.value().and_then(Value::as_object).cloned().unwrap_or_default()
}

// === impl Deployment ===

impl Deployment {
    /// As specs have it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Remote => "Remote",
            Self::Local => "Local",
        }
    }

    fn read(field: &Field<'_>) -> Result<Self, FieldError> {
        match field.text()?.as_str() {
            "" | "Remote" => Ok(Self::Remote),
            "Local" => Ok(Self::Local),
            other => Err(field.error(format!("unknown type {other:?}; use Remote or Local"))),
        }
    }
}

// === impl PolicyRef ===

impl PolicyRef {
    /// References to what is deployed.
    fn deployed(list: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        let one = |item: &Field<'_>| {
            Ok(Self { deployment: Deployment::read(&item.get("deploymentType"))?, ..Self::read_any(item)? })
        };
        list.items()?.iter().map(one).collect()
    }

    pub(super) fn all(list: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        list.items()?.iter().map(Self::read).collect()
    }

    /// A reference whose content goes where the rest goes.
    pub(super) fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let deployment = item.get("deploymentType");
        match Deployment::read(&deployment)? {
            Deployment::Remote => Self::read_any(item),
            Deployment::Local => Err(deployment.error("Local is for policyRefs only; remove it here")),
        }
    }

    fn read_any(item: &Field<'_>) -> Result<Self, FieldError> {
        item.get("remoteURL")
            .refuse("remote URLs are not fetched by this version; put the content into a ConfigMap")?;
        let kind = item.get("kind");
        let text = kind.required_text()?;
        if text != "ConfigMap" && text != "Secret" {
            return Err(kind
                .error(format!("kind {text:?} is not supported by this version; use ConfigMap or Secret")));
        }
        let name = item.get("name");
        Ok(Self {
            kind: text,
            namespace: item.get("namespace").text()?,
            name: name.required_text()?,
            tier: item.get("tier").positive(100)?,
            optional: item.get("optional").flag()?,
            skip_namespace_creation: item.get("skipNamespaceCreation").flag()?,
            force: item.get("force").flag()?,
            deployment: Deployment::Remote,
            path: item.path().to_owned(),
            raw: raw(item),
        })
    }
}

// === impl Profile ===

impl Profile {
    /// Reads the manifest.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn read(object: &Value) -> Result<Self, FieldError> {
        if object::text(object, &["kind"]) == "RoleRequest" {
            return super::role_request::read(object);
        }
        let spec = Field::spec(object);
        let namespace = object::namespace(object).to_owned();
        spec.get("transitionFrom").items()?.iter().try_for_each(|name| name.required_text().map(drop))?;
        Ok(Self {
            clusters: cluster_refs(&spec.get("clusterRefs"), &namespace)?,
            sets: set_refs(&spec.get("setRefs"), &namespace)?,
            id: ProfileId::new(namespace, object::name(object)),
            selector: spec.get("clusterSelector").selector()?.unwrap_or_default(),
            paused: object::annotation(object, super::PAUSED).is_some(),
            account: ServiceAccount::of(object)?,
            grants_to: None,
            common: SpecCommon::read(&spec)?.of(object)?,
        })
    }
}

/// With what an object was last asked to be deployed once more.
pub(super) fn asked(object: &Value) -> String {
    object::annotation(object, super::REDEPLOY).unwrap_or_default().to_owned()
}

/// The sets of a list of names.
pub(super) fn set_refs(list: &Field<'_>, namespace: &str) -> Result<Vec<ClusterSetId>, FieldError> {
    let id =
        |item: Field<'_>| Ok(ClusterSetId { namespace: namespace.to_owned(), name: item.required_text()? });
    list.items()?.into_iter().map(id).collect()
}

/// The clusters of a list of references.
pub(super) fn cluster_refs(list: &Field<'_>, own_namespace: &str) -> Result<Vec<ClusterRef>, FieldError> {
    list.items()?.iter().map(|item| cluster_ref(item, own_namespace)).collect()
}

pub(super) fn cluster_ref(item: &Field<'_>, own_namespace: &str) -> Result<ClusterRef, FieldError> {
    let kind = match item.get("kind").text()?.as_str() {
        "SveltosCluster" => ClusterKind::Sveltos,
        "Cluster" => ClusterKind::Capi,
        other => {
            return Err(item
                .get("kind")
                .error(format!("unknown kind {other:?}; use SveltosCluster or Cluster")));
        }
    };
    let namespace = match item.get("namespace").text()? {
        _ if !own_namespace.is_empty() => own_namespace.to_owned(),
        text if text.is_empty() => {
            return Err(item.get("namespace").error("is required and must not be empty"));
        }
        text => text,
    };
    Ok(ClusterRef { kind, namespace, name: item.get("name").required_text()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile(spec: Value) -> Result<Profile, FieldError> {
        Profile::read(&json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec}))
    }

    #[test]
    fn profiles_are_read_with_their_order_and_options() {
        let profile = profile(json!({"clusterSelector": {"matchLabels": {"env": "fv"}}, "tier": 50, "stopMatchingBehavior": "LeavePolicies",
            "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "c"}],
            "policyRefs": [{"kind": "ConfigMap", "namespace": "a", "name": "b", "tier": 30, "optional": true}, {"kind": "Secret", "name": "c"}]})).unwrap();
        assert_eq!(profile.clusters, [ClusterRef::sveltos("default", "c")]);
        let refs: Vec<_> = profile
            .common
            .policy_refs
            .iter()
            .map(|r| (r.name.as_str(), r.tier, r.optional, r.path.as_str()))
            .collect();
        assert_eq!(refs, [("b", 30, true, "spec.policyRefs[0]"), ("c", 100, false, "spec.policyRefs[1]")]);
        assert!(
            profile.common.leave && profile.common.tier == 50 && profile.id.to_string() == "ClusterProfile p"
        );
    }

    #[test]
    fn content_goes_to_the_destinations_unless_it_is_for_the_management_cluster() {
        let item = |kind: &str| json!({"kind": "ConfigMap", "name": "x", "deploymentType": kind});
        let read = |refs: Value| profile(json!({"policyRefs": refs})).unwrap().common;
        let both = read(json!([item("Local"), item("Remote"), {"kind": "ConfigMap", "name": "y"}]));
        let kinds: Vec<_> = both.policy_refs.iter().map(|item| item.deployment.title()).collect();
        assert_eq!(kinds, ["Local", "Remote", "Remote"]);
        assert!(both.is_partly_local() && !read(json!([item("Remote")])).is_partly_local());
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let profile = profile(json!({"kustomizationRefs": [{"name": "x"}], "policyRefs": []})).unwrap();
        assert_eq!(profile.common.unsupported[0].field, "spec.kustomizationRefs");
        for (spec, part) in [
            (json!({"syncMode": "Sometimes"}), "spec.syncMode: unknown mode"),
            (json!({"validateHealths": [{"name": "x"}]}), "spec.validateHealths[0].featureID: is required"),
            (json!({"policyRefs": [{"kind": "Pod", "name": "x"}]}), "spec.policyRefs[0].kind"),
            (json!({"policyRefs": [{"kind": "ConfigMap"}]}), "spec.policyRefs[0].name: is required"),
            (
                json!({"policyRefs": [{"kind": "GitRepository", "name": "x", "path": "y"}]}),
                "spec.policyRefs[0].kind",
            ),
            (json!({"policyRefs": [{"remoteURL": {"url": "https://x"}}]}), "spec.policyRefs[0].remoteURL"),
            (
                json!({"policyRefs": [{"kind": "ConfigMap", "name": "x", "deploymentType": "Elsewhere"}]}),
                "spec.policyRefs[0].deploymentType: unknown type",
            ),
            (
                json!({"patchesFrom": [{"kind": "ConfigMap", "name": "x", "deploymentType": "Local"}]}),
                "spec.patchesFrom[0].deploymentType: Local is for policyRefs only",
            ),
            (json!({"tier": 0}), "spec.tier"),
            (json!({"clusterRefs": [{"kind": "Pod", "name": "x"}]}), "spec.clusterRefs[0].kind"),
            (json!({"clusterSelector": 5}), "spec.clusterSelector"),
        ] {
            let error = super::tests::profile(spec).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
