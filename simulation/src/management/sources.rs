//! What templates are made of and read: the ConfigMaps of generators, and an object of a kind that nobody watches before.

use super::{Addon, Management};
use crate::coverage::Fault;
use crate::manifests;

/// What is there of it now.
#[derive(Default)]
pub(crate) struct Sources {
    /// The last edit of what each generator makes a ConfigMap of; none while it is not there.
    made: [Option<u64>; 2],
    /// What the content of the profile reads, as often as it was changed; none while it is not there.
    thing: Option<u64>,
    things: u64,
}

impl Management {
    pub(super) fn put_generator_source(&mut self, addon: Addon) {
        self.edits += 1;
        self.sources.made[addon as usize] = Some(self.edits);
        self.put(manifests::more(addon, self.edits));
    }

    /// What a generator makes something of is edited, deleted, or there again.
    pub(super) fn change_generator_source(&mut self, addon: Addon, deletes: bool) -> Fault {
        if deletes && self.sources.made[addon as usize].take().is_some() {
            self.delete("ConfigMap", manifests::more_name(addon));
            return Fault::GeneratorSourceDeleted;
        }
        self.put_generator_source(addon);
        Fault::GeneratorSourceEdited
    }

    /// What the content of the profile reads is changed, deleted, or there again.
    pub(super) fn change_thing(&mut self, deletes: bool) -> Fault {
        if deletes && self.sources.thing.take().is_some() {
            return Fault::ThingDeleted;
        }
        self.sources.things += 1;
        let fault = if self.sources.thing.is_some() { Fault::ThingEdited } else { Fault::ThingMade };
        self.sources.thing = Some(self.sources.things);
        fault
    }

    /// What the content of the profile reads, as it is now.
    pub(crate) fn thing(&self) -> Option<u64> {
        self.sources.thing
    }

    /// The last edit of what a generator makes a ConfigMap of.
    pub(crate) fn edit_of_generator(&self, addon: Addon) -> u64 {
        self.sources.made.get(addon as usize).copied().flatten().unwrap_or(0)
    }

    /// Everything is there in the end.
    pub(super) fn mend_sources(&mut self) {
        if self.sources.thing.is_none() {
            self.change_thing(false);
        }
        for addon in Addon::TRIGGERS {
            if self.sources.made[addon as usize].is_none() {
                self.put_generator_source(addon);
            }
        }
    }
}
