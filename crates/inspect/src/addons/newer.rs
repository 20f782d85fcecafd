//! Where rows of the bus are newer than what deployers have written down, what these say: a ClusterConfiguration is written some
//! seconds after what it tells of.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, ProfileId};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look_each};
use sluice_protocol::rows::{Desired, State, Status};
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Shard, Subject, Table, WantedSet};
use sluice_status_core::timestamp;

use super::on_bus::{MOST, of_desired};
use super::{Addon, AddonFilter, OfRows};

/// A cluster by its path, and a profile as `Kind/name`.
type Pair = (String, String);

/// What rows say of one profile in one cluster.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Whether what is wanted is applied.
    provisioned: bool,
    /// Whether what was applied once is never changed.
    one_time: bool,
    /// What is wanted.
    wanted: Vec<Addon>,
}

/// What rows say of the clusters whose configurations are older.
#[derive(Debug, Default)]
pub(crate) struct Newer {
    /// These clusters, by their paths.
    clusters: BTreeSet<String>,
    said: BTreeMap<Pair, Said>,
}

/// What is newer than configurations of these rows. Of `named` clusters only, where a cluster is asked for.
pub(crate) async fn newer(
    bus: &Bus,
    of_rows: &OfRows,
    named: Option<&BTreeSet<ClusterRef>>,
    filter: &AddonFilter,
) -> Result<Newer, BusError> {
    let older = older(of_rows, &wanted(bus, named, filter).await?);
    if older.is_empty() {
        return Ok(Newer::default());
    }
    Ok(Newer { said: said(bus, &older).await?, clusters: older.iter().map(ClusterRef::path).collect() })
}

/// What is wanted of each cluster, by the heads of its rows.
async fn wanted(
    bus: &Bus,
    named: Option<&BTreeSet<ClusterRef>>,
    filter: &AddonFilter,
) -> Result<BTreeMap<ClusterRef, WantedSet>, BusError> {
    let mut found: BTreeMap<ClusterRef, WantedSet> = BTreeMap::new();
    for (shard, filters) in reads(Table::Desired, named, bus.shards()) {
        let spec = ReadSpec { heads_only: true, ..ReadSpec::some(Table::Desired.stream(shard), filters) };
        let each = |Stored { row, .. }: Stored| {
            let Subject::Desired { cluster, origin, profile, .. } = row.subject else { return };
            if !row.head.tombstone && filter.is_on(&cluster.path()) {
                found.entry(cluster).or_default().add(&profile, origin, row.head.digest);
            }
        };
        look_each(bus, &spec, each).await?;
    }
    Ok(found)
}

/// The clusters of which something else is wanted than what their configuration is about.
fn older(of_rows: &OfRows, wanted: &BTreeMap<ClusterRef, WantedSet>) -> BTreeSet<ClusterRef> {
    let all: BTreeSet<&ClusterRef> = of_rows.keys().chain(wanted.keys()).collect();
    let nothing = WantedSet::default();
    let is_older = |cluster: &ClusterRef| {
        let written = of_rows.get(cluster).and_then(Option::as_ref);
        let is_wanted = wanted.get(cluster).unwrap_or(&nothing);
        match written {
            Some(written) => *written != is_wanted.digest().to_string(),
            // Where nothing but roles is wanted there is no configuration.
            None => of_rows.contains_key(cluster) || *is_wanted != nothing,
        }
    };
    let paths: BTreeSet<String> =
        all.iter().filter(|cluster| is_older(cluster)).map(|cluster| cluster.path()).collect();
    // Lines have the path alone: two registrations of one path are looked at together.
    all.into_iter().filter(|cluster| paths.contains(&cluster.path())).cloned().collect()
}

/// What rows say of all profiles in these clusters.
async fn said(bus: &Bus, clusters: &BTreeSet<ClusterRef>) -> Result<BTreeMap<Pair, Said>, BusError> {
    let mut provisioned = BTreeSet::new();
    let mut found: BTreeMap<Pair, Said> = BTreeMap::new();
    let filters = clusters.iter().map(|cluster| {
        own_rows::of_profiles(Table::Status, Some(cluster), None, Some(cluster_shard(cluster, bus.shards())))
    });
    let filters = if clusters.len() > MOST { Vec::new() } else { filters.collect() };
    let each = |Stored { row, .. }: Stored| {
        let status = Status::of_row(&row);
        let Subject::Status { cluster, origin, profile, .. } = row.subject else { return };
        if row.head.tombstone || profile.is_role_request() || !clusters.contains(&cluster) {
            return;
        }
        found.entry(pair(&cluster, &profile)).or_default();
        if status.is_ok_and(|status| status.state == State::Provisioned) {
            provisioned.insert((cluster, origin, profile));
        }
    };
    look_each(bus, &ReadSpec::some(Table::Status.stream(Shard::FIRST), filters), each).await?;
    for (shard, filters) in reads(Table::Desired, Some(clusters), bus.shards()) {
        let each = |Stored { row, at }: Stored| {
            let Subject::Desired { cluster, origin, profile, .. } = row.subject.clone() else { return };
            if row.head.tombstone || profile.is_role_request() || !clusters.contains(&cluster) {
                return;
            }
            let said = found.entry(pair(&cluster, &profile)).or_default();
            if provisioned.contains(&(cluster.clone(), origin, profile.clone()))
                && let Ok(desired) = Desired::of_row(&row)
            {
                (said.provisioned, said.one_time) = (true, desired.one_time);
                said.wanted = of_desired(&cluster, &profile, &desired, &timestamp(at));
            }
        };
        look_each(bus, &ReadSpec::some(Table::Desired.stream(shard), filters), each).await?;
    }
    Ok(found)
}

/// Which filters in which shards the rows of these clusters need, or those of all.
fn reads(table: Table, clusters: Option<&BTreeSet<ClusterRef>>, shards: u16) -> BTreeMap<Shard, Vec<String>> {
    let of_all = |shard| vec![own_rows::of_profiles(table, None, None, Some(shard))];
    let Some(clusters) = clusters.filter(|clusters| clusters.len() <= MOST) else {
        return Shard::all(shards).map(|shard| (shard, of_all(shard))).collect();
    };
    let mut reads: BTreeMap<Shard, Vec<String>> = BTreeMap::new();
    for cluster in clusters {
        let shard = cluster_shard(cluster, shards);
        let filter = own_rows::of_profiles(table, Some(cluster), None, Some(shard));
        reads.entry(shard).or_default().push(filter);
    }
    reads
}

fn pair(cluster: &ClusterRef, profile: &ProfileId) -> Pair {
    (cluster.path(), format!("{}/{}", profile.kind(), profile.name))
}

/// Something that was applied later than what is known by its row.
fn keep_times(wanted: &mut [Addon], before: &[Addon]) {
    let times: BTreeMap<[&str; 4], &str> =
        before.iter().map(|addon| (addon.place(), addon.time.as_str())).collect();
    for addon in wanted {
        if let Some(time) = times.get(&addon.place()).filter(|time| **time > addon.time.as_str()) {
            addon.time = (*time).to_owned();
        }
    }
}

// === impl Newer ===

impl Newer {
    /// The lines, each of one profile, as of now. What is applied is what is wanted; of what is not, or not for sure, the older
    /// lines stay; what nobody speaks of any more is gone.
    pub(crate) fn corrected(self, found: Vec<Addon>) -> Vec<Addon> {
        let Self { clusters, mut said } = self;
        let (older, mut lines): (Vec<Addon>, Vec<Addon>) =
            found.into_iter().partition(|addon| clusters.contains(&addon.cluster));
        let mut before: BTreeMap<Pair, Vec<Addon>> = BTreeMap::new();
        for addon in older {
            before.entry((addon.cluster.clone(), addon.profiles.concat())).or_default().push(addon);
        }
        for (pair, before) in before {
            match said.get_mut(&pair) {
                None => {}
                Some(said) if said.provisioned && !said.one_time => keep_times(&mut said.wanted, &before),
                Some(said) => {
                    said.wanted.clear();
                    lines.extend(before);
                }
            }
        }
        lines.extend(said.into_values().flat_map(|said| said.wanted));
        lines
    }
}

#[cfg(test)]
mod tests;
