//! Who should hold what in the end, from the meaning of the manifests alone: it shares no code with the cores, with
//! `sluice build` or with their readers of manifests.
//!
//! | add-on | because of | where | objects |
//! |---|---|---|---|
//! | each | a service that the EventSource selects, in a cluster `env: fv`, by label or by the set of them | there | `each-<service>`, `more-each-<service>` |
//! | all | a cluster `env: fv` in which the EventSource selects something | clusters `tier: x` | `all-<cluster>`, `more-all-<cluster>`, `both` |
//! | sent | the last CloudEvent of a subject that is not of another type, in a cluster `env: fv`, unless it is one that deletes | there | `sent-<subject>` |
//! | here | a cluster `env: fv` in which the EventSource selects something, and a cluster `tier: x` | the management cluster | `here-<cluster>-<cluster of the tier>`, and `share-<cluster>` once |
//! | own | the user's profile, or without one the same as above for the trigger that makes one of its name | clusters `tier: x`, by label, or those of the set for the profile | `own`, `both` when its tier is the lower one |
//! | team | the profile of a namespace | the clusters of its set | `team` |
//! | next | a profile after which the user's profile goes | clusters `env: fv` | `next` |
//! | back | a profile that goes back when a content fails | clusters `tier: x` | `back`, of which edit is compared apart |
//! | base | a profile without a selector, which the user's profile depends on | where the user's profile is | `base` |

// D-1303: the expectation of the simulation shares no code with the cores.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::{MANAGEMENT, ObjectKey, ProfileId};

use crate::api_server::ApiServer;
use crate::api_server::others::is_stripped;
use crate::management::{Addon, CLUSTERS, Management};
use crate::manifests::{SourceForm, TRIGGER_TIER};
use crate::rollbacks;
use crate::world::World;

/// A profile, by what it is for: what it is called is the renderer's business, but for the one that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    /// Of one service of a cluster.
    Each(&'static str, String),
    /// Of one subject of CloudEvents of a cluster.
    Sent(&'static str, String),
    /// Of all services of a cluster.
    All(&'static str),
    /// The one that is called `own`.
    Own,
    /// The one of a namespace.
    Team,
    /// The one that the user's depends on.
    Base,
    /// The one that takes over from the user's.
    Next,
    /// The one that goes back.
    Back,
}

/// An object as it should be, and the profiles that may hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) data: BTreeMap<String, String>,
    pub(crate) holders: Vec<Holder>,
}

/// What one cluster should hold, by the names of objects.
pub(crate) type Table = BTreeMap<String, Wanted>;

/// A service: its name, and the version of it.
type Event = (String, String);

/// What a cluster should hold.
pub(crate) fn table(
    management: &Management,
    servers: &BTreeMap<&'static str, ApiServer>,
    at: &'static str,
) -> Table {
    let mut table = Table::new();
    let in_tier = management.registration(at).is_some_and(|labels| labels.tier == "x");
    let events = |cluster: &str| match management.registration(cluster) {
        Some(labels) if labels.env == "fv" => selected(management.source, &servers[cluster]),
        _ => Vec::new(),
    };
    if management.has_trigger(Addon::Each) && management.each_selects(at) {
        for (service, version) in selected(management.source, &servers[at]) {
            let holders = vec![Holder::Each(at, service.clone())];
            let data = vec![("v".into(), version)];
            put(&mut table, management, Addon::Each, &service, (data, holders));
        }
    }
    if management.registration(at).is_some_and(|labels| labels.env == "fv") {
        for (subject, version) in sent(&servers[at]) {
            let holders = vec![Holder::Sent(at, subject.clone())];
            put(&mut table, management, Addon::Sent, &subject, (vec![("v".into(), version)], holders));
        }
    }
    let sources: Vec<_> = CLUSTERS.into_iter().filter(|cluster| !events(cluster).is_empty()).collect();
    if at == MANAGEMENT && management.has_trigger(Addon::All) {
        for cluster in &sources {
            put_here(&mut table, management, cluster, events(cluster));
        }
    }
    if in_tier && management.has_trigger(Addon::All) {
        for cluster in &sources {
            let holders = vec![Holder::All(cluster)];
            put(&mut table, management, Addon::All, cluster, (events(cluster), holders));
        }
        if !sources.is_empty() {
            let holders = sources.iter().map(|cluster| Holder::All(cluster)).collect();
            table.insert("both".into(), both(management, Addon::All, holders));
        }
    }
    let has_profile = management.has_profile() && management.profile_selects(at);
    // The trigger's profile is refused as long as its name is that of a user's, wherever that one goes.
    let has_rival = in_tier && management.rival && !management.has_profile();
    if has_profile || (has_rival && !sources.is_empty()) {
        let size = ("size".to_owned(), management.thing().unwrap_or(0).to_string());
        let data = [edit(management, Addon::Own), size].into();
        table.insert("own".into(), Wanted { data, holders: vec![Holder::Own] });
    }
    if has_profile {
        table.insert("base".into(), of_itself("base", Holder::Base));
    }
    put_of_users(&mut table, management, at);
    if has_profile && management.tier() < TRIGGER_TIER {
        table.insert("both".into(), both(management, Addon::Own, vec![Holder::Own]));
    }
    table
}

/// What goes to a cluster because of other profiles of users.
fn put_of_users(table: &mut Table, management: &Management, at: &str) {
    if management.registration(at).is_some_and(|labels| labels.env == "fv") {
        let mut next = of_itself("next", Holder::Next);
        next.data.insert("size".into(), management.thing().unwrap_or(0).to_string());
        table.insert("next".into(), next);
    }
    if management.has_team() && management.team_selects(at) {
        let data = [edit(management, Addon::Team)].into();
        table.insert("team".into(), Wanted { data, holders: vec![Holder::Team] });
    }
}

/// The objects of one event, or of one cluster with events.
fn put(
    table: &mut Table,
    management: &Management,
    addon: Addon,
    cause: &str,
    (data, holders): (Vec<Event>, Vec<Holder>),
) {
    let name = format!("{}-{cause}", addon.name());
    if management.has_more(addon) {
        let holders = holders.clone();
        let edit = ("edit".to_owned(), management.edit_of_generator(addon).to_string());
        table.insert(format!("more-{name}"), Wanted { data: [edit].into(), holders });
    }
    let data = data.into_iter().chain([edit(management, addon)]).collect();
    table.insert(name, Wanted { data, holders });
}

/// What the management cluster has of the events of one cluster, because of every cluster of the tier.
fn put_here(table: &mut Table, management: &Management, source: &'static str, events: Vec<Event>) {
    let is_destination =
        |cluster: &&str| management.registration(cluster).is_some_and(|labels| labels.tier == "x");
    for destination in CLUSTERS.into_iter().filter(is_destination) {
        let holders = vec![Holder::All(source)];
        let data = events.iter().cloned().chain([edit(management, Addon::All)]).collect();
        table.insert(format!("here-{source}-{destination}"), Wanted { data, holders: holders.clone() });
        let data = [edit(management, Addon::All)].into();
        table.insert(format!("share-{source}"), Wanted { data, holders });
    }
}

/// What says only what it is.
fn of_itself(name: &str, holder: Holder) -> Wanted {
    Wanted { data: [("of".to_owned(), name.to_owned())].into(), holders: vec![holder] }
}

fn both(management: &Management, addon: Addon, holders: Vec<Holder>) -> Wanted {
    let of = ("of".to_owned(), addon.name().to_owned());
    Wanted { data: [of, edit(management, addon)].into(), holders }
}

fn edit(management: &Management, addon: Addon) -> (String, String) {
    ("edit".to_owned(), management.edit_of(addon).to_string())
}

/// The subjects that were last said to be there; what was sent once more says nothing.
fn sent(server: &ApiServer) -> Vec<Event> {
    let (mut last, mut known) = (BTreeMap::new(), BTreeSet::new());
    for event in server.sent.iter().filter(|event| known.insert(event.version) && event.kind != "else") {
        last.insert(event.subject, event);
    }
    let there = last.into_values().filter(|event| event.kind == "made");
    there.map(|event| (event.subject.to_owned(), event.version.to_string())).collect()
}

/// The services that are events.
fn selected(source: Option<SourceForm>, server: &ApiServer) -> Vec<Event> {
    let Some(form) = source else { return Vec::new() };
    let services = server.services.iter().filter(|(_, service)| {
        let labels = &service.object["metadata"]["labels"];
        labels["event"] == "yes" && (form != SourceForm::Narrow || labels["gold"] == "yes")
    });
    let version = |object: &Value| object["metadata"]["annotations"]["v"].as_str().map(str::to_owned);
    services.map(|(name, service)| (name.clone(), version(&service.object).unwrap_or_default())).collect()
}

/// Compares all clusters with their tables.
///
/// # Errors
/// What is different.
pub(crate) fn compare(world: &World) -> Result<(), String> {
    let World { management, clusters: servers, .. } = world;
    let tables = world.servers().map(|(name, _)| {
        let mut table = table(management, servers, name);
        rollbacks::put(world, name, &mut table);
        (name, table)
    });
    let tables: Vec<_> = tables.collect();
    let mut names = BTreeMap::from(
        [
            (Holder::Own, "own"),
            (Holder::Team, "default/own"),
            (Holder::Base, "base"),
            (Holder::Next, "next"),
            (Holder::Back, "back"),
        ]
        .map(|(holder, name)| (holder, name.to_owned())),
    );
    for (cluster, table) in &tables {
        let is_refused = |name: &str| world.is_refused(cluster, name);
        compare_objects(cluster, world, table)?;
        note_names(cluster, &servers[cluster], table, is_refused, &mut names)?;
    }
    let different: BTreeSet<_> = names.values().collect();
    if different.len() < names.len() {
        return Err(format!("several profiles have one name: {names:?}"));
    }
    tables.iter().try_for_each(|(cluster, table)| compare_holders((cluster, table), world, &names))
}

/// Whether an object that a profile has, and should have, is there with its content.
pub(crate) fn is_as_wanted(world: &World, cluster: &str, key: &ObjectKey, profile: &ProfileId) -> bool {
    let Some((name, server)) = world.clusters.get_key_value(cluster) else { return true };
    let table = table(&world.management, &world.clusters, name);
    let found = server.applied.get(key).map(|object| data(object));
    // Who keeps what another one should have, but is refused, has it with the content of its own.
    let kept = |wanted: &Wanted| wanted.holders == [Holder::Own] && profile.name != "own";
    table.get(&key.name).is_none_or(|wanted| kept(wanted) || found.as_ref() == Some(&wanted.data))
}

/// Every object that a profile has is in the table, as it is, and every object of the table is there. What a user has
/// taken over may be what is wanted, or not there. What the server refuses may be there as it was, or not there, as long as
/// it is wanted; and what its profile no longer wants may stay, if nobody else does.
fn compare_objects(cluster: &str, world: &World, table: &Table) -> Result<(), String> {
    let (server, is_refused) = (&world.clusters[cluster], |name: &str| world.is_refused(cluster, name));
    let mut found = BTreeSet::new();
    for (key, object) in server.applied.iter() {
        let adopted = server.adopted.contains(key);
        if owner(object).is_none() && !(adopted && table.contains_key(&key.name)) {
            continue;
        }
        let wanted = table.get(&key.name).map(|wanted| &wanted.data);
        let excused = if wanted.is_some() { is_refused(&key.name) } else { world.stays(cluster, object) };
        if wanted != Some(&data(object)) && !excused {
            return Err(format!("cluster {cluster} holds {key} {object}, the table says {wanted:?}"));
        }
        if owner(object).is_some() && is_stripped(object) && !excused {
            return Err(format!("cluster {cluster} holds {key}, and who has its fields is not put right"));
        }
        found.insert(&key.name);
    }
    match table.iter().find(|(name, _)| !found.contains(name) && !is_refused(name)) {
        Some((name, wanted)) => Err(format!("cluster {cluster} lacks {name}, the table says {wanted:?}")),
        None => Ok(()),
    }
}

/// Learns what profiles are called from the objects that only one profile may hold.
fn note_names(
    cluster: &str,
    server: &ApiServer,
    table: &Table,
    is_refused: impl Fn(&str) -> bool,
    names: &mut BTreeMap<Holder, String>,
) -> Result<(), String> {
    for (key, object) in server.applied.iter().filter(|(key, _)| !is_refused(&key.name)) {
        let (Some(owner), Some(Wanted { holders, .. })) = (owner(object), table.get(&key.name)) else {
            continue;
        };
        if let [holder] = &holders[..] {
            let name = names.entry(holder.clone()).or_insert_with(|| owner.to_owned());
            if name != owner {
                return Err(format!("cluster {cluster}: {key} is of {owner}, and {holder:?} is {name}"));
            }
        }
    }
    Ok(())
}

/// What several profiles may hold is held by one of them, unless the server refuses it; and everybody that holds something,
/// and nobody else, has an inventory.
fn compare_holders(
    (cluster, table): (&str, &Table),
    world: &World,
    names: &BTreeMap<Holder, String>,
) -> Result<(), String> {
    let server = &world.clusters[cluster];
    let is_refused = |name: &str| world.is_refused(cluster, name);
    for (key, object) in server.applied.iter().filter(|(key, _)| !is_refused(&key.name)) {
        let (Some(owner), Some(Wanted { holders, .. })) = (owner(object), table.get(&key.name)) else {
            continue;
        };
        let may = |holder: &Holder| names.get(holder).is_none_or(|name| name == owner);
        if !holders.iter().any(may) {
            return Err(format!("cluster {cluster}: {key} is of {owner}, and should be of {holders:?}"));
        }
    }
    let certain = table.iter().filter(|(name, _)| !is_refused(name));
    let mut holders: BTreeSet<_> = certain.flat_map(|(_, wanted)| &wanted.holders).collect();
    let found = server.inventories.keys().filter(|profile| !world.is_open(profile));
    let found: BTreeSet<_> = found.map(|profile| profile.path()).collect();
    holders.retain(|holder| **holder != Holder::Back || world.certain_content().is_some());
    let known = |holder: &&&Holder| names.get(holder).is_some_and(|name| !found.contains(name));
    if let Some(holder) = holders.iter().find(known) {
        return Err(format!("cluster {cluster}: {holder:?} has no inventory, only {found:?}"));
    }
    // Who has only what is refused may have an inventory or none, and who should have nothing keeps one until it is taken over.
    if found.len() != holders.len() && !world.is_refusing(cluster) {
        return Err(format!("cluster {cluster} has inventories of {found:?}, and should of {holders:?}"));
    }
    Ok(())
}

/// The profile that an object says it belongs to; one of a namespace is of another kind.
fn owner(object: &Value) -> Option<&str> {
    let annotations = &object["metadata"]["annotations"];
    let of_kind = |name: &&str| {
        let kind = if name.contains('/') { "Profile" } else { "ClusterProfile" };
        annotations["projectsveltos.io/owner-kind"] == kind
    };
    annotations["projectsveltos.io/owner-name"].as_str().filter(of_kind)
}

/// What an object says.
pub(crate) fn data(object: &Value) -> BTreeMap<String, String> {
    let pairs = object["data"].as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}
