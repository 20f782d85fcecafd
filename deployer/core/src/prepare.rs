//! From rendered objects to what is sent: labels, annotations, hash, order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::digest::sveltos_hash;
use sluice_api::marks::{self, EXTRA};
use sluice_api::{Digest, Gvk, ObjectKey, identity, kinds, names, object};
use sluice_protocol::rows::{Desired, Policy};

use crate::marks::{content_of, keeps};
use crate::order::{Lane, Turn, Wave};
use crate::own::{is_own, own};
use crate::releases::CHART;

/// An object, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Which object.
    pub key: ObjectKey,
    /// What tells it from other contents: `projectsveltos.io/hash`, which is that of the rendered object before anything was
    /// added, and with it the digest of extra labels and annotations.
    pub hash: String,
    /// The object as it is sent.
    pub object: Arc<Value>,
    /// Subresources that it is written to as well, in this order; each is a part of it.
    pub subresources: Vec<String>,
    /// Whether its namespace is made where it is missing.
    pub make_namespace: bool,
    /// When it is applied.
    pub turn: Turn,
    /// Whether it is deleted and made anew where the server does not let it be changed as wanted.
    pub recreate: bool,
    /// Whether it says that it stays when nobody wants it any more.
    pub keeps: bool,
    /// A definition that a chart brings along beside its templates is nobody's: it is made where it is missing, and changed only
    /// where this is so.
    pub brought: Option<Brought>,
}

/// How a definition is dealt with that a chart brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought {
    /// Whether one that is there already is changed.
    pub upgrade: bool,
}

/// The kind that defines others.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";
/// Annotation of an object that is to be made anew where it cannot be changed.
pub(crate) const FORCE: &str = "projectsveltos.io/forceRecreate";

/// Whether objects of a kind live outside namespaces; nothing where only the server knows.
fn is_cluster_scoped(gvk: &Gvk) -> Option<bool> {
    kinds::known(gvk).map(|kind| kind.is_cluster_scoped)
}

/// Where something is deployed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TargetScope<'a> {
    /// Whether it is the management cluster, where no profile deploys what is Sluice's own.
    pub(crate) is_management: bool,
    /// The only namespace that the profile may deploy to.
    pub(crate) only_in: Option<&'a str>,
}

// === impl TargetScope ===

impl<'a> TargetScope<'a> {
    /// Of a profile in this cluster: in the management cluster a Profile has its own namespace only.
    pub(crate) fn of(desired: &'a Desired, is_management: bool) -> Self {
        let only_in = is_management.then_some(desired.owner_namespace.as_str());
        Self { is_management, only_in: only_in.filter(|namespace| !namespace.is_empty()) }
    }
}

/// Something of a profile that cannot be deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) lane: Lane,
    /// The how manieth policy it is of.
    pub(crate) reference: usize,
    /// Whether another reference brings it.
    pub(crate) is_conflict: bool,
    pub(crate) why: String,
}

/// Prepares everything of a profile, in the order of application; the second part says what is left out and why.
pub fn prepare(desired: &Desired) -> (Vec<Prepared>, Vec<String>) {
    let (prepared, left_out) = prepare_some(desired, TargetScope::default(), |_| true);
    (prepared, left_out.into_iter().map(|left_out| left_out.why).collect())
}

/// The same of the policies that are wanted. What may not be deployed there is left out.
pub(crate) fn prepare_some(
    desired: &Desired,
    place: TargetScope<'_>,
    wanted: impl Fn(&Policy) -> bool,
) -> (Vec<Prepared>, Vec<LeftOut>) {
    let (mut prepared, mut index, mut left_out) =
        (Vec::<(i32, Prepared)>::new(), BTreeMap::new(), Vec::new());
    let policies = || desired.policies.iter().enumerate().filter(|(_, policy)| wanted(policy));
    let brought: Vec<_> = policies().flat_map(|(reference, policy)| brought(reference, policy)).collect();
    for (reference, policy) in policies() {
        let mut leave = |is_conflict, why| {
            left_out.push(LeftOut { lane: Lane::of(policy), reference, is_conflict, why });
        };
        for rendered in policy.content() {
            let one = match deployable(desired, (reference, policy), place, rendered) {
                Ok(one) => one,
                Err(why) => {
                    leave(false, why);
                    continue;
                }
            };
            match index.entry(one.key.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(prepared.len());
                    prepared.push((policy.tier, one));
                }
                Entry::Occupied(entry) if prepared[*entry.get()].0 > policy.tier => {
                    prepared[*entry.get()] = (policy.tier, one);
                }
                Entry::Occupied(_) => leave(true, twice(&one.key, policy)),
            }
        }
    }
    let mut prepared: Vec<_> = prepared.into_iter().map(|(_, one)| one).collect();
    // Of several charts with one definition the first brings it; where it is content, it is that.
    for one in brought {
        if place.is_management && is_own(&one.object) {
            let Turn { lane, reference, .. } = one.turn;
            left_out.push(LeftOut { lane, reference, is_conflict: false, why: own(&one.key) });
            continue;
        }
        if let Entry::Vacant(entry) = index.entry(one.key.clone()) {
            entry.insert(prepared.len());
            prepared.push(one);
        }
    }
    prepared.sort_by_key(|one| one.turn);
    (prepared, left_out)
}

/// Prepares one object, or says why it is not deployed there.
fn deployable(
    desired: &Desired,
    (reference, policy): (usize, &Policy),
    place: TargetScope<'_>,
    rendered: &Value,
) -> Result<Prepared, String> {
    let of = format!("{} {}/{}", policy.kind, policy.namespace, policy.name);
    identity::validate(rendered).map_err(|error| format!("{of}: {error}"))?;
    let one = prepare_one(desired, (reference, policy), place.only_in, rendered)
        .ok_or_else(|| format!("{of}: an object without apiVersion, kind or name"))?;
    if place.is_management && is_own(&one.object) {
        return Err(own(&one.key));
    }
    match place.only_in.filter(|namespace| one.key.namespace != *namespace) {
        Some(namespace) => Err(elsewhere(&one.key, namespace)),
        None => Ok(one),
    }
}

/// What is said of an object that a profile has twice.
fn twice(key: &ObjectKey, policy: &Policy) -> String {
    format!(
        "{key}: defined twice in this profile; {} {}/{} is left out, give it a lower tier or remove it",
        policy.kind, policy.namespace, policy.name
    )
}

/// What is said of an object that is not in the only namespace that a Profile may deploy to.
fn elsewhere(key: &ObjectKey, namespace: &str) -> String {
    let place = if key.namespace.is_empty() { "in no namespace" } else { "in another namespace" };
    format!(
        "{key}: is {place}, and a Profile deploys to its own only, {namespace}, in the management cluster; move it there, or use a ClusterProfile"
    )
}

fn prepare_one(
    desired: &Desired,
    (reference, policy): (usize, &Policy),
    only_in: Option<&str>,
    rendered: &Value,
) -> Option<Prepared> {
    let mut key = kinds::key_of(rendered)?;
    if let Some(namespace) = only_in.filter(|_| object::namespace(rendered).is_empty())
        && is_cluster_scoped(&key.gvk) != Some(true)
    {
        key.namespace = namespace.to_owned();
    }
    let mut object = rendered.clone();
    // Marks are no content: what is a copy of something deployed would be other content after each time that it is deployed.
    marks::take_all(&mut object);
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    if is_cluster_scoped(&key.gvk) == Some(true) {
        metadata.remove("namespace");
    } else if !key.namespace.is_empty() {
        metadata.insert("namespace".into(), key.namespace.clone().into());
    }
    // Sveltos completes the namespace first, and hashes before it adds anything else.
    let hash = sveltos_hash(&sluice_go_json::to_vec(&object));
    let extra = add_extra(desired, &mut object)?;
    let labels = object::metadata_map(&mut object, "labels")?;
    let reason = if policy.kind == CHART { "Helm" } else { "Resources" };
    labels.insert("projectsveltos.io/reason".into(), reason.into());
    for (name, value) in [("kind", &policy.kind), ("name", &policy.name), ("namespace", &policy.namespace)] {
        if names::is_label_value(value) {
            labels.insert(format!("projectsveltos.io/reference-{name}"), value.clone().into());
        }
    }
    let annotations = object::metadata_map(&mut object, "annotations")?;
    for (name, value) in [
        ("hash", hash.clone()),
        ("owner-kind", desired.owner_kind.clone()),
        ("owner-name", desired.profile().path()),
        ("owner-tier", desired.tier.to_string()),
        ("reference-kind", policy.kind.clone()),
        ("reference-name", policy.name.clone()),
        ("reference-namespace", policy.namespace.clone()),
        ("reference-tier", policy.tier.to_string()),
    ] {
        annotations.insert(format!("projectsveltos.io/{name}"), value.into());
    }
    annotations.extend(extra.map(|extra| (EXTRA.to_owned(), extra.into())));
    let hash = content_of(&object).unwrap_or(hash);
    Some(Prepared {
        hash,
        subresources: parts(policy, &object),
        make_namespace: !policy.skip_namespace_creation,
        turn: Turn { lane: Lane::of(policy), reference, wave: Wave::of(&key.gvk) },
        recreate: policy.force || object::annotation(&object, FORCE).is_some(),
        keeps: keeps(&object),
        brought: None,
        key,
        object: Arc::new(object),
    })
}

/// The subresources that an object of a policy is written to.
fn parts(policy: &Policy, object: &Value) -> Vec<String> {
    policy.subresources.iter().filter(|name| object.get(name.as_str()).is_some()).cloned().collect()
}

/// The definitions that a chart brings along: they carry no mark but their hash.
fn brought(reference: usize, policy: &Policy) -> impl Iterator<Item = Prepared> {
    let (upgrade, lane) = (policy.upgrade_crds, Lane::of(policy));
    policy.brought().iter().filter_map(move |rendered| {
        let key = kinds::key_of(rendered)?;
        let mut object = rendered.clone();
        marks::take_all(&mut object);
        object.get_mut("metadata")?.as_object_mut()?.remove("namespace");
        let hash = sveltos_hash(&sluice_go_json::to_vec(&object));
        let annotations = object::metadata_map(&mut object, "annotations")?;
        annotations.insert("projectsveltos.io/hash".into(), hash.clone().into());
        let (object, brought) = (Arc::new(object), Some(Brought { upgrade }));
        Some(Prepared {
            key,
            hash,
            object,
            subresources: Vec::new(),
            make_namespace: false,
            turn: Turn { lane, reference, wave: Wave::Definitions },
            recreate: false,
            keeps: false,
            brought,
        })
    })
}

/// Adds what the profile gives to everything that it deploys, and the digest of it: the hash does not count it, so that
/// without this a change would not be seen.
fn add_extra(desired: &Desired, object: &mut Value) -> Option<Option<String>> {
    let extra = [("labels", &desired.extra_labels), ("annotations", &desired.extra_annotations)];
    let mut texts = Vec::new();
    for (field, map) in extra.into_iter().filter(|(_, map)| !map.is_empty()) {
        let place = object::metadata_map(object, field)?;
        for (key, value) in map {
            place.insert(key.clone(), value.clone().into());
            texts.extend([field, key.as_str(), value.as_str()]);
        }
    }
    let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    Some((!parts.is_empty()).then(|| Digest::of(&parts).to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Map, json};
    use sluice_api::ProfileId;
    use sluice_protocol::rows::Cause;

    use super::*;

    fn desired(policies: Vec<(i32, Vec<Value>)>) -> Desired {
        let policy = |(tier, objects)| Policy {
            kind: "ConfigMap".into(),
            namespace: "projectsveltos".into(),
            name: "c".into(),
            tier,
            objects,
            ..Policy::default()
        };
        Desired {
            owner_kind: "ClusterProfile".into(),
            owner_namespace: String::new(),
            owner_name: "p".into(),
            tier: 100,
            leave: false,
            dry_run: false,
            one_time: false,
            staged: false,
            hidden: false,
            allow_prune: String::new(),
            succeeds: std::collections::BTreeSet::new(),
            lacks: std::collections::BTreeMap::new(),
            jobs: Vec::new(),
            redeploy: std::collections::BTreeSet::new(),
            extra_labels: BTreeMap::new(),
            extra_annotations: BTreeMap::new(),
            account: None,
            cause: Cause::Profile(ProfileId::cluster("p")),
            spec: Map::new(),
            policies: policies.into_iter().map(policy).collect(),
        }
    }

    fn config_map(name: &str, data: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": data}})
    }

    #[test]
    fn the_hash_is_that_of_sveltos() {
        let policy = json!({"kind": "NetworkPolicy", "apiVersion": "networking.k8s.io/v1",
            "metadata": {"name": "front-my-service", "namespace": "default"},
            "spec": {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "MyApp"}},
                "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "internal"}}}], "ports": [{"port": 80}]}]}});
        let (prepared, errors) = prepare(&desired(vec![(100, vec![policy])]));
        assert_eq!(
            prepared[0].hash,
            "sha256:1bdb10214b7c8878f3a7e5c733b682c24d2a6c3b8c4158bca16a2e32e027e5a1"
        );
        assert!(errors.is_empty());
    }

    #[test]
    fn marks_on_what_is_rendered_are_no_content() {
        let (first, _) = prepare(&desired(vec![(100, vec![config_map("c", "1")])]));
        let (again, _) = prepare(&desired(vec![(100, vec![(*first[0].object).clone()])]));
        assert_eq!(again[0].hash, first[0].hash);
        assert_eq!(again[0].object, first[0].object);
    }

    #[test]
    fn namespaces_come_first_and_places_are_completed() {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "x"}});
        let custom = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}});
        let (prepared, _) = prepare(&desired(vec![(100, vec![config_map("c", "1"), custom, namespace])]));
        let places: Vec<_> =
            prepared.iter().map(|one| (one.key.gvk.kind.as_str(), one.key.namespace.as_str())).collect();
        assert_eq!(places, [("Namespace", ""), ("ConfigMap", "default"), ("Thing", "")]);
        assert_eq!(object::namespace(&prepared[1].object), "default");
    }

    #[test]
    fn what_a_profile_has_in_the_management_cluster_is_in_its_namespace_or_left_out() {
        let mut own = config_map("own", "1");
        own["metadata"]["namespace"] = json!("team");
        let mut other = config_map("other", "1");
        other["metadata"]["namespace"] = json!("default");
        let custom = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}});
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r", "namespace": "team"}});
        let desired = desired(vec![(100, vec![own, config_map("bare", "1"), other, custom, role])]);
        let (prepared, errors) =
            prepare_some(&desired, TargetScope { is_management: true, only_in: Some("team") }, |_| true);
        let places: Vec<_> =
            prepared.iter().map(|one| (one.key.name.as_str(), object::namespace(&one.object))).collect();
        assert_eq!(places, [("own", "team"), ("bare", "team"), ("t", "team")]);
        assert!(
            errors.len() == 2 && errors[0].why.starts_with("ConfigMap default/other: is in another"),
            "{errors:?}"
        );
        assert!(errors[1].why.starts_with("ClusterRole r: is in no namespace"), "{errors:?}");
    }

    #[test]
    fn what_is_sluices_own_is_left_out_in_the_management_cluster_only() {
        let summary = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterSummary",
            "metadata": {"name": "p-sveltos-c1", "namespace": "default"}});
        let desired = desired(vec![(100, vec![summary, config_map("c", "1")])]);
        let prepared = |is_management| {
            let (prepared, errors) =
                prepare_some(&desired, TargetScope { is_management, ..TargetScope::default() }, |_| true);
            (prepared.len(), errors.into_iter().map(|left_out| left_out.why).collect::<Vec<_>>())
        };
        let text = "ClusterSummary default/p-sveltos-c1 is made by Sluice itself in the management cluster; deploy it under another \
                    name, and without its labels";
        assert_eq!(prepared(true), (1, vec![text.to_owned()]));
        assert_eq!(prepared(false), (2, Vec::new()));
    }

    #[test]
    fn what_a_chart_brings_along_is_not_taken_for_an_inventory_either() {
        let mut map = config_map("c", "1");
        map["metadata"]["labels"] = json!({sluice_api::model::INVENTORY: "true"});
        let mut desired = desired(vec![(100, vec![map])]);
        desired.policies[0].crds = 1;
        let prepared = |is_management| {
            let (prepared, errors) =
                prepare_some(&desired, TargetScope { is_management, ..TargetScope::default() }, |_| true);
            (prepared.len(), errors.len())
        };
        assert_eq!((prepared(true), prepared(false)), ((0, 1), (1, 0)));
    }

    #[test]
    fn an_object_whose_name_no_server_takes_is_left_out_alone() {
        let (prepared, errors) =
            prepare(&desired(vec![(100, vec![config_map("a/b", "1"), config_map("c", "1")])]));
        assert_eq!(prepared.iter().map(|one| one.key.name.as_str()).collect::<Vec<_>>(), ["c"]);
        assert!(errors.len() == 1, "{errors:?}");
        assert!(
            errors[0]
                .starts_with("ConfigMap projectsveltos/c: ConfigMap a/b: metadata.name \"a/b\" is no DNS"),
            "{errors:?}"
        );
    }

    #[test]
    fn the_lower_tier_wins_inside_a_profile() {
        let (prepared, errors) = prepare(&desired(vec![
            (100, vec![config_map("c", "1")]),
            (50, vec![config_map("c", "2")]),
            (50, vec![config_map("c", "3")]),
        ]));
        assert_eq!(prepared.len(), 1);
        assert_eq!(prepared[0].object["data"]["a"], "2");
        assert!(errors.len() == 1 && errors[0].contains("defined twice"));
    }

    #[test]
    fn extra_labels_and_annotations_go_over_the_objects_own_and_are_told_apart() {
        let texts = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let mut object = config_map("c", "1");
        object["metadata"]["labels"] = json!({"team": "mine", "app": "a"});
        let plain = desired(vec![(100, vec![object])]);
        let with = |team: &str| Desired {
            extra_labels: texts("team", team),
            extra_annotations: texts("note", "any text"),
            ..plain.clone()
        };
        let one = |desired: &Desired| prepare(desired).0.remove(0);
        let (none, first, second) = (one(&plain), one(&with("x")), one(&with("y")));
        assert_eq!(object::label(&first.object, "team"), Some("x"));
        assert_eq!(object::label(&first.object, "app"), Some("a"));
        assert_eq!(object::annotation(&first.object, "note"), Some("any text"));
        let hash =
            |one: &Prepared| object::annotation(&one.object, "projectsveltos.io/hash").unwrap().to_owned();
        assert!(hash(&none) == hash(&first) && hash(&first) == hash(&second), "the hash is that of Sveltos");
        assert_eq!(none.hash, hash(&none));
        assert!(none.hash != first.hash && first.hash != second.hash);
        assert_eq!(crate::Live::of(&first.object).hash.as_deref(), Some(&*first.hash));
    }

    #[test]
    fn origin_is_written_onto_the_object_without_losing_the_users_own() {
        let mut object = config_map("c", "1");
        object["metadata"]["labels"] = json!({"mine": "1"});
        object["metadata"]["annotations"] = Value::Null;
        let (prepared, _) = prepare(&desired(vec![(100, vec![object])]));
        let object = &prepared[0].object;
        assert_eq!(object::label(object, "mine"), Some("1"));
        assert_eq!(object::label(object, "projectsveltos.io/reference-name"), Some("c"));
        assert_eq!(object::annotation(object, "projectsveltos.io/owner-name"), Some("p"));
    }
}
