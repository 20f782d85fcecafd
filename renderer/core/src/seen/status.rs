//! The status of a trigger or a profile as JSON.

use serde_json::{Map, Value, json};
use sluice_api::model::{PAUSED, SUSPEND};
use sluice_api::{ClusterRef, few, object};
use sluice_protocol::report::ProblemRow;

use super::SeenObject;
use super::standing::{At, Kind, Standing, Standings};
use crate::verdict::{self, CONDITION, FAILED, LONGEST, clipped, own_condition, reference, seconds};

/// A status lists no more clusters than this: the worst are kept.
const CLUSTERS: usize = 500;
/// Bytes that all messages of one status may have together.
const MESSAGES: usize = 256 * 1024;

/// The fields that are written here.
const FIELDS: [&str; 7] = [
    "matchingClusters",
    "destinationMatchingClusterRefs",
    "clusterInfo",
    "updatingClusters",
    "updatedClusters",
    "failedClusters",
    "conditions",
];

/// What the object should say.
pub(super) fn of(standings: &Standings, seen: &SeenObject, problems: &[&ProblemRow], now: i64) -> Value {
    let mut status = Map::new();
    let mut put = |field: &str, list: Vec<Value>| {
        if !list.is_empty() {
            status.insert(field.to_owned(), list.into());
        }
    };
    let failing = standings.at.values().filter(|at| at.standing == Standing::Failed).count();
    let longest = (MESSAGES / failing.clamp(1, CLUSTERS)).min(LONGEST);
    let message = |at: &At| {
        let lines: Vec<_> = at.errors.iter().map(String::as_str).collect();
        clipped(&lines.join("\n"), longest)
    };
    put("matchingClusters", references(standings.matching.iter()));
    match standings.kind {
        Kind::Trigger | Kind::RoleRequest => {
            put("destinationMatchingClusterRefs", references(standings.destinations.iter()));
            let info = worst(standings).into_iter().map(|(cluster, at)| info(cluster, at, seen, message(at)));
            put("clusterInfo", info.collect());
        }
        Kind::Profile => {
            let failed = standings.at.iter().filter(|(_, at)| at.standing == Standing::Failed);
            let failed = failed.take(CLUSTERS).map(
                |(cluster, at)| json!({"clusterRef": reference(cluster), "failureMessage": message(at)}),
            );
            put("failedClusters", failed.collect());
            for (field, standing) in
                [("updatedClusters", Standing::Provisioned), ("updatingClusters", Standing::Provisioning)]
            {
                let those = standings.at.iter().filter(|(_, at)| at.standing == standing);
                let those = references(those.map(|(cluster, _)| cluster));
                if !those.is_empty() {
                    status.insert(field.to_owned(), json!({"hash": seen.hash, "clusters": those}));
                }
            }
        }
    }
    status.insert("conditions".into(), json!([condition(standings, seen, problems, now)]));
    status.into()
}

/// Whether a status says this already; conditions of others count for nothing.
pub(super) fn says(there: &Value, wanted: &Value) -> bool {
    FIELDS.iter().all(|field| match *field {
        "conditions" => own_condition(there) == own_condition(wanted),
        field => there.get(field) == wanted.get(field),
    })
}

/// Whether there is something in a status that is not said there; conditions of others count for nothing.
pub(super) fn lacks(there: Option<&Value>, wanted: &Value) -> bool {
    let said = |(field, value): (&String, &Value)| {
        let Some(there) = there else { return false };
        if field == "conditions" {
            own_condition(there) == own_condition(wanted)
        } else {
            there.get(field) == Some(value)
        }
    };
    wanted.as_object().is_some_and(|fields| !fields.iter().all(said))
}

fn references<'c>(clusters: impl Iterator<Item = &'c ClusterRef>) -> Vec<Value> {
    clusters.take(CLUSTERS).map(reference).collect()
}

/// As many clusters as a status lists, by name; the worst are among them.
fn worst(standings: &Standings) -> Vec<(&ClusterRef, &At)> {
    let mut all: Vec<_> = standings.at.iter().collect();
    if all.len() > CLUSTERS {
        all.sort_by_key(|(cluster, at)| (at.standing, *cluster));
        all.truncate(CLUSTERS);
        all.sort_by_key(|(cluster, _)| *cluster);
    }
    all
}

fn info(cluster: &ClusterRef, at: &At, seen: &SeenObject, message: String) -> Value {
    let status = match at.standing {
        Standing::Failed => "Failed",
        Standing::Removing => "Removing",
        Standing::Provisioning => "Provisioning",
        Standing::Provisioned => "Provisioned",
    };
    let mut info = json!({"cluster": reference(cluster), "hash": seen.hash, "status": status});
    if !message.is_empty() {
        info["failureMessage"] = message.into();
    }
    info
}

fn condition(standings: &Standings, seen: &SeenObject, problems: &[&ProblemRow], now: i64) -> Value {
    if let Some(condition) = verdict::condition(problems) {
        return condition;
    }
    let (state, reason, mut message) = told(standings);
    if standings.at.len().max(standings.destinations.len()) > CLUSTERS {
        message.push_str(&format!("; lists of clusters end after {CLUSTERS}"));
    }
    let before = seen.before().and_then(own_condition);
    let since = before.filter(|one| object::text(one, &["status"]) == state);
    let since = since.map(|one| object::text(one, &["lastTransitionTime"])).filter(|time| !time.is_empty());
    json!({
        "type": CONDITION,
        "status": state,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.map_or_else(|| seconds(now), str::to_owned),
    })
}

/// Whether all is well, a word for why, and a text.
fn told(standings: &Standings) -> (&'static str, &'static str, String) {
    if standings.suspended {
        let annotation = if standings.kind == Kind::Trigger { SUSPEND } else { PAUSED };
        let text = format!("what is there stays as it is; remove the annotation {annotation} to go on");
        return ("Unknown", "Suspended", text);
    }
    let are = |standing: Standing| standings.at.iter().filter(move |(_, at)| at.standing == standing);
    let failed: Vec<_> = are(Standing::Failed).map(|(cluster, _)| cluster).collect();
    if !failed.is_empty() {
        let texts: Vec<String> = are(Standing::Failed)
            .map(|(cluster, at)| {
                let lines: Vec<_> = at.errors.iter().map(String::as_str).collect();
                format!("{cluster}: {}", lines.join("; "))
            })
            .collect();
        return ("False", FAILED, clipped(&texts.join("\n"), LONGEST));
    }
    let open: Vec<_> =
        are(Standing::Provisioning).chain(are(Standing::Removing)).map(|(cluster, _)| cluster).collect();
    if open.is_empty() {
        return ("True", "Provisioned", counted(standings.matching.len()));
    }
    if standings.dry_run {
        return ("False", "DryRun", "syncMode is DryRun: nothing is applied".into());
    }
    let (count, all) = (open.len(), standings.at.len());
    let text = format!("{count} of {all} clusters are not done yet: {}", few(", ", open));
    ("False", "Provisioning", text)
}

fn counted(matching: usize) -> String {
    match matching {
        0 => "no cluster is selected".to_owned(),
        1 => "everything is in place for 1 cluster".to_owned(),
        count => format!("everything is in place for {count} clusters"),
    }
}
