//! How an object is rolled out, in one picture: what it waits for, in which order it is applied, what is checked, and how each of its
//! clusters stands.
//!
//! ```text
//! management cluster ─► the profile or trigger, those that it names, registrations ┐
//! bus ─► heads of desired and status, one body of desired, problems ───────────────┴─► facts ─► picture
//! ```

mod clusters;
mod facts;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sluice_api::model::ROLLOUT;
use sluice_api::{ObjectKey, few};
use sluice_protocol::ProblemRow;

use self::facts::Facts;
use crate::error::InspectError;
use crate::explain::instead;
use crate::inspector::Inspector;

/// How a profile or trigger is rolled out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rollout {
    /// Which one it is.
    pub object: String,
    /// How far it is.
    pub says: String,
    /// What it waits for, what is applied and what is checked, in this order.
    pub order: Vec<Part>,
    /// How each of its clusters stands.
    pub clusters: Vec<Place>,
    /// How that is called which went out last, where clusters keep what they can go back to: of a trigger, for each of its profiles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// What could not be looked at, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// One thing that it waits for, that is applied, or that is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The field of the spec, with a number where its entries come one after another.
    pub what: String,
    /// Which entry it is.
    pub which: String,
    /// What is known of it.
    pub says: String,
}

/// How one cluster stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The cluster, as `namespace/name`.
    pub cluster: String,
    /// What of it is there, where a trigger has made it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// `has it`, `is being updated`, `waits`, `goes back`, `went back`, `failed` or `removes it`.
    pub state: String,
    /// What it waits for, or what is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
}

// === impl Inspector ===

impl Inspector {
    /// How a profile or trigger is rolled out, as far as bus and management cluster say.
    ///
    /// # Errors
    /// When both are away, or there is no such object.
    pub async fn rollout(&self, key: &ObjectKey) -> Result<Rollout, InspectError> {
        let mut facts = Box::pin(facts::gather(self.bus(), self.management(), key)).await;
        if let Ok(there) = &mut facts.management {
            there.retain(|object| self.onboarding.lets_in(object));
        }
        picture(&facts)
    }
}

/// The picture that these facts give.
fn picture(facts: &Facts) -> Result<Rollout, InspectError> {
    match (&facts.management, &facts.on_bus) {
        (Err(management), Err(bus)) => return Err(InspectError::Away(format!("{bus}; {management}"))),
        (Ok(_), _) if facts.manifest().is_none() && !facts.is_somewhere() => {
            let others = instead(&facts.key.name, facts.names());
            return Err(InspectError::NotFound(format!("there is no {}; {others}", facts.key)));
        }
        _ => {}
    }
    Ok(Rollout {
        object: facts.key.to_string(),
        says: says(facts),
        order: order::order(facts),
        clusters: clusters::clusters(facts),
        called: called(facts),
        missing: facts.missing(),
    })
}

/// How far it is: what its renderer says while clusters wait for their turn, else to how many clusters it goes at a time.
fn says(facts: &Facts) -> String {
    let told = told(facts);
    match &told[..] {
        [] => {}
        [(_, text)] => return (*text).to_owned(),
        // Each event of a trigger leads to a content of its own.
        told => return few("; ", told.iter().map(|(object, text)| format!("{object}: {text}"))),
    }
    let limit = facts.manifest().map(|object| object["spec"]["maxUpdate"].clone());
    match (&facts.on_bus, limit) {
        (Ok(_), None) if facts.management.is_ok() => "it is deleted".to_owned(),
        (Err(_), _) | (_, None) => "how far it is cannot be told".to_owned(),
        (_, Some(limit)) if is_none(&limit) => "it goes to all clusters at once".to_owned(),
        (_, Some(limit)) => {
            let limit = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
            format!("no cluster waits for its turn; spec.maxUpdate: {limit}")
        }
    }
}

/// How that is called which went out last of each profile.
fn called(facts: &Facts) -> Vec<String> {
    let mut last = BTreeMap::<_, (u64, &str)>::new();
    for ((.., profile), wanted) in facts.on_bus.iter().flat_map(|on_bus| &on_bus.desired) {
        let Some(staged) = &wanted.staged else { continue };
        let one = last.entry(profile).or_default();
        *one = (*one).max((staged.round, &staged.called));
    }
    let called: BTreeSet<&str> = last.into_values().map(|(_, called)| called).collect();
    called.into_iter().map(str::to_owned).collect()
}

/// Whether a value of `maxUpdate` is no limit.
fn is_none(limit: &serde_json::Value) -> bool {
    limit.is_null() || limit.as_u64() == Some(0) || matches!(limit.as_str(), Some("0" | "0%"))
}

/// What its renderer says while clusters wait for their turn, and of what.
fn told(facts: &Facts) -> Vec<(&str, &str)> {
    let problems = facts.on_bus.iter().flat_map(|on_bus| &on_bus.problems);
    // Before it there may be what else is said of the object.
    let text = |problem: &ProblemRow| problem.error.find(ROLLOUT).map(|at| at + ROLLOUT.len());
    problems.filter_map(|problem| Some((&*problem.object, &problem.error[text(problem)?..]))).collect()
}

#[cfg(test)]
mod tests;
