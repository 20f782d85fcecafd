//! Cluster sets: what they select, who goes by them, and how they change.

use rand::Rng as _;
use rand::rngs::SmallRng;

use super::{Addon, CLUSTERS, Management};
use crate::coverage::Fault;
use crate::manifests;

/// What a cluster set selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SetForm {
    /// The clusters with the label: those that a selector in its place would.
    #[default]
    Label,
    /// All that are registered, by name.
    Names,
    /// One of them, by name.
    One,
    /// The first of those with the label.
    First,
}

/// The cluster sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetName {
    /// Of clusters `tier: x`; the user's profile may go by it.
    Tier,
    /// Of clusters `env: fv`; the trigger for each event may go by it.
    Env,
    /// Of clusters `tier: x`, and of a namespace: the profile of that namespace goes by it.
    Team,
}

/// The sets that are there, and who goes by them.
#[derive(Default)]
pub(crate) struct Sets {
    forms: [Option<SetForm>; SetName::ALL.len()],
    /// Whether the profile names its clusters by a set.
    pub(crate) profile: bool,
    /// Whether the trigger for each event names the clusters of its events by a set.
    pub(crate) each: bool,
}

impl SetForm {
    const ALL: [Self; 4] = [Self::Label, Self::Names, Self::One, Self::First];
}

impl SetName {
    pub(crate) const ALL: [Self; 3] = [Self::Tier, Self::Env, Self::Team];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tier => "tier",
            Self::Env => "env",
            Self::Team => "team",
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        if self == Self::Team { "Set" } else { "ClusterSet" }
    }
}

impl Management {
    pub(super) fn put_set(&mut self, set: SetName, form: SetForm) {
        self.sets.forms[set as usize] = Some(form);
        self.put(manifests::cluster_set(set, form));
    }

    /// A set is edited, deleted, or made anew.
    pub(super) fn change_set(&mut self, random: &mut SmallRng) -> Fault {
        let set = SetName::ALL[random.random_range(0..SetName::ALL.len())];
        if self.sets.forms[set as usize].is_some() && random.random_bool(0.3) {
            self.sets.forms[set as usize] = None;
            self.delete(set.kind(), set.name());
            return Fault::SetDeleted;
        }
        self.put_set(set, SetForm::ALL[random.random_range(0..SetForm::ALL.len())]);
        Fault::SetEdited
    }

    /// Every set is there, and names clusters that are.
    pub(super) fn mend_sets(&mut self) {
        for set in SetName::ALL {
            if !self.is_sure(set) {
                self.put_set(set, SetForm::default());
            }
        }
    }

    /// Whether a set is there, and the clusters that it names.
    fn is_sure(&self, set: SetName) -> bool {
        match self.sets.forms[set as usize] {
            None => false,
            Some(SetForm::Label | SetForm::First) => true,
            Some(SetForm::Names) => CLUSTERS.into_iter().all(|cluster| self.is_registered(cluster)),
            Some(SetForm::One) => self.is_registered(CLUSTERS[0]),
        }
    }

    /// Whether the profile of a namespace is there.
    pub(crate) fn has_team(&self) -> bool {
        self.team
    }

    /// The profile of a namespace, which goes by a set, comes or goes.
    pub(super) fn flip_team(&mut self) -> Fault {
        self.team = !self.team;
        if self.team {
            self.put(manifests::team_profile());
            return Fault::ProfileEdited;
        }
        self.delete("Profile", "own");
        Fault::ProfileDeleted
    }

    /// Whether the profile is for this cluster, when it is there.
    pub(crate) fn profile_selects(&self, cluster: &str) -> bool {
        if self.sets.profile {
            self.set_selects(SetName::Tier, cluster)
        } else {
            self.has_label(SetName::Tier, cluster)
        }
    }

    /// Whether the trigger for each event, when it is there, counts the events of this cluster.
    pub(crate) fn each_selects(&self, cluster: &str) -> bool {
        if self.sets.each {
            self.set_selects(SetName::Env, cluster)
        } else {
            self.has_label(SetName::Env, cluster)
        }
    }

    /// Whether the profile of a namespace is for this cluster, when it is there.
    pub(crate) fn team_selects(&self, cluster: &str) -> bool {
        self.set_selects(SetName::Team, cluster)
    }

    fn set_selects(&self, set: SetName, cluster: &str) -> bool {
        let first = || CLUSTERS.into_iter().find(|cluster| self.has_label(set, cluster));
        match self.sets.forms[set as usize] {
            None => false,
            Some(SetForm::Label) => self.has_label(set, cluster),
            Some(SetForm::Names) => self.is_registered(cluster),
            Some(SetForm::One) => cluster == CLUSTERS[0] && self.is_registered(cluster),
            Some(SetForm::First) => first() == Some(cluster),
        }
    }

    fn has_label(&self, set: SetName, cluster: &str) -> bool {
        self.registration(cluster).is_some_and(|labels| match set {
            SetName::Tier | SetName::Team => labels.tier == "x",
            SetName::Env => labels.env == "fv",
        })
    }

    /// Whether a set, or who goes by it, gives a reason to withdraw what an add-on has in a cluster. One that is not there, or names a
    /// cluster that is not, gives none.
    pub(super) fn leaves_out(&self, addon: Addon, cluster: usize) -> bool {
        match addon {
            Addon::Own => {
                (!self.sets.profile || self.is_sure(SetName::Tier))
                    && !self.profile_selects(CLUSTERS[cluster])
            }
            Addon::Each => {
                (!self.sets.each || self.is_sure(SetName::Env)) && !self.each_selects(CLUSTERS[cluster])
            }
            Addon::Team => self.is_sure(SetName::Team) && !self.team_selects(CLUSTERS[cluster]),
            Addon::All | Addon::Sent | Addon::Back => false,
        }
    }
}
