//! From an object to the profiles that deploy it.

// D-1102: deployed counts as yes.

use sluice_api::few;

use super::{Facts, Steps, because, goes_back};
use crate::trace::Target;
use crate::turn;

pub(super) fn explain(facts: &Facts, target: &Target, steps: &mut Steps) {
    let on_bus = match &facts.on_bus {
        Ok(on_bus) => on_bus,
        Err(error) => {
            return steps.unknown(
                "wanted",
                format!("rows cannot be read: {error}"),
                "ask again with --nats-url",
            );
        }
    };
    if facts.management.is_ok() {
        super::trigger::registered(facts, steps);
    }
    let mut wanted = false;
    for desired in &on_bus.desired {
        let Some(policy) = desired.policies.iter().find(|policy| target.is_in(policy)) else { continue };
        wanted = true;
        let (kind, namespace, name) = (&policy.kind, &policy.namespace, &policy.name);
        let (profile, because) = (desired.profile(), because(&desired.cause));
        steps.yes("wanted", format!("{profile} deploys it, from {kind} {namespace}/{name}, {because}"));
        steps.deployed(desired, on_bus, desired.cause.origin(facts.shards));
    }
    if wanted {
        return;
    }
    if !on_bus.back.is_empty() {
        for (profile, staged) in &on_bus.back {
            let says = format!("{}, and may deploy it", goes_back(profile, staged));
            steps.unknown("wanted", says, "`sluice show addons` says what the cluster has");
        }
        return;
    }
    let waits = turn::not_come(&on_bus.problems, &facts.cluster).next().is_some();
    let says = target.nothing(&on_bus.desired, &on_bus.problems).to_string();
    let remedy = if waits {
        "wait, or do what `sluice rollout status` of it says"
    } else {
        "`sluice explain` of the trigger or profile that should deploy it says why it does not"
    };
    steps.no("wanted", says, remedy);
    let cluster = facts.cluster.to_string();
    let open: Vec<_> = on_bus.problems.iter().filter(|problem| problem.cluster == cluster).collect();
    if !open.is_empty() {
        let objects: Vec<_> = open.iter().map(|problem| &problem.object).collect();
        steps.unknown(
            "problems",
            format!("open on this cluster: {}", few(", ", &objects)),
            "`sluice problems`",
        );
    }
}
