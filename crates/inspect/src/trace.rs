//! How an add-on came to be: from the change of an object to what a deployer says of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use sluice_api::{ClusterRef, Gvk, ObjectKey, few, kinds, object};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look, owner};
use sluice_protocol::rows::{Cause, Desired, EventCause, GoBack, NoContent, Policy, Status};
use sluice_protocol::subject::{change_shard, cluster_shard, own_rows};
use sluice_protocol::{ProblemRow, Shard, Subject, Table};

use crate::problems::problems;
use crate::shards::writer;
use crate::turn;

/// An object that was deployed, or should be; or one that may be an event.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where.
    pub cluster: ClusterRef,
    /// Its kind, as kubectl takes it.
    pub kind: String,
    /// Its namespace; empty for any.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The way to one add-on; there is one for each profile that deploys it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The profile, as `ClusterProfile name` or `Profile namespace/name`.
    pub profile: String,
    /// In the order of the pipeline.
    pub hops: Vec<Hop>,
}

/// One row on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// Who wrote it.
    pub stage: Cow<'static, str>,
    /// When the server stored it, microseconds since 1970; 0 where there is none.
    pub at: i64,
    /// When what it was made of changed, microseconds since 1970; 0 where that is unknown.
    pub cause_at: i64,
    /// The replica that owns its writer's shard now; empty when nobody does.
    pub replica: String,
    /// What it says.
    pub says: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The bus does not answer.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// No profile deploys such an object there.
    #[error("no profile deploys {wanted} to {cluster}; {others}")]
    Nothing {
        /// What was asked for.
        wanted: String,
        /// Where.
        cluster: String,
        /// What there is instead.
        others: String,
        /// Whether nothing at all is deployed there, nor waits for its turn.
        empty: bool,
    },
    /// Profiles went back there to a former content, which may have it.
    #[error(
        "no content on the bus has {wanted} for {cluster}; {profiles} went back there to a former one, which the cluster alone has: `sluice show addons` says what is deployed"
    )]
    Former {
        /// What was asked for.
        wanted: String,
        /// Where.
        cluster: String,
        /// Which profiles.
        profiles: String,
    },
}

/// Follows an add-on back to its cause, and forward to what became of it.
///
/// # Errors
/// When the bus does not answer, or no profile deploys such an object.
pub async fn trace(bus: &Bus, target: &Target) -> Result<Vec<Trace>, TraceError> {
    let shard = cluster_shard(&target.cluster, bus.shards());
    let filter = own_rows::of_cluster(Table::Desired, &target.cluster, shard);
    let rows = look(bus, &ReadSpec::some(Table::Desired.stream(shard), vec![filter])).await?;
    let (mut traces, mut others) = (Vec::new(), Vec::new());
    for stored in &rows {
        let Ok(desired) = Desired::of_row(&stored.row) else { continue };
        match desired.policies.iter().find(|policy| target.is_in(policy)) {
            Some(policy) => traces.push(of_row(bus, &target.cluster, stored, &desired, policy).await?),
            None => others.push(desired),
        }
    }
    if !traces.is_empty() {
        return Ok(traces);
    }
    let back = rows.iter().filter(|stored| GoBack::of_row(&stored.row).is_some());
    let back = back.filter_map(|stored| match &stored.row.subject {
        Subject::Desired { profile, .. } => Some(profile),
        _ => None,
    });
    let profiles = few(", ", back);
    match target.nothing(&others, &problems(bus).await) {
        TraceError::Nothing { wanted, cluster, .. } if !profiles.is_empty() => {
            Err(TraceError::Former { wanted, cluster, profiles })
        }
        nothing => Err(nothing),
    }
}

async fn of_row(
    bus: &Bus,
    cluster: &ClusterRef,
    stored: &Stored,
    desired: &Desired,
    policy: &Policy,
) -> Result<Trace, BusError> {
    let mut hops = match &desired.cause {
        Cause::Event(event) => of_event(bus, event).await?,
        Cause::Profile(_) => Vec::new(),
    };
    let (profile, origin) = (desired.profile(), desired.cause.origin(bus.shards()));
    let key = own_rows::shard_token(origin);
    let Policy { kind, namespace, name, .. } = policy;
    let of = match &desired.cause {
        Cause::Event(event) => format!(" of {}", event.trigger.described()),
        Cause::Profile(_) => String::new(),
    };
    let says = format!("{profile}{of}, from {kind} {namespace}/{name}");
    hops.push(hop(bus, Table::Desired, &key, Some(stored), says).await?);
    let shard = cluster_shard(cluster, bus.shards());
    let subject = Subject::Status { shard, cluster: cluster.clone(), origin, profile: profile.clone() };
    let status = newest(bus, Table::Status, Shard::FIRST, subject.to_string()).await?;
    let says = status.as_ref().map_or_else(|| "nothing yet".to_owned(), said);
    hops.push(hop(bus, Table::Status, &own_rows::shard_token(shard), status.as_ref(), says).await?);
    Ok(Trace { profile: profile.to_string(), hops })
}

/// The change of the event's object, and the report of it. Of an event that is all objects of a source, the newest counts.
async fn of_event(bus: &Bus, event: &EventCause) -> Result<Vec<Hop>, BusError> {
    let EventCause { cluster, source, item, .. } = event;
    let (shards, shard) = (bus.shards(), cluster_shard(cluster, bus.shards()));
    let filter = match item {
        Some(object) => {
            let (cluster, source, object) = (cluster.clone(), source.clone(), object.clone());
            let origin = change_shard(&cluster, &object, shards);
            Subject::Report { shard, cluster, source, origin, object }.to_string()
        }
        None => own_rows::of_source(cluster, source, shard),
    };
    let Some(report) = newest(bus, Table::Reports, shard, filter).await? else { return Ok(Vec::new()) };
    let Subject::Report { origin, object, .. } = &report.row.subject else { return Ok(Vec::new()) };
    let sights = own_rows::sights_of(cluster, object, *origin);
    let changes = look(bus, &ReadSpec::some(Table::Changes.stream(*origin), vec![sights])).await?;
    // It is gone only where nobody sees it any more.
    let change = changes.into_iter().max_by_key(|stored| (!stored.row.head.tombstone, stored.row.sequence));
    let gone = |stored: &Stored| if stored.row.head.tombstone { " is gone" } else { "" };
    let says = match &change {
        Some(change) => format!("{object} on {cluster}{}", gone(change)),
        None => format!("nothing of {object} on {cluster}"),
    };
    let agent = hop(bus, Table::Changes, &cluster.to_string(), change.as_ref(), says).await?;
    let of_all = if item.is_none() { ", the newest of them" } else { "" };
    let says = format!("an event of EventSource {source}{of_all}{}", gone(&report));
    let matcher = own_rows::shard_token(*origin);
    Ok(vec![agent, hop(bus, Table::Reports, &matcher, Some(&report), says).await?])
}

async fn hop(
    bus: &Bus,
    table: Table,
    key: &str,
    stored: Option<&Stored>,
    says: String,
) -> Result<Hop, BusError> {
    let owner = owner(bus, table, key).await?;
    Ok(Hop {
        stage: writer(table).into(),
        at: stored.map_or(0, |stored| stored.at),
        cause_at: stored.map_or(0, |stored| stored.row.head.time),
        replica: owner.map(|owner| owner.member).unwrap_or_default(),
        says,
    })
}

/// The row of these subjects that was stored last.
async fn newest(bus: &Bus, table: Table, shard: Shard, filter: String) -> Result<Option<Stored>, BusError> {
    let rows = look(bus, &ReadSpec::some(table.stream(shard), vec![filter])).await?;
    Ok(rows.into_iter().max_by_key(|stored| stored.row.sequence))
}

fn said(status: &Stored) -> String {
    match Status::of_row(&status.row) {
        Ok(Status { state, errors, .. }) if errors.is_empty() => format!("{state:?}"),
        Ok(Status { state, errors, .. }) => format!("{state:?}: {}", errors.join("; ")),
        Err(NoContent::Tombstone) => "withdrawn".to_owned(),
        Err(why) => format!("a status that cannot be read: {why}"),
    }
}

fn named(found: &serde_json::Value) -> String {
    ObjectKey::of(found).map_or_else(|| object::describe(found), |key| key.to_string())
}

// === impl Target ===

impl Target {
    /// What is rendered without a namespace is deployed to `default`, unless its kind has none.
    pub(crate) fn is_in(&self, policy: &Policy) -> bool {
        let same_namespace = |found: &str| {
            let default = found.is_empty() && self.namespace == "default";
            self.namespace.is_empty() || found == self.namespace || default
        };
        policy.objects.iter().any(|found| {
            let gvk = Gvk::parse(object::text(found, &["apiVersion"]), object::text(found, &["kind"]));
            kinds::is_called(&gvk, &self.kind)
                && object::name(found) == self.name
                && same_namespace(object::namespace(found))
        })
    }

    /// That nobody deploys it, what is deployed instead, and what has not had its turn there.
    pub(crate) fn nothing(&self, others: &[Desired], problems: &[ProblemRow]) -> TraceError {
        let policies = others.iter().flat_map(|desired| &desired.policies);
        let mut others: Vec<String> = policies.flat_map(|policy| &policy.objects).map(named).collect();
        let Self { cluster, namespace, name, .. } = self;
        let kind = kinds::meant(&self.kind).map_or(self.kind.as_str(), |kind| kind.kind.as_str());
        let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        others.sort();
        others.dedup();
        // Those of the kind first, then by how near the name is.
        let distance = |other: &str| {
            let other = other.rsplit(['/', ' ']).next().unwrap_or_default();
            strsim::damerau_levenshtein(name, other)
        };
        others.sort_by_key(|other| (!other.starts_with(kind), distance(other)));
        let turns = turn::not_come(problems, &self.cluster).map(|problem| problem.object.as_str());
        let turns: BTreeSet<&str> = turns.collect();
        let empty = others.is_empty() && turns.is_empty();
        let mut says = Vec::new();
        if !turns.is_empty() {
            says.push(format!("its turn for {} has not come", few(", ", turns)));
        }
        if !others.is_empty() {
            says.push(format!("there is {}", few(", ", others)));
        }
        if empty {
            says.push("nothing is to be deployed there: is the cluster registered and selected?".to_owned());
        }
        let others = says.join("; ");
        TraceError::Nothing {
            wanted: format!("{kind} {place}{name}"),
            cluster: cluster.to_string(),
            others,
            empty,
        }
    }
}

#[cfg(test)]
mod tests;
