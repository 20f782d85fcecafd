//! A profile whose contents fail on some clusters goes back: to what, and that nothing else becomes of it.
//!
//! Long after the faults it gets its last content. Where that works, all its clusters have it in the end. Where it fails, and all of them
//! had another one that works, they have that one. Else each has what its row says.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::{ClusterRef, Digest, ObjectKey, ProfileId};
use sluice_deployer_core::Live;
use sluice_protocol::rows::{GoBack, State, Status};
use sluice_protocol::{Body, Outgoing, Shard, Subject, Table};

use crate::api_server::ApiServer;
use crate::checks::version;
use crate::coverage::Fault;
use crate::management::{Addon, CLUSTERS};
use crate::oracle::{self, Holder, Wanted};
use crate::roles::SHARDS;
use crate::world::{STEP, World, cluster_ref};

/// When it gets its last content.
const LAST: i64 = 2_800 * STEP;

/// What is known of its contents.
#[derive(Default)]
pub(crate) struct Rollbacks {
    /// The edit that each row has.
    edits: BTreeMap<Digest, u64>,
    /// What worked on each cluster before it got its last content, and its renderer knew that.
    before: BTreeMap<&'static str, u64>,
    /// The row of a cluster that the renderer of a shard has heard of as provisioned last.
    heard: BTreeMap<(Shard, ClusterRef), Digest>,
}

/// What the row of a cluster says.
enum Says {
    /// That its name is wanted.
    Nothing,
    /// It has this edit.
    Edit(u64),
    /// It goes back to the row that had this edit, if one is known.
    Back(Option<u64>),
}

// === impl Rollbacks ===

impl Rollbacks {
    /// A row is stored. It goes back to nothing that works nowhere.
    pub(crate) fn stored(&mut self, row: &Outgoing, works: impl Fn(u64, &str) -> bool) -> Option<String> {
        let Subject::Desired { cluster, profile, .. } = &row.row.subject else { return None };
        let Body::Value(body) = &row.row.body else { return None };
        if profile.name != Addon::Back.name() {
            return None;
        }
        match self.says(body) {
            Says::Edit(edit) => {
                self.edits.insert(row.head.digest, edit);
                None
            }
            Says::Nothing => None,
            Says::Back(None) => Some(format!("{cluster} goes back to a row that never was")),
            Says::Back(Some(edit)) => {
                let works = CLUSTERS.iter().any(|cluster| works(edit, cluster));
                (!works).then(|| format!("{cluster} goes back to edit {edit}, which works nowhere"))
            }
        }
    }

    /// The renderer of a shard hears what a deployer says.
    pub(crate) fn heard(&mut self, by: Shard, subject: &Subject, body: &[u8]) {
        let Subject::Status { cluster, profile, .. } = subject else { return };
        if profile.name != Addon::Back.name() {
            return;
        }
        match provisioned(body) {
            Some(row) => drop(self.heard.insert((by, cluster.clone()), row)),
            None => drop(self.heard.remove(&(by, cluster.clone()))),
        }
    }

    fn says(&self, body: &[u8]) -> Says {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Ok(back) = serde_json::from_value::<GoBack>(body["goBack"].clone()) {
            return Says::Back(self.edits.get(&back.to).copied());
        }
        let object = &body["policies"][0]["objects"][0];
        if object.is_null() { Says::Nothing } else { Says::Edit(version(object, "edit")) }
    }
}

impl World {
    /// The profile gets its last content, when it is time.
    pub(crate) fn write_last(&mut self) {
        if self.now != LAST || !self.management.has_back() {
            return;
        }
        let held = CLUSTERS.map(|name| (name, held(&self.clusters[name]).map(|(_, edit)| edit)));
        let held = held.into_iter().filter_map(|(name, edit)| Some((name, edit?)));
        self.rollbacks.before = held.filter(|(name, _)| is_provisioned(self, name)).collect();
        let fault = self.management.change_back_content(&mut self.random, self.now);
        let what = self.management.last();
        self.happened(fault, || what);
    }

    /// A row is stored.
    pub(crate) fn note_content(&mut self, row: &Outgoing) -> Option<String> {
        let Self { rollbacks, management, .. } = self;
        let wrong = rollbacks.stored(row, |edit, cluster| management.works(edit, cluster));
        self.coverage.many(
            Fault::WentBack,
            u64::from(row.row.meta.staged().is_some_and(|staged| staged.back.is_some())),
        );
        wrong
    }

    /// The clusters that should have it.
    fn with_back(&self) -> Vec<&'static str> {
        let all = CLUSTERS.into_iter().filter(|_| self.management.has_back());
        all.filter(|cluster| self.management.back_selects(cluster)).collect()
    }

    /// Whether it is about the profile, and what clusters have of that is not certain: who waits for a turn that does not come has what it
    /// had, also half of it.
    pub(crate) fn is_open(&self, profile: &ProfileId) -> bool {
        profile.name == Addon::Back.name() && self.certain_content().is_none()
    }

    /// What all clusters have in the end, where that is certain.
    pub(crate) fn certain_content(&self) -> Option<u64> {
        let all = self.with_back();
        let works = |edit: u64| all.iter().all(|cluster| self.management.works(edit, cluster));
        if all.iter().any(|cluster| self.is_unreached(cluster)) {
            return None;
        }
        let last = self.management.edit_of(Addon::Back);
        if works(last) {
            return Some(last);
        }
        let before = |cluster: &&str| self.rollbacks.before.get(cluster).copied();
        let first = all.first().and_then(before)?;
        (all.iter().all(|cluster| before(cluster) == Some(first)) && works(first)).then_some(first)
    }
}

/// What should be of it on a cluster, as far as it is there: with which content it may be is compared apart.
pub(crate) fn put(world: &World, at: &str, table: &mut oracle::Table) {
    let server = &world.clusters[at];
    if let Some((key, _)) = held(server).filter(|_| world.with_back().contains(&at)) {
        let data = oracle::data(&server.applied[key]);
        table.insert(key.name.clone(), Wanted { data, holders: vec![Holder::Back] });
    }
}

/// Compares what the clusters have of it.
///
/// # Errors
/// What is different.
pub(crate) fn compare(world: &World) -> Result<(), String> {
    let all = world.with_back();
    for (name, server) in world.servers() {
        if let Some(profile) = server.keeps().find(|profile| !server.inventories.contains_key(profile)) {
            return Err(format!("{name} keeps contents of {profile}, which has nothing there"));
        }
        if !all.contains(&name) {
            continue;
        }
        let has = held(server).map(|(_, edit)| edit);
        if let Some(edit) = world.certain_content()
            && has != Some(edit)
        {
            let before = &world.rollbacks.before;
            return Err(format!(
                "{name} has edit {has:?} of {}, and should have {edit}, before {before:?}",
                Addon::Back.name()
            ));
        }
        match row(world, name) {
            Some((Says::Edit(edit), ..)) if has != Some(edit) => {
                return Err(format!(
                    "{name} has edit {has:?} of {}, and its row says {edit}",
                    Addon::Back.name()
                ));
            }
            // What it goes back to need not be there any more: then it stays as it is.
            _ => {}
        }
    }
    Ok(())
}

/// The row of a cluster, which shard it is from, and its digest.
fn row(world: &World, cluster: &str) -> Option<(Says, Shard, Digest)> {
    let cluster = cluster_ref(cluster);
    let origin_of = |subject: &Subject| match subject {
        Subject::Desired { cluster: of, profile, origin, .. }
            if *of == cluster && profile.name == Addon::Back.name() =>
        {
            Some(*origin)
        }
        _ => None,
    };
    Shard::all(SHARDS).flat_map(|shard| world.store.stream(Table::Desired, shard).rows()).find_map(
        |(_, stored)| {
            let row = &stored.value;
            let origin = origin_of(&row.subject).filter(|_| !row.head.tombstone)?;
            Some((world.rollbacks.says(&row.body), origin, row.head.digest))
        },
    )
}

/// Whether the deployer of a cluster says that its row is provisioned, and who made the row has heard of it.
fn is_provisioned(world: &World, cluster: &str) -> bool {
    let (of, Some((_, origin, digest))) = (cluster_ref(cluster), row(world, cluster)) else { return false };
    let is_it = |subject: &Subject| matches!(subject, Subject::Status { cluster, profile, .. } if *cluster == of && profile.name == Addon::Back.name());
    let mut rows = world.store.stream(Table::Status, Shard::FIRST).rows();
    let said = rows.find(|(_, stored)| is_it(&stored.value.subject));
    let said = said.and_then(|(_, stored)| provisioned(&stored.value.body));
    said == Some(digest) && world.rollbacks.heard.get(&(origin, of)) == Some(&digest)
}

/// The row that a deployer says is provisioned.
fn provisioned(status: &[u8]) -> Option<Digest> {
    let status = serde_json::from_slice::<Status>(status).ok()?;
    status.row.filter(|_| status.state == State::Provisioned)
}

/// What a server has of it, and which edit that is.
fn held(server: &ApiServer) -> Option<(&ObjectKey, u64)> {
    let (key, object) = server.applied.iter().find(|(key, _)| key.name == Addon::Back.name())?;
    let is_there = Live::of(object).owner.is_some() || server.adopted.contains(key);
    is_there.then(|| (key, version(object, "edit")))
}

/// Whether what is there of it works, as far as somebody asks.
pub(crate) fn works(world: &World, name: &str, server: &ApiServer) -> bool {
    held(server).is_none_or(|(_, edit)| world.management.works(edit, name))
}
