//! Which profiles of a cluster need which others: `spec.dependsOn`.

// D-1052: a profile waits for those that it depends on, and they go after it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::ProfileId;
use sluice_protocol::rows::Desired;

/// Both directions. Profiles that need nothing and that nobody needs are not in it.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    needs: BTreeMap<ProfileId, BTreeSet<ProfileId>>,
    needed_by: BTreeMap<ProfileId, BTreeSet<ProfileId>>,
}

/// What one profile must look at before it begins.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// What it needed when that was looked at: another maker may have the name by now.
    pub(crate) of: BTreeSet<ProfileId>,
    /// What it needs and is not there as it should be.
    pub(crate) unmet: Vec<Unmet>,
    /// The way from the profile back to itself.
    pub(crate) circle: Option<Vec<ProfileId>>,
    /// Who has something in the cluster that needs it.
    pub(crate) dependents: Vec<ProfileId>,
}

/// A profile that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmet {
    pub(crate) profile: ProfileId,
    /// Whether anybody has said that it is for this cluster.
    pub(crate) is_known: bool,
}

/// What a row says that its profile needs: profiles of its own kind.
pub(crate) fn needed(desired: &Desired) -> BTreeSet<ProfileId> {
    let names = desired.spec.get("dependsOn").and_then(Value::as_array).into_iter().flatten();
    let names = names.filter_map(Value::as_str).filter(|name| !name.is_empty());
    names.map(|name| ProfileId::new(&*desired.owner_namespace, name)).collect()
}

// === impl Unmet ===

impl Unmet {
    /// As the original says it.
    pub(crate) fn text(&self) -> String {
        let not_found = match self.is_known {
            true => "",
            false => ". The ClusterSummary instance for this profile/cluster was not found",
        };
        let profile = &self.profile;
        format!(
            "{} {} is a dependency and it is not fully deployed yet{not_found}",
            profile.kind(),
            profile.object_name()
        )
    }
}

// === impl Dependencies ===

impl Dependencies {
    /// Whether nobody needs anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// A profile needs these and no others. Whom it needed and does not any more; `None` where nothing is new.
    pub(crate) fn set(
        &mut self,
        profile: &ProfileId,
        needs: &BTreeSet<ProfileId>,
    ) -> Option<BTreeSet<ProfileId>> {
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

    /// What a profile needs.
    pub(crate) fn of(&self, profile: &ProfileId) -> impl Iterator<Item = &ProfileId> {
        self.needs.get(profile).into_iter().flatten()
    }

    /// Who needs a profile.
    pub(crate) fn dependents(&self, profile: &ProfileId) -> impl Iterator<Item = &ProfileId> {
        self.needed_by.get(profile).into_iter().flatten()
    }

    /// A way from one profile to another one that it needs, directly or not; both ends are in it.
    pub(crate) fn way(&self, from: &ProfileId, to: &ProfileId) -> Option<Vec<ProfileId>> {
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
