//! What no deployer may do to a cluster, whatever happens.

use std::sync::Arc;

use serde_json::json;
use sluice_api::model::{ClusterChecks, Guards};
use sluice_api::{MANAGEMENT, ProfileId};
use sluice_deployer_core::Request;
use sluice_protocol::rows::Cause;

use crate::api_server::{ApiServer, Written};
use crate::checks::{History, LATE, version};
use crate::management::{Addon, Management};
use crate::world::World;

/// Why a call that would be carried out on a server of this name must not be made.
pub(super) fn forbidden(
    (name, server): (&str, &ApiServer),
    request: &Request,
    management: &Management,
    history: &History,
) -> Option<String> {
    let Request::WriteInventory { inventory, against } = request else { return None };
    let unready = in_spite_of_readiness((name, server), against.is_some(), history.now);
    let Some(stored) = server.inventories.get(&inventory.id()) else { return unready };
    // Another maker of the name may deploy what it has.
    let again = stored.inventory.complete && !inventory.complete && stored.inventory.cause == inventory.cause;
    let again = again && management.is_once(history.now);
    let again = again && against.as_ref() == Some(&stored.version) && !history.is_excused();
    again.then(|| format!("{} is deployed again, and should be once", inventory.id()))
}

/// What is asked of a cluster before its first add-on: the same that checks of profiles ask.
pub(super) fn readiness(name: &str) -> Guards {
    let check = json!({"name": "ill", "condition": "evaluate", "resourceSelectors": [{"version": "v1", "kind": "Pod"}]});
    let object = json!({"spec": {"readinessChecks": [check]}});
    ClusterChecks::read(&object).transpose().filter(|_| name != MANAGEMENT).map(Arc::new)
}

/// A cluster that holds nothing gets something although it is not ready.
fn in_spite_of_readiness((name, server): (&str, &ApiServer), is_there: bool, now: i64) -> Option<String> {
    let is_first = !is_there && server.inventories.is_empty() && name != MANAGEMENT;
    (is_first && server.ill_for(now)? > LATE).then(|| "it gets its first add-on, and is not ready".to_owned())
}

/// Whether what the user's profile is called was deployed by another maker of the name, which is gone, or refused since the profile
/// is there. It goes, however late, as long as the profile is paused and asks for nothing.
pub(super) fn goes_with_its_maker(server: &ApiServer, management: &Management) -> bool {
    let own = ProfileId { namespace: String::new(), name: Addon::Own.name().into() };
    let of_event =
        server.inventories.get(&own).is_some_and(|stored| matches!(stored.inventory.cause, Cause::Event(_)));
    of_event && management.last_edit_of_profile().is_some()
}

/// What was written to a server of this name although it is paused, or its profile is, or a check of that fails.
pub(super) fn in_spite_of(world: &World, name: &str, request: &Request, written: &Written) -> Option<String> {
    in_spite_of_pause(world, name, written).or_else(|| in_spite_of_check(world, name, request, written))
}

fn in_spite_of_pause(world: &World, name: &str, written: &Written) -> Option<String> {
    let (management, history, key) = (&world.management, &world.history, &written.key);
    if management.paused_since(name, world.now).is_some_and(|since| world.now - since > LATE) {
        return Some(format!("{name}: {key} is written, and the cluster is paused"));
    }
    // Another maker of the name is not paused.
    let alone = world.now - history.rival_at > LATE;
    let edit = written.new.as_ref().filter(|_| key.name == "own" && alone).map(|new| version(new, "edit"));
    let too_new = edit.zip(management.last_edit_of_profile()).is_some_and(|(edit, last)| edit > last);
    too_new.then(|| format!("{name}: {key} has edit {edit:?}, and its profile is paused"))
}

fn in_spite_of_check(world: &World, name: &str, request: &Request, written: &Written) -> Option<String> {
    let is_gated = matches!(request, Request::Apply { .. } | Request::Delete { .. });
    let ill_for = world.clusters.get(name)?.ill_for(world.now)?;
    // Another maker of the name asks for no check.
    let alone = world.now - world.history.rival_at > LATE;
    (is_gated && alone && written.key.name == "own" && ill_for > LATE)
        .then(|| format!("{name}: {} is written, and a check fails", written.key))
}
