//! A profile that goes back to its last good content by itself. Its contents work everywhere, or not on some clusters.

use std::collections::BTreeMap;

use rand::Rng as _;
use rand::rngs::SmallRng;

use super::{Addon, Management};
use crate::coverage::Fault;
use crate::manifests;

/// Where contents do not work: nowhere, or on the clusters whose names are letters of this.
const SICK: [&str; 6] = ["", "", "", "a", "b", "ab"];

/// Whether the profile is there, and all contents that it ever had, by their edits: where they do not work.
#[derive(Default)]
pub(super) struct Back {
    pub(super) there: bool,
    contents: BTreeMap<u64, &'static str>,
}

impl Management {
    /// It has this content from now on.
    pub(super) fn put_back_content(&mut self, edit: u64, sick: &'static str) {
        self.back.contents.insert(edit, sick);
        self.put(manifests::back_content(edit, sick));
    }

    /// It gets another content, which works or not; now and then the profile goes, or is there again.
    pub(crate) fn change_back(&mut self, random: &mut SmallRng, now: i64) -> Fault {
        self.now = now;
        if random.random_bool(if self.back.there { 0.05 } else { 0.5 }) {
            return self.flip_back();
        }
        self.change_back_content(random, now)
    }

    /// It gets another content.
    pub(crate) fn change_back_content(&mut self, random: &mut SmallRng, now: i64) -> Fault {
        (self.now, self.edits) = (now, self.edits + 1);
        self.edited[Addon::Back as usize] = self.edits;
        let sick = SICK[random.random_range(0..SICK.len())];
        self.put_back_content(self.edits, sick);
        if sick.is_empty() { Fault::ContentEdited } else { Fault::Spoiled }
    }

    pub(super) fn flip_back(&mut self) -> Fault {
        self.back.there = !self.back.there;
        if self.back.there {
            self.put(manifests::back_profile());
            return Fault::ProfileEdited;
        }
        self.delete("ClusterProfile", Addon::Back.name());
        Fault::ProfileDeleted
    }

    /// Whether it is there.
    pub(crate) fn has_back(&self) -> bool {
        self.back.there
    }

    /// Whether it is for this cluster, when it is there.
    pub(crate) fn back_selects(&self, cluster: &str) -> bool {
        self.registration(cluster).is_some_and(|labels| labels.tier == "x")
    }

    /// Whether a content of it works on a cluster.
    pub(crate) fn works(&self, edit: u64, cluster: &str) -> bool {
        self.back.contents.get(&edit).is_none_or(|sick| !sick.contains(cluster))
    }
}
