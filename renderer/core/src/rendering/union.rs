//! What the management cluster gets of a cause: what the content for it gives over all destinations.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey, few};
use sluice_protocol::Fault;
use sluice_protocol::rows::Policy;

// D-0916: local content is one more row.
/// The union over destinations, in the order in which they are added.
#[derive(Default)]
pub(crate) struct Union {
    policies: Vec<Policy>,
    /// Where each object is among them, and because of which destination.
    known: HashMap<ObjectKey, Vec<Found>>,
    /// Objects that other destinations want otherwise: who has each, and who does not.
    conflicts: BTreeMap<String, (ClusterRef, Vec<ClusterRef>)>,
}

struct Found {
    policy: usize,
    object: usize,
    of: ClusterRef,
}

// === impl Union ===

impl Union {
    /// What is for the management cluster because of this destination. An object that another one has brought is not brought
    /// again: with other content it is a conflict.
    pub(crate) fn add(&mut self, of: &ClusterRef, policies: Vec<Policy>) {
        for mut policy in policies {
            let objects = std::mem::take(&mut policy.objects);
            let same = |known: &Policy| Policy { objects: Vec::new(), ..known.clone() } == policy;
            let index = self.policies.iter().position(same);
            let index = index.unwrap_or_else(|| {
                self.policies.push(policy);
                self.policies.len() - 1
            });
            objects.into_iter().for_each(|object| self.put(of, index, object));
        }
    }

    fn put(&mut self, of: &ClusterRef, policy: usize, object: Value) {
        let known = ObjectKey::of(&object).map(|key| (key.to_string(), self.known.entry(key).or_default()));
        let Some((name, known)) = known else {
            // What has no kind or name is said by who would deploy it, once.
            if !self.policies[policy].objects.contains(&object) {
                self.policies[policy].objects.push(object);
            }
            return;
        };
        if let Some(first) = known.iter().find(|found| found.of != *of) {
            let is_there = |found: &Found| self.policies[found.policy].objects[found.object] == object;
            if !known.iter().any(is_there) {
                let (_, others) =
                    self.conflicts.entry(name).or_insert_with(|| (first.of.clone(), Vec::new()));
                others.push(of.clone());
            }
            return;
        }
        let objects = &mut self.policies[policy].objects;
        known.push(Found { policy, object: objects.len(), of: of.clone() });
        objects.push(object);
    }

    /// Everything, and what is said of the conflicts.
    pub(crate) fn end(self) -> (Vec<Policy>, Vec<Fault>) {
        let notes = self.conflicts.into_iter().map(|(name, (first, others))| {
            Fault::new(format!(
                "{name}: the management cluster gets it as it is because of {first}, and it is not the same because of {}; let its name \
                 differ for each destination, or its content not",
                few(", ", &others)
            ))
        });
        (self.policies, notes.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(name: &str) -> ClusterRef {
        ClusterRef::sveltos("default", name)
    }

    fn object(name: &str, text: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
    }

    fn policy(name: &str, objects: Vec<Value>) -> Policy {
        let (kind, namespace, name) = ("ConfigMap".to_owned(), "n".to_owned(), name.to_owned());
        Policy { kind, namespace, name, tier: 100, objects, ..Policy::default() }
    }

    fn names(policies: &[Policy]) -> Vec<(&str, Vec<&str>)> {
        let all = policies.iter().map(|policy| {
            (policy.name.as_str(), policy.objects.iter().map(sluice_api::object::name).collect())
        });
        all.collect()
    }

    #[test]
    fn what_several_destinations_want_equally_is_there_once_and_the_rest_in_their_order() {
        let mut union = Union::default();
        for name in ["a", "b"] {
            let own = policy("p", vec![object("both", "1"), object(name, "1")]);
            union.add(&cluster(name), vec![own, policy("q", vec![object("late", "1")])]);
        }
        let (policies, notes) = union.end();
        assert_eq!(names(&policies), [("p", vec!["both", "a", "b"]), ("q", vec!["late"])]);
        assert!(notes.is_empty());
    }

    #[test]
    fn of_different_contents_the_first_counts_and_both_destinations_are_named() {
        let mut union = Union::default();
        for (name, text) in [("a", "1"), ("b", "2"), ("c", "1")] {
            union.add(&cluster(name), vec![policy("p", vec![object("x", text)])]);
        }
        let (policies, notes) = union.end();
        assert_eq!(policies[0].objects, [object("x", "1")]);
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].text.starts_with("ConfigMap x: ") && notes[0].text.contains("of sveltos:default/a,"),
            "{notes:?}"
        );
        assert!(notes[0].text.contains("because of sveltos:default/b;"), "{notes:?}");
    }

    #[test]
    fn what_one_destination_has_twice_stays_twice() {
        let mut union = Union::default();
        for name in ["a", "b"] {
            let (first, second) = (policy("p", vec![object("x", "1")]), policy("q", vec![object("x", "2")]));
            union.add(&cluster(name), vec![first, second]);
        }
        let (policies, notes) = union.end();
        assert_eq!(
            (names(&policies), notes.len()),
            (vec![("p", vec!["x"]), ("q", vec!["x"])], 0),
            "who deploys it says so"
        );
    }

    #[test]
    fn many_conflicts_of_one_object_are_one_line() {
        let mut union = Union::default();
        for number in 0..10 {
            union.add(
                &cluster(&format!("c{number}")),
                vec![policy("p", vec![object("x", &number.to_string())])],
            );
        }
        let (_, notes) = union.end();
        assert!(notes.len() == 1 && notes[0].text.contains(" and 4 more;"), "{notes:?}");
    }
}
