//! What must hold after the faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_deployer_core::{Live, OwningProfile};
use sluice_dryrun::{Input, Options, build_with};
use sluice_protocol::rows::{State, Status};
use sluice_protocol::{Shard, Subject, Table};

use crate::api_server::{ApiServer, SentEvent};
use crate::departure;
use crate::management::Addon;
use crate::manifests;
use crate::oracle;
use crate::pulling;
use crate::refusals::INVALID;
use crate::roles::SHARDS;
use crate::rollbacks;
use crate::schedule::Schedule;
use crate::world::{BEGIN, World, cluster_ref};

/// What a profile may say that lost an object, or its name, to another one: these stay as long as there are both.
const CONFLICTS: [&str; 2] = ["A conflict was detected", "is already made on"];

/// What a profile may say where the server refuses an object, which another one may wait for.
const REFUSED: [&str; 4] =
    [INVALID, "has taken it over", "waits for what failed before it", "needs it on this cluster"];

impl Schedule {
    /// What is there must be what should be, and what the deployers say of it must be so.
    pub(crate) fn compare(&self) -> Result<(), String> {
        self.compare_objects()?;
        oracle::compare(&self.world)?;
        rollbacks::compare(&self.world)?;
        for (name, server) in self.world.servers() {
            compare_inventories(&self.world, name, server)?;
        }
        departure::compare(&self.world)?;
        pulling::compare(&self.world)?;
        self.compare_statuses()
    }

    /// The clusters hold what a pure function says.
    fn compare_objects(&self) -> Result<(), String> {
        let held = self.world.clusters.iter().map(|(name, server)| {
            let services = server.services.values().map(|service| (*service.object).clone());
            let held = services.chain(server.sent.iter().map(SentEvent::object));
            (("default".to_owned(), (*name).to_owned()), held.collect())
        });
        let management = self.world.management.objects.iter().map(|object| (**object).clone());
        let management = management.chain(self.world.management.thing().map(manifests::thing)).collect();
        let (now, caches) = (BEGIN + self.world.now, self.world.caches.clone());
        let options = Options { now, caches, ..Options::default() };
        let expected =
            build_with(&Input { management, clusters: held.collect(), ..Input::default() }, &options);
        for (name, server) in self.world.servers() {
            let wanted = expected.clusters.get(&cluster_ref(name).path()).map_or(&[][..], Vec::as_slice);
            let mut wanted = content(wanted.iter());
            // What a user has taken over may be what is wanted all the same.
            let counts = |(key, object): &(&ObjectKey, &Arc<Value>)| {
                let is_wanted = wanted.contains_key(&key.name);
                let counts = is_owned(object) && (is_wanted || !self.world.stays(name, object));
                counts || (server.adopted.contains(*key) && is_wanted)
            };
            let mut found = content(server.applied.iter().filter(counts).map(|(_, object)| &**object));
            // What is refused stays as it was, or away, as long as it is wanted.
            for (key, data) in wanted.iter().filter(|(key, _)| self.world.is_refused(name, key)) {
                found.insert(key.clone(), data.clone());
            }
            // A dry run knows nothing of former contents.
            for all in [&mut wanted, &mut found] {
                all.remove(Addon::Back.name());
            }
            if wanted != found {
                return Err(format!("cluster {name} holds {found:?} and should hold {wanted:?}"));
            }
        }
        Ok(())
    }

    /// Every profile says that it is provisioned, or that another one has what it wants, or that the server refuses it; and
    /// those that have something in a cluster say so, and nobody else.
    fn compare_statuses(&self) -> Result<(), String> {
        let mut said = BTreeSet::new();
        for (_, stored) in self.world.store.stream(Table::Status, Shard::FIRST).rows() {
            let message = &stored.value;
            let Subject::Status { cluster, origin, profile, .. } = &message.subject else { continue };
            // Of a cluster that is not reached nobody need know how it is.
            if message.head.tombstone || self.world.is_unreached(&cluster.name) {
                continue;
            }
            let status: Status = serde_json::from_slice(&message.body).map_err(|error| error.to_string())?;
            let refuses = self.world.lasting.is_some_and(|lasting| cluster_ref(lasting.cluster) == *cluster);
            let lost = |error: &String| {
                CONFLICTS.iter().any(|conflict| error.contains(conflict))
                    || (refuses && REFUSED.iter().any(|refused| error.contains(refused)))
            };
            let expected = match status.state {
                // Its deployer began anew since, and has nothing new to say: it waits until who needs it is gone.
                State::Held => self.world.is_needed(&cluster.name, |needed| needed == profile),
                State::Provisioning => false,
                State::Provisioned | State::DryRun => status.errors.is_empty(),
                State::Failed => status.errors.iter().all(lost),
            };
            // Where a content fails it is told.
            if !expected && !self.world.is_open(profile) {
                return Err(format!("status of {profile} on {cluster} for {origin}: {status:?}"));
            }
            if status.state == State::Provisioned {
                let named = self.world.clusters.iter().find(|(name, _)| cluster_ref(name) == *cluster);
                let holds = named.and_then(|(_, server)| server.inventories.get(profile));
                if holds.is_none_or(|stored| stored.inventory.cause.origin(SHARDS) != *origin) {
                    return Err(format!(
                        "{profile} is provisioned on {cluster} for {origin}, and holds {holds:?}"
                    ));
                }
                let objects = holds.iter().flat_map(|stored| &stored.inventory.objects);
                let name = named.map_or("", |(name, _)| name);
                if let Some(key) =
                    { objects }.find(|key| !oracle::is_as_wanted(&self.world, name, key, profile))
                {
                    return Err(format!(
                        "{profile} is provisioned on {cluster}, and {key} is not as it wants it"
                    ));
                }
            }
            said.insert((cluster.clone(), profile.clone(), *origin));
        }
        for (name, server) in self.world.servers() {
            for (profile, stored) in &server.inventories {
                let origin = stored.inventory.cause.origin(SHARDS);
                if !said.contains(&(cluster_ref(name), profile.clone(), origin)) {
                    return Err(format!(
                        "nobody says that {name} has the inventory of {profile} for {origin}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Who owns an object has it in its inventory, and what is in an inventory is there, unless the server refuses something: what
/// it names is only taken off it when all is done. What was handed over and is refused has its heir's inventory alone.
fn compare_inventories(world: &World, cluster: &str, server: &ApiServer) -> Result<(), String> {
    let refuses = world.is_refusing(cluster);
    let lists = |owner: &OwningProfile, key: &ObjectKey| {
        let waits = world.is_refused(cluster, &key.name);
        let mut held = server.inventories.iter().filter(|(profile, _)| waits || owner.is(profile));
        held.any(|(_, stored)| stored.inventory.objects.contains(key))
    };
    for (key, object) in server.applied.iter() {
        if let Some(owner) = Live::of(object).owner
            && !lists(&owner, key)
        {
            return Err(format!("{cluster}: {key} is owned by {owner:?}, whose inventory does not name it"));
        }
    }
    for (profile, stored) in server.inventories.iter().filter(|(profile, _)| !world.is_open(profile)) {
        let owned = |key: &ObjectKey| {
            server.applied.get(key).is_some_and(|object| is_owned(object) || server.adopted.contains(key))
        };
        if let Some(key) = stored.inventory.objects.iter().find(|key| !refuses && !owned(key)) {
            return Err(format!("{cluster}: the inventory of {profile} names {key}, which is not there"));
        }
    }
    Ok(())
}

/// What a profile left behind is nobody's any more.
fn is_owned(object: &Value) -> bool {
    Live::of(object).owner.is_some()
}

fn content<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeMap<String, String> {
    objects
        .map(|object| {
            (object::name(object).to_owned(), object.get("data").map(Value::to_string).unwrap_or_default())
        })
        .collect()
}
