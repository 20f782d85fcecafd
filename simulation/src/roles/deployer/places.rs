//! How the clusters stand to which a deployer deploys.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Cluster;
use sluice_api::{ClusterRef, MANAGEMENT, object};
use sluice_protocol::Shard;
use sluice_protocol::subject::cluster_shard;

use super::{SHARDS, Standing};
use crate::management::CLUSTERS;
use crate::world::{BEGIN, World, cluster_ref};

/// A registered cluster is reached over its way unless it is paused, and so is the management cluster.
pub(super) fn standing(world: &World, name: &str) -> Standing {
    match world.clusters.get(name) {
        Some(_) if name != MANAGEMENT && !world.management.is_registered(name) => Standing::Unregistered,
        Some(_) if registered(world, name).is_some_and(|cluster| is_paused(world, &cluster)) => {
            Standing::Paused
        }
        Some(server) => Standing::Reachable(server.way),
        None => Standing::Unregistered,
    }
}

/// The registration of a cluster, as the shell reads it.
fn registered(world: &World, name: &str) -> Option<Cluster> {
    let is_it = |object: &&Arc<Value>| {
        object::text(object, &["kind"]) == "SveltosCluster" && object::name(object) == name
    };
    Cluster::read(world.management.objects.iter().find(is_it)?)
}

/// Whether a cluster is left alone now. A pause that ends by itself is only there where all clocks are right.
pub(super) fn is_paused(world: &World, cluster: &Cluster) -> bool {
    cluster.pause.at(BEGIN + world.now).is_some()
}

/// The clusters of a shard that pull.
pub(super) fn pulling_in(world: &World, shard: Shard) -> BTreeSet<ClusterRef> {
    let registered = CLUSTERS.into_iter().filter(|name| world.pulls(name)).map(cluster_ref);
    registered.filter(|cluster| cluster_shard(cluster, SHARDS) == shard).collect()
}
