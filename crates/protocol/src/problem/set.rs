//! Which problems a core has told, so that the end of each can be told once.

// D-0609: at most 100 problems about objects of one cluster.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;

use super::{About, Fault, Problem};

/// Where something is wrong, and with what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProblemKey {
    /// The cluster; none when it concerns all.
    pub cluster: Option<ClusterRef>,
    /// What it is about.
    pub about: About,
}

/// So many problems with objects of one cluster are told at a time; whatever a cluster sends, people read no more of them.
const OF_OBJECTS: usize = 100;

// D-0601: a failure is a row and blocks nothing else.
/// The open problems of one core.
#[derive(Clone, Debug)]
pub struct ProblemSet {
    stage: &'static str,
    open: BTreeSet<ProblemKey>,
    /// Those of them that are about objects, by cluster.
    objects: BTreeMap<ClusterRef, Objects>,
}

/// Problems with objects of one cluster.
#[derive(Clone, Debug, Default)]
struct Objects {
    listed: usize,
    /// Whether there were more than are listed.
    more: bool,
}

/// Why some are not listed.
const MORE: &str = "more objects of the cluster have problems than are listed; they are listed once some of these are solved";

// === impl ProblemKey ===

impl ProblemKey {
    /// On one cluster.
    pub fn on(cluster: &ClusterRef, about: About) -> Self {
        Self { cluster: Some(cluster.clone()), about }
    }

    /// Of no cluster in particular.
    pub fn everywhere(about: About) -> Self {
        Self { cluster: None, about }
    }
}

// === impl ProblemSet ===

impl ProblemSet {
    /// The set of a stage that has told nothing yet.
    pub fn new(stage: &'static str) -> Self {
        Self { stage, open: BTreeSet::new(), objects: BTreeMap::new() }
    }

    /// Something is wrong (a fault), or not, or no longer (`None`). What is to be told of it: a fault each time, since
    /// its text may be another; its end once.
    pub fn note(&mut self, key: ProblemKey, fault: Option<Fault>) -> Vec<Problem> {
        let Some(fault) = fault else {
            let ended = self.open.remove(&key).then(|| self.ended(&key));
            return ended.into_iter().chain(self.make_room(&key)).collect();
        };
        let cluster = key.cluster.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_new = !self.open.contains(&key);
        if let Some(objects) = self.objects_of(&key).filter(|_| is_new) {
            if objects.listed == OF_OBJECTS {
                let first = !std::mem::replace(&mut objects.more, true);
                let more = first.then(|| Problem::open(self.stage, cluster, About::Further, MORE));
                return more.into_iter().collect();
            }
            objects.listed += 1;
        }
        let about = key.about.clone();
        self.open.insert(key);
        vec![Problem::open(self.stage, cluster, about, fault)]
    }

    /// The end of every problem on a cluster for which `which` holds.
    pub fn resolve(&mut self, cluster: &ClusterRef, which: impl Fn(&About) -> bool) -> Vec<Problem> {
        let of = |key: &ProblemKey| key.cluster.as_ref() == Some(cluster) && which(&key.about);
        let keys: Vec<ProblemKey> = self.open.extract_if(.., |key| of(key)).collect();
        let mut ended: Vec<Problem> = keys.iter().map(|key| self.ended(key)).collect();
        ended.extend(keys.first().and_then(|key| self.make_room(key)));
        ended
    }

    fn objects_of(&mut self, key: &ProblemKey) -> Option<&mut Objects> {
        let cluster = key.cluster.as_ref()?;
        matches!(key.about, About::Object(_) | About::Match(..))
            .then(|| self.objects.entry(cluster.clone()).or_default())
    }

    /// A listed problem is none any more.
    fn ended(&mut self, key: &ProblemKey) -> Problem {
        if let Some(objects) = self.objects_of(key) {
            objects.listed -= 1;
        }
        let cluster = key.cluster.as_ref().map(ToString::to_string).unwrap_or_default();
        Problem::resolved(self.stage, cluster, key.about.clone())
    }

    /// Whoever is not listed is again as soon as it is told again and there is room.
    fn make_room(&mut self, key: &ProblemKey) -> Option<Problem> {
        let cluster = key.cluster.as_ref()?;
        let objects = self.objects.get_mut(cluster)?;
        let has_room = objects.more && objects.listed < OF_OBJECTS;
        objects.more &= !has_room;
        if objects.listed == 0 {
            self.objects.remove(cluster);
        }
        has_room.then(|| Problem::resolved(self.stage, cluster, About::Further))
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{Gvk, ObjectKey};

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: name.into() }
    }

    #[test]
    fn the_end_of_a_problem_is_told_once_and_only_after_its_begin() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut problems = ProblemSet::new("matcher");
        let broken = ProblemKey::on(&cluster, About::Match("s".into(), key("x")));
        assert_eq!(problems.note(broken.clone(), None), []);
        let told = Problem::open("matcher", &cluster, broken.about.clone(), "no");
        assert_eq!(problems.note(broken.clone(), Some("no".into())), std::slice::from_ref(&told));
        assert_eq!(problems.note(broken.clone(), Some("no".into())), [told]);
        let resolved = Problem::resolved("matcher", &cluster, broken.about.clone());
        assert_eq!(problems.note(broken.clone(), None), [resolved]);
        assert_eq!(problems.note(broken, None), []);
    }

    #[test]
    fn what_a_source_or_an_object_had_ends_with_it() {
        let (here, there) = (ClusterRef::sveltos("a", "b"), ClusterRef::sveltos("a", "c"));
        let mut problems = ProblemSet::new("matcher");
        for cluster in [&here, &there] {
            for about in [
                About::Source("s".into()),
                About::Match("s".into(), key("x")),
                About::Match("s2".into(), key("x")),
                About::Match("s2".into(), key("ax")),
            ] {
                problems.note(ProblemKey::on(cluster, about), Some("no".into()));
            }
        }
        let of_source = problems.resolve(&here, |about| about.is_of_source("s"));
        let objects: Vec<_> = of_source.into_iter().map(|problem| problem.about.to_string()).collect();
        assert_eq!(objects, ["EventSource s", "EventSource s, Service n/x"]);
        assert_eq!(problems.resolve(&here, |about| about.is_match_of(&key("x"))).len(), 1);
        assert_eq!(problems.resolve(&there, |_| true).len(), 4);
    }

    #[test]
    fn of_one_cluster_so_many_objects_are_listed_and_that_there_are_more_is_said() {
        let (here, there) = (ClusterRef::sveltos("a", "b"), ClusterRef::sveltos("a", "c"));
        let mut problems = ProblemSet::new("matcher");
        let mut tell = |cluster: &ClusterRef, name: &str, error: Option<&str>| {
            let told =
                problems.note(ProblemKey::on(cluster, About::Object(key(name))), error.map(Fault::from));
            told.into_iter()
                .map(|problem| (problem.about.to_string(), problem.fault.is_some()))
                .collect::<Vec<_>>()
        };
        for number in 0..OF_OBJECTS {
            assert_eq!(tell(&here, &number.to_string(), Some("no")).len(), 1);
        }
        assert_eq!(tell(&here, "x", Some("no")), [(About::Further.to_string(), true)]);
        assert!(tell(&here, "x", Some("no")).is_empty() && tell(&here, "y", Some("no")).is_empty());
        assert_eq!(
            tell(&there, "x", Some("no")),
            [("Service n/x".to_owned(), true)],
            "others are not kept from it"
        );
        assert!(tell(&here, "x", None).is_empty(), "its begin was not told");
        let room = [("Service n/0".to_owned(), false), (About::Further.to_string(), false)];
        assert_eq!(tell(&here, "0", None), room);
        assert_eq!(tell(&here, "y", Some("no")), [("Service n/y".to_owned(), true)]);
        let ended = problems.resolve(&here, |_| true);
        assert_eq!(ended.len(), OF_OBJECTS);
        assert_eq!(problems.objects.len(), 1, "nothing is kept of who has none");
    }
}
