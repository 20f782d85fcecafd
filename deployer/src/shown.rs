//! Clusters that pull, as those see them who are outside: their own deployers serve them, and what these show is written into the
//! management cluster.

// D-0213: a cluster that pulls has a deployer of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_api::ClusterRef;
use sluice_api::model::registration;
use sluice_bus::{Bus, OwnAgents, ReadEvent, ReadSpec, now_micros, read};
use sluice_deployer_core::shown;
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{About, Problem, Row, Shard, Subject, Table};
use sluice_runtime::{ClusterFeed, Projector, Reporter};
use sluice_tasks::End;
use tokio::time::Instant;

use crate::shard::Shared;

/// Pause before what cannot be read is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// The clusters of a shard that pull.
pub(crate) fn pulling(feed: &ClusterFeed, shard: Shard, shards: u16) -> BTreeSet<ClusterRef> {
    let pulls = |cluster: &ClusterRef| feed.get(cluster).is_some_and(|access| access.pulls);
    feed.keys().into_iter().filter(|it| cluster_shard(it, shards) == shard && pulls(it)).collect()
}

/// Waits until other clusters of the shard pull than these.
pub(crate) async fn others(shared: &Shared, shard: Shard, known: BTreeSet<ClusterRef>) {
    if shared.outside.is_none() {
        return pending().await;
    }
    let (feed, shards) = (shared.feed.clone(), shared.context.bus.shards());
    let mut accesses = feed.subscribe();
    while let Some(access) = accesses.recv().await {
        let is_other = access.pulls != known.contains(&access.cluster);
        if is_other && cluster_shard(&access.cluster, shards) == shard {
            return;
        }
    }
    pending().await
}

/// Of a deployer that has not been heard for so long its cluster is called down: three of its reports are missing.
const SILENCE: Duration = Duration::from_secs(30);
/// How often it is looked at, and how often people are told when it was heard.
const LOOK: Duration = Duration::from_secs(5);
const TELL: Duration = Duration::from_secs(60);

/// Begins to hear deployers that are in their clusters.
pub(crate) fn listen(bus: &Bus) -> OwnAgents {
    OwnAgents::listen_to_deployers(bus, SILENCE)
}

/// Says which of these clusters are silent, and of the others when they were heard.
pub(crate) async fn tell_silent(
    heard: OwnAgents,
    of: BTreeSet<ClusterRef>,
    projector: Projector,
    reporter: Reporter,
) -> End {
    let (began, mut told) = (Instant::now(), BTreeMap::<ClusterRef, Instant>::new());
    loop {
        tokio::time::sleep(LOOK).await;
        let live = heard.clusters();
        for cluster in &of {
            if live.contains(cluster) {
                reporter.problem(Problem::resolved("deployer", cluster, About::Presence));
                if told.get(cluster).is_none_or(|at| at.elapsed() >= TELL) {
                    told.insert(cluster.clone(), Instant::now());
                    tell_time(cluster, &projector);
                }
            } else if began.elapsed() > SILENCE {
                told.remove(cluster);
                let text = "spec.pullMode: no deployer in it has been heard for 30 seconds; is the cluster cut off from the bus? `sluice register cluster --pull` prints what it needs";
                reporter.problem(Problem::open("deployer", cluster, About::Presence, text));
            }
        }
    }
}

fn tell_time(cluster: &ClusterRef, projector: &Projector) {
    let Some(key) = registration(cluster) else { return };
    let now = Timestamp::from_second(now_micros().div_euclid(1_000_000)).unwrap_or_default();
    projector.project_status(key, json!({"agentLastReportTime": now.to_string()}), None);
}

/// Writes what the deployers in these clusters show.
pub(crate) async fn project(bus: Bus, shard: Shard, of: BTreeSet<ClusterRef>, projector: Projector) -> End {
    let spec = ReadSpec::some(Table::Status.stream(shard), vec![own_rows::shown(shard)]);
    let mut reader = loop {
        match read(&bus, &spec).await {
            Ok(reader) => break reader,
            Err(error) => tracing::info!(%error, "what is shown of clusters that pull cannot be read yet"),
        }
        tokio::time::sleep(AGAIN).await;
    };
    while let Some(event) = reader.next().await {
        if let ReadEvent::Row(row, _) = event {
            write(&row, &of, &projector);
        }
    }
    End::Early
}

fn write(row: &Row, of: &BTreeSet<ClusterRef>, projector: &Projector) {
    let Subject::Shown { cluster, what, profile, .. } = &row.subject else { return };
    if !of.contains(cluster) {
        return;
    }
    let said = (!row.head.tombstone).then(|| serde_json::from_slice::<Value>(&row.body));
    match said.transpose() {
        Ok(said) => {
            let (key, object) = shown(cluster, (*what, profile), said.as_ref());
            projector.project(key, object);
        }
        Err(error) => tracing::warn!(%error, subject = %row.subject, "what a cluster shows cannot be read"),
    }
}
