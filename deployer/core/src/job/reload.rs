//! Workloads restart when what their pods read has changed, where the profile wants that.
//!
//! ```text
//! everything is applied ─► what pods read is remembered in the inventory: nothing restarts
//! it is another content ─► inventory: seen, and the mark of it ─► the workload is applied with the mark ─► its pods start anew
//! ```
//!
//! The inventory is written first, so that whoever comes next knows what the workload should say.

// D-1060: a workload restarts when what its pods read is another content than what was seen of it before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_protocol::rows::Desired;

use super::{Ended, Job, JobContext, Phase};
use crate::prepare::Prepared;
use crate::reload::{ABSENT, Reload, Sources, is_readable, is_workload, set_mark, sources_of};
use crate::request::Live;
use crate::sources::{Current, SourceBook};

/// What is known of the workloads of a profile.
#[derive(Debug, Default)]
pub(super) struct Reloader {
    is_on: bool,
    /// What the pods of each workload read.
    named: BTreeMap<Arc<ObjectKey>, Sources>,
    /// Whether something has been read while there was work.
    hears_later: bool,
    /// Workloads that are being applied with another mark.
    marking: BTreeSet<ObjectKey>,
    /// Workloads that were restarted since this was asked last.
    reloaded: BTreeSet<ObjectKey>,
}

impl Job {
    /// A run begins: whether workloads restart.
    pub(super) fn line_up_reloads(&mut self, desired: Option<&Desired>, context: &mut JobContext<'_>) {
        let is_on = desired.is_some_and(|desired| {
            let wants = desired.spec.get("reloader").and_then(Value::as_bool).unwrap_or_default();
            // What is deployed once is never changed.
            wants && !desired.dry_run && !desired.one_time
        });
        let was_on = std::mem::replace(&mut self.reloader.is_on, is_on);
        self.reloader.marking.clear();
        if was_on && !is_on {
            self.end_reloads(context.sources);
        }
    }

    /// Nothing is to be read any more for it.
    pub(crate) fn end_reloads(&mut self, sources: &mut SourceBook) {
        self.reloader = Reloader::default();
        sources.name(&self.profile, BTreeSet::new());
    }

    /// What it has is known: so is what the pods of that read, and what of it has changed.
    pub(super) fn look_at_workloads(&mut self, context: &mut JobContext<'_>) {
        if self.reloader.is_on {
            let read = self.run.objects.iter().map(|(key, one)| (key, sources_of(key, &one.object)));
            let read = read.filter(|(_, sources)| !sources.is_empty());
            self.reloader.named = read.map(|(key, sources)| (self.shared(key), sources)).collect();
            let all = self.reloader.named.values().flat_map(|sources| sources.keys().cloned()).collect();
            context.sources.name(&self.profile, all);
        } else if !self.keeps_reloads() {
            return;
        }
        let context = &*context;
        let workloads = self.run.objects.keys().filter(|key| is_workload(key));
        let kept = workloads.filter_map(|key| {
            let mut kept = self.kept_of(key).unwrap_or_default();
            if !self.reloader.is_on {
                kept.seen.clear();
            } else if self.restarts(key, context) {
                kept = self.changed(key, &kept, context).unwrap_or(kept);
                // Also where something else of the profile fails.
                if self.is_complete(key, context) {
                    kept.seen.extend(self.unseen(key, &kept, context));
                }
            }
            (!kept.is_nothing()).then(|| (key.to_string(), kept))
        });
        self.run.reloads = kept.collect();
    }

    /// Whether the inventory says something of workloads.
    fn keeps_reloads(&self) -> bool {
        self.inventory().is_some_and(|known| !known.reloads.is_empty())
    }

    /// What it says of one.
    fn kept_of(&self, key: &ObjectKey) -> Option<Reload> {
        let known = self.inventory().filter(|known| is_workload(key) && !known.reloads.is_empty())?;
        known.reloads.get(&key.to_string()).cloned()
    }

    /// What the inventory says before anything is applied: also of what is to go.
    pub(super) fn reloads_to_reserve(&self) -> BTreeMap<String, Reload> {
        if !self.keeps_reloads() && self.run.reloads.is_empty() {
            return BTreeMap::new();
        }
        let mut kept = self.inventory().map(|known| known.reloads.clone()).unwrap_or_default();
        for key in self.run.objects.keys().filter(|key| is_workload(key)) {
            kept.remove(&key.to_string());
        }
        kept.extend(self.run.reloads.clone());
        kept
    }

    /// What it says once everything is applied: what pods read for the first time has been seen from now on.
    pub(super) fn reloads_to_record(&self, context: &JobContext<'_>) -> BTreeMap<String, Reload> {
        let mut kept = self.run.reloads.clone();
        let reads: BTreeMap<_, _> =
            self.reloader.named.iter().map(|(key, named)| (key.to_string(), (key, named))).collect();
        // What its pods do not read any more is not seen either.
        for (workload, reload) in &mut kept {
            let named = reads.get(workload).map(|(_, named)| *named);
            let is_read =
                |text: &String| named.is_some_and(|all| all.keys().any(|key| key.to_string() == *text));
            reload.seen.retain(|text, _| is_read(text));
        }
        for (workload, (key, _)) in reads {
            if self.is_its_own(key, context) {
                let reload = kept.entry(workload).or_default();
                reload.seen.extend(self.unseen(key, reload, context));
            }
        }
        kept.retain(|_, reload| !reload.is_nothing());
        kept
    }

    /// Whether it has a workload alone, or before others.
    fn is_its_own(&self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        context.live.get(key).is_some_and(|live| self.owns(live))
    }

    /// Whether a workload can be restarted: not where Helm has made it, in a release that is left as it was then.
    fn restarts(&self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        let adopted = |live: &Live| self.run.objects.get(key).is_some_and(|one| self.is_adopted(live, one));
        self.is_its_own(key, context) && !context.live.get(key).is_some_and(adopted)
    }

    /// Whether a workload, and what of the profile its pods read, is as it is wanted.
    fn is_complete(&self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        let is_wanted = |key: &ObjectKey| {
            let live = context.live.get(key).and_then(|live| live.hash.as_deref());
            self.run.objects.get(key).is_none_or(|one| live == Some(&*one.hash))
        };
        is_wanted(key) && self.reloader.named.get(key).is_some_and(|named| named.keys().all(is_wanted))
    }

    /// What is kept of a workload from now on, where what its pods read is another content than what was seen of it. Not before all
    /// of that is known: it restarts once.
    fn changed(&self, key: &ObjectKey, kept: &Reload, context: &JobContext<'_>) -> Option<Reload> {
        let (mut now, mut is_changed) = (Reload::default(), false);
        for (source, is_optional) in self.reloader.named.get(key)? {
            let text = source.to_string();
            let Some(seen) = kept.seen.get(&text) else { continue };
            let current = match context.sources.current(source) {
                Current::Awaited => return None,
                // Pods cannot start without it: those that run go on.
                Current::Is(ABSENT) if !is_optional => seen,
                Current::Is(current) => current,
                Current::Unknown => seen,
            };
            is_changed |= current != seen;
            now.seen.insert(text, current.to_owned());
        }
        now.mark = now.mark_of_seen();
        is_changed.then_some(now)
    }

    /// What the pods of a workload read and nobody has seen yet, once all of that is known.
    fn unseen(&self, key: &ObjectKey, kept: &Reload, context: &JobContext<'_>) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for (source, is_optional) in self.reloader.named.get(key).into_iter().flatten() {
            match context.sources.current(source) {
                Current::Awaited => return BTreeMap::new(),
                // Pods wait for it, and start with it.
                Current::Is(ABSENT) if !is_optional => {}
                Current::Is(current) => {
                    let text = source.to_string();
                    if !kept.seen.contains_key(&text) {
                        found.insert(text, current.to_owned());
                    }
                }
                Current::Unknown => {}
            }
        }
        found
    }

    /// Whether a workload that is there must wait: for what its pods read and is being read, or until the inventory says what it is
    /// restarted with.
    pub(super) fn holds_back(&mut self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        if !self.reloader.is_on || !self.restarts(key, context) {
            return false;
        }
        let (Some(named), Some(kept)) = (self.reloader.named.get(key), self.kept_of(key)) else {
            return false;
        };
        let is_awaited = |source: &ObjectKey| {
            kept.seen.contains_key(&source.to_string()) && context.sources.current(source) == Current::Awaited
        };
        if named.keys().any(is_awaited) {
            self.run.gated.insert(key.clone());
            return true;
        }
        let changes = self.changed(key, &kept, context).is_some();
        self.again |= changes;
        changes
    }

    /// What a workload should say of what its pods were started with. What the inventory does not know it goes on saying: it would
    /// restart otherwise.
    pub(super) fn mark_of(&self, key: &ObjectKey, live: Option<&Live>) -> Option<Box<str>> {
        if !is_workload(key) {
            return None;
        }
        let said = live.and_then(|live| live.reload.clone());
        match live {
            Some(live) if !self.owns(live) => said,
            _ => {
                let kept = self.kept_of(key).map(|kept| kept.mark).filter(|mark| !mark.is_empty());
                kept.map(Box::from).or(said)
            }
        }
    }

    /// A workload as it is sent.
    pub(super) fn with_mark(
        &mut self,
        mut one: Prepared,
        mark: Option<&str>,
        live: Option<&Live>,
    ) -> Prepared {
        let Some(mark) = mark else { return one };
        set_mark(Arc::make_mut(&mut one.object), mark);
        if live.is_some_and(|live| live.reload.as_deref() != Some(mark)) {
            self.reloader.marking.insert(one.key.clone());
        }
        one
    }

    /// An object was applied.
    pub(super) fn note_applied(&mut self, key: &ObjectKey, live: &Live, context: &mut JobContext<'_>) {
        if is_readable(key) {
            context.sources.shown(key, Some(live.version()));
        }
        if self.reloader.marking.remove(key) {
            self.reloader.reloaded.insert(key.clone());
        }
    }

    /// Workloads that were restarted since this was asked last.
    pub(crate) fn take_reloaded(&mut self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.reloader.reloaded)
    }

    /// Something that its pods read has been read.
    pub(crate) fn hears(&mut self, context: &mut JobContext<'_>) -> Ended {
        if self.is_at_work() {
            self.reloader.hears_later = true;
            let waits = self.phase == Phase::Applying && self.in_flight == 0;
            return if waits { self.advance(context) } else { Ended::NotYet };
        }
        if self.has_news(context) { self.begin(context) } else { Ended::NotYet }
    }

    /// Whether something was read while there was work that has ended.
    pub(crate) fn is_to_hear(&self) -> bool {
        self.reloader.hears_later && !self.is_at_work()
    }

    /// That is looked at now.
    pub(crate) fn hears_now(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.reloader.hears_later = false;
        if self.has_news(context) { self.begin(context) } else { Ended::NotYet }
    }

    fn has_news(&self, context: &JobContext<'_>) -> bool {
        let is_news = |key: &ObjectKey| {
            let kept = self.kept_of(key).unwrap_or_default();
            self.changed(key, &kept, context).is_some()
                || (self.run.errors.is_empty() && !self.unseen(key, &kept, context).is_empty())
        };
        self.reloader.named.keys().any(|key| self.is_its_own(key, context) && is_news(key))
    }
}
