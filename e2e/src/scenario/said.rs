//! What triggers, profiles and ClusterSummaries must say once a step has had its effect. Nothing is written down for it: it follows
//! from what `sluice build` makes of the same state.
//!
//! | object | must say |
//! |---|---|
//! | trigger | `Provisioned` of each cluster whose events lead to something, and of every other one that it lists; where that goes, if it selects it |
//! | profile | that each cluster which it is for is updated, those where something of it is among them |
//! | both | `Ready`; of a profile whose next content waits for its turn, that it is not, and `Progressing` |
//! | ClusterSummary | `Provisioned`, of each profile on each cluster where something of it is |
//!
//! What waits for a kind or a namespace, is suspended, or is only tried, may say something else.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice_api::model::{OWNER_NAME, PAUSED, SUSPEND};
use sluice_api::{Gvk, ObjectKey, object};

use super::{Build, Expected, MANAGEMENT, State};
use crate::fleet::Fleet;

/// Kinds that say what became of them.
const KINDS: [&str; 5] = ["EventTrigger", "EventBasedAddOn", "ClusterProfile", "Profile", "RoleRequest"];

/// What must be said after one step.
pub(super) struct Said {
    causes: Vec<Cause>,
    /// Profiles, by cluster, of which a ClusterSummary speaks.
    profiles: BTreeSet<(String, String)>,
}

/// A trigger or profile of the state.
struct Cause {
    key: ObjectKey,
    has_destinations: bool,
    /// Clusters whose events lead to something.
    sources: BTreeSet<String>,
    /// Clusters where something of it is.
    places: BTreeSet<String>,
    /// Whether its next content waits for its turn on some of them.
    goes_on: bool,
}

/// An object that there should be.
struct Made<'b> {
    place: &'b str,
    object: &'b Value,
    /// It, or something else of its profile, waits, or the profile is not well.
    is_late: bool,
}

// === impl Said ===

impl Said {
    /// In this state; `build` says of each object why it exists.
    pub(super) fn of(state: &State, build: &Build, expected: &Expected) -> Self {
        let made = made(build, expected);
        let is_well = |object: &&Value| !expected.is_unwell_somewhere(object::name(object));
        let causes = state.at(MANAGEMENT).filter(|object| is_judged(object)).filter(is_well);
        let goes_on = |object: &Value| expected.going_on.contains(object::name(object));
        let causes =
            causes.filter_map(|object| Some(Cause { goes_on: goes_on(object), ..Cause::of(object, &made)? }));
        let summed_up = made.iter().filter(|made| !made.is_late && made.has_summary());
        let profiles = summed_up.map(|made| (made.place.to_owned(), made.owner_name().to_owned()));
        Self { causes: causes.collect(), profiles: profiles.collect() }
    }

    /// What is not said, or should not be.
    ///
    /// # Errors
    /// When the management cluster does not answer.
    pub(super) async fn differences(&self, fleet: &Fleet) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for cause in &self.causes {
            let there = fleet.management.get(&cause.key).await?.unwrap_or_default();
            found.extend(cause.differences(&there["status"]));
        }
        let kind = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary");
        let summaries = fleet.management.list(&kind).await?;
        for (place, profile) in &self.profiles {
            let of_it = summaries.iter().find(|summary| is_summary(summary, place, profile));
            let features = of_it.and_then(|summary| summary["status"]["featureSummaries"].as_array());
            let is_there = |features: &Vec<Value>| {
                !features.is_empty() && features.iter().all(|feature| feature["status"] == "Provisioned")
            };
            if !features.is_some_and(is_there) {
                found.push(format!("ClusterSummary of {profile} on {place} says {features:?}"));
            }
        }
        Ok(found)
    }
}

// === impl Made ===

/// Everything that there should be.
fn made<'b>(build: &'b Build, expected: &Expected) -> Vec<Made<'b>> {
    let objects =
        build.clusters.iter().flat_map(|(place, objects)| objects.iter().map(move |it| (place, it)));
    let mut made: Vec<_> = objects.map(|(place, object)| Made { place, object, is_late: false }).collect();
    let is_waiting = |made: &&Made<'_>| {
        let mut pending = expected.pending.get(made.place).into_iter().flatten().map(ObjectKey::of);
        pending.any(|key| key == ObjectKey::of(made.object))
            || expected.is_unwell(made.place, made.owner_name())
    };
    let late: BTreeSet<_> = made.iter().filter(is_waiting).map(Made::owner).collect();
    made.iter_mut().for_each(|made| made.is_late = late.contains(made.owner()));
    made
}

impl<'b> Made<'b> {
    /// The profile that deploys it, as it is marked with.
    fn owner(&self) -> &'b str {
        object::annotation(self.object, OWNER_NAME).unwrap_or_default()
    }

    fn owner_name(&self) -> &'b str {
        self.owner().rsplit('/').next().unwrap_or_default()
    }

    /// Whether a ClusterSummary speaks of its profile. What a RoleRequest led to is said in itself alone.
    fn has_summary(&self) -> bool {
        object::annotation(self.object, "projectsveltos.io/owner-kind")
            .is_some_and(|kind| kind.ends_with("Profile"))
    }
}

// === impl Cause ===

impl Cause {
    /// Nothing when something of it waits.
    fn of(object: &Value, made: &[Made<'_>]) -> Option<Self> {
        let own: Vec<_> = made.iter().filter(|made| is_because_of(made.object, object)).collect();
        if own.iter().any(|made| made.is_late) {
            return None;
        }
        let sources = own.iter().map(|made| object::text(made.object, &["because", "cluster"]));
        Some(Self {
            key: ObjectKey::of(object)?,
            has_destinations: object::at(object, &["spec", "destinationClusterSelector"]).is_some(),
            sources: sources.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            places: own.iter().map(|made| made.place.to_owned()).collect(),
            goes_on: false,
        })
    }

    fn differences(&self, status: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut must = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}: {what}, it says {status}", self.key));
            }
        };
        let says = |kind: &str, wanted: &str| {
            let mut conditions = status["conditions"].as_array().into_iter().flatten();
            conditions.any(|one| one["type"] == kind && one["status"] == wanted)
        };
        if self.goes_on {
            must(says("Ready", "False") && says("Progressing", "True"), "it does not say that it goes on");
        } else {
            must(says("Ready", "True"), "Ready is not True");
        }
        let matching = names(&status["matchingClusters"]);
        if self.key.gvk.kind.ends_with("Profile") {
            let updated = names(&status["updatedClusters"]["clusters"]);
            must(self.places.is_subset(&updated), "not all clusters with something of it are updated");
            let open = matching.difference(&updated).next();
            must(open.is_none(), "a cluster is not updated");
            for field in ["updatingClusters", "failedClusters"] {
                must(status.get(field).is_none(), field);
            }
            return wrong;
        }
        let info: Vec<&Value> = status["clusterInfo"].as_array().into_iter().flatten().collect();
        let done = info.iter().filter(|info| info["status"] == "Provisioned");
        let done: BTreeSet<String> = done.map(|info| name(&info["cluster"])).collect();
        let sources = if self.key.gvk.kind == "RoleRequest" { &self.places } else { &self.sources };
        must(sources.is_subset(&done), "not all clusters with events are Provisioned");
        must(info.len() == done.len(), "a cluster is not Provisioned");
        must(sources.is_subset(&matching), "not all clusters with events match");
        if self.has_destinations {
            let remote =
                self.places.iter().filter(|place| *place != MANAGEMENT).cloned().collect::<BTreeSet<_>>();
            let destinations = names(&status["destinationMatchingClusterRefs"]);
            must(remote.is_subset(&destinations), "not all destinations are listed");
        }
        wrong
    }
}

/// Whether it says that all is well when all is.
fn is_judged(object: &Value) -> bool {
    let is_set = |name: &str| object::annotation(object, name).is_some_and(|value| value != "false");
    KINDS.contains(&object::text(object, &["kind"]))
        && !is_set(SUSPEND)
        && object::annotation(object, PAUSED).is_none()
        && object::text(object, &["spec", "syncMode"]) != "DryRun"
}

fn is_because_of(made: &Value, cause: &Value) -> bool {
    let (kind, name) = (object::text(cause, &["kind"]), object::name(cause));
    let described = if kind == "Profile" { object::describe(cause) } else { format!("{kind} {name}") };
    ["trigger", "profile"].iter().any(|by| object::text(made, &["because", by]) == described)
}

fn is_summary(summary: &Value, place: &str, profile: &str) -> bool {
    let spec = |field: &str| object::text(summary, &["spec", field]).to_owned();
    let label = |name: &str| object::label(summary, &format!("projectsveltos.io/{name}")) == Some(profile);
    let path = format!("{}/{}", spec("clusterNamespace"), spec("clusterName"));
    let is_there = if place == MANAGEMENT { spec("clusterName") == MANAGEMENT } else { path == place };
    is_there && (label("cluster-profile-name") || label("profile-name"))
}

fn names(references: &Value) -> BTreeSet<String> {
    references.as_array().into_iter().flatten().map(name).collect()
}

/// A reference to a cluster, as a place.
fn name(reference: &Value) -> String {
    match (object::text(reference, &["namespace"]), object::text(reference, &["name"])) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}
