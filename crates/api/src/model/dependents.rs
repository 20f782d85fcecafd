//! Profiles that depend on others, and where the others go because of that.
//!
//! ```text
//! app: clusterSelector env=prod, dependsOn [base]   base: no selector   ─►   base goes where app goes
//! ```

// D-0926: what a profile depends on goes where the profile goes.

use std::collections::BTreeSet;

use super::cluster::Cluster;
use super::dependencies::Dependencies;
use super::fleet::Fleet;
use super::profile::Profile;
use crate::profile::ProfileId;

/// Which profiles depend on which, as far as that says where they go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependents {
    index: Dependencies,
    /// Whether prerequisites go only where they select clusters themselves.
    is_off: bool,
}

// === impl Dependents ===

impl Dependents {
    /// Prerequisites go only where they select clusters themselves.
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// A profile is another one now, and depends on these. Whose clusters may be others because of that, directly or not.
    pub fn change(&mut self, id: &ProfileId, needs: &BTreeSet<ProfileId>) -> BTreeSet<ProfileId> {
        if self.is_off {
            return BTreeSet::new();
        }
        let dropped = self.index.set(id, needs).unwrap_or_default();
        let (mut ahead, mut concerned) = (dropped.into_iter().collect::<Vec<_>>(), BTreeSet::new());
        ahead.extend(needs.iter().cloned());
        while let Some(other) = ahead.pop() {
            let below: Vec<_> = self.index.of(&other).cloned().collect();
            if concerned.insert(other) {
                ahead.extend(below);
            }
        }
        concerned
    }

    /// All profiles that others depend on.
    pub fn prerequisites(&self) -> impl Iterator<Item = &ProfileId> {
        self.index.needed()
    }

    /// Whether a profile is for a cluster: by what it says, or because one that depends on it is. `find` knows those that can be read.
    pub fn is_for<'p>(
        &self,
        profile: &'p Profile,
        (cluster, fleet): (&Cluster, &Fleet),
        find: impl Fn(&ProfileId) -> Option<&'p Profile>,
    ) -> bool {
        let is_for = |dependent: &ProfileId| find(dependent).is_some_and(|one| one.is_for(cluster, fleet));
        profile.is_for(cluster, fleet) || self.all_of(profile, &find).into_iter().any(is_for)
    }

    /// Why it is not known whether a profile is for further clusters.
    pub fn unsure<'p>(
        &self,
        profile: &'p Profile,
        fleet: &Fleet,
        find: impl Fn(&ProfileId) -> Option<&'p Profile>,
    ) -> Option<String> {
        let of = |dependent: &ProfileId| match find(dependent) {
            Some(one) => one.unsure(fleet).map(|why| format!("{dependent}, which depends on it: {why}")),
            None => Some(format!("{dependent}, which depends on it, cannot be read")),
        };
        profile.unsure(fleet).or_else(|| self.all_of(profile, &find).into_iter().find_map(of))
    }

    /// Those that depend on a profile, and those that depend on them. A tenant lets nothing be deployed that is not its own: it would
    /// be with the rights of somebody else.
    fn all_of<'p>(
        &self,
        profile: &'p Profile,
        find: &impl Fn(&ProfileId) -> Option<&'p Profile>,
    ) -> BTreeSet<&ProfileId> {
        let (mut ahead, mut all) = (vec![&profile.id], BTreeSet::new());
        while let Some(id) = ahead.pop() {
            for dependent in self.index.dependents(id) {
                let account = find(dependent).and_then(|one| one.account.as_ref());
                if (account.is_none() || account == profile.account.as_ref()) && all.insert(dependent) {
                    ahead.push(dependent);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::ServiceAccount;

    fn profile(name: &str, env: &str) -> Profile {
        let manifest = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
            "spec": {"clusterSelector": {"matchLabels": {"env": env}}}});
        Profile::read(&manifest).unwrap()
    }

    fn fleet() -> Fleet {
        let mut fleet = Fleet::default();
        for (name, env) in [("one", "prod"), ("two", "test")] {
            let cluster = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
                "metadata": {"name": name, "namespace": "default", "labels": {"env": env}}, "spec": {}});
            fleet.put(&Arc::new(cluster), false);
        }
        fleet
    }

    fn places(dependents: &Dependents, profiles: &[Profile], name: &str) -> Vec<String> {
        let (fleet, find) = (fleet(), |id: &ProfileId| profiles.iter().find(|profile| profile.id == *id));
        let profile = find(&ProfileId::cluster(name)).unwrap();
        let those =
            fleet.clusters().values().filter(|cluster| dependents.is_for(profile, (cluster, &fleet), find));
        those.map(|cluster| cluster.id.name.clone()).collect()
    }

    fn id(name: &str) -> ProfileId {
        ProfileId::cluster(name)
    }

    fn ids(names: &[&str]) -> BTreeSet<ProfileId> {
        names.iter().map(|name| id(name)).collect()
    }

    #[test]
    fn a_prerequisite_goes_where_those_go_that_depend_on_it() {
        let all = [profile("app", "prod"), profile("base", "none"), profile("root", "test")];
        let mut dependents = Dependents::default();
        assert_eq!(dependents.change(&id("base"), &ids(&["root"])), ids(&["root"]));
        assert_eq!(
            dependents.change(&id("app"), &ids(&["base"])),
            ids(&["base", "root"]),
            "one after another"
        );
        assert_eq!(
            dependents.change(&id("app"), &ids(&["base"])),
            ids(&["base", "root"]),
            "its clusters may be others"
        );
        assert_eq!(places(&dependents, &all, "app"), ["one"]);
        assert_eq!(places(&dependents, &all, "base"), ["one"]);
        assert_eq!(places(&dependents, &all, "root"), ["one", "two"]);
        assert_eq!(dependents.change(&id("app"), &BTreeSet::new()), ids(&["base", "root"]));
        assert!(places(&dependents, &all, "base").is_empty());
        let mut off = Dependents::off();
        assert!(off.change(&id("app"), &ids(&["base"])).is_empty() && places(&off, &all, "base").is_empty());
    }

    #[test]
    fn who_cannot_be_read_makes_unsure_what_it_depends_on() {
        let base = profile("base", "none");
        let mut dependents = Dependents::default();
        dependents.change(&id("app"), &ids(&["base"]));
        let unsure = dependents.unsure(&base, &fleet(), |_| None).unwrap();
        assert_eq!(unsure, "ClusterProfile app, which depends on it, cannot be read");
        let app = profile("app", "prod");
        assert_eq!(dependents.unsure(&base, &fleet(), |_| Some(&app)), None);
    }

    #[test]
    fn a_tenant_takes_nothing_along_that_is_not_its_own() {
        let account = |name: &str| Some(ServiceAccount { namespace: "team".into(), name: name.into() });
        let of = |profile: Profile, account| Profile { account, ..profile };
        let (app, base) = (profile("app", "prod"), profile("base", "none"));
        let mut dependents = Dependents::default();
        dependents.change(&id("app"), &ids(&["base"]));
        for (of_app, of_base, goes) in [
            (account("a"), None, false),
            (account("a"), account("b"), false),
            (account("a"), account("a"), true),
            (None, account("b"), true),
        ] {
            let all = [of(app.clone(), of_app), of(base.clone(), of_base)];
            assert_eq!(places(&dependents, &all, "base").len(), usize::from(goes), "{all:?}");
        }
    }

    #[test]
    fn a_circle_ends_nothing() {
        let all = [profile("a", "none"), profile("b", "none")];
        let mut dependents = Dependents::default();
        dependents.change(&id("a"), &ids(&["b"]));
        dependents.change(&id("b"), &ids(&["a"]));
        assert!(places(&dependents, &all, "a").is_empty());
        dependents.change(&id("a"), &BTreeSet::new());
        dependents.change(&id("b"), &BTreeSet::new());
        assert_eq!(dependents, Dependents::default());
    }
}
