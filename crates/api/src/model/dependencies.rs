//! Which profiles need which others: `spec.dependsOn`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::profile::ProfileId;

/// Both directions. Profiles that need nothing and that nobody needs are not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependencies {
    needs: BTreeMap<ProfileId, BTreeSet<ProfileId>>,
    needed_by: BTreeMap<ProfileId, BTreeSet<ProfileId>>,
}

/// What a profile says that it depends on, by the value of `spec.dependsOn`: profiles of its own kind and namespace. Also where the
/// profile cannot be read otherwise.
pub fn prerequisites(id: &ProfileId, names: Option<&Value>) -> BTreeSet<ProfileId> {
    let names = names.and_then(Value::as_array).into_iter().flatten();
    let names = names.filter_map(Value::as_str).filter(|name| !name.is_empty());
    names.map(|name| ProfileId::new(&*id.namespace, name)).collect()
}

// === impl Dependencies ===

impl Dependencies {
    /// Whether nobody needs anything.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// A profile needs these and no others. Whom it needed and does not any more; `None` where nothing is new.
    pub fn set(&mut self, profile: &ProfileId, needs: &BTreeSet<ProfileId>) -> Option<BTreeSet<ProfileId>> {
        let before = self.needs.get(profile);
        if before.map_or(needs.is_empty(), |before| before == needs) {
            return None;
        }
        let before = self.needs.remove(profile).unwrap_or_default();
        for other in &before {
            if let Some(those) = self.needed_by.get_mut(other) {
                those.remove(profile);
                if those.is_empty() {
                    self.needed_by.remove(other);
                }
            }
        }
        for other in needs {
            self.needed_by.entry(other.clone()).or_default().insert(profile.clone());
        }
        if !needs.is_empty() {
            self.needs.insert(profile.clone(), needs.clone());
        }
        Some(before.difference(needs).cloned().collect())
    }

    /// All that somebody needs.
    pub fn needed(&self) -> impl Iterator<Item = &ProfileId> {
        self.needed_by.keys()
    }

    /// What a profile needs.
    pub fn of(&self, profile: &ProfileId) -> impl Iterator<Item = &ProfileId> {
        self.needs.get(profile).into_iter().flatten()
    }

    /// Who needs a profile.
    pub fn dependents(&self, profile: &ProfileId) -> impl Iterator<Item = &ProfileId> {
        self.needed_by.get(profile).into_iter().flatten()
    }

    /// A way from one profile to another one that it needs, directly or not; both ends are in it.
    pub fn way(&self, from: &ProfileId, to: &ProfileId) -> Option<Vec<ProfileId>> {
        let (mut ways, mut seen) = (vec![vec![from.clone()]], BTreeSet::new());
        while let Some(way) = ways.pop() {
            let next = way.last().map(|last| self.of(last)).into_iter().flatten();
            for next in next {
                let longer = [way.as_slice(), std::slice::from_ref(next)].concat();
                if next == to {
                    return Some(longer);
                }
                if seen.insert(next.clone()) {
                    ways.push(longer);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn id(name: &str) -> ProfileId {
        ProfileId::cluster(name)
    }

    fn ids(names: &[&str]) -> BTreeSet<ProfileId> {
        names.iter().map(|name| id(name)).collect()
    }

    #[test]
    fn what_is_written_is_of_the_same_kind_and_namespace() {
        let names = serde_json::json!(["base", "", 3]);
        let of = |id: ProfileId| prerequisites(&id, Some(&names));
        assert_eq!(of(ProfileId::new("team", "app")), [ProfileId::new("team", "base")].into());
        assert_eq!(of(id("app")), ids(&["base"]));
        assert_eq!(prerequisites(&id("app"), Some(&"base".into())), ids(&[]));
    }

    #[test]
    fn both_directions_say_the_same() {
        let mut all = Dependencies::default();
        assert_eq!(all.set(&id("a"), &ids(&["b", "c"])), Some(BTreeSet::new()));
        assert_eq!(all.set(&id("a"), &ids(&["b", "c"])), None);
        assert_eq!(all.set(&id("a"), &ids(&["c", "d"])), Some(ids(&["b"])));
        assert_eq!(all.dependents(&id("b")).count(), 0);
        assert_eq!(all.dependents(&id("d")).collect::<Vec<_>>(), [&id("a")]);
        assert_eq!(all.set(&id("a"), &ids(&[])), Some(ids(&["c", "d"])));
        assert!(all.is_empty() && all.needed_by.is_empty());
    }

    #[test]
    fn circles_are_found_and_ways_that_end_nowhere_are_left() {
        let mut all = Dependencies::default();
        for (profile, needs) in [("a", &["x", "b"][..]), ("b", &["c", "x"]), ("c", &["a"]), ("d", &["a"])] {
            all.set(&id(profile), &ids(needs));
        }
        assert_eq!(all.way(&id("a"), &id("a")).unwrap(), ["a", "b", "c", "a"].map(id));
        assert_eq!(all.way(&id("d"), &id("d")), None, "it leads into a circle and is in none");
        assert!(all.way(&id("d"), &id("c")).is_some());
        all.set(&id("e"), &ids(&["e"]));
        assert_eq!(all.way(&id("e"), &id("e")).unwrap(), ["e", "e"].map(id));
    }
}
