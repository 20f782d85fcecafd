//! Rows of a former owner that were made from newer knowledge than this replica has.
//!
//! They are neither replaced nor withdrawn: what this replica would make of them is older. As soon as its view covers
//! them the core decides anew what it wants to be there. What it wanted before, from an older view, does not count: of
//! some rows it may not be able to tell what should become of them, and those stay.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;

use crate::row::{Body, Head, Publish};
use crate::subject::Subject;
use crate::view::View;

// D-0314: rows made from newer knowledge stay as they are.
/// The newer rows that are left as they are.
#[derive(Debug, Default)]
pub(super) struct Newer {
    /// By subject.
    rows: BTreeMap<String, (Subject, Head)>,
    /// What the core wants from an older view, the last of each subject.
    wanted: BTreeMap<String, Publish>,
    /// What was told of it last.
    told: Option<String>,
}

/// Rows that are not newer any more.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Covered {
    /// The rows, and what they say of themselves.
    pub(super) rows: Vec<(Subject, Head)>,
    /// What the core wanted in their place from an older view.
    pub(super) wanted: Vec<Publish>,
}

impl Newer {
    /// A row is there; `view` is what this replica knows.
    pub(super) fn found(&mut self, subject: &Subject, head: &Head, view: &View) {
        if !view.covers(&head.view) {
            self.rows.insert(subject.to_string(), (subject.clone(), head.clone()));
        }
    }

    /// Whether there are none, and nothing is to be told of any.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.told.is_none()
    }

    /// Takes what the core wants when it is not to be published yet.
    pub(super) fn hold(&mut self, row: Publish) -> Option<Publish> {
        if self.rows.is_empty() {
            return Some(row);
        }
        let subject = row.subject.to_string();
        match self.rows.get(&subject) {
            Some((_, there)) if !row.parting && !row.view.covers(&there.view) => {
                self.wanted.insert(subject, row);
                None
            }
            Some(_) => {
                self.rows.remove(&subject);
                self.wanted.remove(&subject);
                Some(row)
            }
            None => Some(row),
        }
    }

    /// What takes the newer rows of clusters away that have gone for good.
    pub(super) fn tombstones_of(&self, clusters: &[ClusterRef], now: i64) -> Vec<Publish> {
        let rows = self.rows.values().filter(|_| !clusters.is_empty());
        let gone = rows.filter(|(subject, head)| {
            !head.tombstone && subject.cluster().is_some_and(|cluster| clusters.contains(cluster))
        });
        gone.map(|(subject, _)| Publish::new(subject.clone(), Body::Tombstone, now).parting()).collect()
    }

    /// The core wants something else there by now, which is held elsewhere.
    pub(super) fn forget_wanted(&mut self, subject: &Subject) {
        if !self.wanted.is_empty() {
            self.wanted.remove(&subject.to_string());
        }
    }

    /// The rows that are not newer than `view`: they are as any others from now on.
    pub(super) fn take_covered(&mut self, view: &View) -> Covered {
        let taken: BTreeMap<_, _> =
            self.rows.extract_if(.., |_, (_, there)| view.covers(&there.view)).collect();
        let wanted = taken.keys().filter_map(|subject| self.wanted.remove(subject)).collect();
        Covered { rows: taken.into_values().collect(), wanted }
    }

    /// What there is to tell, when it is not what was told last: which rows wait for what.
    pub(super) fn news(&mut self, view: &View) -> Option<Option<String>> {
        let text = (!self.rows.is_empty()).then(|| {
            let missing: BTreeSet<String> = self.rows.values().flat_map(|(_, there)| view.lacks(&there.view)).collect();
            let missing: Vec<String> = missing.into_iter().take(MOST).collect();
            format!(
                "{} rows were made from newer knowledge than this replica has ({}); they stay as they are until it has that. If it never comes, because the management cluster or the bucket interest was put back to an older state, delete the streams of this table",
                self.rows.len(),
                missing.join(", ")
            )
        });
        if text == self.told {
            return None;
        }
        self.told.clone_from(&text);
        Some(text)
    }
}

/// Sources that are named at most.
const MOST: usize = 5;

#[cfg(test)]
mod tests {
    use sluice_api::ProfileId;

    use super::*;
    use crate::Shard;

    fn publish(view: &str) -> Publish {
        let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::cluster("p"));
        let subject = Subject::Status { shard: Shard::FIRST, cluster, origin: Shard::FIRST, profile };
        Publish::new(subject, Body::value(view.as_bytes()), 1).view(View::parse(view))
    }

    fn held(view: &str) -> Newer {
        let (mut newer, there) = (Newer::default(), publish(view));
        newer.found(&there.subject, &there.head(), &View::default());
        newer
    }

    #[test]
    fn what_is_wanted_from_an_older_view_is_held_and_given_back_with_its_row() {
        let mut newer = held("ConfigMap=9");
        assert!(newer.hold(publish("ConfigMap=4")).is_none() && newer.hold(publish("ConfigMap=5")).is_none());
        assert_eq!(newer.take_covered(&View::parse("ConfigMap=8")), Covered::default());
        let there = publish("ConfigMap=9");
        let covered = Covered {
            rows: vec![(there.subject.clone(), there.head())],
            wanted: vec![publish("ConfigMap=5")],
        };
        assert_eq!(newer.take_covered(&View::parse("ConfigMap=9")), covered);
        assert_eq!(newer.hold(publish("ConfigMap=5")), Some(publish("ConfigMap=5")), "it is as any other");
        assert!(newer.is_empty());
    }

    #[test]
    fn what_is_wanted_from_a_view_that_is_as_new_is_not_held() {
        let mut newer = held("ConfigMap=9");
        assert!(newer.hold(publish("ConfigMap=5")).is_none());
        assert_eq!(newer.hold(publish("ConfigMap=9")), Some(publish("ConfigMap=9")));
        assert_eq!(newer.take_covered(&View::parse("ConfigMap=9")), Covered::default());
    }

    #[test]
    fn what_has_gone_for_good_replaces_what_is_newer() {
        let mut newer = held("ConfigMap=9");
        assert!(newer.hold(publish("ConfigMap=5")).is_none());
        assert!(newer.hold(publish("").parting()).is_some() && newer.is_empty());
        assert_eq!(newer.take_covered(&View::parse("ConfigMap=9")), Covered::default());
    }

    #[test]
    fn of_a_cluster_that_has_gone_for_good_nothing_newer_stays() {
        let mut newer = held("ConfigMap=9");
        assert!(newer.hold(publish("ConfigMap=5")).is_none());
        assert!(newer.tombstones_of(&[], 1).is_empty());
        assert!(newer.tombstones_of(&[ClusterRef::sveltos("a", "other")], 1).is_empty());
        let rows = newer.tombstones_of(&[ClusterRef::sveltos("a", "b")], 1);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&row.subject, &row.body), (&publish("").subject, &Body::Tombstone));
        assert!(newer.hold(row.clone()).is_some() && newer.is_empty());
    }

    #[test]
    fn a_row_that_is_not_newer_than_what_is_known_is_as_any_other() {
        let (mut newer, there) = (Newer::default(), publish("ConfigMap=9"));
        newer.found(&there.subject, &there.head(), &View::parse("ConfigMap=9"));
        newer.found(&there.subject, &publish("").head(), &View::default());
        assert!(newer.is_empty());
    }
}
