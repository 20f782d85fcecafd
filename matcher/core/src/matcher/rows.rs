//! The rows that a matcher publishes, and the lines that it writes into the journal.

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Complete;
use sluice_protocol::subject::{Table, cluster_shard};
use sluice_protocol::{Body, JournalEntry, Line, Meta, Publish, Revision, Step, Subject, View};

use super::{Effect, Matcher, STAGE};

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
        let subject = self.report_subject(cluster, key, source);
        let mut view = View::default();
        // Nobody is to wait for the interest row of a cluster that has gone. Without one nothing is judged, only taken back.
        let revision = self.clusters.get(cluster).filter(|live| !live.gone).and_then(|live| live.revision);
        revision.into_iter().for_each(|revision| view.note(&cluster.to_string(), revision));
        let row = Publish::new(subject, body, time).view(view);
        if revision.is_none() { row.parting() } else { row }
    }

    /// Where the match of an object is told.
    pub(super) fn report_subject(&self, cluster: &ClusterRef, key: &ObjectKey, source: &str) -> Subject {
        Subject::Report {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            source: source.to_owned(),
            origin: self.config.shard,
            object: key.clone(),
        }
    }

    pub(super) fn withdraw(
        &mut self,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        time: i64,
        step: &mut Step<Effect>,
    ) {
        self.withdraw_as(cluster, key, source, (time, None), step);
    }

    /// Takes back that an object matches. The row says from which revision of the interest that is known, where it is another one
    /// than this matcher works with: whoever reads it judges whether the source, as it is now, was asked for then.
    pub(super) fn withdraw_as(
        &mut self,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        (time, known): (i64, Option<Revision>),
        step: &mut Step<Effect>,
    ) {
        let was = match self.caught_up {
            true => self.reported.remove(cluster, key, source),
            false => self.reported.remove_early(cluster, key, source),
        };
        if !was {
            return;
        }
        let line = line("unmatched", cluster, key, source, (step.now, time));
        let mut row = self.report(cluster, key, source, Body::Tombstone, time).line(Line::Change(line));
        let place = cluster.to_string();
        if let Some(known) =
            known.filter(|known| *known > Revision::NONE && row.view.version(&place) > Revision::NONE)
        {
            row.view = View::default();
            row.view.note(&place, known);
        }
        step.publish(row);
    }

    /// Says that every match of the cluster is reported as of this revision.
    pub(super) fn complete_row(&self, cluster: &ClusterRef, complete: &Complete) -> Publish {
        let shard = cluster_shard(cluster, self.config.shards);
        let incarnation = self.config.outputs.get(shard.index()).copied().unwrap_or_default();
        self.row_of(cluster, Complete { incarnation, ..complete.clone() })
    }

    /// A completeness row that says just this.
    pub(super) fn row_of(&self, cluster: &ClusterRef, complete: Complete) -> Publish {
        Publish::new(self.completeness(cluster), Body::value([]), 0)
            .meta(Meta::Complete(complete))
            .after_all()
    }

    /// Where this matcher says how much of a cluster is known.
    pub(super) fn completeness(&self, cluster: &ClusterRef) -> Subject {
        let shard = cluster_shard(cluster, self.config.shards);
        let origin = Some(self.config.shard);
        Subject::Complete { table: Table::Reports, shard, cluster: cluster.clone(), origin }
    }
}

/// What becomes of an object because of its change at `time`: a match begins, or ends.
pub(super) fn line(
    what: &str,
    cluster: &ClusterRef,
    key: &ObjectKey,
    source: &str,
    (now, time): (i64, i64),
) -> JournalEntry {
    let line = JournalEntry::new(STAGE, what, cluster, format!("{key} ({source})"), now, time);
    line.because_of(cluster, time)
}
