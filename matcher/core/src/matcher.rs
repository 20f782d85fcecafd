//! The matcher of one shard of `changes`.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::cloud_event::is_event;
use sluice_api::model::OWNER_NAME;
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::rows::ReportMeta;
use sluice_protocol::{
    About, Body, Core, Fault, Head, Incarnation, Line, Meta, ProblemKey, ProblemSet, Revision, Row, Sequence,
    Shard, Step, Subject, View,
};
use sluice_script::Limits;

use crate::error::Error;
use crate::live::{Live, Programs, Replay};
use crate::messages::{Effect, ExternalInput};
use crate::program::{Outcome, Program, watches};
use crate::reported::Reported;

mod ahead;
mod completeness;
mod leaving;
mod reading;
mod replays;
mod rows;
mod verdicts;

use reading::{object_of, order_of};
use rows::line;

pub(crate) const STAGE: &str = "matcher";

/// What a matcher must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `changes`.
    pub shard: Shard,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnation of its `changes` stream.
    pub input: Incarnation,
    /// Incarnations of the `reports` streams, by shard.
    pub outputs: Vec<Incarnation>,
    /// What one evaluation may use.
    pub limits: Limits,
}

/// The matcher of one shard: asks each source's programs about every change, and reports the objects that are events.
pub struct Matcher {
    config: Config,
    clusters: BTreeMap<ClusterRef, Live>,
    programs: Programs,
    reported: Reported,
    problems: ProblemSet,
    told: bool,
    started: bool,
    caught_up: bool,
    replays: u64,
    /// What agents have announced and after which sequence: it counts when the table has been read to its end since.
    announced: BTreeMap<ClusterRef, (Sequence, Complete)>,
    /// Clusters whose agents have left without an interest row that says so, and until when that may still come.
    departed: BTreeMap<ClusterRef, i64>,
}

impl Matcher {
    /// A matcher that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            clusters: BTreeMap::new(),
            programs: Programs::default(),
            reported: Reported::default(),
            problems: ProblemSet::new(STAGE),
            told: false,
            started: false,
            caught_up: false,
            replays: 0,
            announced: BTreeMap::new(),
            departed: BTreeMap::new(),
        }
    }

    fn interest(&mut self, cluster: ClusterRef, row: &Interest, step: &mut Step<Effect>) {
        if row.is_lost() && !self.clusters.contains_key(&cluster) {
            return;
        }
        self.recall(&cluster, row, step.now);
        let live = self.clusters.entry(cluster.clone()).or_default();
        let Some(difference) = live.update(row, &mut self.programs) else {
            if live.fall_back(row, step) {
                self.withdraw_absent(&cluster, step);
            }
            return;
        };
        self.programs.sweep();
        // Where nobody asks for anything any more, as of a cluster that is no longer registered, its rows stay unread.
        let nothing = row.sources.is_empty();
        let removed =
            |about: &About| nothing || difference.removed.iter().any(|source| about.is_of_source(source));
        self.problems
            .resolve(&cluster, removed)
            .into_iter()
            .for_each(|problem| step.effect(Effect::Problem(problem)));
        if !self.started {
            return;
        }
        for (object, source) in
            self.reported.of_cluster(&cluster, |source, _| difference.removed.iter().any(|s| s == source))
        {
            self.withdraw(&cluster, &object, &source, 0, step);
        }
        if !difference.changed.is_empty() {
            self.reported.unconfirm(&cluster, &difference.changed);
            self.replay(&cluster, step);
        }
        self.withdraw_absent(&cluster, step);
        self.leave(&cluster, step);
    }

    /// Judges one object by every source of its cluster.
    fn judge(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Change { cluster, object: key, viewer, .. } = &row.subject else { return };
        let Some(live) = self.clusters.get(cluster).filter(|live| live.revision.is_some()) else { return };
        let programs: Vec<_> =
            live.seen_by(viewer, key).map(|s| (s.name.clone(), s.program.clone())).collect();
        if row.head.tombstone || !programs.iter().any(|(_, program)| watches(program, key)) {
            // An agent that ends a watch withdraws what it showed: that proves nothing to who asks for it again.
            let known = row.head.tombstone.then(|| row.head.view.version(&cluster.to_string()));
            return self.gone(cluster, viewer, key, (row.head.time, known), step);
        }
        let object = match object_of(row, key) {
            Ok(object) => object,
            Err(error) => {
                // What was reported of it stays: nothing says that it is gone.
                programs.iter().for_each(|(name, _)| self.keep_verdict(cluster, key, name, step));
                return self.note(
                    cluster,
                    About::Object(key.clone()).seen_by(viewer),
                    Some(error.into()),
                    step,
                );
            }
        };
        self.note(cluster, About::Object(key.clone()).seen_by(viewer), None, step);
        for (name, program) in &programs {
            let Ok(program) = program.as_ref() else {
                self.keep_verdict(cluster, key, name, step);
                continue;
            };
            let outcome = program.judge(key, &object, &self.config.limits);
            let owner =
                if program.collects() { "" } else { object::annotation(&object, OWNER_NAME).unwrap_or("") };
            self.conclude(row, cluster, key, name, (program, owner), outcome, step);
        }
    }

    // D-0808: the matcher publishes changes of the verdict or of what is collected.
    #[expect(clippy::too_many_arguments, reason = "one place, all of them parts of one verdict")]
    fn conclude(
        &mut self,
        row: &Row,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        (program, owner): (&Program, &str),
        outcome: Outcome,
        step: &mut Step<Effect>,
    ) {
        let error = if let Outcome::Failed(error) = &outcome { Some(error.clone()) } else { None };
        self.note(cluster, About::Match(source.to_owned(), key.clone()), error, step);
        match outcome {
            Outcome::Failed(_) => return self.keep_verdict(cluster, key, source, step),
            Outcome::NoMatch => self.withdraw(cluster, key, source, row.head.time, step),
            Outcome::Match(selectors) => {
                match self.caught_up {
                    true => self.reported.note(cluster, key, source, true),
                    false => self.reported.note_early(cluster, key, source),
                }
                let collects = program.collects() || is_event(key);
                let body = if collects { row.body.clone() } else { [].into() };
                let order = order_of(row).unwrap_or_default();
                let meta = Meta::Report(ReportMeta { selectors, order, owner: owner.to_owned() });
                let line = line("matched", cluster, key, source, (step.now, row.head.time));
                let report = self.report(cluster, key, source, Body::Value(body), row.head.time);
                step.publish(report.meta(meta).line(Line::Begin(line)));
            }
        }
        self.has_verdict(cluster, key, source, step);
    }

    /// The object is no event of any source of its viewer any more, as is known from that revision of the interest.
    fn gone(
        &mut self,
        cluster: &ClusterRef,
        viewer: &str,
        key: &ObjectKey,
        (time, known): (i64, Option<Revision>),
        step: &mut Step<Effect>,
    ) {
        let Some(live) = self.clusters.get(cluster) else { return };
        let others: BTreeSet<String> =
            live.not_seen_by(viewer, key).map(|source| source.name.clone()).collect();
        let unknown: Vec<_> = live.unknown().filter(|source| !others.contains(*source)).cloned().collect();
        let reported = self.reported.sources(cluster, key).into_iter();
        for source in reported.filter(|source| !others.contains(source)) {
            self.withdraw_as(cluster, key, &source, (time, known), step);
        }
        unknown.iter().for_each(|source| self.has_verdict(cluster, key, source, step));
        let is_others = |about: &About| others.iter().any(|source| about.is_of_source(source));
        let is_of_it = |about: &About| {
            (about.is_match_of(key) && !is_others(about))
                || *about == About::Object(key.clone()).seen_by(viewer)
        };
        let ended = self.problems.resolve(cluster, is_of_it);
        ended.into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
    }

    fn note(&mut self, cluster: &ClusterRef, about: About, error: Option<Error>, step: &mut Step<Effect>) {
        let told = self.problems.note(ProblemKey::on(cluster, about), error.map(Fault::from));
        told.into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
    }
}

// === impl Core for Matcher ===

impl Core for Matcher {
    type External = ExternalInput;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        if let Subject::Report { cluster, .. } | Subject::Complete { cluster, .. } = subject {
            self.found_row(cluster, head);
        }
        match subject {
            Subject::Report { cluster, source, object, .. } if !head.tombstone => {
                self.reported.note(cluster, object, source, false);
            }
            Subject::Complete { cluster, shard, .. } => {
                let life = self.config.outputs.get(shard.index()).copied().unwrap_or_default();
                let told = head.meta.complete().cloned();
                // A predecessor may have begun in another life of the stream: nobody believes what it says.
                let told = told.filter(|told| told.incarnation == life);
                let told = told.map(|told| Complete { incarnation: Incarnation::NONE, ..told });
                self.clusters.entry(cluster.clone()).or_default().told = told;
            }
            _ => {}
        }
    }

    fn view(&self) -> View {
        let mut view = View::default();
        for (cluster, live) in &self.clusters {
            view.note(&cluster.to_string(), live.revision.unwrap_or(Revision::NONE));
        }
        view
    }

    fn is_ready(&self) -> bool {
        self.told
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        match input {
            ExternalInput::Told => self.told = true,
            ExternalInput::Interest(cluster, row) => self.interest(cluster, &row, step),
            ExternalInput::Replayed(row) => {
                let Subject::Change { cluster, object, viewer, .. } = &row.subject else { return };
                let replay = self.clusters.get(cluster).and_then(|live| live.replay.as_ref());
                let newer = |replay: &Replay| replay.newer.get(&(viewer.clone(), object.clone())).copied();
                if replay.is_some_and(|replay| newer(replay).is_none_or(|newer| newer <= row.sequence)) {
                    self.judge(&row, step);
                }
            }
            ExternalInput::ReplayDone(cluster, id) => {
                if let Some(live) = self.clusters.get_mut(&cluster)
                    && live.replay.as_ref().is_some_and(|replay| replay.id == id)
                {
                    live.replay = None;
                    self.withdraw_absent(&cluster, step);
                }
            }
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.started = true;
        self.hear_predecessors(step);
        let known: Vec<_> = self
            .clusters
            .iter()
            .filter(|(_, live)| live.revision.is_some())
            .map(|(c, _)| c.clone())
            .collect();
        for cluster in known {
            let live = self.clusters.get(&cluster);
            let names: BTreeSet<String> =
                live.into_iter().flat_map(|live| &live.sources).map(|s| s.name.clone()).collect();
            for (object, source) in self.reported.of_cluster(&cluster, |source, _| !names.contains(source)) {
                self.withdraw(&cluster, &object, &source, 0, step);
            }
            self.leave(&cluster, step);
        }
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        match &row.subject {
            Subject::Change { cluster, object, viewer, .. } => {
                self.hear(cluster, row, step);
                if let Some(replay) = self.clusters.get_mut(cluster).and_then(|live| live.replay.as_mut()) {
                    replay.newer.insert((viewer.clone(), object.clone()), row.sequence);
                }
                self.judge(row, step);
            }
            Subject::Complete { cluster, .. } => {
                self.hear(cluster, row, step);
                self.completed(cluster, row, step);
            }
            _ => {}
        }
    }

    fn caught_up(&mut self, sequence: Sequence, step: &mut Step<Effect>) {
        self.reported.settle();
        let mut clusters = BTreeSet::new();
        for (cluster, (_, complete)) in self.announced.extract_if(.., |_, (after, _)| *after <= sequence) {
            self.clusters.entry(cluster.clone()).or_default().complete = Some(complete);
            clusters.insert(cluster);
        }
        if !std::mem::replace(&mut self.caught_up, true) {
            clusters.extend(self.clusters.keys().cloned());
        }
        for cluster in &clusters {
            self.withdraw_absent(cluster, step);
            self.leave(cluster, step);
        }
    }

    fn awaits_end(&self) -> bool {
        !self.announced.is_empty()
    }

    fn reconsider(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) -> bool {
        self.judge_anew(rows, step);
        true
    }

    fn tick(&mut self, step: &mut Step<Effect>) {
        self.tell_ahead(step);
    }
}

#[cfg(test)]
mod tests;
