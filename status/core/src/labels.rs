//! Labels that registered clusters get for selectors: that they have an agent, and which version their server has.

// D-0612: clusters are labelled with what selectors of users ask for.

use serde_json::{Value, json};
use sluice_api::object;

/// The version of the API server, without what a vendor adds to it.
const VERSION: &str = "projectsveltos.io/k8s-version";
/// Whether the cluster has an agent.
pub(crate) const AGENT: (&str, &str) = ("sveltos-agent", "present");
/// Whose labels somebody takes off gets them again this much later, microseconds: nobody is fought.
pub(crate) const AGAIN: i64 = 60_000_000;

/// The labels of one cluster.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// The version that its label says, where it has both.
    there: Option<String>,
    /// What was asked for last, and when.
    asked: Option<(String, i64)>,
}

// === impl Labels ===

impl Labels {
    /// The cluster is like this.
    pub(crate) fn there(&mut self, cluster: &Value) {
        let label = |name: &str| object::label(cluster, name);
        let has_agent = label(AGENT.0) == Some(AGENT.1);
        self.there = label(VERSION).filter(|_| has_agent).map(str::to_owned);
    }

    /// Whether it is to be labelled, as its server has this version.
    pub(crate) fn is_due(&self, version: &str, now: i64) -> bool {
        let Some(version) = plain(version) else { return false };
        let is_asked = |(asked, at): &(String, i64)| *asked == version && now < at.saturating_add(AGAIN);
        self.there.as_deref() != Some(version) && !self.asked.as_ref().is_some_and(is_asked)
    }

    /// The labels that it should have, if it is to be labelled.
    pub(crate) fn ask(&mut self, version: &str, now: i64) -> Option<Value> {
        if !self.is_due(version, now) {
            return None;
        }
        let version = plain(version)?;
        self.asked = Some((version.to_owned(), now));
        Some(json!({VERSION: version, AGENT.0: AGENT.1}))
    }
}

/// The version as far as it is three numbers: `v1.33.0` of `v1.33.0+k3s1`. Who says it may be anybody.
fn plain(version: &str) -> Option<&str> {
    let numbers = version.strip_prefix('v')?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
    let parts: Vec<&str> = numbers[..end].split('.').collect();
    let is_number = |part: &&str| (1..=5).contains(&part.len());
    (parts.len() == 3 && parts.iter().all(is_number)).then(|| &version[..=end])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn cluster(labels: Value) -> Value {
        json!({"kind": "SveltosCluster", "metadata": {"name": "c", "labels": labels}})
    }

    #[test]
    fn a_version_is_three_numbers() {
        assert_eq!((plain("v1.33.0"), plain("v1.33.12+k3s1")), (Some("v1.33.0"), Some("v1.33.12")));
        for other in ["", "v", "1.33.0", "v1.33", "v1..0", "v1.33.0.1", "v1.333333.0", "vx", "vä.1.1"] {
            assert_eq!(plain(other), None, "{other}");
        }
        assert_eq!(plain("v1.33.0-gke.5"), Some("v1.33.0"));
    }

    #[test]
    fn what_a_cluster_lacks_is_asked_for_once_and_again_after_a_while() {
        let mut labels = Labels::default();
        labels.there(&cluster(json!({"env": "fv"})));
        let asked = labels.ask("v1.33.0", 0).unwrap();
        assert_eq!(asked, json!({"projectsveltos.io/k8s-version": "v1.33.0", "sveltos-agent": "present"}));
        assert_eq!(labels.ask("v1.33.0", AGAIN - 1), None, "it is on its way");
        labels.there(&cluster(asked.clone()));
        assert_eq!(labels.ask("v1.33.0", AGAIN), None);
        assert!(labels.ask("v1.34.1", 1).is_some(), "it was upgraded");
        labels.there(&cluster(json!({"projectsveltos.io/k8s-version": "v1.34.1"})));
        assert_eq!(labels.ask("v1.34.1", 2), None, "somebody has taken a label off");
        assert!(labels.is_due("v1.34.1", AGAIN + 1));
        assert_eq!(labels.ask("nonsense", AGAIN + 1), None);
    }
}
