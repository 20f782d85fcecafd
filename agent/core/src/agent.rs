//! The agent of one cluster.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::cloud_event::is_event;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::{Complete, Interest, Lacking};
use sluice_protocol::subject::{Table, change_shard};
use sluice_protocol::{
    Body, Capabilities, Core, Head, Incarnation, Meta, Publish, Revision, Row, Sequence, Shard, Step,
    Subject, View, WatchId,
};

use crate::events::{Accepted, Events};
use crate::messages::{Effect, ExternalInput, Seen};
use crate::sight::Sight;
use crate::watches::{Selection, WatchSpec, Wish, Wishes, by_source, wanted};

/// What an agent must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster whose objects it watches; its rows are those of this cluster.
    pub cluster: ClusterRef,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnations of the `changes` streams, by shard.
    pub outputs: Vec<Incarnation>,
}

/// The agent of one cluster: begins the watches that its interest row asks for, and makes rows of what they show.
pub struct Agent {
    config: Config,
    started: bool,
    waiting: Option<Interest>,
    revision: Option<Revision>,
    wishes: Wishes,
    watches: BTreeMap<WatchSpec, Running>,
    /// Rows on the bus that no watch has shown, or whose watch has ended.
    unconfirmed: BTreeSet<Sight>,
    events: Events,
    /// The newest revision of the interest that anything on the bus was made from.
    found: Revision,
    /// What it has said to be there completely, apart from the streams' incarnations, and whether it was behind and proved nothing.
    completed: Option<(bool, Complete)>,
    next_watch: WatchId,
    /// What the cluster can do, and that it cannot be published yet.
    capabilities: Option<Capabilities>,
    /// Whether the cluster is no longer registered, and all its rows go.
    leaves: bool,
}

struct Running {
    id: WatchId,
    listed: bool,
    /// Whether it cannot list, and is not waited for.
    troubled: bool,
    /// What it shows, which no other watch of its viewer can.
    shown: BTreeSet<ObjectKey>,
}

impl Agent {
    /// An agent that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            started: false,
            waiting: None,
            revision: None,
            wishes: Wishes::new(),
            watches: BTreeMap::new(),
            unconfirmed: BTreeSet::new(),
            events: Events::default(),
            found: Revision::NONE,
            completed: None,
            next_watch: WatchId::default(),
            capabilities: None,
            leaves: false,
        }
    }

    fn interest(&mut self, row: &Interest, step: &mut Step<Effect>) {
        if self.revision.is_some_and(|known| known >= row.revision) {
            return;
        }
        self.revision = Some(row.revision);
        self.wishes = by_source(row, &self.wishes);
        let wanted = wanted(&self.wishes);
        let ended: Vec<_> = self.watches.keys().filter(|spec| !wanted.contains(spec)).cloned().collect();
        for spec in ended {
            if let Some(watch) = self.watches.remove(&spec) {
                step.effect(Effect::Unwatch(watch.id));
                // What it showed may be shown by a new one: it is not withdrawn before that has listed.
                self.unconfirmed
                    .extend(watch.shown.into_iter().map(|object| Sight::of(&spec.viewer, object)));
            }
        }
        for spec in wanted {
            if !self.watches.contains_key(&spec) {
                self.next_watch = self.next_watch.next();
                step.effect(Effect::Watch(self.next_watch, spec.clone()));
                self.watches.insert(spec, Running::new(self.next_watch));
            }
        }
        let listens = self.wishes.values().flatten().any(|wish| wish.events);
        if self.events.listen(listens, self.next_watch.next(), step) {
            self.next_watch = self.next_watch.next();
        }
        self.leaves = row.gone;
        if row.gone {
            return self.leave(row.revision, step);
        }
        self.complete(step);
    }

    // D-0504: the interest row is the list of what is left to do.
    /// The cluster is no longer registered: whatever the bus has of it goes. Tombstones are made from no view, so that nobody waits
    /// for an interest row that will not come, and replace what a former owner made from any.
    fn leave(&mut self, revision: Revision, step: &mut Step<Effect>) {
        step.part_with(&self.config.cluster);
        // Nobody asks for anything any more, so every watch has ended and what it showed is in doubt.
        let events = self.events.take_rows().into_iter().map(Sight::of_event);
        for sight in std::mem::take(&mut self.unconfirmed).into_iter().chain(events) {
            step.publish(Publish::new(self.subject(sight), Body::Tombstone, step.now).parting());
        }
        let capabilities = Capabilities::subject(&self.config.cluster);
        step.publish(Publish::new(capabilities, Body::Tombstone, step.now).parting());
        self.completed = None;
        for shard in Shard::all(self.config.shards) {
            // Also where there is no such row: the matcher of the shard may still know of the cluster.
            let row = Publish::new(self.completeness(shard), Body::Tombstone, step.now);
            step.publish(row.after_all().forced().parting());
        }
        step.effect_after_all(Effect::Left(revision));
    }

    /// A watch that runs, and who watches.
    fn running(&mut self, id: WatchId) -> Option<(&str, &mut Running)> {
        let found = self.watches.iter_mut().find(|(_, watch)| watch.id == id);
        found.map(|(spec, watch)| (spec.viewer.as_str(), watch))
    }

    fn listed(&mut self, id: WatchId, objects: Vec<Seen>, step: &mut Step<Effect>) {
        let Some((viewer, watch)) = self.running(id) else { return };
        let viewer = viewer.to_owned();
        let keys = objects.iter().map(|seen| seen.key.clone()).collect();
        let before = std::mem::replace(&mut watch.shown, keys);
        watch.listed = true;
        let vanished: Vec<_> = before.difference(&watch.shown).cloned().collect();
        vanished.into_iter().for_each(|object| self.withdraw(Sight::of(&viewer, object), step));
        objects.into_iter().for_each(|seen| self.show(&viewer, seen, step));
        self.complete(step);
    }

    fn applied(&mut self, id: WatchId, seen: Seen, step: &mut Step<Effect>) {
        let Some((viewer, watch)) = self.running(id) else { return };
        let viewer = viewer.to_owned();
        watch.shown.insert(seen.key.clone());
        self.show(&viewer, seen, step);
    }

    fn deleted(&mut self, id: WatchId, object: ObjectKey, step: &mut Step<Effect>) {
        let Some((viewer, watch)) = self.running(id) else { return };
        let viewer = viewer.to_owned();
        if watch.shown.remove(&object) {
            self.withdraw(Sight::of(&viewer, object), step);
        }
    }

    /// What this watch would show is not known for now. Everything else does not wait for it.
    fn troubled(&mut self, id: WatchId, step: &mut Step<Effect>) {
        let Some((_, watch)) = self.running(id) else { return };
        watch.troubled = true;
        self.complete(step);
    }

    // D-0402: a completeness row names the EventSources that it does not cover.
    /// Sources that nothing can be said of: they could never be read, or a watch that they need has not listed, or not all
    /// CloudEvents have come. A matcher of a version that knows of no tenants reads of each tenant's source that it is lacking.
    fn lacking(&self) -> Vec<Lacking> {
        let unlisted = |viewer: &str, selection: &Selection| {
            let of_it = |spec: &WatchSpec| spec.viewer == viewer && spec.scope.contains(selection);
            self.watches.iter().any(|(spec, watch)| !watch.listed && of_it(spec))
        };
        let events = |wish: &Option<Wish>| match wish {
            None => true,
            Some(wish) => wish.events && !self.events.is_known(),
        };
        let lacks = |wish: &Option<Wish>| match wish {
            None => true,
            Some(wish) if wish.events && !self.events.is_known() => true,
            Some(wish) => wish.selections.iter().any(|selection| unlisted(&wish.viewer, selection)),
        };
        let is_tenants = |wish: &Option<Wish>| wish.as_ref().is_some_and(|wish| !wish.viewer.is_empty());
        let mut lacking = Vec::new();
        for (name, wish) in &self.wishes {
            if lacks(wish) {
                lacking.push(Lacking::Objects(name.clone()));
            } else if is_tenants(wish) {
                lacking.extend(Lacking::nothing(name));
            }
            if events(wish) {
                lacking.push(Lacking::Events(name.clone()));
            }
        }
        lacking.sort();
        lacking
    }

    /// Rows on the bus that are proved to be gone: their kind has been listed, or nobody asks for it.
    fn take_gone(&mut self) -> Vec<Sight> {
        if self.wishes.values().any(Option::is_none) {
            // Who knows which kinds that source asks for.
            return Vec::new();
        }
        let unlisted: BTreeSet<_> = self
            .watches
            .iter()
            .filter(|(_, watch)| !watch.listed)
            .map(|(spec, _)| (spec.viewer.clone(), spec.scope.gvk.clone()))
            .collect();
        let is_listed = |sight: &Sight| !unlisted.contains(&(sight.viewer.clone(), sight.object.gvk.clone()));
        self.unconfirmed.extract_if(.., |sight| is_listed(sight)).collect()
    }

    fn show(&mut self, viewer: &str, seen: Seen, step: &mut Step<Effect>) {
        let sight = Sight::of(viewer, seen.key);
        self.unconfirmed.remove(&sight);
        let subject = self.subject(sight);
        step.publish(Publish::new(subject, Body::Value(seen.body), step.now).view(self.view()));
    }

    fn withdraw(&self, sight: Sight, step: &mut Step<Effect>) {
        step.publish(Publish::new(self.subject(sight), Body::Tombstone, step.now).view(self.view()));
    }

    // D-0813: absence in the log withdraws nothing.
    /// CloudEvents become rows that nobody withdraws: which of them count is the newest of each key.
    fn sent(&mut self, events: Vec<Accepted>, step: &mut Step<Effect>) {
        for Accepted { key, body, position } in events {
            let row = Publish::new(self.subject(Sight::of_event(key)), Body::Value(body), position.time);
            step.publish(row.meta(Meta::Position(position)).view(self.view()));
        }
    }

    /// What the cluster can do, once this is the owner of its rows.
    fn tell_capabilities(&mut self, step: &mut Step<Effect>) {
        if let Some(known) = self.capabilities.take_if(|_| self.started && !self.leaves) {
            let body = Body::value(sluice_protocol::json::bytes(&known));
            let subject = Capabilities::subject(&self.config.cluster);
            step.publish(Publish::new(subject, body, step.now).view(self.view()));
        }
    }

    fn completeness(&self, shard: Shard) -> Subject {
        let cluster = self.config.cluster.clone();
        Subject::Complete { table: Table::Changes, shard, cluster, origin: None }
    }

    fn subject(&self, Sight { viewer, object }: Sight) -> Subject {
        let cluster = self.config.cluster.clone();
        let shard = change_shard(&cluster, &object, self.config.shards);
        Subject::Change { shard, cluster, viewer, object }
    }

    /// Once every watch has listed that can: what nobody shows is gone, and the bus holds everything.
    fn complete(&mut self, step: &mut Step<Effect>) {
        let Some(revision) = self.revision.filter(|_| self.started && !self.leaves) else { return };
        if !self.watches.values().all(|watch| watch.listed || watch.troubled) {
            return;
        }
        // D-0512: an agent reports a newer interest row that does not come.
        // What was made from a newer row stays as it is, so nothing is gone and nothing is complete. That row may be lost, and everybody
        // who knew of it may have forgotten the cluster: then this is how the renderer comes to know which revision the next must follow.
        let is_behind = revision < self.found;
        let gone = if is_behind { Vec::new() } else { self.take_gone() };
        gone.into_iter().for_each(|sight| self.withdraw(sight, step));
        let complete = match is_behind {
            true => Complete::of_all(Incarnation::NONE, self.found),
            false => Complete { lacking: self.lacking(), ..Complete::of_all(Incarnation::NONE, revision) },
        };
        let said = (is_behind, complete);
        if self.completed.as_ref() == Some(&said) {
            return;
        }
        let (_, complete) = self.completed.insert(said).clone();
        for shard in Shard::all(self.config.shards) {
            // A row of no incarnation proves nothing.
            let incarnation = self.config.outputs.get(shard.index()).filter(|_| !is_behind);
            let incarnation = incarnation.copied().unwrap_or_default();
            let complete = Complete { incarnation, ..complete.clone() };
            step.publish(
                Publish::new(self.completeness(shard), Body::value([]), step.now)
                    .meta(Meta::Complete(complete))
                    .view(self.view())
                    .after_all(),
            );
        }
    }
}

// === impl Running ===

impl Running {
    fn new(id: WatchId) -> Self {
        Self { id, listed: false, troubled: false, shown: BTreeSet::new() }
    }
}

// === impl Core for Agent ===

impl Core for Agent {
    type External = ExternalInput;
    type Effect = Effect;

    // D-0801: a restart publishes differences.
    fn found(&mut self, subject: &Subject, head: &Head) {
        self.found = self.found.max(head.view.version(&self.config.cluster.to_string()));
        if let Subject::Change { object, viewer, .. } = subject
            && !head.tombstone
            && !Capabilities::is_key(object)
        {
            if is_event(object) {
                return self.events.found(object, head);
            }
            self.unconfirmed.insert(Sight::of(viewer, object.clone()));
        }
    }

    /// The interest: an agent with an older one would take for gone what a newer one asks for.
    fn view(&self) -> View {
        let mut view = View::default();
        let waiting = self.waiting.as_ref().map(|row| row.revision);
        if let Some(revision) = self.revision.max(waiting) {
            view.note(&self.config.cluster.to_string(), revision);
        }
        view
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        match input {
            ExternalInput::Interest(row) if row.is_lost() => {}
            ExternalInput::Interest(row) if self.started => self.interest(&row, step),
            // Watches begin with the start: what they showed before could not be published.
            ExternalInput::Interest(row)
                if self.waiting.as_ref().is_some_and(|known| known.revision > row.revision) => {}
            ExternalInput::Interest(row) => self.waiting = Some(row),
            ExternalInput::Listed(id, objects) => self.listed(id, objects, step),
            ExternalInput::Applied(id, seen) => self.applied(id, seen, step),
            ExternalInput::Deleted(id, key) => self.deleted(id, key, step),
            ExternalInput::Troubled(id) => self.troubled(id, step),
            ExternalInput::Sent(id, sent) => {
                let accepted = self.events.take(id, sent, &self.config.cluster, step);
                self.sent(accepted, step);
            }
            ExternalInput::SentAll(id) => {
                let accepted = self.events.all(id);
                self.sent(accepted, step);
                self.complete(step);
            }
            ExternalInput::Capabilities(known) => {
                self.capabilities = Some(known);
                self.tell_capabilities(step);
            }
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.started = true;
        self.tell_capabilities(step);
        if let Some(row) = self.waiting.take() {
            self.interest(&row, step);
        }
    }

    fn row(&mut self, _: &Row, _: &mut Step<Effect>) {}

    fn caught_up(&mut self, _: Sequence, _: &mut Step<Effect>) {}

    fn tick(&mut self, _: &mut Step<Effect>) {}
}

#[cfg(test)]
mod tests;
