//! What pods of a cluster read: which ConfigMaps and Secrets are watched, what was read of each, and what is to be read.
//!
//! ```text
//! a profile names one ─► it is read, and its kind is watched
//! a watch shows another version, or it is applied here ─► it is read again ─► who names it hears of that
//! ```
//!
//! Of a content nothing is kept but what tells it from another one.

// D-1061: what pods read is read when its version is another one, and nothing else is kept of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{Gvk, ObjectKey, ProfileId};

use crate::reload::{ABSENT, Glimpse};
use crate::request::{Failure, Version};

/// Pause before what could not be read is read again, microseconds.
const AGAIN: i64 = 10_000_000;

/// The ConfigMaps and Secrets that workloads of one cluster name.
#[derive(Debug, Default)]
pub(crate) struct SourceBook {
    known: BTreeMap<ObjectKey, Known>,
    of: BTreeMap<ProfileId, BTreeSet<ObjectKey>>,
    kinds: BTreeMap<Gvk, usize>,
    to_read: Vec<ObjectKey>,
    watched: Vec<(Gvk, bool)>,
    /// What was told of each kind that cannot be read.
    told: BTreeMap<Gvk, String>,
    /// Whether there may be something else to tell.
    may_tell: bool,
    retry_at: Option<i64>,
}

/// One of them.
#[derive(Debug, Default)]
struct Known {
    by: BTreeSet<ProfileId>,
    content: Content,
    /// The version that was read.
    version: Option<Version>,
    is_being_read: bool,
    /// What was shown while it was being read; nothing of it where it had gone.
    shown: Option<Option<Version>>,
}

#[derive(Debug, Default, PartialEq)]
enum Content {
    #[default]
    Unknown,
    /// What tells it from another one, or that there is none.
    Is(String),
    /// Why it cannot be read.
    Unreadable(String),
}

/// What is known of one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Current<'a> {
    /// What tells its content from another one.
    Is(&'a str),
    /// It is being read.
    Awaited,
    /// It cannot be read, or nobody names it.
    Unknown,
}

// === impl SourceBook ===

impl SourceBook {
    /// A profile names these and no others.
    pub(crate) fn name(&mut self, profile: &ProfileId, sources: BTreeSet<ObjectKey>) {
        let before = self.of.remove(profile).unwrap_or_default();
        for key in before.difference(&sources) {
            let Some(known) = self.known.get_mut(key) else { continue };
            known.by.remove(profile);
            if known.by.is_empty() {
                self.may_tell |= !self.told.is_empty();
                self.known.remove(key);
                self.leave_kind(&key.gvk);
            }
        }
        for key in &sources {
            let known = self.known.entry(key.clone()).or_default();
            if known.by.is_empty() {
                known.is_being_read = true;
                self.to_read.push(key.clone());
                let count = self.kinds.entry(key.gvk.clone()).or_default();
                *count += 1;
                if *count == 1 {
                    self.watched.push((key.gvk.clone(), true));
                }
            }
            known.by.insert(profile.clone());
        }
        if !sources.is_empty() {
            self.of.insert(profile.clone(), sources);
        }
    }

    fn leave_kind(&mut self, gvk: &Gvk) {
        let Some(count) = self.kinds.get_mut(gvk) else { return };
        *count -= 1;
        if *count == 0 {
            self.kinds.remove(gvk);
            self.told.remove(gvk);
            self.watched.push((gvk.clone(), false));
        }
    }

    /// What is known of one.
    pub(crate) fn current(&self, key: &ObjectKey) -> Current<'_> {
        match self.known.get(key) {
            Some(known) if known.is_being_read => Current::Awaited,
            Some(Known { content: Content::Is(content), .. }) => Current::Is(content),
            _ => Current::Unknown,
        }
    }

    /// A watch shows something.
    pub(crate) fn glimpse(&mut self, glimpse: Glimpse) {
        match glimpse {
            Glimpse::Changed(key, version) => self.shown(&key, Some(version)),
            Glimpse::Gone(key) => self.shown(&key, None),
            Glimpse::All(gvk, all) => {
                let mut there: BTreeMap<_, _> = all.into_iter().collect();
                let of_kind: Vec<_> = self.known.keys().filter(|key| key.gvk == gvk).cloned().collect();
                for key in of_kind {
                    let version = there.remove(&key);
                    self.shown(&key, version);
                }
            }
            // The deployer tells it.
            Glimpse::Trouble(..) => {}
        }
    }

    /// One is of this version, or has gone, as a watch or the answer to an apply says.
    pub(crate) fn shown(&mut self, key: &ObjectKey, version: Option<Version>) {
        let Some(known) = self.known.get_mut(key) else { return };
        if known.is_being_read {
            known.shown = Some(version);
        } else if known.is_news(version.as_ref()) {
            known.is_being_read = true;
            self.to_read.push(key.clone());
        }
    }

    /// One was read. Who is to hear of it: those who name it.
    pub(crate) fn read(
        &mut self,
        key: &ObjectKey,
        found: Result<Option<(Version, String)>, Failure>,
        now: i64,
    ) -> Vec<ProfileId> {
        let Some(known) = self.known.get_mut(key) else { return Vec::new() };
        known.is_being_read = false;
        self.may_tell |= found.is_err() || !self.told.is_empty();
        match found {
            Ok(Some((version, content))) => {
                (known.version, known.content) = (Some(version), Content::Is(content));
            }
            Ok(None) => (known.version, known.content) = (None, Content::Is(ABSENT.to_owned())),
            Err(failure) => {
                known.content = Content::Unreadable(failure.message);
                self.retry_at = Some(self.retry_at.map_or(now + AGAIN, |at| at.min(now + AGAIN)));
            }
        }
        if let Some(shown) = known.shown.take() {
            self.shown(key, shown);
        }
        match self.known.get(key) {
            Some(known) if !known.is_being_read => known.by.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Time passed: what could not be read is read again. When to come back.
    pub(crate) fn tick(&mut self, now: i64) -> Option<i64> {
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            let unreadable = self
                .known
                .iter_mut()
                .filter(|(_, known)| !known.is_being_read && matches!(known.content, Content::Unreadable(_)));
            for (key, known) in unreadable {
                known.is_being_read = true;
                self.to_read.push(key.clone());
            }
        }
        self.retry_at
    }

    /// What is to be read since this was asked last.
    pub(crate) fn take_reads(&mut self) -> Vec<ObjectKey> {
        let mut reads = std::mem::take(&mut self.to_read);
        reads.retain(|key| self.known.contains_key(key));
        reads
    }

    /// Kinds that are to be watched from now on, or (`false`) no longer.
    pub(crate) fn take_watched(&mut self) -> Vec<(Gvk, bool)> {
        std::mem::take(&mut self.watched)
    }

    /// Of each kind of which that is news: why something cannot be read, or that it can.
    pub(crate) fn take_troubles(&mut self) -> Vec<(Gvk, Option<String>)> {
        if !std::mem::take(&mut self.may_tell) {
            return Vec::new();
        }
        let mut troubles = BTreeMap::<Gvk, String>::new();
        for (key, known) in &self.known {
            if let Content::Unreadable(why) = &known.content {
                troubles.entry(key.gvk.clone()).or_insert_with(|| format!("{key} cannot be read: {why}"));
            }
        }
        let over = self.told.keys().filter(|gvk| !troubles.contains_key(*gvk));
        let mut news: Vec<_> = over.map(|gvk| (gvk.clone(), None)).collect();
        let new = troubles.iter().filter(|(gvk, text)| self.told.get(*gvk) != Some(*text));
        news.extend(new.map(|(gvk, text)| (gvk.clone(), Some(text.clone()))));
        self.told = troubles;
        news
    }

    /// The cluster is reached in another way: nothing is known of it.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

// === impl Known ===

impl Known {
    /// Whether it may have another content when it is of this version, or has gone.
    fn is_news(&self, shown: Option<&Version>) -> bool {
        match (&self.content, &self.version, shown) {
            (Content::Is(_), None, None) => false,
            (Content::Is(_), Some(read), Some(shown)) => read != shown && !is_older(shown, read),
            _ => true,
        }
    }
}

/// Whether it is an earlier version of the same object.
fn is_older((uid, version): &Version, (other_uid, other): &Version) -> bool {
    let number = |version: &String| version.parse::<u64>().ok();
    uid == other_uid && number(version).zip(number(other)).is_some_and(|(version, other)| version < other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Class;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name: name.into() }
    }

    fn version(number: u64) -> Version {
        ("u".into(), number.to_string())
    }

    fn found(number: u64) -> Result<Option<(Version, String)>, Failure> {
        Ok(Some((version(number), format!("content {number}"))))
    }

    fn profile(name: &str) -> ProfileId {
        ProfileId::cluster(name)
    }

    fn named(names: &[&str]) -> BTreeSet<ObjectKey> {
        names.iter().map(|name| key(name)).collect()
    }

    /// A book in which `a` is named and was read at version 5.
    fn book() -> SourceBook {
        let mut book = SourceBook::default();
        book.name(&profile("p"), named(&["a"]));
        assert_eq!((book.take_reads(), book.take_watched()), (vec![key("a")], vec![(key("a").gvk, true)]));
        assert_eq!(book.current(&key("a")), Current::Awaited);
        assert_eq!(book.read(&key("a"), found(5), 0), [profile("p")]);
        assert_eq!(book.current(&key("a")), Current::Is("content 5"));
        book
    }

    #[test]
    fn only_what_is_named_is_read_and_only_when_it_is_another_version() {
        let mut book = book();
        let all = vec![(key("a"), version(5)), (key("other"), version(9))];
        for nothing in [
            Glimpse::All(key("a").gvk, all),
            Glimpse::Changed(key("a"), version(5)),
            Glimpse::Changed(key("a"), version(4)),
            Glimpse::Changed(key("other"), version(10)),
            Glimpse::Gone(key("other")),
        ] {
            book.glimpse(nothing);
            assert_eq!(book.take_reads(), []);
        }
        book.glimpse(Glimpse::Changed(key("a"), version(6)));
        assert_eq!(book.take_reads(), [key("a")]);
        assert_eq!(book.known.len(), 1);
    }

    #[test]
    fn what_comes_while_it_is_read_is_compared_with_the_answer() {
        let mut book = book();
        book.glimpse(Glimpse::Changed(key("a"), version(6)));
        book.take_reads();
        book.glimpse(Glimpse::Changed(key("a"), version(7)));
        assert_eq!(book.read(&key("a"), found(6), 0), [], "it is not the newest");
        assert_eq!(book.take_reads(), [key("a")]);
        book.glimpse(Glimpse::Changed(key("a"), version(7)));
        assert_eq!(book.read(&key("a"), found(8), 0), [profile("p")]);
        assert_eq!(book.take_reads(), []);
    }

    #[test]
    fn what_goes_and_comes_is_read() {
        let mut book = book();
        book.glimpse(Glimpse::All(key("a").gvk, Vec::new()));
        assert_eq!(book.take_reads(), [key("a")]);
        book.read(&key("a"), Ok(None), 0);
        assert_eq!(book.current(&key("a")), Current::Is(ABSENT));
        book.glimpse(Glimpse::Gone(key("a")));
        assert_eq!(book.take_reads(), []);
        book.glimpse(Glimpse::Changed(key("a"), ("v".into(), "3".into())));
        assert_eq!(book.take_reads(), [key("a")]);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_read_again() {
        let mut book = book();
        book.glimpse(Glimpse::Changed(key("a"), version(6)));
        book.take_reads();
        book.read(&key("a"), Err(Failure::new(Class::Refused, "no")), 0);
        assert_eq!(book.current(&key("a")), Current::Unknown);
        let text = "ConfigMap n/a cannot be read: no".to_owned();
        assert_eq!(book.take_troubles(), [(key("a").gvk, Some(text))]);
        assert_eq!(book.take_troubles(), [], "it is told once");
        assert_eq!((book.tick(AGAIN - 1), book.take_reads()), (Some(AGAIN), Vec::new()));
        assert_eq!((book.tick(AGAIN), book.take_reads()), (None, vec![key("a")]));
        book.read(&key("a"), found(6), AGAIN);
        assert_eq!(book.take_troubles(), [(key("a").gvk, None)]);
    }

    #[test]
    fn two_profiles_share_a_watch_and_what_was_read() {
        let mut book = book();
        book.name(&profile("q"), named(&["a", "b"]));
        assert_eq!((book.take_reads(), book.take_watched()), (vec![key("b")], Vec::new()));
        book.name(&profile("p"), BTreeSet::new());
        assert_eq!(book.current(&key("a")), Current::Is("content 5"));
        book.name(&profile("q"), BTreeSet::new());
        assert_eq!(book.take_watched(), [(key("a").gvk, false)]);
        assert_eq!(book.current(&key("a")), Current::Unknown);
        assert!(book.known.is_empty() && book.of.is_empty() && book.kinds.is_empty());
    }
}
