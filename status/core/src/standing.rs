//! How a trigger or a profile stands, in its conditions: whether it is everywhere where it should be, and whether it goes on by
//! itself.
//!
//! | | `Ready` | `Progressing` |
//! |---|---|---|
//! | everywhere | `True`, `Provisioned` | `False`, `Provisioned` |
//! | it goes on, also while it has failed on others | `False`, `Provisioning` or `Failed` | `True`, `Provisioning` |
//! | it has failed on those where it is not | `False`, `Failed` | `False`, `Failed` |
//! | something is wrong with it as a whole | `False`, `Problem` | `False`, `Problem` |
//! | it is suspended, or only tried | `Unknown`, `Suspended`; `False`, `DryRun` | `False`, with the same reason |

// D-0613: Ready and Progressing say how many clusters have it.

use std::fmt;

use serde_json::{Value, json};
use sluice_api::model::{PAUSED, SUSPEND};
use sluice_api::{ClusterRef, few, object};
use sluice_protocol::ProblemRow;

use crate::condition::{
    self, CONDITION, FAILED, LONGEST, PROGRESSING, REASON, clipped, condition_of, timestamp,
};
use crate::object::KnownObject;
use crate::rollout::{CLUSTERS, Phase, Rollout, Shape};

const PROVISIONED: &str = "Provisioned";
const PROVISIONING: &str = "Provisioning";
/// What `Progressing` says where nobody knows which clusters it is for.
const UNKNOWN: &str = "the condition Ready says what is wrong";

/// How many clusters it is on, of those where it should be.
struct Counts<'r> {
    shape: Shape,
    /// Clusters that should have it, or on which it has failed.
    all: usize,
    /// So many of them neither have it nor has it failed there.
    waiting: usize,
    failed: usize,
    /// Those of the waiting of which that is said, and where something of it is that should not be.
    named: [Vec<&'r ClusterRef>; 2],
    /// Whether a status names only some of the clusters.
    is_cut: bool,
}

/// Both conditions.
pub(crate) fn conditions(
    rollout: &Rollout,
    known: &KnownObject,
    problems: &[&ProblemRow],
    now: i64,
) -> Value {
    let counts = Counts::of(rollout, known);
    let (status, reason) = progress(rollout, &counts, problems);
    // A trigger that leads to nothing anywhere is not everywhere in place.
    let is_unknown = is_wrong(problems) && (counts.all == 0 || rollout.shape == Shape::Trigger);
    let text = if is_unknown { UNKNOWN.to_owned() } else { counts.to_string() };
    let ready = match condition::condition(problems) {
        Some(mut wrong) if !is_unknown => {
            wrong["message"] = format!("{}\n{text}", object::text(&wrong, &["message"])).into();
            wrong
        }
        Some(wrong) => wrong,
        None => {
            let (status, reason, message) = readiness(rollout, known, &counts);
            since(known, now, CONDITION, status, reason, message)
        }
    };
    json!([ready, since(known, now, PROGRESSING, status, reason, text)])
}

/// A condition, since when it is so: it stays where it said the same before.
fn since(known: &KnownObject, now: i64, kind: &str, status: &str, reason: &str, message: String) -> Value {
    let before = known.before().and_then(|status| condition_of(status, kind));
    let since = before.filter(|one| object::text(one, &["status"]) == status);
    let since = since.map(|one| object::text(one, &["lastTransitionTime"])).filter(|time| !time.is_empty());
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.map_or_else(|| timestamp(now), str::to_owned),
    })
}

/// Whether all is well, a word for why, and a text.
fn readiness(
    rollout: &Rollout,
    known: &KnownObject,
    counts: &Counts<'_>,
) -> (&'static str, &'static str, String) {
    if rollout.suspended {
        let annotation = if rollout.shape == Shape::Trigger { SUSPEND } else { PAUSED };
        let text = format!("what is there stays as it is; remove the annotation {annotation} to go on");
        return ("Unknown", "Suspended", text);
    }
    if counts.failed > 0 {
        let text = format!("{}\n{counts}", clipped(&failures(rollout), LONGEST));
        ("False", FAILED, text)
    } else if !counts.is_open() {
        ("True", PROVISIONED, counts.to_string())
    } else if rollout.dry_run {
        ("False", "DryRun", "syncMode is DryRun: nothing is applied".to_owned())
    } else {
        ("False", PROVISIONING, known.rolled_out().unwrap_or_else(|| counts.to_string()))
    }
}

/// Whether it goes on by itself, and a word for why. What is wrong with it as a whole holds up all clusters; where it has failed on some,
/// it goes on with the others.
fn progress(
    rollout: &Rollout,
    counts: &Counts<'_>,
    problems: &[&ProblemRow],
) -> (&'static str, &'static str) {
    match counts.is_open() {
        _ if rollout.suspended => ("False", "Suspended"),
        _ if is_wrong(problems) => ("False", REASON),
        true if rollout.dry_run => ("False", "DryRun"),
        true => ("True", PROVISIONING),
        false if !problems.is_empty() => ("False", REASON),
        false if counts.failed > 0 => ("False", FAILED),
        false => ("False", PROVISIONED),
    }
}

/// Whether something is wrong with it as a whole.
fn is_wrong(problems: &[&ProblemRow]) -> bool {
    problems.iter().any(|problem| problem.cluster.is_empty())
}

/// What has failed, cluster by cluster.
fn failures(rollout: &Rollout) -> String {
    let failed = rollout.at.iter().filter(|(_, at)| at.phase == Phase::Failed);
    let texts: Vec<String> = failed
        .map(|(cluster, at)| {
            let lines: Vec<_> = at.errors.iter().map(String::as_str).collect();
            format!("{cluster}: {}", lines.join("; "))
        })
        .collect();
    texts.join("\n")
}

// === impl Counts ===

impl<'r> Counts<'r> {
    fn of(rollout: &'r Rollout, known: &KnownObject) -> Self {
        let are = |phase: Phase| {
            rollout.at.iter().filter(move |(_, at)| at.phase == phase).map(|(cluster, _)| cluster)
        };
        let (failed, named) = (
            are(Phase::Failed).count(),
            [are(Phase::Provisioning).collect(), are(Phase::Removing).collect()],
        );
        let [waiting, removing]: &[Vec<_>; 2] = &named;
        let all = rollout.at.len() - removing.len();
        Self {
            shape: rollout.shape,
            all,
            // Deployers know nothing of a content that has not come to them. Where they say that it has failed, it is not there either.
            waiting: waiting.len().max(known.left().saturating_sub(failed)).min(all - failed),
            failed,
            named,
            is_cut: rollout.at.len().max(rollout.destinations.len()) > CLUSTERS,
        }
    }

    /// Whether there is something to do.
    fn is_open(&self) -> bool {
        let [_, removing] = &self.named;
        self.waiting > 0 || !removing.is_empty()
    }
}

/// As people read it.
impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, all, waiting, failed, named: [names, removing], is_cut } = self;
        let have = all - waiting - failed;
        match (shape, all) {
            (_, 0) => f.write_str("no cluster is selected")?,
            (Shape::Trigger, 1) => write!(f, "everything is in place for {have} of 1 cluster")?,
            (Shape::Trigger, _) => write!(f, "everything is in place for {have} of {all} clusters")?,
            (_, 1) => write!(f, "{have} of 1 cluster has it")?,
            _ => write!(f, "{have} of {all} clusters have it")?,
        }
        let mut parts = Vec::new();
        if *waiting > 0 {
            let which = if names.len() == *waiting { in_brackets(names) } else { String::new() };
            parts.push(format!("{waiting} {}{which}", if *waiting == 1 { "waits" } else { "wait" }));
        }
        if *failed > 0 {
            parts.push(format!("{failed} failed"));
        }
        if !removing.is_empty() {
            parts.push(format!("it is withdrawn from {}{}", removing.len(), in_brackets(removing)));
        }
        if !parts.is_empty() {
            write!(f, "; {}", parts.join(", "))?;
        }
        if *is_cut { write!(f, "; lists of clusters end after {CLUSTERS}") } else { Ok(()) }
    }
}

fn in_brackets(clusters: &[&ClusterRef]) -> String {
    format!(" ({})", few(", ", clusters))
}
