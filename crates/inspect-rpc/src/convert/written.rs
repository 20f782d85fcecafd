//! Triggers and profiles, and what became of them.

use sluice_inspect::Line;
use sluice_proto::inspect::v1 as proto;

pub(crate) fn trigger_message(line: Line) -> proto::TriggerState {
    let Line { kind, name, of: event_source, clusters, ready, message, .. } = line;
    proto::TriggerState { kind, name, event_source, clusters: as_sent(clusters), ready, message }
}

pub(crate) fn trigger(sent: proto::TriggerState) -> Line {
    let proto::TriggerState { kind, name, event_source: of, clusters, ready, message } = sent;
    Line { kind, name, of, clusters: as_counted(clusters), ready, message, ..Line::default() }
}

pub(crate) fn profile_message(line: Line) -> proto::ProfileState {
    let Line { kind, namespace, name, of: sync_mode, clusters, ready, message, .. } = line;
    proto::ProfileState { kind, namespace, name, sync_mode, clusters: as_sent(clusters), ready, message }
}

pub(crate) fn profile(sent: proto::ProfileState) -> Line {
    let proto::ProfileState { kind, namespace, name, sync_mode: of, clusters, ready, message } = sent;
    Line { kind, namespace, name, of, clusters: as_counted(clusters), ready, message, ..Line::default() }
}

fn as_sent(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn as_counted(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, namespace: &str) -> Line {
        Line {
            kind: kind.into(),
            namespace: namespace.into(),
            name: "x".into(),
            of: "of".into(),
            clusters: 3,
            ready: "no".into(),
            message: "said".into(),
            ..Line::default()
        }
    }

    #[test]
    fn triggers_and_profiles_come_back_as_they_were() {
        let of_trigger = line("EventTrigger", "");
        assert_eq!(trigger(trigger_message(of_trigger.clone())), of_trigger);
        for of_profile in [line("Profile", "n"), line("ClusterProfile", "")] {
            assert_eq!(profile(profile_message(of_profile.clone())), of_profile);
        }
    }
}
