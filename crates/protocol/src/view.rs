//! How new the knowledge is that a row was made from.

use crate::Revision;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// For each source of knowledge (an interest row, a kind of the management cluster) its version. Every row has one and
/// few of them differ: cheap to clone.
///
/// Versions of a management cluster that was restored from a backup begin again at older ones. A view of what it has since then is newer than
/// every view of the time before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Arc<BTreeMap<String, Revision>>);

/// Stands among the sources, and says since which restore their versions count. No kind and no cluster has this name.
const RESTORED: &str = "restored";

impl View {
    /// Knows nothing yet; what it notes was seen after this restore of the management cluster. Later ones have greater numbers;
    /// [`Revision::NONE`] is none.
    pub fn since(restored: Revision) -> Self {
        let mut view = Self::default();
        if restored > Revision::NONE {
            view.note(RESTORED, restored);
        }
        view
    }

    /// Notes that `source` has been seen at `version`; older versions change nothing.
    pub fn note(&mut self, source: &str, version: Revision) {
        if self.0.get(source).is_none_or(|&known| known < version) {
            Arc::make_mut(&mut self.0).insert(source.to_owned(), version);
        }
    }

    /// Takes the newer of both, source by source where both are of the same time.
    pub fn merge(&mut self, other: &Self) {
        if Arc::ptr_eq(&self.0, &other.0) {
            return;
        }
        match self.restored().cmp(&other.restored()) {
            Ordering::Greater => return,
            Ordering::Less => return self.0 = other.0.clone(),
            Ordering::Equal => {}
        }
        for (source, &version) in other.0.iter() {
            self.note(source, version);
        }
    }

    /// Whether nothing in `needed` is newer than this.
    pub fn covers(&self, needed: &Self) -> bool {
        let knows = |(source, &version): (&String, &Revision)| {
            self.0.get(source).is_some_and(|&known| known >= version)
        };
        match self.restored().cmp(&needed.restored()) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => needed.0.iter().all(knows),
        }
    }

    /// The sources of which `needed` has a newer version, with that version.
    pub fn lacks(&self, needed: &Self) -> Vec<String> {
        if self.restored() > needed.restored() {
            return Vec::new();
        }
        let newer = |(source, version): &(&String, &Revision)| self.version(source) < **version;
        needed.0.iter().filter(newer).map(|(source, version)| format!("{source} {version}")).collect()
    }

    /// The version of `source`, none when unknown.
    pub fn version(&self, source: &str) -> Revision {
        self.0.get(source).copied().unwrap_or(Revision::NONE)
    }

    fn restored(&self) -> Revision {
        self.version(RESTORED)
    }

    /// Reads the text form; parts that cannot be read are left out.
    pub fn parse(text: &str) -> Self {
        let part = |part: &str| {
            part.rsplit_once('=')
                .and_then(|(source, version)| Some((source.to_owned(), version.parse().ok()?)))
        };
        Self(Arc::new(text.split(' ').filter_map(part).collect()))
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (source, version)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{source}={version}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_covers_what_is_not_newer() {
        let mut view = View::parse("a=3 b=5");
        assert!(view.covers(&View::parse("a=3")) && view.covers(&View::default()));
        assert!(!view.covers(&View::parse("a=4")) && !view.covers(&View::parse("c=1")));
        view.merge(&View::parse("a=9 b=1"));
        assert_eq!(view.to_string(), "a=9 b=5");
    }

    #[test]
    fn a_view_is_read_as_it_is_written() {
        for text in ["", "a=1", "ClusterProfile=18446744073709551615 interest:a/b=3"] {
            assert_eq!(View::parse(text).to_string(), text);
        }
    }

    #[test]
    fn sources_are_written_in_their_order_whatever_came_first() {
        let mut view = View::default();
        ["b", "a", "c"].iter().for_each(|source| view.note(source, Revision::new(1)));
        assert_eq!(view.to_string(), "a=1 b=1 c=1");
    }

    #[test]
    fn what_cannot_be_read_of_a_view_is_left_out() {
        assert_eq!(View::parse("a b=x =1 c=-1 d=2  e=3"), View::parse("=1 d=2 e=3"));
        assert_eq!(View::parse("a=b=4").version("a=b"), Revision::new(4), "the last sign counts");
    }

    #[test]
    fn an_older_version_changes_nothing() {
        let mut view = View::parse("a=5");
        view.note("a", Revision::new(4));
        assert_eq!(view.version("a"), Revision::new(5));
        view.note("a", Revision::new(6));
        assert_eq!((view.version("a"), view.version("b")), (Revision::new(6), Revision::NONE));
    }

    #[test]
    fn a_copy_does_not_follow_what_is_noted_later() {
        let mut view = View::parse("a=1");
        let copy = view.clone();
        view.note("a", Revision::new(2));
        assert_eq!((copy.version("a"), view.version("a")), (Revision::new(1), Revision::new(2)));
    }

    #[test]
    fn what_a_view_lacks_is_named_with_the_version_that_is_needed() {
        let view = View::parse("a=3 b=5");
        assert_eq!(view.lacks(&View::parse("a=4 b=5 c=1")), ["a 4", "c 1"]);
        assert!(view.lacks(&View::parse("a=3")).is_empty());
    }

    #[test]
    fn a_source_of_version_0_is_another_than_one_that_is_not_known() {
        assert!(!View::default().covers(&View::parse("a=0")));
        assert!(View::parse("a=0").covers(&View::parse("a=0")));
    }

    #[test]
    fn what_was_seen_after_a_restore_is_newer_than_all_before_it() {
        let (before, after) = (View::parse("a=90 b=5"), View::parse("a=3 restored=7"));
        assert!(after.covers(&before) && !before.covers(&after));
        assert_eq!((after.lacks(&before).len(), before.lacks(&after)), (0, vec!["restored 7".to_owned()]));
        assert_eq!(View::since(Revision::new(7)).to_string(), "restored=7");
        assert_eq!(View::since(Revision::NONE), View::default());
        for (mut merged, other) in [(before.clone(), &after), (after.clone(), &before)] {
            merged.merge(other);
            assert_eq!(merged, after);
        }
    }

    proptest::proptest! {
        #[test]
        fn of_two_restores_the_later_is_newer(one in any_view(), other in any_view(), first in 0..3_u64, second in 0..3_u64) {
            let of = |view: &View, restored| View::parse(&format!("{view} {}", View::since(Revision::new(restored))));
            let (one, other) = (of(&one, first), of(&other, second));
            let mut merged = one.clone();
            merged.merge(&other);
            proptest::prop_assert!(merged.covers(&one) && merged.covers(&other));
            proptest::prop_assert_eq!(one.covers(&other), one.lacks(&other).is_empty() || first > second);
            proptest::prop_assert!(first == second || one.covers(&other) == (first > second));
        }

        #[test]
        fn what_is_merged_covers_both_and_nothing_newer(one in any_view(), other in any_view()) {
            let mut merged = one.clone();
            merged.merge(&other);
            proptest::prop_assert!(merged.covers(&one) && merged.covers(&other));
            for source in ["a", "b", "c"] {
                proptest::prop_assert_eq!(merged.version(source), one.version(source).max(other.version(source)));
            }
            proptest::prop_assert_eq!(one.covers(&other), one.lacks(&other).is_empty());
        }
    }

    fn any_view() -> impl proptest::strategy::Strategy<Value = View> {
        use proptest::strategy::Strategy;

        proptest::collection::btree_map("[abc]", (1..4_u64).prop_map(Revision::new), 0..4)
            .prop_map(|map| View(Arc::new(map)))
    }
}
