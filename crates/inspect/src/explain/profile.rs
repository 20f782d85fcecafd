//! From a profile to what it deploys.

use sluice_api::model::{ClusterSet, Profile};
use sluice_api::{ClusterRef, ProfileId, object};

use super::trigger::{is_local, is_selected, registered};
use super::{BACK, Facts, OnBus, Steps, because, goes_back, instead, is_about};
use crate::turn;

pub(super) fn explain(facts: &Facts, namespace: &str, name: &str, steps: &mut Steps) {
    let id = ProfileId::new(namespace, name);
    match &facts.management {
        Err(error) => {
            steps.unknown("profile", format!("it cannot be read: {error}"), "ask again with --kubeconfig")
        }
        Ok(_) => manifest(facts, &id, steps),
    }
    let on_bus = match &facts.on_bus {
        Ok(on_bus) => on_bus,
        Err(error) => {
            return steps.unknown(
                "rendered",
                format!("rows cannot be read: {error}"),
                "ask again with --nats-url",
            );
        }
    };
    steps.problems(on_bus, |problem| is_about(problem, id.kind(), &id.namespace, id.object_name()));
    if let Some((_, staged)) = on_bus.back.iter().find(|(profile, _)| *profile == id) {
        return steps.no("back", goes_back(&id, staged), BACK);
    }
    let mut rows = on_bus.desired.iter().filter(|desired| desired.profile() == id).peekable();
    if rows.peek().is_none() {
        being_removed(on_bus, &id, &facts.cluster, steps);
        if waits_for_its_turn(on_bus, &id, &facts.cluster) {
            let says = format!(
                "{id} goes to few clusters at a time, and the turn of {} has not come",
                facts.cluster.path()
            );
            return steps.no("turn", says, "wait, or do what `sluice rollout status` says of it");
        }
        let says = format!("nothing of {id} is rendered for {}", facts.cluster.path());
        return steps.no("rendered", says, "see the steps before; without any \"no\" before, ask again");
    }
    for desired in rows {
        steps.yes("rendered", format!("{id} {}", because(&desired.cause)));
        steps.deployed(desired, on_bus, desired.cause.origin(facts.shards));
    }
}

/// Whether its renderer says that the turn of a cluster has not come.
fn waits_for_its_turn(on_bus: &OnBus, id: &ProfileId, cluster: &ClusterRef) -> bool {
    turn::not_come(&on_bus.problems, cluster)
        .any(|problem| is_about(problem, id.kind(), &id.namespace, id.object_name()))
}

/// Says what the removal of a profile waits for: its deployer speaks of it although it is not wanted any more.
fn being_removed(on_bus: &OnBus, id: &ProfileId, cluster: &ClusterRef, steps: &mut Steps) {
    let waiting = on_bus.statuses.iter().filter(|(of, _, status)| of == id && !status.errors.is_empty());
    for (_, _, status) in waiting {
        let says = format!(
            "{id} is not wanted on {}, and is still there: {}",
            cluster.path(),
            status.errors.join("; ")
        );
        steps.no("removed", says, "do what it says; it goes by itself then");
    }
}

fn manifest(facts: &Facts, id: &ProfileId, steps: &mut Steps) {
    let kinds = [id.kind()];
    let mut of_kind = facts.of_kind(&kinds);
    let is_it = |object: &&std::sync::Arc<serde_json::Value>| {
        object::name(object) == id.name && object::namespace(object) == id.namespace
    };
    let Some(found) = of_kind.find(is_it) else {
        let others = instead(&id.name, facts.of_kind(&kinds).map(|object| object::name(object)));
        let says = format!("there is no {id}; {others}");
        return steps.no("profile", says, "apply it, or correct the name");
    };
    let profile = match Profile::read(found) {
        Ok(profile) => profile,
        Err(error) => {
            return steps.no("profile", error.to_string(), "correct the field; what it led to before stays");
        }
    };
    if profile.paused {
        steps.no("profile", format!("{id} is paused"), "take the annotation off");
    } else {
        steps.yes("profile", format!("{id} can be used"));
    }
    if facts.cluster.is_management() {
        is_local(&profile.common, steps);
    }
    let Some(cluster) = registered(facts, steps) else { return };
    if !id.namespace.is_empty() && id.namespace != cluster.id.namespace {
        let path = cluster.id.path();
        let says =
            format!("a Profile is for clusters of its own namespace, {}; {path} is in another", id.namespace);
        return steps.no(
            "destination",
            says,
            "write a ClusterProfile, or a Profile in the cluster's namespace",
        );
    }
    let sets = facts.of_kind(&["ClusterSet", "Set"]).filter_map(|object| ClusterSet::read(object).ok());
    let mut sets = sets.filter(|set| profile.sets.contains(&set.id) && set.before.contains(&cluster.id));
    if profile.clusters.contains(&cluster.id) {
        steps.yes("destination", format!("spec.clusterRefs names {}", cluster.id.path()));
    } else if let Some(set) = sets.next() {
        steps.yes("destination", format!("{} has selected {}", set.id, cluster.id.path()));
    } else {
        let names_some = !profile.clusters.is_empty() || !profile.sets.is_empty();
        let selects = profile.selector.selects(cluster.labels());
        if !profile.selector.is_empty() || !names_some {
            is_selected("spec.clusterSelector", &profile.selector, &cluster, steps);
        }
        if !selects {
            is_not_named(facts, &profile, &cluster.id, steps);
        }
    }
}

/// Says whom the profile names in place of this cluster.
fn is_not_named(facts: &Facts, profile: &Profile, cluster: &ClusterRef, steps: &mut Steps) {
    let path = cluster.path();
    if !profile.clusters.is_empty() {
        let named: Vec<String> = profile.clusters.iter().map(ClusterRef::path).collect();
        let says = format!("spec.clusterRefs names {}; {path} is not among them", named.join(", "));
        steps.no("destination", says, "name it there, or correct what is named");
    }
    let there: Vec<_> =
        facts.of_kind(&["ClusterSet", "Set"]).filter_map(|set| ClusterSet::read(set).ok()).collect();
    for id in &profile.sets {
        let (says, remedy) = if there.iter().any(|set| set.id == *id) {
            (format!("{id} has not selected {path}"), "label the cluster, or correct the set")
        } else {
            (format!("spec.setRefs names {id}, which does not exist"), "create it, or correct the name")
        };
        steps.no("destination", says, remedy);
    }
}
