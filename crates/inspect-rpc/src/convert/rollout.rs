//! How a profile or trigger is rolled out.

use sluice_api::ObjectKey;
use sluice_inspect::{Part, Place, Rollout};
use sluice_proto::inspect::v1 as proto;

pub(crate) fn question(key: &ObjectKey) -> proto::RolloutRequest {
    let ObjectKey { gvk, namespace, name } = key.clone();
    proto::RolloutRequest { kind: gvk.kind, namespace, name }
}

pub(crate) fn message(rollout: Rollout) -> proto::RolloutResponse {
    let Rollout { object, says, order, clusters, called, missing } = rollout;
    let part = |Part { what, which, says }: Part| proto::RolloutPart { what, which, says };
    let place = |Place { cluster, profile, state, says }: Place| proto::RolloutPlace {
        cluster,
        profile,
        state,
        says,
    };
    proto::RolloutResponse {
        object,
        says,
        order: order.into_iter().map(part).collect(),
        clusters: clusters.into_iter().map(place).collect(),
        missing,
        called,
    }
}

pub(crate) fn answer(rollout: proto::RolloutResponse) -> Rollout {
    let proto::RolloutResponse { object, says, order, clusters, missing, called } = rollout;
    let part = |proto::RolloutPart { what, which, says }: proto::RolloutPart| Part { what, which, says };
    let place = |place: proto::RolloutPlace| {
        let proto::RolloutPlace { cluster, profile, state, says } = place;
        Place { cluster, profile, state, says }
    };
    Rollout {
        object,
        says,
        order: order.into_iter().map(part).collect(),
        clusters: clusters.into_iter().map(place).collect(),
        called,
        missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_comes_back_as_it_was() {
        let text = |text: &str| text.to_owned();
        let rollout = Rollout {
            object: text("ClusterProfile p"),
            says: text("it goes to all clusters at once"),
            order: vec![Part {
                what: text("policyRefs 1"),
                which: text("ConfigMap n/c"),
                says: text("Service"),
            }],
            clusters: vec![Place {
                cluster: text("n/c"),
                profile: text("p"),
                state: text("failed"),
                says: text("no"),
            }],
            called: vec![text("3f2a90c1d4e5")],
            missing: vec![text("the bus")],
        };
        assert_eq!(answer(message(rollout.clone())), rollout);
    }
}
