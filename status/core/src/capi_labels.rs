//! The label of Cluster API clusters: that they have an agent. Nothing else of them is written: their status is Cluster API's.

// D-0612: clusters are labelled with what selectors of users ask for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_api::model::capi_cluster;
use sluice_api::{ClusterKind, ClusterRef, ObjectKey, object};

use crate::labels::{AGAIN, AGENT};

/// Changes that are looked at together, microseconds.
const QUIET: i64 = 300_000;

/// See the module. Times are microseconds since 1970.
#[derive(Debug, Default)]
pub(crate) struct CapiLabels {
    there: BTreeMap<ClusterRef, There>,
    /// Those whose agents have spoken.
    agents: BTreeSet<ClusterRef>,
    /// When those are written that lack the label.
    due: BTreeMap<ClusterRef, i64>,
}

/// A cluster as it is in the management cluster.
#[derive(Debug)]
struct There {
    key: ObjectKey,
    /// Whether it lacks the label.
    lacks: bool,
    /// When it was written last.
    asked: Option<i64>,
}

// === impl CapiLabels ===

impl CapiLabels {
    /// An object of the management cluster is like this, or was when it went.
    pub(crate) fn change(&mut self, key: &ObjectKey, object: &Value, gone: bool, now: i64) {
        let kind = capi_cluster();
        if (&key.gvk.group, &key.gvk.kind) != (&kind.group, &kind.kind) {
            return;
        }
        let cluster =
            ClusterRef { kind: ClusterKind::Capi, namespace: key.namespace.clone(), name: key.name.clone() };
        if gone {
            self.there.remove(&cluster);
            self.due.remove(&cluster);
            return;
        }
        let goes = !object::text(object, &["metadata", "deletionTimestamp"]).is_empty();
        let lacks = !goes && object::label(object, AGENT.0) != Some(AGENT.1);
        let asked = self.there.get(&cluster).and_then(|there| there.asked);
        self.there.insert(cluster.clone(), There { key: key.clone(), lacks, asked });
        self.look_at(cluster, now);
    }

    /// The agent of a cluster has spoken, or has left it.
    pub(crate) fn agent(&mut self, cluster: &ClusterRef, is_there: bool, now: i64) {
        if cluster.kind != ClusterKind::Capi {
            return;
        }
        if !is_there {
            self.agents.remove(cluster);
            self.due.remove(cluster);
        } else if self.agents.insert(cluster.clone()) {
            self.look_at(cluster.clone(), now);
        }
    }

    fn look_at(&mut self, cluster: ClusterRef, now: i64) {
        let has_agent = self.agents.contains(&cluster);
        let Some(there) = self.there.get(&cluster).filter(|there| there.lacks && has_agent) else {
            self.due.remove(&cluster);
            return;
        };
        let free = there.asked.map_or(now, |asked| asked.saturating_add(AGAIN));
        self.due.entry(cluster).or_insert(free.max(now.saturating_add(QUIET)));
    }

    /// When there is something to write next.
    pub(crate) fn next(&self) -> Option<i64> {
        self.due.values().min().copied()
    }

    /// The clusters that should have these labels from now on and do not yet.
    pub(crate) fn take_due(&mut self, now: i64) -> Vec<(ObjectKey, Value)> {
        let due = self.due.extract_if(.., |_, at| *at <= now).map(|(cluster, _)| cluster);
        let due: Vec<ClusterRef> = due.collect();
        let labelled = due.iter().filter_map(|cluster| {
            let there = self.there.get_mut(cluster)?;
            there.asked = Some(now);
            Some((there.key.clone(), json!({AGENT.0: AGENT.1})))
        });
        labelled.collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const T0: i64 = 1_700_000_000_000_000;

    fn cluster() -> ClusterRef {
        ClusterRef { kind: ClusterKind::Capi, namespace: "team".into(), name: "c".into() }
    }

    fn told(labels: &mut CapiLabels, api_version: &str, metadata: &Value, now: i64) {
        let mut object = json!({"apiVersion": api_version, "kind": "Cluster", "metadata": metadata});
        object["metadata"]["namespace"] = "team".into();
        object["metadata"]["name"] = "c".into();
        labels.change(&ObjectKey::of(&object).unwrap(), &object, false, now);
    }

    const CAPI: &str = "cluster.x-k8s.io/v1beta2";

    #[test]
    fn a_cluster_with_an_agent_is_labelled_in_its_own_version_and_only_with_that() {
        let mut labels = CapiLabels::default();
        told(&mut labels, CAPI, &json!({"labels": {"env": "fv"}}), T0);
        assert_eq!(labels.next(), None, "nobody has reached it");
        labels.agent(&cluster(), true, T0);
        let due = labels.next().unwrap();
        assert!(labels.take_due(due - 1).is_empty());
        let [(key, written)] = &labels.take_due(due)[..] else { panic!("{labels:?}") };
        assert_eq!((key.gvk.api_version(), key.to_string()), (CAPI.to_owned(), "Cluster team/c".to_owned()));
        assert_eq!(
            *written,
            json!({"sveltos-agent": "present"}),
            "the version of Cluster API stands in the cluster"
        );
        told(&mut labels, CAPI, written_labels(), T0 + 1);
        assert_eq!(labels.next(), None);
    }

    fn written_labels() -> &'static Value {
        static LABELS: std::sync::LazyLock<Value> =
            std::sync::LazyLock::new(|| json!({"labels": {"env": "fv", "sveltos-agent": "present"}}));
        &LABELS
    }

    #[test]
    fn a_label_that_somebody_takes_off_is_not_written_again_within_a_minute() {
        let mut labels = CapiLabels::default();
        labels.agent(&cluster(), true, T0);
        told(&mut labels, CAPI, &json!({}), T0);
        let first = labels.next().unwrap();
        assert_eq!(labels.take_due(first).len(), 1);
        told(&mut labels, CAPI, written_labels(), first);
        told(&mut labels, CAPI, &json!({"labels": {"env": "fv"}}), first + 1);
        assert_eq!(labels.next(), Some(first + AGAIN));
        assert_eq!(labels.take_due(first + AGAIN).len(), 1);
    }

    #[test]
    fn one_that_goes_or_has_no_agent_any_more_or_is_another_kind_is_left_alone() {
        let mut labels = CapiLabels::default();
        labels.agent(&cluster(), true, T0);
        told(&mut labels, CAPI, &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), T0);
        assert_eq!(labels.next(), None);
        told(&mut labels, "example.com/v1", &json!({}), T0);
        assert_eq!(labels.next(), None);
        told(&mut labels, CAPI, &json!({}), T0);
        assert!(labels.next().is_some());
        labels.agent(&cluster(), false, T0);
        assert_eq!(labels.next(), None);
        labels.agent(&ClusterRef::sveltos("team", "c"), true, T0);
        assert_eq!(labels.next(), None, "a SveltosCluster is labelled beside its status");
    }
}
