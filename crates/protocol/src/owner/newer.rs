//! Rows of a former owner that were made from newer knowledge than this replica has.
//!
//! They are neither replaced nor withdrawn: what this replica would make of them is older. They become what the core
//! wants them to be as soon as its view covers them.

use std::collections::{BTreeMap, BTreeSet};

use crate::row::Publish;
use crate::subject::Subject;
use crate::view::View;

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Newer {
    /// By subject. Few views differ: most rows were made from the same.
    rows: BTreeMap<String, View>,
    /// What the core wants, the newest of each subject.
    wanted: BTreeMap<String, Publish>,
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
        self.rows.is_empty() && self.told.is_none()
    }

    /// Takes what the core wants when it is not to be published yet.
    pub(super) fn hold(&mut self, row: Publish) -> Option<Publish> {
        if self.rows.is_empty() {
            return Some(row);
        }
        let subject = row.subject.to_string();
        if !self.rows.contains_key(&subject) {
            return Some(row);
        }
        self.wanted.insert(subject, row);
        None
    }

    /// What may be published from `view` on.
    pub(super) fn release(&mut self, view: &View) -> Vec<Publish> {
        self.forget_covered(view);
        let Self { rows, wanted, .. } = self;
        let due: Vec<String> =
            wanted.keys().filter(|subject| !rows.contains_key(*subject)).cloned().collect();
        due.iter().filter_map(|subject| wanted.remove(subject)).collect()
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
