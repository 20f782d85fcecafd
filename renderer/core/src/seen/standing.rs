//! What became of a trigger or a profile, cluster by cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sluice_api::model::{Cluster, Trigger};
use sluice_api::{ClusterRef, FieldError, ObjectKey, ProfileId};
use sluice_protocol::report::ProblemRow;
use sluice_protocol::rows::{Cause, State, Status};

use super::{SeenObject, SeenRow};
use crate::bindings;
use crate::catalog::Catalog;
use crate::profile;
use crate::verdict;

/// What a trigger is on its clusters, and a profile.
#[derive(Default)]
pub(super) struct Standings {
    pub(super) kind: Kind,
    /// The clusters that it is for.
    pub(super) matching: BTreeSet<ClusterRef>,
    /// Clusters that a trigger's destination selector selects.
    pub(super) destinations: Vec<ClusterRef>,
    /// These clusters, and those where something of it still is.
    pub(super) at: BTreeMap<ClusterRef, At>,
    /// Whether something of a profile is for the management cluster.
    pub(super) is_partly_local: bool,
    /// Whether nothing is applied because it says so.
    pub(super) dry_run: bool,
    /// Whether what is there stays as it is because it says so.
    pub(super) suspended: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Trigger,
    Profile,
    /// It says what triggers say, of the clusters that it is deployed to.
    RoleRequest,
}

/// What it is on one cluster.
#[derive(Default)]
pub(super) struct At {
    pub(super) standing: Standing,
    pub(super) errors: BTreeSet<String>,
}

/// The worst comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Failed,
    Removing,
    Provisioning,
    #[default]
    Provisioned,
}

// === impl Standings ===

impl Standings {
    /// By the clusters whose events count: what is made of them may be anywhere.
    pub(super) fn of_trigger(
        trigger: Option<&Arc<Result<Trigger, FieldError>>>,
        seen: &SeenObject,
        catalog: &Catalog,
    ) -> Self {
        let trigger = trigger.and_then(|trigger| trigger.as_ref().as_ref().ok());
        let sources: BTreeSet<&ClusterRef> = seen.rows.values().filter_map(SeenRow::source).collect();
        // Where nobody can tell, it is for the clusters where something of it is.
        let unsure = trigger.is_none_or(|trigger| bindings::unsure(trigger, catalog).is_some());
        let matches = |cluster: &Cluster| {
            trigger.is_some_and(|trigger| bindings::is_selected(trigger, cluster, catalog))
                || unsure && sources.contains(&cluster.id)
        };
        let mut standings = Self {
            kind: Kind::Trigger,
            matching: matching(catalog, matches),
            dry_run: trigger.is_some_and(|trigger| trigger.common.dry_run),
            suspended: trigger.is_some_and(|trigger| trigger.pace.suspended),
            ..Self::default()
        };
        if let Some(selector) = trigger.and_then(|trigger| trigger.destination_selector.as_ref()) {
            let chosen = catalog.clusters.values().filter(|cluster| selector.matches(cluster.labels()));
            standings.destinations = chosen.map(|cluster| cluster.id.clone()).collect();
        }
        for cluster in &standings.matching {
            standings.at.insert(cluster.clone(), At::default());
        }
        for ((destination, ..), row) in &seen.rows {
            let Some(source) = row.source() else { continue };
            let place = if source == destination { String::new() } else { format!("on {destination}: ") };
            standings.take(source, row, &place);
        }
        standings.take_problems(seen.problems.values());
        standings
    }

    /// By the clusters that it is deployed to.
    pub(super) fn of_profile(id: &ProfileId, seen: &SeenObject, catalog: &Catalog) -> Self {
        let profile = catalog.profiles.get(id).and_then(|profile| profile.as_ref().as_ref().ok());
        // Those that events have led to are of a profile of the same name, which is not this one.
        let rows = || seen.rows.iter().filter(|(_, row)| row.source().is_none());
        let places: BTreeSet<&ClusterRef> = rows().map(|((cluster, ..), _)| cluster).collect();
        let unsure = profile.is_none_or(|profile| profile::unsure(profile, catalog).is_some());
        let matches = |cluster: &Cluster| {
            profile.is_some_and(|profile| profile::is_selected(profile, cluster, catalog))
                || unsure && places.contains(&cluster.id)
        };
        let mut standings = Self {
            kind: if id.is_role_request() { Kind::RoleRequest } else { Kind::Profile },
            matching: matching(catalog, matches),
            dry_run: profile.is_some_and(|profile| profile.common.dry_run),
            suspended: profile.is_some_and(|profile| profile.paused),
            is_partly_local: profile.is_some_and(|profile| profile.common.is_partly_local()),
            ..Self::default()
        };
        let management =
            (standings.is_partly_local && !standings.matching.is_empty()).then(ClusterRef::management);
        let wanted = standings.matching.iter().chain(&management);
        let wanted: Vec<_> = wanted.filter(|cluster| !places.contains(cluster)).cloned().collect();
        wanted.iter().for_each(|cluster| standings.wait(cluster));
        for ((cluster, ..), row) in rows() {
            let is_former =
                standings.kind == Kind::Profile && row.hash.as_ref().is_some_and(|of| *of != seen.hash);
            if is_former && standings.is_for(cluster) {
                standings.wait(cluster);
            } else {
                standings.take(cluster, row, "");
            }
        }
        standings.take_problems(seen.problems.values());
        standings
    }

    /// Of a profile that was made of an event: it is where something of it is.
    pub(super) fn of_made(seen: &SeenObject) -> Self {
        let made = seen.rows.iter().filter(|(_, row)| row.source().is_some());
        let places = made.clone().map(|((cluster, ..), _)| cluster.clone());
        let mut standings = Self {
            kind: Kind::Profile,
            matching: places.clone().filter(|cluster| !cluster.is_management()).collect(),
            is_partly_local: places.into_iter().any(|cluster| cluster.is_management()),
            dry_run: made.clone().all(|(_, row)| row.state == State::DryRun),
            ..Self::default()
        };
        for ((cluster, ..), row) in made {
            standings.take(cluster, row, "");
        }
        standings
    }

    fn take(&mut self, cluster: &ClusterRef, row: &SeenRow, place: &str) {
        let standing = match row.state {
            State::Failed => Standing::Failed,
            _ if !self.is_for(cluster) => Standing::Removing,
            State::Provisioned => Standing::Provisioned,
            State::Held | State::Provisioning | State::DryRun => Standing::Provisioning,
        };
        let at = self.at.entry(cluster.clone()).or_default();
        at.standing = at.standing.min(standing);
        at.errors.extend(row.errors.iter().map(|error| format!("{place}{error}")));
    }

    /// Nobody has said what came of what is wanted there.
    fn wait(&mut self, cluster: &ClusterRef) {
        let at = self.at.entry(cluster.clone()).or_default();
        at.standing = at.standing.min(Standing::Provisioning);
    }

    fn is_for(&self, cluster: &ClusterRef) -> bool {
        self.matching.contains(cluster) || (self.is_partly_local && cluster.is_management())
    }

    fn take_problems<'p>(&mut self, problems: impl Iterator<Item = &'p ProblemRow>) {
        for problem in problems {
            if let Ok(cluster) = problem.cluster.parse::<ClusterRef>() {
                let at = self.at.entry(cluster).or_default();
                at.standing = Standing::Failed;
                at.errors.extend(verdict::line(problem).lines().map(str::to_owned));
            }
        }
    }
}

fn matching(catalog: &Catalog, matches: impl Fn(&Cluster) -> bool) -> BTreeSet<ClusterRef> {
    let clusters = catalog.clusters.values().filter(|cluster| matches(cluster));
    clusters.map(|cluster| cluster.id.clone()).collect()
}

// === impl SeenRow ===

impl SeenRow {
    pub(super) fn read(cause: &Cause, body: &[u8]) -> Self {
        // One that a newer deployer wrote: whatever it says, it is not that all is well.
        let unreadable = Status::new(State::Provisioning, Vec::new());
        let Status { state, errors, spec } = serde_json::from_slice(body).unwrap_or(unreadable);
        let hash = (!spec.is_empty()).then(|| STANDARD.encode(spec));
        Self { cause: Arc::new(cause.clone()), state, errors, hash }
    }

    /// Where the event is that it came of.
    fn source(&self) -> Option<&ClusterRef> {
        if let Cause::Event(event) = &*self.cause { Some(&event.cluster) } else { None }
    }
}

/// The object because of which a row exists.
pub(super) fn maker(cause: &Cause) -> ObjectKey {
    match cause {
        Cause::Event(event) => {
            let described = event.trigger.described();
            let (kind, name) = described.split_once(' ').unwrap_or(("", &described));
            verdict::user_object(kind, "", name)
        }
        Cause::Profile(id) => verdict::user_object(id.kind(), &id.namespace, id.object_name()),
    }
}

/// The profile that an event has led to. A user's is shown by its own rows.
pub(super) fn made_of_event(cause: &Cause, profile: &ProfileId) -> Option<ObjectKey> {
    let is_made = matches!(cause, Cause::Event(_)) && profile.namespace.is_empty();
    is_made.then(|| verdict::user_object("ClusterProfile", "", &profile.name))
}
