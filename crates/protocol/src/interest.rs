//! The `interest` rows: which EventSources are live on a cluster. Written by the renderer, read by agents
//! and matchers.

// D-0508: a cluster that comes back begins as a new one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The EventSources of one cluster. No row means "unknown"; an empty list means "none".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interest {
    // D-0509: revisions of an interest row never go back.
    /// Grows with every change, also across a wiped bucket.
    pub revision: u64,
    /// The EventSources, by name.
    pub sources: Vec<Source>,
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
    pub changed: u64,
    /// Its manifest: `kind`, `metadata.name` and `spec`, as written. Every shard knows every cluster's sources.
    pub manifest: Arc<Value>,
}

// D-0401: complete lists are announced in rows.
/// Meta of a completeness row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complete {
    /// Incarnation of the stream that the row is in.
    pub incarnation: u64,
    /// The interest revision that is complete.
    pub revision: u64,
    /// What it says nothing of, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<Lacking>,
}

// D-0814: the renderer waits until all CloudEvents have come.
/// What a completeness row says nothing of. Written as the name of the EventSource, before which a `~` means its CloudEvents; no
/// object has such a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Lacking {
    /// The objects of this EventSource: one of its kinds may not be listed, or it cannot be read.
    Objects(String),
    /// The CloudEvents of this EventSource.
    Events(String),
}

impl From<String> for Lacking {
    fn from(text: String) -> Self {
        match text.strip_prefix('~') {
            Some(source) => Self::Events(source.to_owned()),
            None => Self::Objects(text),
        }
    }
}

impl From<Lacking> for String {
    fn from(lacking: Lacking) -> Self {
        match lacking {
            Lacking::Objects(source) => source,
            Lacking::Events(source) => format!("~{source}"),
        }
    }
}

impl Complete {
    /// Of every source.
    pub fn of_all(incarnation: u64, revision: u64) -> Self {
        Self { incarnation, revision, lacking: Vec::new() }
    }

    /// Whether it says something of the objects of a source.
    pub fn covers(&self, source: &str) -> bool {
        !self.lacking.iter().any(|lacking| matches!(lacking, Lacking::Objects(name) if name == source))
    }

    /// Whether all CloudEvents of a source have been told, whatever is known of objects.
    pub fn covers_events(&self, source: &str) -> bool {
        !self.lacking.iter().any(|lacking| matches!(lacking, Lacking::Events(name) if name == source))
    }
}

impl Interest {
    /// The row that should follow this one for `wanted` (name and manifest, sorted by name); `None` when it
    /// would say the same. `now` is in milliseconds since 1970. No row has revision 0.
    pub fn next(previous: Option<&Self>, wanted: Vec<(String, Arc<Value>)>, now: u64) -> Option<Self> {
        let revision = previous.map_or(1, |row| row.revision.saturating_add(1)).max(now);
        // Both are sorted: one walk over them finds each.
        let mut known = previous.into_iter().flat_map(|row| &row.sources).peekable();
        let source = |(name, manifest): (String, Arc<Value>)| {
            while known.next_if(|source| source.name < name).is_some() {}
            let same = known.next_if(|source| source.name == name && source.manifest == manifest);
            Source { changed: same.map_or(revision, |source| source.changed), name, manifest }
        };
        let next = Self { revision, sources: wanted.into_iter().map(source).collect(), gone: false };
        let unchanged = previous.is_some_and(|row| row.sources == next.sources && !row.gone);
        (!unchanged).then_some(next)
    }

    /// The row of a cluster that is no longer registered.
    pub fn of_gone(revision: u64) -> Self {
        Self { revision, sources: Vec::new(), gone: true }
    }

    /// The same sources under a later revision than `there`, which is that of a row that cannot be read: what changed since
    /// then is not known, so everything did.
    #[must_use]
    pub fn later_than(mut self, there: u64) -> Self {
        if self.revision <= there {
            self.revision = there.saturating_add(1);
            self.sources.iter_mut().for_each(|source| source.changed = self.revision);
        }
        self
    }

    /// Whether it stands for a row that is lost with its bucket: what was known of it may be written again, and says
    /// nothing new to who reads it.
    pub fn is_lost(&self) -> bool {
        self.revision == 0
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
        let first =
            Interest::next(None, vec![("a".into(), json!(1).into()), ("b".into(), json!(1).into())], 100)
                .unwrap();
        assert_eq!(
            Interest::next(
                Some(&first),
                vec![("a".into(), json!(1).into()), ("b".into(), json!(1).into())],
                200
            ),
            None
        );
        let second = Interest::next(
            Some(&first),
            vec![("a".into(), json!(1).into()), ("b".into(), json!(2).into())],
            50,
        )
        .unwrap();
        assert_eq!(second.revision, 101);
        assert_eq!((second.source("a").unwrap().changed, second.source("b").unwrap().changed), (100, 101));
        let third = Interest::next(Some(&second), vec![], 50).unwrap();
        assert_eq!((third.revision, third.sources.len()), (102, 0));
        assert!(!Interest::next(None, vec![], 0).unwrap().is_lost());
    }

    #[test]
    fn a_cluster_that_is_registered_again_has_another_row_also_without_sources() {
        let gone = Interest::of_gone(7);
        let again = Interest::next(Some(&gone), vec![], 0).unwrap();
        assert_eq!((again.revision, again.gone), (8, false));
        let text = serde_json::to_string(&again).unwrap();
        assert!(!text.contains("gone"), "{text}");
        assert_eq!(serde_json::from_str::<Interest>(&serde_json::to_string(&gone).unwrap()).unwrap(), gone);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_followed_by_a_later_one() {
        let row = Interest::next(None, vec![("a".into(), json!(1).into())], 100).unwrap();
        assert_eq!(row.clone().later_than(99), row);
        let later = row.later_than(100);
        assert_eq!((later.revision, later.source("a").unwrap().changed), (101, 101));
    }
}
