//! How an add-on came to be.

use sluice_inspect::{Hop, Target, Trace};
use sluice_proto::inspect::v1 as proto;

use super::time::{micros, stamp};

pub(crate) fn question(target: &Target) -> proto::TraceRequest {
    proto::TraceRequest { cluster: target.cluster.to_string(), object: Some(object(target)) }
}

pub(crate) fn object(target: &Target) -> proto::Object {
    let Target { kind, namespace, name, .. } = target.clone();
    proto::Object { kind, namespace, name }
}

pub(crate) fn message(trace: Trace) -> proto::Trace {
    let hop = |hop: Hop| proto::Hop {
        stage: hop.stage.into_owned(),
        stored: stamp(hop.at),
        changed: stamp(hop.cause_at),
        replica: hop.replica,
        says: hop.says,
    };
    proto::Trace { profile: trace.profile, hops: trace.hops.into_iter().map(hop).collect() }
}

pub(crate) fn answer(trace: proto::Trace) -> Trace {
    let hop = |hop: proto::Hop| Hop {
        stage: hop.stage.into(),
        at: micros(hop.stored),
        cause_at: micros(hop.changed),
        replica: hop.replica,
        says: hop.says,
    };
    Trace { profile: trace.profile, hops: trace.hops.into_iter().map(hop).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_comes_back_as_it_was() {
        let hop = |stage: &'static str, at| Hop {
            stage: stage.into(),
            at,
            cause_at: 5,
            replica: "r".into(),
            says: "s".into(),
        };
        let trace =
            Trace { profile: "ClusterProfile p".into(), hops: vec![hop("agent", 7), hop("deployer", 0)] };
        assert_eq!(answer(message(trace.clone())), trace);
    }
}
