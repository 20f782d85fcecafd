//! Profiles that depend on others, whoever tells their status: where they are, the others are too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::model::{Cluster, Dependents, Fleet, Profile, prerequisites};
use sluice_api::{ObjectKey, ProfileId, object};

/// All profiles that depend on others, those that can be read with what they say.
#[derive(Debug, Default)]
pub(crate) struct KnownDependencies {
    dependents: Dependents,
    profiles: BTreeMap<ProfileId, Profile>,
}

// === impl KnownDependencies ===

impl KnownDependencies {
    /// Prerequisites go only where they select clusters themselves.
    pub(crate) fn off() -> Self {
        Self { dependents: Dependents::off(), profiles: BTreeMap::new() }
    }

    /// An object is like this, or gone: whose clusters may be others now.
    pub(crate) fn change(&mut self, key: &ObjectKey, manifest: &Value, gone: bool) -> BTreeSet<ProfileId> {
        if !matches!(key.gvk.kind.as_str(), "ClusterProfile" | "Profile") {
            return BTreeSet::new();
        }
        let id = ProfileId::new(&*key.namespace, &*key.name);
        let needs = prerequisites(&id, object::at(manifest, &["spec", "dependsOn"]).filter(|_| !gone));
        let concerned = self.dependents.change(&id, &needs);
        match (!needs.is_empty()).then(|| Profile::read(manifest).ok()).flatten() {
            Some(profile) => drop(self.profiles.insert(id, profile)),
            None => drop(self.profiles.remove(&id)),
        }
        concerned
    }

    /// Whether a profile is for a cluster.
    pub(crate) fn is_for(&self, profile: &Profile, cluster: &Cluster, fleet: &Fleet) -> bool {
        self.dependents.is_for(profile, (cluster, fleet), |id| self.profiles.get(id))
    }

    /// Whether it is not known whether a profile is for further clusters.
    pub(crate) fn is_unsure(&self, profile: &Profile, fleet: &Fleet) -> bool {
        self.dependents.unsure(profile, fleet, |id| self.profiles.get(id)).is_some()
    }
}
