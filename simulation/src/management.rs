//! The management cluster of the simulation: two triggers, a profile, what they deploy, and what changes of them.

use std::sync::Arc;

use rand::Rng as _;
use rand::rngs::SmallRng;
use serde_json::Value;
use sluice_api::{MANAGEMENT, ObjectKey, object};
use sluice_renderer_core::Change;

use crate::checks::LATE;
use crate::coverage::Fault;
use crate::manifests::{self, Registration, SourceForm};

mod addon;
mod back;
mod log;
mod mend;
mod pauses;
mod reasons;
mod sets;
mod sources;

pub(crate) use self::addon::Addon;
use self::pauses::Pauses;
pub(crate) use self::sets::{SetForm, SetName};

/// The objects as they are, and every change there ever was: readers have positions in the log.
#[derive(Default)]
pub(crate) struct Management {
    pub(crate) objects: Vec<Arc<Value>>,
    pub(crate) log: Vec<(i64, Change)>,
    /// What gives a reason to withdraw, as long as it is like that.
    pub(crate) reasons: Vec<(Addon, usize)>,
    pub(crate) source: Option<SourceForm>,
    triggers: [bool; 2],
    /// Whether a trigger deploys a second ConfigMap.
    more: [bool; 2],
    /// The last edit of what each add-on is made of.
    edited: [u64; Addon::ALL.len()],
    profile: bool,
    /// Whether the patch for a destination is there.
    patched: [bool; CLUSTERS.len()],
    /// Whether the profile of a namespace is there.
    team: bool,
    back: back::Back,
    /// The tier of the profile, and whether what it deploys stays when it goes.
    form: (u64, bool),
    sets: sets::Sets,
    sources: sources::Sources,
    /// Since when what it deploys is deployed once, without a break.
    once_since: Option<i64>,
    /// Whether a trigger makes a profile of the same name as the one that a user wrote.
    pub(crate) rival: bool,
    registered: [Option<Registration>; CLUSTERS.len()],
    /// Since when each cluster that is registered has been so without a break.
    registered_since: [i64; CLUSTERS.len()],
    /// The cluster that pulls.
    pulling: Option<usize>,
    /// The cluster that does not come again.
    departed: Option<usize>,
    pauses: Pauses,
    version: u64,
    edits: u64,
    now: i64,
}

/// Names of the managed clusters.
pub(crate) const CLUSTERS: [&str; 2] = ["a", "b"];
/// Names of the clusters that are deployed to: the management cluster is one of them.
pub(crate) const SERVERS: [&str; 3] = ["a", "b", MANAGEMENT];

impl Management {
    /// Some clusters are registered at once, others later.
    pub(crate) fn new(random: &mut SmallRng, pulling: Option<usize>) -> Self {
        let mut management = Self { pulling, ..Self::default() };
        management.put_source(SourceForm::SAME[random.random_range(0..SourceForm::SAME.len())]);
        for cluster in 0..CLUSTERS.len() {
            if random.random_bool(0.7) {
                management.register(cluster, Registration::default());
            }
        }
        for addon in Addon::TRIGGERS {
            management.put_trigger(addon, false);
        }
        for set in SetName::ALL {
            management.put_set(set, SetForm::default());
        }
        management.put(manifests::sent_source());
        management.put(manifests::sent_trigger());
        management.put_profile((100, false), false);
        management.flip_team();
        management.flip_back();
        management.put(manifests::base_profile(false));
        management.put(manifests::base_content());
        management.put(manifests::next_profile());
        management.put(manifests::next_content());
        Addon::ALL.into_iter().for_each(|addon| management.put_content(addon));
        Addon::TRIGGERS.into_iter().for_each(|addon| management.put_generator_source(addon));
        // What is read may be there from the beginning, or come later.
        if random.random_bool(0.5) {
            management.change_thing(false);
        }
        (0..CLUSTERS.len()).for_each(|cluster| management.put_patch(cluster));
        management
    }

    /// Writes an object.
    fn put(&mut self, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let object = Arc::new(object);
        let key = ObjectKey::of(&object);
        self.objects.retain(|known| ObjectKey::of(known) != key);
        self.objects.push(object.clone());
        self.log.push((self.now, Change::Upsert(object)));
        self.reasons = self.look_for_reasons();
    }

    fn delete(&mut self, kind: &str, name: &str) {
        let same =
            |object: &Arc<Value>| object::text(object, &["kind"]) == kind && object::name(object) == name;
        let Some(index) = self.objects.iter().position(same) else { return };
        let mut object = (*self.objects.remove(index)).clone();
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.log.push((self.now, Change::Delete(Arc::new(object))));
        self.reasons = self.look_for_reasons();
    }

    fn put_source(&mut self, form: SourceForm) {
        self.source = Some(form);
        self.put(manifests::source(form));
    }

    fn register(&mut self, cluster: usize, registration: Registration) {
        if self.registered[cluster].replace(registration).is_none() {
            self.registered_since[cluster] = self.now;
        }
        let pauses = (self.pauses.has_cluster(cluster), self.pauses.end(cluster));
        let pulls = self.pulling == Some(cluster);
        self.put(manifests::registration(CLUSTERS[cluster], registration, pauses, pulls));
    }

    fn put_trigger(&mut self, addon: Addon, more: bool) {
        self.triggers[addon as usize] = true;
        self.more[addon as usize] = more;
        self.put(manifests::trigger(addon, more, self.sets.each));
    }

    fn put_profile(&mut self, (tier, leave): (u64, bool), once: bool) {
        self.profile = true;
        self.form = (tier, leave);
        self.once_since = once.then(|| self.once_since.unwrap_or(self.now));
        let mut profile = manifests::profile((tier, leave), once, self.sets.profile);
        if self.pauses.has_profile() {
            manifests::pause(&mut profile);
        }
        self.put(profile);
    }

    fn put_content(&mut self, addon: Addon) {
        self.edits += 1;
        self.edited[addon as usize] = self.edits;
        if addon == Addon::Back {
            return self.put_back_content(self.edits, "");
        }
        self.put(manifests::content(addon, self.edits));
        if matches!(addon, Addon::All | Addon::Own) {
            self.put(manifests::both(addon, self.edits));
        }
        if addon == Addon::All {
            self.put(manifests::here(self.edits));
        }
    }

    /// What the user's profile depends on begins to depend on it, or does not any more.
    pub(crate) fn set_circle(&mut self, in_circle: bool, now: i64) {
        self.now = now;
        self.put(manifests::base_profile(in_circle));
    }

    /// What an add-on is made of is edited, or there again.
    pub(crate) fn edit_content(&mut self, addon: Addon, now: i64) {
        self.now = now;
        self.put_content(addon);
    }

    fn put_patch(&mut self, cluster: usize) {
        self.patched[cluster] = true;
        self.put(manifests::patch(CLUSTERS[cluster]));
    }

    pub(crate) fn has_content(&self, addon: Addon) -> bool {
        let same = |object: &Arc<Value>| {
            object::text(object, &["kind"]) == "ConfigMap" && object::name(object) == addon.name()
        };
        self.objects.iter().any(same)
    }

    /// The cluster that pulls.
    pub(crate) fn pulling(&self) -> Option<&'static str> {
        self.pulling.map(|index| CLUSTERS[index])
    }

    /// Whether a cluster is registered now.
    pub(crate) fn is_registered(&self, cluster: &str) -> bool {
        self.registration(cluster).is_some()
    }

    /// Since when a cluster has been registered without a break.
    pub(crate) fn registered_since(&self, cluster: &str) -> Option<i64> {
        let index = CLUSTERS.iter().position(|name| *name == cluster)?;
        self.registered[index].map(|_| self.registered_since[index])
    }

    /// The labels of a registered cluster.
    pub(crate) fn registration(&self, cluster: &str) -> Option<Registration> {
        let index = CLUSTERS.iter().position(|name| *name == cluster)?;
        self.registered[index]
    }

    /// Whether the trigger of an add-on is there.
    pub(crate) fn has_trigger(&self, addon: Addon) -> bool {
        self.triggers.get(addon as usize).is_some_and(|there| *there)
    }

    /// Whether the trigger of an add-on deploys a second ConfigMap.
    pub(crate) fn has_more(&self, addon: Addon) -> bool {
        self.more.get(addon as usize).is_some_and(|more| *more)
    }

    /// Whether the profile that a user wrote is there.
    pub(crate) fn has_profile(&self) -> bool {
        self.profile
    }

    /// The tier of the profile that a user wrote.
    pub(crate) fn tier(&self) -> u64 {
        self.form.0
    }

    /// The last edit of what an add-on is made of.
    pub(crate) fn edit_of(&self, addon: Addon) -> u64 {
        self.edited[addon as usize]
    }

    /// Whether everybody knows that the profile is deployed once, and it need not be deployed anew.
    pub(crate) fn is_once(&self, now: i64) -> bool {
        self.once_since.is_some_and(|since| now - since > LATE)
    }

    /// Changes something that gives no reason to withdraw anything.
    pub(crate) fn edit(&mut self, random: &mut SmallRng, now: i64) -> Fault {
        self.now = now;
        let addon = Addon::ALL[random.random_range(0..Addon::ALL.len())];
        let cluster = random.random_range(0..CLUSTERS.len());
        match random.random_range(0..9) {
            7 => {
                let addon = Addon::TRIGGERS[random.random_range(0..2)];
                self.change_generator_source(addon, random.random_bool(0.2))
            }
            0 if self.has_trigger(addon) => {
                if addon == Addon::Each {
                    self.sets.each = random.random_bool(0.5);
                }
                self.put_trigger(addon, random.random_bool(0.5));
                Fault::TriggerEdited
            }
            1 if self.source.is_some_and(|form| form != SourceForm::Narrow) => {
                self.put_source(SourceForm::SAME[random.random_range(0..SourceForm::SAME.len())]);
                Fault::SourceEdited
            }
            2 if self.profile => {
                let form = (random.random_range(50..100), random.random_bool(0.6));
                self.sets.profile = random.random_bool(0.5);
                self.put_profile(form, random.random_bool(0.4));
                Fault::ProfileEdited
            }
            4 => self.change_thing(random.random_bool(0.3)),
            5 if self.patched[cluster] => {
                self.patched[cluster] = false;
                self.delete("ConfigMap", &manifests::patch_name(CLUSTERS[cluster]));
                Fault::PatchDeleted
            }
            5 | 6 if !self.patched[cluster] => {
                self.put_patch(cluster);
                Fault::PatchMade
            }
            3 if self.has_content(addon) => {
                self.delete("ConfigMap", addon.name());
                Fault::ContentDeleted
            }
            _ => {
                self.put_content(addon);
                Fault::ContentEdited
            }
        }
    }

    /// Changes what is wanted where.
    pub(crate) fn upset(&mut self, random: &mut SmallRng, now: i64) -> Fault {
        self.now = now;
        let addon = Addon::TRIGGERS[random.random_range(0..2)];
        let picked = random.random_range(0..CLUSTERS.len());
        let cluster = self.departed.map_or(picked, |departed| (departed + 1) % CLUSTERS.len());
        match random.random_range(0..12) {
            9 | 10 => self.change_set(random),
            11 => self.flip_team(),
            0 => self.flip_trigger(addon),
            7 => self.flip_cluster_pause(cluster),
            8 => self.flip_profile_pause(),
            1 => self.flip_profile(),
            6 => self.flip_rival(),
            2 if self.source.is_some() => {
                self.source = None;
                self.delete("EventSource", "services");
                Fault::SourceDeleted
            }
            2 | 3 => {
                let form = if random.random_bool(0.3) { SourceForm::Narrow } else { SourceForm::Equal };
                self.put_source(form);
                Fault::SourceEdited
            }
            4 if self.registered[cluster].is_some() => {
                self.unregister(cluster);
                Fault::Unregistered
            }
            _ => {
                let new = self.registered[cluster].is_none();
                let pick =
                    |good, bad, random: &mut SmallRng| if random.random_bool(0.7) { good } else { bad };
                let registration =
                    Registration { env: pick("fv", "dev", random), tier: pick("x", "y", random) };
                self.register(cluster, registration);
                if new { Fault::Registered } else { Fault::Relabelled }
            }
        }
    }

    fn flip_trigger(&mut self, addon: Addon) -> Fault {
        if self.triggers[addon as usize] {
            self.triggers[addon as usize] = false;
            self.delete("EventTrigger", addon.name());
            return Fault::TriggerDeleted;
        }
        self.put_trigger(addon, false);
        Fault::TriggerEdited
    }

    fn flip_profile(&mut self) -> Fault {
        if self.profile {
            (self.profile, self.once_since) = (false, None);
            self.pauses.forget_profile();
            self.delete("ClusterProfile", "own");
            return Fault::ProfileDeleted;
        }
        self.put_profile((100, false), false);
        Fault::ProfileEdited
    }

    /// A second maker of a name comes or goes.
    pub(crate) fn flip_rival_at(&mut self, now: i64) -> Fault {
        self.now = now;
        self.flip_rival()
    }

    fn flip_rival(&mut self) -> Fault {
        self.rival = !self.rival;
        if self.rival {
            self.put(manifests::rival());
            return Fault::RivalMade;
        }
        self.delete("EventTrigger", "rival");
        Fault::RivalDeleted
    }
}
