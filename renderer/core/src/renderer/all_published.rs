//! That all its rows are in `desired`: deployers delete nothing before every renderer has said so of this life of the stream.
//! When the stream was wiped, what one renderer withdraws another one may want as well, and has not written again yet.

// D-0409: nothing is deleted before every renderer has announced its rows.

use std::collections::BTreeSet;

use sluice_api::ClusterRef;
use sluice_protocol::interest::Complete;
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{Body, Meta, Publish, Revision, Shard, Step, Subject, Table};

use super::outgoing::{AllPublished, Told};
use super::{Config, Effect, Renderer};

// D-0410: a renderer announces its rows after a minute at the latest.
/// How long it waits for clusters of which it does not know enough, microseconds: what becomes of their events nobody
/// knows, and deletions everywhere wait for it.
const PATIENCE: i64 = 60_000_000;
/// Pause before it looks again, microseconds.
const AGAIN: i64 = 250_000;

impl Renderer {
    /// Whether everything that it wants follows from what it knows by now; else something waits for more.
    pub(super) fn is_decided(&self) -> bool {
        self.outgoing.is_caught_up() && self.planning.is_decided(&self.knowledge)
    }

    /// Says so once everything that it wants follows from what it knows.
    pub(super) fn report_all_published(&mut self, step: &mut Step<Effect>) {
        let since = match self.outgoing.all_published {
            AllPublished::Said => return,
            AllPublished::Looking { next, .. } if step.steady < next => return step.wake_at_steady(next),
            AllPublished::Looking { since, .. } => since,
            AllPublished::NotYet => step.steady,
        };
        if !self.is_decided() && step.steady < since + PATIENCE {
            let next = step.steady + AGAIN;
            self.outgoing.all_published = AllPublished::Looking { since, next };
            return step.wake_at_steady(next);
        }
        self.outgoing.all_published = AllPublished::Said;
        self.tell_all_pulling(step);
        for (shard, incarnation) in Shard::all(self.config.shards).zip(&self.config.outputs) {
            let subject = Subject::AllDesired { shard, origin: self.config.shard };
            let said = Meta::Complete(Complete::of_all(*incarnation, Revision::NONE));
            step.publish(Publish::new(subject, Body::value([]), 0).meta(said).after_all());
        }
    }

    /// Says the same to the deployers that are in their clusters, and takes back what a former owner said to those that are not any more.
    fn tell_all_pulling(&mut self, step: &mut Step<Effect>) {
        let clusters = self.knowledge.catalog.fleet.clusters().keys();
        let all: BTreeSet<ClusterRef> = clusters.chain(self.outgoing.told.keys()).cloned().collect();
        all.iter().for_each(|cluster| self.tell_pulling(cluster, step));
    }

    // D-0213: a cluster that pulls has a deployer of its own.
    /// The same for one cluster: the deployer in it reads nothing but what is for this one.
    pub(super) fn tell_pulling(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if !matches!(self.outgoing.all_published, AllPublished::Said) {
            return;
        }
        let pulls = self.knowledge.catalog.fleet.clusters().get(cluster).is_some_and(|known| known.pulls);
        let Config { shards, shard: origin, outputs, .. } = &self.config;
        let shard = cluster_shard(cluster, *shards);
        let subject = || Subject::Complete {
            table: Table::Desired,
            shard,
            cluster: cluster.clone(),
            origin: Some(*origin),
        };
        if !pulls {
            if self.outgoing.told.remove(cluster).is_some() {
                // Behind what was said before, which may wait itself.
                step.publish(Publish::new(subject(), Body::Tombstone, 0).after_all());
            }
        } else if self.outgoing.told.insert(cluster.clone(), Told::Now) != Some(Told::Now) {
            // What a former owner said may be of another life of the stream.
            let incarnation = outputs.get(shard.index()).copied().unwrap_or_default();
            let said = Meta::Complete(Complete::of_all(incarnation, Revision::NONE));
            step.publish(Publish::new(subject(), Body::value([]), 0).meta(said).after_all());
        }
    }
}
