//! Where what people see goes: to the shell, which writes it into the management cluster; or, of a deployer that is in its cluster and
//! reaches nothing else, into rows of `status`, of which others make the same objects.

// D-0213: a cluster that pulls has a deployer of its own.

use serde_json::Value;
use sluice_api::wire::OF_ROWS;
use sluice_api::{ClusterRef, ObjectKey, ProfileId};
use sluice_protocol::subject::{Shown, cluster_shard};
use sluice_protocol::{Body, Publish, Step, Subject};

use super::Deployer;
use crate::configuration::{self, Configuration, LEFT_OUT, cluster_configuration};
use crate::messages::Effect;
use crate::report::{self, Report, cluster_report};
use crate::summary::{self, Summary, cluster_summary};

/// One thing that people see.
pub(super) enum Display {
    Summary(Summary),
    Configuration(Configuration),
    Report(Report),
}

// === impl Display ===

impl Display {
    fn effect(self) -> Effect {
        match self {
            Self::Summary(summary) => Effect::Summary(summary),
            Self::Configuration(configuration) => Effect::Configuration(configuration),
            Self::Report(report) => Effect::Report(report),
        }
    }

    /// What it is, of which profile, and the object.
    fn object(&self) -> (Shown, ProfileId, Option<Value>) {
        match self {
            Self::Summary(summary) => (Shown::Summary, summary.profile.clone(), cluster_summary(summary).1),
            Self::Configuration(configuration) => {
                (Shown::Configuration, nobody(), cluster_configuration(configuration).1)
            }
            Self::Report(report) => (Shown::Report, report.profile.clone(), cluster_report(report).1),
        }
    }
}

/// What is of all profiles.
fn nobody() -> ProfileId {
    ProfileId::cluster("")
}

// === impl Deployer ===

impl Deployer {
    /// People should see this.
    pub(super) fn display(&mut self, display: Display, step: &mut Step<Effect>) {
        let Some(cluster) = &self.config.serves.only else { return step.effect(display.effect()) };
        let (what, profile, object) = display.object();
        let subject = self.shown_subject(cluster, what, profile);
        match object {
            None => step.publish(Publish::new(subject, Body::Tombstone, step.now)),
            Some(object) => {
                let body = Body::value(object.to_string().into_bytes());
                let row = self.aloud(Publish::new(subject, body, step.now));
                step.publish(row);
            }
        }
    }

    fn shown_subject(&self, cluster: &ClusterRef, what: Shown, profile: ProfileId) -> Subject {
        Subject::Shown {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            what,
            profile,
        }
    }

    /// The inventories are known: what a former owner showed of profiles that are not there is not shown any more.
    pub(super) fn end_shown(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let jobs = self.clusters.get(cluster).map(|state| &state.jobs);
        let is_there = |profile: &ProfileId| jobs.is_some_and(|jobs| jobs.contains_key(profile));
        for (what, profile) in self.found_shown.remove(cluster).unwrap_or_default() {
            if what != Shown::Configuration && !is_there(&profile) {
                step.publish(Publish::new(self.shown_subject(cluster, what, profile), Body::Tombstone, 0));
            }
        }
    }

    /// Nothing of a cluster is shown any more.
    pub(super) fn show_nothing(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        for (what, profile) in self.found_shown.remove(cluster).unwrap_or_default() {
            step.publish(Publish::new(self.shown_subject(cluster, what, profile), Body::Tombstone, 0));
        }
    }
}

/// The object of the management cluster that a row shows, as the deployer in `cluster` says; `None` where there is none any more. What it
/// is called and belongs to follows from the row's subject, for which its writer has a right: of its content no more counts than what
/// it says of its own cluster.
pub fn shown(
    cluster: &ClusterRef,
    (what, profile): (Shown, &ProfileId),
    said: Option<&Value>,
) -> (ObjectKey, Option<Value>) {
    let (key, mut object) = match what {
        Shown::Summary => summary::skeleton(cluster, profile),
        Shown::Configuration => configuration::skeleton(cluster),
        Shown::Report => report::skeleton(cluster, profile),
    };
    let Some(said) = said else { return (key, None) };
    object["status"] = said.get("status").cloned().unwrap_or_default();
    if what == Shown::Summary {
        object["spec"]["clusterProfileSpec"] = said["spec"]["clusterProfileSpec"].clone();
    }
    for name in [OF_ROWS, LEFT_OUT] {
        if let Some(text) = said["metadata"]["annotations"][name].as_str() {
            object["metadata"]["annotations"][name] = text.into();
        }
    }
    (key, Some(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whose_an_object_is_follows_from_the_subject_and_no_more_counts_than_what_is_said() {
        let (cluster, profile) = (ClusterRef::sveltos("edge", "shop"), ProfileId::new("team", "p"));
        let said = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "other", "namespace": "kube-system", "finalizers": ["x/y"], "labels": {"a": "b"},
                "annotations": {OF_ROWS: "00", "other": "x"}, "ownerReferences": [{}]},
            "spec": {"clusterName": "other", "clusterProfileSpec": {"policyRefs": []}},
            "status": {"featureSummaries": []},
            "data": {"x": "eA=="},
        });
        let (key, object) = shown(&cluster, (Shown::Summary, &profile), Some(&said));
        let object = object.unwrap_or_default();
        assert_eq!((key.namespace.as_str(), key.name.as_str()), ("edge", "p--p-sveltos-shop"));
        assert_eq!(
            (&object["kind"], &object["metadata"]["name"]),
            (&json!("ClusterSummary"), &json!(key.name))
        );
        assert_eq!(object["spec"]["clusterName"], "shop");
        assert_eq!(object["spec"]["clusterProfileSpec"], json!({"policyRefs": []}));
        assert_eq!(object["status"], said["status"]);
        assert_eq!(object["metadata"]["annotations"], json!({OF_ROWS: "00"}));
        let others = ["finalizers", "ownerReferences"].map(|field| object["metadata"].get(field).is_some());
        assert_eq!((others, object.get("data")), ([false, false], None));
        for what in Shown::ALL {
            assert_eq!(shown(&cluster, (what, &profile), None).1, None);
            // Nothing that is said may be of another form than is thought.
            for strange in
                [json!(1), json!({"metadata": [], "spec": "x"}), json!({"metadata": {"annotations": 1}})]
            {
                assert!(shown(&cluster, (what, &profile), Some(&strange)).1.is_some());
            }
        }
    }
}
