//! Which problems a core has told, so that the end of each can be told once.

// D-0609: at most 100 problems about objects of one cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sluice_api::model::ClusterSetId;
use sluice_api::{ClusterRef, ObjectKey, ProfileId, TriggerId};

use crate::report::Problem;
use crate::rows::EventCause;

/// Where something is wrong, and with what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProblemKey {
    /// The cluster; none when it concerns all.
    pub cluster: Option<ClusterRef>,
    /// What it is about.
    pub about: About,
}

/// What a problem is about. Its text form names the user's object first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// The cluster itself.
    Cluster,
    /// An object of the cluster.
    Object(ObjectKey),
    /// An EventSource, by its name.
    Source(String),
    /// What an EventSource makes of one object.
    Match(String, ObjectKey),
    /// A trigger as a whole, for example one whose template is wrong.
    Trigger(TriggerId),
    /// What a trigger makes of an event.
    Event(EventCause),
    /// A profile on its way to one cluster.
    Profile(ProfileId),
    /// A cluster set as a whole.
    ClusterSet(ClusterSetId),
    /// A stream, by its name: what is wrong concerns everything in it.
    Stream(String),
    /// One of these that cannot be on another cluster.
    On(Box<About>, ClusterRef),
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

/// What those are called that are not listed, and why they are not.
const FURTHER: &str = "further objects";
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

// === impl About ===

impl About {
    /// Whether it is about an EventSource, or what that makes of an object.
    pub fn is_of_source(&self, source: &str) -> bool {
        matches!(self, Self::Source(name) | Self::Match(name, _) if name == source)
    }

    /// Whether it is about what an EventSource makes of this object.
    pub fn is_match_of(&self, object: &ObjectKey) -> bool {
        matches!(self, Self::Match(_, key) if key == object)
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Object(object) => write!(f, "{object}"),
            Self::Source(name) => write!(f, "EventSource {name}"),
            Self::Match(name, object) => write!(f, "EventSource {name}, {object}"),
            Self::Trigger(id) => f.write_str(&id.described()),
            Self::Event(event) => {
                write!(f, "{}, EventSource {}", event.trigger.described(), event.source)?;
                event.item.iter().try_for_each(|item| write!(f, ", {item}"))
            }
            Self::Profile(id) => write!(f, "{id}"),
            Self::ClusterSet(id) => write!(f, "{id}"),
            Self::Stream(name) => write!(f, "stream {name}"),
            Self::On(about, cluster) => write!(f, "{about}, on {cluster}"),
        }
    }
}

// === impl ProblemSet ===

impl ProblemSet {
    /// The set of a stage that has told nothing yet.
    pub fn new(stage: &'static str) -> Self {
        Self { stage, open: BTreeSet::new(), objects: BTreeMap::new() }
    }

    /// Something is wrong (an error), or not, or no longer (`None`). What is to be told of it: an error each time, since
    /// its text may be another; its end once.
    pub fn note(&mut self, key: ProblemKey, error: Option<String>) -> Vec<Problem> {
        let Some(error) = error else {
            let ended = self.open.remove(&key).then(|| self.ended(&key));
            return ended.into_iter().chain(self.make_room(&key)).collect();
        };
        let cluster = key.cluster.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_new = !self.open.contains(&key);
        if let Some(objects) = self.objects_of(&key).filter(|_| is_new) {
            if objects.listed == OF_OBJECTS {
                let first = !std::mem::replace(&mut objects.more, true);
                let more = first.then(|| Problem::open(self.stage, cluster, FURTHER, MORE));
                return more.into_iter().collect();
            }
            objects.listed += 1;
        }
        let object = key.about.to_string();
        self.open.insert(key);
        vec![Problem::open(self.stage, cluster, object, error)]
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
        Problem::resolved(self.stage, cluster, &key.about)
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
        has_room.then(|| Problem::resolved(self.stage, cluster, FURTHER))
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

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
        let told = Problem::open("matcher", &cluster, "EventSource s, Service n/x", "no");
        assert_eq!(problems.note(broken.clone(), Some("no".into())), std::slice::from_ref(&told));
        assert_eq!(problems.note(broken.clone(), Some("no".into())), [told]);
        let resolved = Problem::resolved("matcher", &cluster, "EventSource s, Service n/x");
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
        let objects: Vec<_> = of_source.into_iter().map(|problem| problem.object).collect();
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
                problems.note(ProblemKey::on(cluster, About::Object(key(name))), error.map(str::to_owned));
            told.into_iter().map(|problem| (problem.object, problem.error.is_some())).collect::<Vec<_>>()
        };
        for number in 0..OF_OBJECTS {
            assert_eq!(tell(&here, &number.to_string(), Some("no")).len(), 1);
        }
        assert_eq!(tell(&here, "x", Some("no")), [(FURTHER.to_owned(), true)]);
        assert!(tell(&here, "x", Some("no")).is_empty() && tell(&here, "y", Some("no")).is_empty());
        assert_eq!(
            tell(&there, "x", Some("no")),
            [("Service n/x".to_owned(), true)],
            "others are not kept from it"
        );
        assert!(tell(&here, "x", None).is_empty(), "its begin was not told");
        let room = [("Service n/0".to_owned(), false), (FURTHER.to_owned(), false)];
        assert_eq!(tell(&here, "0", None), room);
        assert_eq!(tell(&here, "y", Some("no")), [("Service n/y".to_owned(), true)]);
        let ended = problems.resolve(&here, |_| true);
        assert_eq!(ended.len(), OF_OBJECTS);
        assert_eq!(problems.objects.len(), 1, "nothing is kept of who has none");
    }
}
