//! What is known of an object that is rolled out, gathered once.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, management_kinds, prerequisites};
use sluice_api::{ClusterRef, Digest, Gvk, ObjectKey, ProfileId, object};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look, look_each, now_micros};
use sluice_protocol::rows::{Cause, Desired, Staged, Status};
use sluice_protocol::subject::own_rows;
use sluice_protocol::{ProblemRow, Row, Shard, Subject, Table};

use crate::error::InspectError;
use crate::inspector::{LONG_PATIENCE, in_time_of};
use crate::problems::problems;

/// What is known.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) key: ObjectKey,
    /// When the question was asked, microseconds since 1970.
    pub(super) now: i64,
    /// Objects of its kind, and registrations of clusters; or why they are not known.
    pub(super) management: Result<Vec<Arc<Value>>, String>,
    /// The rows; or why they are not known.
    pub(super) on_bus: Result<OnBus, String>,
}

/// In which cluster, of which renderer shard, which profile.
pub(super) type At = (ClusterRef, Shard, ProfileId);

/// A row that a renderer wants.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) row: Digest,
    pub(super) cause: Cause,
    /// What it says of the content, where that can be gone back from.
    pub(super) staged: Option<Arc<Staged>>,
}

/// What the bus says.
#[derive(Clone, Debug, Default)]
pub(super) struct OnBus {
    /// What renderers want because of the object.
    pub(super) desired: BTreeMap<At, Wanted>,
    /// The newest of these rows; none where it has no content that can be read.
    pub(super) newest: Option<(ClusterRef, Desired)>,
    /// What deployers say of these, and of the profiles that the object names.
    pub(super) statuses: BTreeMap<At, Status>,
    /// What is said of the object itself.
    pub(super) problems: Vec<ProblemRow>,
}

// === impl Facts ===

impl Facts {
    /// What its user has written.
    pub(super) fn manifest(&self) -> Option<&Arc<Value>> {
        self.object(&self.key.gvk.kind, &self.key.namespace, &self.key.name)
    }

    /// An object of the management cluster.
    pub(super) fn object(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        let is_it = |object: &&Arc<Value>| {
            object::text(object, &["kind"]) == kind
                && object::namespace(object) == namespace
                && object::name(object) == name
        };
        self.management.iter().flatten().find(is_it)
    }

    /// The names of all of its kind.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let of_kind = |object: &&Arc<Value>| object::text(object, &["kind"]) == self.key.gvk.kind;
        self.management.iter().flatten().filter(of_kind).map(|object| object::name(object))
    }

    /// The profile that it is; a trigger is none.
    pub(super) fn own(&self) -> Option<ProfileId> {
        profile(&self.key)
    }

    /// Whether something is wanted because of it, or of it is still there.
    pub(super) fn is_somewhere(&self) -> bool {
        let own = self.own();
        let is_own = |(_, _, profile): &At| own.as_ref() == Some(profile);
        let is_there = |on_bus: &OnBus| !on_bus.desired.is_empty() || on_bus.statuses.keys().any(is_own);
        self.on_bus.as_ref().is_ok_and(is_there)
    }

    /// What deployers say of a profile, cluster by cluster.
    pub(super) fn said_of<'f>(
        &'f self,
        profile: &'f ProfileId,
    ) -> impl Iterator<Item = (&'f ClusterRef, &'f Status)> {
        let all = self.on_bus.iter().flat_map(|on_bus| &on_bus.statuses);
        all.filter(move |((.., of), _)| of == profile).map(|((cluster, ..), status)| (cluster, status))
    }

    /// What could not be looked at, and why.
    pub(super) fn missing(&self) -> Vec<String> {
        let part = |of: &str, error: Option<&String>| error.map(|error| format!("{of}: {error}"));
        let management = part("what the management cluster holds", self.management.as_ref().err());
        management.into_iter().chain(part("what the bus holds", self.on_bus.as_ref().err())).collect()
    }
}

/// Gathers what is known, as far as bus and management cluster answer.
pub(super) async fn gather(
    bus: Result<Bus, InspectError>,
    management: Result<Client, InspectError>,
    key: &ObjectKey,
) -> Facts {
    let listed = async {
        let client = management?;
        in_time_of(LONG_PATIENCE, "the management cluster", list(&client, key)).await
    };
    let management = listed.await.map_err(|error| error.to_string());
    let mut facts = Facts { key: key.clone(), now: now_micros(), management, on_bus: Ok(OnBus::default()) };
    let named = named(&facts);
    let read = async {
        let bus = bus?;
        in_time_of(LONG_PATIENCE, "the bus", Box::pin(read(&bus, key, &named))).await
    };
    facts.on_bus = read.await.map_err(|error| error.to_string());
    facts
}

/// The objects of its kind, and the registrations.
async fn list(client: &Client, key: &ObjectKey) -> Result<Vec<Arc<Value>>, kube::Error> {
    let is_needed = |kind: &str| ["SveltosCluster", "Cluster", &*key.gvk.kind].contains(&kind);
    let mut found = Vec::new();
    for gvk in management_kinds().iter().filter(|gvk: &&Gvk| is_needed(&gvk.kind)) {
        found.extend(sluice_kube::list(client, gvk, None).await?.into_iter().flatten().map(Arc::new));
    }
    Ok(found)
}

/// The profiles that the object names.
fn named(facts: &Facts) -> Vec<ProfileId> {
    let Some(manifest) = facts.manifest() else { return Vec::new() };
    let own = ProfileId::new(&*facts.key.namespace, &*facts.key.name);
    let fields = ["dependsOn", "transitionFrom"].map(|field| object::at(manifest, &["spec", field]));
    fields.into_iter().flat_map(|names| prerequisites(&own, names)).collect()
}

// === Bus ===

/// The profile that the object is; a trigger is none.
fn profile(key: &ObjectKey) -> Option<ProfileId> {
    (key.gvk.group == CONFIG_GROUP).then(|| ProfileId::new(&*key.namespace, &*key.name))
}

async fn read(bus: &Bus, key: &ObjectKey, named: &[ProfileId]) -> Result<OnBus, BusError> {
    let (own, mut found, mut newest) = (profile(key), OnBus::default(), None::<(i64, At)>);
    for shard in Shard::all(bus.shards()) {
        let filters =
            own.iter().map(|own| own_rows::of_profiles(Table::Desired, None, Some(own), Some(shard)));
        let spec = ReadSpec::some(Table::Desired.stream(shard), filters.collect());
        let each = |Stored { row, at }: Stored| {
            let Subject::Desired { cluster, origin, profile, .. } = &row.subject else { return };
            let Some(cause) =
                row.head.meta.cause().filter(|_| !row.head.tombstone && is_of(&row, key)).cloned()
            else {
                return;
            };
            let place = (cluster.clone(), *origin, profile.clone());
            if newest.as_ref().is_none_or(|(time, _)| *time <= at) {
                newest = Some((at, place.clone()));
            }
            let staged = row.head.meta.staged().cloned();
            found.desired.insert(place, Wanted { row: row.head.digest, cause, staged });
        };
        look_each(bus, &ReadSpec { heads_only: true, ..spec }, each).await?;
    }
    if let Some((_, (cluster, _, profile))) = newest {
        let shard = sluice_protocol::subject::cluster_shard(&cluster, bus.shards());
        let filter = own_rows::of_profiles(Table::Desired, Some(&cluster), Some(&profile), Some(shard));
        let rows = look(bus, &ReadSpec::some(Table::Desired.stream(shard), vec![filter])).await?;
        let mut read = rows.iter().filter(|stored| is_of(&stored.row, key));
        let desired = read.find_map(|stored| Desired::of_row(&stored.row).ok());
        found.newest = desired.map(|desired| (cluster, desired));
    }
    let filters =
        own.iter().chain(named).map(|of| own_rows::of_profiles(Table::Status, None, Some(of), None));
    // Profiles that a trigger has made may be called anything.
    let filters = filters.filter(|_| own.is_some()).collect();
    let each = |Stored { row, .. }: Stored| {
        let Subject::Status { cluster, origin, profile, .. } = &row.subject else { return };
        if (is_of(&row, key) || named.contains(profile))
            && let Ok(status) = Status::of_row(&row)
        {
            found.statuses.insert((cluster.clone(), *origin, profile.clone()), status);
        }
    };
    look_each(bus, &ReadSpec::some(Table::Status.stream(Shard::FIRST), filters), each).await?;
    let is_about = |problem: &ProblemRow| {
        problem.about.as_ref().and_then(|about| about.user_object(None)).as_ref() == Some(key)
    };
    found.problems = problems(bus).await.into_iter().filter(is_about).collect();
    Ok(found)
}

/// Whether a row is there because of an object, or of the profile that a trigger has made and that is asked for.
fn is_of(row: &Row, key: &ObjectKey) -> bool {
    match row.head.meta.cause() {
        Some(Cause::Profile(id)) => profile(key).as_ref() == Some(id),
        Some(Cause::Event(event)) => {
            let of = match &row.subject {
                Subject::Desired { profile, .. } | Subject::Status { profile, .. } => Some(profile),
                _ => None,
            };
            let is_made = of.is_some() && of == profile(key).as_ref();
            is_made || event.trigger.kind() == key.gvk.kind && event.trigger.name() == key.name
        }
        None => false,
    }
}
