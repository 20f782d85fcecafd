//! The `interest` rows: which EventSources are live on a cluster. Written by the renderer, read by agents
//! and matchers.

// D-0508: a cluster that comes back begins as a new one.

use crate::{Incarnation, Revision};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The EventSources of one cluster. No row means "unknown"; an empty list means "none".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interest {
    // D-0509: revisions of an interest row never go back.
    /// Grows with every change, also across a wiped bucket.
    pub revision: Revision,
    /// The EventSources, by name.
    pub sources: Vec<Source>,
    /// What the registration of a cluster that pulls says of it, for the deployer in it: `metadata` and `spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Arc<Value>>,
    /// Whether the cluster is no longer registered, and has not been for a while: everything of it goes. Its agent takes this row
    /// away last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// One live EventSource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What triggers call it.
    pub name: String,
    /// The revision in which its spec changed last.
    pub changed: Revision,
    /// Its manifest: `kind`, `metadata.name` and `spec`, as written. Every shard knows every cluster's sources.
    pub manifest: Arc<Value>,
}

// D-0401: complete lists are announced in rows.
/// Meta of a completeness row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    /// Incarnation of the stream that the row is in.
    pub incarnation: Incarnation,
    /// The interest revision that is complete.
    pub revision: Revision,
    /// What it says nothing of, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<Lacking>,
    // D-0817: versions that know of no tenants take no absence for proved.
    /// Whether who wrote it, and everybody whose rows that was made from, tells the rows of a tenant from others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tenants: bool,
}

// D-0814: the renderer waits until all CloudEvents have come.
/// What a completeness row says nothing of. Written as the name of the EventSource, before which a `~` means its CloudEvents and
/// `~~` that it is a tenant's; no object has such a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Lacking {
    /// The objects of this EventSource: one of its kinds may not be listed, or it cannot be read.
    Objects(String),
    /// The CloudEvents of this EventSource.
    Events(String),
    /// Nothing: the objects of this EventSource are all told in a tenant's rows. Who does not know of those reads beside it that they
    /// are lacking.
    Nothing(String),
}

impl Lacking {
    /// What says of a tenant's source that nothing of it is lacking, in order.
    pub fn nothing(source: &str) -> [Self; 2] {
        [Self::Objects(source.to_owned()), Self::Nothing(source.to_owned())]
    }
}

impl From<String> for Lacking {
    fn from(text: String) -> Self {
        match (text.strip_prefix("~~"), text.strip_prefix('~')) {
            (Some(source), _) => Self::Nothing(source.to_owned()),
            (None, Some(source)) => Self::Events(source.to_owned()),
            (None, None) => Self::Objects(text),
        }
    }
}

impl From<Lacking> for String {
    fn from(lacking: Lacking) -> Self {
        match lacking {
            Lacking::Objects(source) => source,
            Lacking::Events(source) => format!("~{source}"),
            Lacking::Nothing(source) => format!("~~{source}"),
        }
    }
}

impl Complete {
    /// Of every source.
    pub fn of_all(incarnation: Incarnation, revision: Revision) -> Self {
        Self { incarnation, revision, lacking: Vec::new(), tenants: true }
    }

    /// Whether it says something of the objects of a source.
    pub fn covers(&self, source: &str) -> bool {
        !self.lacking.iter().any(|lacking| matches!(lacking, Lacking::Objects(name) if name == source))
    }

    /// Whether it says something of the objects of a tenant's source.
    pub fn covers_tenants(&self, source: &str) -> bool {
        self.lacking.iter().any(|lacking| matches!(lacking, Lacking::Nothing(name) if name == source))
    }

    /// Whether all CloudEvents of a source have been told, whatever is known of objects.
    pub fn covers_events(&self, source: &str) -> bool {
        !self.lacking.iter().any(|lacking| matches!(lacking, Lacking::Events(name) if name == source))
    }
}

impl Interest {
    /// The row that should follow this one for `wanted` (name and manifest, sorted by name); `None` when it
    /// would say the same. `now` is the least revision of this time. No row has [`Revision::NONE`].
    pub fn next(previous: Option<&Self>, wanted: Vec<(String, Arc<Value>)>, now: Revision) -> Option<Self> {
        Self::next_of(previous, wanted, None, now)
    }

    /// The same for a cluster whose deployer is in it, and must know this of its registration.
    pub fn next_of(
        previous: Option<&Self>,
        wanted: Vec<(String, Arc<Value>)>,
        registration: Option<Arc<Value>>,
        now: Revision,
    ) -> Option<Self> {
        let revision = previous.map_or(Revision::NONE, |row| row.revision).next().max(now);
        // Both are sorted: one walk over them finds each.
        let mut known = previous.into_iter().flat_map(|row| &row.sources).peekable();
        let source = |(name, manifest): (String, Arc<Value>)| {
            while known.next_if(|source| source.name < name).is_some() {}
            let same = known.next_if(|source| source.name == name && source.manifest == manifest);
            Source { changed: same.map_or(revision, |source| source.changed), name, manifest }
        };
        let sources = wanted.into_iter().map(source).collect();
        let next = Self { revision, sources, registration, gone: false };
        let is_same = |row: &Self| row.sources == next.sources && row.registration == next.registration;
        let unchanged = previous.is_some_and(|row| is_same(row) && !row.gone);
        (!unchanged).then_some(next)
    }

    /// The row of a cluster that is no longer registered.
    pub fn of_gone(revision: Revision) -> Self {
        Self { revision, gone: true, ..Self::default() }
    }

    /// The same sources under a later revision than `there`, which is that of a row that cannot be read: what changed since
    /// then is not known, so everything did.
    #[must_use]
    pub fn later_than(mut self, there: Revision) -> Self {
        if self.revision <= there {
            self.revision = there.next();
            self.sources.iter_mut().for_each(|source| source.changed = self.revision);
        }
        self
    }

    /// Whether it stands for a row that is lost with its bucket: what was known of it may be written again, and says
    /// nothing new to who reads it.
    pub fn is_lost(&self) -> bool {
        self.revision == Revision::NONE
    }

    /// The source called `name`.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changes_gets_the_new_revision() {
        let first = Interest::next(
            None,
            vec![("a".into(), json!(1).into()), ("b".into(), json!(1).into())],
            Revision::new(100),
        )
        .unwrap();
        assert_eq!(
            Interest::next(
                Some(&first),
                vec![("a".into(), json!(1).into()), ("b".into(), json!(1).into())],
                Revision::new(200)
            ),
            None
        );
        let second = Interest::next(
            Some(&first),
            vec![("a".into(), json!(1).into()), ("b".into(), json!(2).into())],
            Revision::new(50),
        )
        .unwrap();
        assert_eq!(second.revision, Revision::new(101));
        assert_eq!(
            (second.source("a").unwrap().changed, second.source("b").unwrap().changed),
            (Revision::new(100), Revision::new(101))
        );
        let third = Interest::next(Some(&second), vec![], Revision::new(50)).unwrap();
        assert_eq!((third.revision, third.sources.len()), (Revision::new(102), 0));
        assert!(!Interest::next(None, vec![], Revision::NONE).unwrap().is_lost());
    }

    #[test]
    fn a_cluster_that_is_registered_again_has_another_row_also_without_sources() {
        let gone = Interest::of_gone(Revision::new(7));
        let again = Interest::next(Some(&gone), vec![], Revision::NONE).unwrap();
        assert_eq!((again.revision, again.gone), (Revision::new(8), false));
        let text = serde_json::to_string(&again).unwrap();
        assert!(!text.contains("gone"), "{text}");
        assert_eq!(serde_json::from_str::<Interest>(&serde_json::to_string(&gone).unwrap()).unwrap(), gone);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_followed_by_a_later_one() {
        let row = Interest::next(None, vec![("a".into(), json!(1).into())], Revision::new(100)).unwrap();
        assert_eq!(row.clone().later_than(Revision::new(99)), row);
        let later = row.later_than(Revision::new(100));
        assert_eq!(
            (later.revision, later.source("a").unwrap().changed),
            (Revision::new(101), Revision::new(101))
        );
    }

    fn wanted(names: &[(&str, i32)]) -> Vec<(String, Arc<Value>)> {
        names.iter().map(|(name, manifest)| ((*name).to_owned(), json!(manifest).into())).collect()
    }

    fn changed(row: &Interest) -> Vec<(&str, u64)> {
        row.sources.iter().map(|source| (source.name.as_str(), source.changed.get())).collect()
    }

    #[test]
    fn sources_that_come_and_go_leave_the_others_as_they_are() {
        let first = Interest::next(None, wanted(&[("b", 1), ("d", 1)]), Revision::new(10)).unwrap();
        let more = Interest::next(
            Some(&first),
            wanted(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)]),
            Revision::new(20),
        )
        .unwrap();
        assert_eq!(changed(&more), [("a", 20), ("b", 10), ("c", 20), ("d", 10), ("e", 20)]);
        let less = Interest::next(Some(&more), wanted(&[("b", 1), ("e", 2)]), Revision::new(30)).unwrap();
        assert_eq!(changed(&less), [("b", 10), ("e", 30)]);
    }

    #[test]
    fn a_source_that_comes_back_is_a_new_one() {
        let first = Interest::next(None, wanted(&[("a", 1)]), Revision::new(10)).unwrap();
        let none = Interest::next(Some(&first), wanted(&[]), Revision::new(20)).unwrap();
        assert_eq!(
            changed(&Interest::next(Some(&none), wanted(&[("a", 1)]), Revision::new(30)).unwrap()),
            [("a", 30)]
        );
    }

    #[test]
    fn that_nothing_is_wanted_is_said_once() {
        let none = Interest::next(None, vec![], Revision::new(10)).unwrap();
        assert_eq!(Interest::next(Some(&none), vec![], Revision::new(20)), None);
    }

    #[test]
    fn revisions_grow_also_when_the_clock_does_not() {
        let first = Interest::next(None, wanted(&[("a", 1)]), Revision::new(u64::MAX)).unwrap();
        assert_eq!(
            Interest::next(Some(&first), vec![], Revision::new(5)).unwrap().revision,
            Revision::new(u64::MAX)
        );
        assert_eq!(
            Interest::next(Some(&Interest::default()), vec![], Revision::new(5)),
            None,
            "a lost row says the same of nothing"
        );
        assert!(Interest::default().is_lost() && !first.is_lost());
    }

    #[test]
    fn what_a_completeness_row_lacks_is_of_objects_or_of_events() {
        let lacking = vec![Lacking::Objects("a".into()), Lacking::Events("b".into())];
        let complete = Complete { lacking, ..Complete::of_all(Incarnation::new(1), Revision::new(2)) };
        assert!(!complete.covers("a") && complete.covers("b") && complete.covers("c"));
        assert!(complete.covers_events("a") && !complete.covers_events("b"));
        assert!(
            Complete::of_all(Incarnation::new(1), Revision::new(2)).covers("a")
                && Complete::of_all(Incarnation::new(1), Revision::new(2)).covers_events("b")
        );
    }

    #[test]
    fn what_is_lacking_is_read_as_it_is_written() {
        let all = [
            (Lacking::Objects("a".into()), "a"),
            (Lacking::Events("a".into()), "~a"),
            (Lacking::Nothing("a".into()), "~~a"),
        ];
        for (lacking, text) in all {
            assert_eq!(String::from(lacking.clone()), text);
            assert_eq!(Lacking::from(text.to_owned()), lacking);
        }
    }

    #[test]
    fn a_source_is_found_by_its_name() {
        let row = Interest::next(None, wanted(&[("a", 1), ("b", 2)]), Revision::new(10)).unwrap();
        assert_eq!(row.source("b").map(|source| &*source.manifest), Some(&json!(2)));
        assert_eq!(row.source("c"), None);
    }
}
