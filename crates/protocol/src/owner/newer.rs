//! Rows of a former owner that were made from newer knowledge than this replica has.
//!
//! They are neither replaced nor withdrawn: what this replica would make of them is older. They become what the core
//! wants them to be as soon as its view covers them; what it wanted before, from an older view, only once it has decided
//! anew from what it knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::row::Publish;
use crate::subject::Subject;
use crate::view::View;

/// The newer rows that are left as they are, each with the view it was made from.
#[derive(Debug, Default)]
pub(super) struct Newer {
    /// By subject. Few views differ: most rows were made from the same.
    rows: BTreeMap<String, View>,
    /// What the core wants, the newest of each subject, and the view of the row that is there.
    wanted: BTreeMap<String, (Publish, View)>,
    /// What was told of it last.
    told: Option<String>,
}

impl Newer {
    /// A row was made from this view.
    pub(super) fn found(&mut self, subject: &Subject, view: &View) {
        if *view != View::default() {
            self.rows.insert(subject.to_string(), view.clone());
        }
    }

    /// Those are not newer than `view`.
    pub(super) fn forget_covered(&mut self, view: &View) {
        self.rows.retain(|_, row| !view.covers(row));
    }

    /// Whether there are none, and nothing is to be told of any.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.wanted.is_empty() && self.told.is_none()
    }

    /// Takes what the core wants when it is not to be published yet.
    pub(super) fn hold(&mut self, row: Publish) -> Option<Publish> {
        if self.rows.is_empty() && self.wanted.is_empty() {
            return Some(row);
        }
        let subject = row.subject.to_string();
        let Some(there) = self.rows.get(&subject) else {
            self.wanted.remove(&subject);
            return Some(row);
        };
        self.wanted.insert(subject, (row, there.clone()));
        None
    }

    /// What may be published from `view` on; what was wanted from an older one only when the core has `decided` anew.
    pub(super) fn release(&mut self, view: &View, decided: bool) -> Vec<Publish> {
        self.forget_covered(view);
        let Self { rows, wanted, .. } = self;
        let due = |subject: &String, (row, there): &(Publish, View)| {
            !rows.contains_key(subject) && (decided || row.view.covers(there))
        };
        let due: Vec<String> =
            wanted.iter().filter(|(subject, held)| due(subject, held)).map(|(s, _)| s.clone()).collect();
        due.iter().filter_map(|subject| Some(wanted.remove(subject)?.0)).collect()
    }

    /// What there is to tell, when it is not what was told last: which rows wait for what.
    pub(super) fn news(&mut self, view: &View) -> Option<Option<String>> {
        let text = (!self.rows.is_empty()).then(|| {
            let missing: BTreeSet<String> = self.rows.values().flat_map(|row| view.lacks(row)).collect();
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
    use sluice_api::{ClusterRef, ProfileId};

    use super::*;
    use crate::row::Body;

    fn publish(view: &str) -> Publish {
        let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::cluster("p"));
        let subject = Subject::Status { shard: 0, cluster, origin: 0, profile };
        Publish::new(subject, Body::value(view.as_bytes()), 1).view(View::parse(view))
    }

    #[test]
    fn what_was_wanted_from_an_older_view_waits_until_the_core_has_decided_anew() {
        let (newer, older) = (View::parse("ConfigMap=9"), View::parse("ConfigMap=5"));
        let mut held = Newer::default();
        held.found(&publish("").subject, &newer);
        assert!(held.hold(publish("ConfigMap=5")).is_none());
        assert!(held.release(&older, true).is_empty(), "the row is newer");
        assert!(held.release(&newer, false).is_empty(), "the core waits for something");
        assert_eq!(held.release(&newer, true), [publish("ConfigMap=5")], "it wants the same");
        assert!(held.hold(publish("ConfigMap=9")).is_some());
    }

    #[test]
    fn what_is_wanted_from_a_new_view_takes_the_place_of_what_waits() {
        let newer = View::parse("ConfigMap=9");
        let mut held = Newer::default();
        held.found(&publish("").subject, &newer);
        assert!(held.hold(publish("ConfigMap=5")).is_none());
        assert!(held.release(&newer, false).is_empty());
        assert_eq!(held.hold(publish("ConfigMap=9")), Some(publish("ConfigMap=9")));
        assert!(held.release(&newer, true).is_empty(), "the older one is forgotten");
    }
}
