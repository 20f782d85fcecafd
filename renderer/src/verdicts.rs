//! Saying in the status of users' objects what is wrong with them: a shard's part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sluice_api::ObjectKey;
use sluice_bus::Feed;
use sluice_protocol::report::ProblemRow;
use sluice_protocol::subject::hash_shard;
use sluice_renderer_core::{Change, verdict};
use sluice_runtime::Projector;
use sluice_tasks::End;

use crate::management::Management;

/// Changes that are looked at together.
const QUIET: Duration = Duration::from_millis(300);

/// Problems by their subjects.
pub(crate) type Problems = Feed<String, ProblemRow>;

/// Keeps the status of this shard's objects in step with the problems, until it is cancelled.
pub(crate) async fn keep(
    written: Management,
    problems: Problems,
    projector: Projector,
    place: (u16, u16),
) -> End {
    let (mut changes, mut rows) = (written.subscribe(), problems.subscribe());
    let mut told = BTreeSet::new();
    loop {
        let mut touched = BTreeSet::new();
        tokio::select! {
            Some(change) = changes.recv() => touched.extend(key_of(&change)),
            Some(row) = rows.recv() => touched.extend(verdict::concerned(&row)),
            else => return End::Early,
        }
        tokio::time::sleep(QUIET).await;
        while let Ok(change) = changes.try_recv() {
            touched.extend(key_of(&change));
        }
        while let Ok(row) = rows.try_recv() {
            touched.extend(verdict::concerned(&row));
        }
        touched.retain(|key| is_mine(key, place));
        if touched.is_empty() {
            continue;
        }
        let mut concerning = by_object(&problems, &touched);
        for key in touched {
            // An object that nobody wrote has no status.
            let Some(Change::Upsert(object)) = written.get(&key) else { continue };
            let status = verdict::status(&key, &concerning.remove(&key).unwrap_or_default());
            let wrong = status.as_object().is_some_and(|status| !status.is_empty());
            if wrong {
                told.insert(key.clone());
            } else if !told.remove(&key) && !verdict::is_judged(&object) {
                continue;
            }
            projector.project_status(key, status);
        }
    }
}

fn key_of(change: &Change) -> Option<ObjectKey> {
    match change {
        Change::Upsert(object) => ObjectKey::of(object).filter(verdict::has_status),
        Change::Delete(_) | Change::Listed(..) => None,
    }
}

fn is_mine(key: &ObjectKey, (shard, shards): (u16, u16)) -> bool {
    hash_shard(&[&key.to_string()], shards) == shard
}

fn by_object(problems: &Problems, wanted: &BTreeSet<ObjectKey>) -> BTreeMap<ObjectKey, Vec<ProblemRow>> {
    let mut found: BTreeMap<ObjectKey, Vec<ProblemRow>> = BTreeMap::new();
    for row in problems.values().into_iter().filter(|row| !row.error.is_empty()) {
        if let Some(key) = verdict::concerned(&row).filter(|key| wanted.contains(key)) {
            found.entry(key).or_default().push(row);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::json;
    use sluice_api::Gvk;

    use super::*;

    fn problem(object: &str, error: &str) -> ProblemRow {
        ProblemRow {
            stage: "renderer".into(),
            cluster: String::new(),
            object: object.into(),
            error: error.into(),
            since: 1,
            attempts: 1,
        }
    }

    fn key(kind: &str, name: &str) -> ObjectKey {
        let gvk = Gvk::new("lib.projectsveltos.io", "v1beta1", kind);
        ObjectKey { gvk, namespace: String::new(), name: name.into() }
    }

    #[test]
    fn only_open_problems_of_the_objects_that_are_asked_for_are_found() {
        let problems = Problems::new();
        let rows = [
            ("1", problem("EventTrigger t, EventSource s", "first")),
            ("2", problem("EventTrigger t", "second")),
            ("3", problem("EventTrigger other", "third")),
            ("4", problem("EventTrigger t, on sveltos:default/c", "")),
            ("5", problem("stream DESIRED-00", "of nobody's object")),
        ];
        rows.into_iter().for_each(|(subject, row)| problems.put(subject.to_owned(), row));
        let found = by_object(&problems, &[key("EventTrigger", "t"), key("EventSource", "s")].into());
        let errors: Vec<_> = found.iter().map(|(key, rows)| (key.name.as_str(), rows.len())).collect();
        assert_eq!(errors, [("t", 2)]);
    }

    #[test]
    fn objects_without_a_status_of_ours_are_nobodys() {
        let change = |kind: &str| {
            let object = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": kind, "metadata": {"name": "x"}});
            Change::Upsert(Arc::new(object))
        };
        assert_eq!(key_of(&change("EventTrigger")), Some(key("EventTrigger", "x")));
        assert_eq!(key_of(&change("EventReport")), None);
        assert_eq!(key_of(&Change::Listed("EventTrigger".into(), 1)), None);
    }

    #[test]
    fn every_object_is_the_business_of_one_shard() {
        for name in ["a", "b", "c", "d", "e"] {
            let shards = (0..8).filter(|shard| is_mine(&key("EventTrigger", name), (*shard, 8)));
            assert_eq!(shards.count(), 1, "{name}");
        }
    }
}
