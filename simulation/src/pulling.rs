//! A cluster that pulls: the deployer that works on it is in it, hears of it over the bus alone, and is cut off for longer than others.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use sluice_deployer_core::shown;
use sluice_protocol::subject::Shown;
use sluice_protocol::{Shard, Subject, Table};

use crate::coverage::Fault;
use crate::management::CLUSTERS;
use crate::schedule::Schedule;
use crate::world::{STEP, World, cluster_ref};

/// How often who is in it loses the bus, and for how many steps at most: not for so long that what it hears afterwards is of long ago.
const CUTS: f64 = 0.002;
const LONGEST: i64 = 550;

/// The cluster of a schedule that pulls, if there is one. It draws by itself: other schedules are as they would be without it.
pub(crate) fn pulling(seed: u64) -> Option<usize> {
    let mut random = SmallRng::seed_from_u64(seed.rotate_left(48));
    random.random_bool(0.25).then(|| random.random_range(0..CLUSTERS.len()))
}

/// Both replicas of the deployer that is in it have no connection to the bus for a while.
pub(crate) fn cut_off(schedule: &mut Schedule) {
    let Schedule { world, replicas, .. } = schedule;
    if world.management.pulling().is_none() || !world.random.random_bool(CUTS) {
        return;
    }
    let steps = world.random.random_range(60..LONGEST);
    for replica in replicas.iter_mut().filter(|replica| replica.is_inside()) {
        replica.cut(world.now + steps * STEP);
    }
    world.happened(Fault::CutOff, || format!("for {steps} steps"));
}

/// What people see of it is what is there: of each profile that has something, and of none of which nothing is said.
///
/// # Errors
/// What is different.
pub(crate) fn compare(world: &World) -> Result<(), String> {
    let Some(name) = world.management.pulling().filter(|name| world.departed() != Some(name)) else {
        return Ok(());
    };
    let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
    let rows = world.store.stream(Table::Status, Shard::FIRST).rows().map(|(_, stored)| &stored.value);
    for row in rows.filter(|row| !row.head.tombstone) {
        match &row.subject {
            Subject::Status { cluster, profile, .. } if *cluster == cluster_ref(name) => {
                told.insert(profile);
            }
            Subject::Shown { cluster, what, profile, .. } => {
                let said = serde_json::from_slice(&row.body).map_err(|error| error.to_string())?;
                let (key, _) = shown(cluster, (*what, profile), Some(&said));
                if *cluster != cluster_ref(name) {
                    return Err(format!("{key} is shown of {cluster}, which does not pull"));
                }
                seen.extend(Some(profile).filter(|_| *what == Shown::Summary));
            }
            _ => {}
        }
    }
    if let Some(profile) = seen.iter().find(|profile| !told.contains(**profile)) {
        return Err(format!("{name} pulls, and {profile} is shown, of which nothing is said"));
    }
    // Of what has no row nobody knows what to show: who waits for a turn, or to be removed where the server refuses something.
    if world.is_refusing(name) {
        return Ok(());
    }
    let mut held = world.clusters[name].inventories.keys().filter(|profile| !world.is_open(profile));
    match held.find(|profile| !seen.contains(profile)) {
        Some(profile) => Err(format!("{name} pulls and has {profile}, and only {seen:?} are shown")),
        None => Ok(()),
    }
}
