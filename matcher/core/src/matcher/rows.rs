//! The rows that a matcher publishes.

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Complete;
use sluice_protocol::subject::{Table, cluster_shard};
use sluice_protocol::{Body, Meta, Publish, Subject, View};

use super::Matcher;

impl Matcher {
    /// A match, or its end.
    pub(super) fn report(
        &self,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        body: Body,
        time: i64,
    ) -> Publish {
        let subject = Subject::Report {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            source: source.to_owned(),
            origin: self.config.shard,
            object: key.clone(),
        };
        let mut view = View::default();
        view.note(
            &cluster.to_string(),
            self.clusters.get(cluster).and_then(|live| live.revision).unwrap_or(0),
        );
        Publish::new(subject, body, time).view(view)
    }

    /// Says that every match of the cluster is reported as of this revision.
    pub(super) fn complete_row(&self, cluster: &ClusterRef, complete: &Complete) -> Publish {
        let shard = cluster_shard(cluster, self.config.shards);
        let incarnation = self.config.outputs.get(usize::from(shard)).copied().unwrap_or(0);
        self.row_of(cluster, Complete { incarnation, ..complete.clone() })
    }

    /// A completeness row that says just this.
    pub(super) fn row_of(&self, cluster: &ClusterRef, complete: Complete) -> Publish {
        let shard = cluster_shard(cluster, self.config.shards);
        let subject = Subject::Complete {
            table: Table::Reports,
            shard,
            cluster: cluster.clone(),
            origin: Some(self.config.shard),
        };
        Publish::new(subject, Body::value([]), 0).meta(Meta::Complete(complete)).after_all()
    }
}
