//! Who is rendered again when something that templates read has changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::Step;
use sluice_protocol::rows::Cause;

use super::{Effect, Renderer};
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::catalog::{ContentKey, Resource};
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::labels::is_made;
use crate::knowledge::reads::{Reads, object_key};
use crate::knowledge::rights::{Question, Right};
use crate::planning::renderings::ReadChanges;

impl Renderer {
    /// An object that templates read is known to be like this.
    pub(super) fn resource(&mut self, key: ObjectKey, resource: Resource, step: &mut Step<Effect>) {
        if !self.planning.renderings.is_read(&key) {
            return;
        }
        let before = self.knowledge.catalog.put_resource(key.clone(), resource.clone());
        if before.as_ref() == Some(&resource) {
            return;
        }
        let old = before.as_ref().and_then(Resource::object);
        let failed = |known: Option<&Resource>| matches!(known, Some(Resource::Unavailable(_)));
        let readers = if failed(before.as_ref()) || failed(Some(&resource)) {
            self.planning.renderings.all_resource_readers(&key)
        } else {
            self.planning.renderings.resource_readers(&key, old, resource.object())
        };
        self.doubt(&readers, &key);
        self.act_on_readers(readers, old, resource.object(), step);
    }

    /// A chart that somebody asks for is known to be like this.
    pub(super) fn chart(&mut self, request: ChartRequest, state: ChartState, step: &mut Step<Effect>) {
        let readers = self.planning.renderings.chart_readers(&request);
        if readers.is_empty() || !self.knowledge.catalog.put_chart(request, state) {
            return;
        }
        for cause in readers {
            self.act(&cause, step.now, step);
        }
    }

    /// Whether a tenant may read something is known now, or has changed.
    pub(super) fn right(
        &mut self,
        question: &Question,
        (right, asked): (Right, u64),
        step: &mut Step<Effect>,
    ) {
        let Some(differs) = self.knowledge.catalog.put_right(question, right, asked) else { return };
        for cause in self.planning.renderings.askers(question) {
            if differs || self.planning.renderings.is_waiting(&cause) {
                self.act(&cause, step.now, step);
            }
        }
    }

    /// Asks what a cause must know of its tenant's rights and nobody has said since it counts.
    pub(super) fn ask_rights(&mut self, reads: &Reads, step: &mut Step<Effect>) {
        let (questions, since) = reads.unanswered();
        let now = self.knowledge.catalog.version();
        for question in questions {
            if self.knowledge.catalog.rights.must_ask(question, since, now) {
                step.effect(Effect::Ask(question.clone(), now));
            }
        }
    }

    /// An object has changed: whether the tenants among its readers may read it is asked again.
    fn doubt(&mut self, readers: &[Cause], object: &ObjectKey) {
        let accounts: BTreeSet<_> =
            readers.iter().filter_map(|cause| self.knowledge.account(cause)).cloned().collect();
        let now = self.knowledge.catalog.version();
        for account in accounts {
            self.knowledge.catalog.rights.object_changed(&Question { account, object: object.clone() }, now);
        }
    }

    /// A cluster can do this.
    pub(super) fn capabilities(
        &mut self,
        cluster: ClusterRef,
        known: Option<Arc<ClusterCapabilities>>,
        step: &mut Step<Effect>,
    ) {
        if !self.knowledge.catalog.put_capabilities(cluster.clone(), known) || !self.outgoing.is_started() {
            return;
        }
        let concerns = |cause: &Cause| {
            self.planning.renderings.waits_for(cause, &cluster)
                || self.planning.ledger.is_failing(cause)
                || self.planning.ledger.places(cause).iter().any(|(place, _)| *place == cluster)
        };
        let readers: Vec<_> = self
            .planning
            .renderings
            .all_chart_readers()
            .into_iter()
            .filter(|cause| concerns(cause))
            .collect();
        for cause in readers {
            self.act(&cause, step.now, step);
        }
    }

    /// A user has changed the ConfigMap or Secret of this name, or what a generator made has been written.
    pub(super) fn content_changed(
        &mut self,
        key: &ContentKey,
        old: Option<&Value>,
        new: Option<&Value>,
        step: &mut Step<Effect>,
    ) {
        let (mut readers, object) = (self.planning.renderings.readers(key), object_key(key));
        readers.extend(self.planning.renderings.resource_readers(&object, old, new));
        self.doubt(&readers, &object);
        self.act_on_readers(readers, old, new, step);
    }

    /// Looks again at who reads what was `old` and is `new`. What Sluice has made may come of the reader itself.
    fn act_on_readers(
        &mut self,
        readers: Vec<Cause>,
        old: Option<&Value>,
        new: Option<&Value>,
        step: &mut Step<Effect>,
    ) {
        let made = |object: Option<&Value>| object.is_some_and(is_made);
        if !made(old) && !made(new) {
            return readers.iter().for_each(|cause| self.act(cause, step.now, step));
        }
        self.planning.touched.extend(readers);
        self.act_on_touched(step);
    }

    /// The generators of a cause make exactly this: who reads it is looked at again as soon as the cause itself is done.
    pub(super) fn put_generated(&mut self, cause: &Cause, made: Vec<(ContentKey, Arc<Value>)>) {
        for key in self.knowledge.catalog.generate(cause, made) {
            // What was made before is not kept: every change of it counts.
            let object = object_key(&key);
            let mut readers = self.planning.renderings.readers(&key);
            readers.extend(self.planning.renderings.all_resource_readers(&object));
            readers.retain(|reader| reader != cause);
            self.doubt(&readers, &object);
            self.planning.touched.extend(readers);
        }
    }

    /// Looks again at everything that was touched, and at what that touches. What leads to itself does so once a second.
    pub(super) fn act_on_touched(&mut self, step: &mut Step<Effect>) {
        if std::mem::replace(&mut self.planning.is_following, true) {
            return;
        }
        while let Some(cause) = self.planning.touched.pop_first() {
            match self.planning.agenda.touched(&cause, step.now) {
                Some(due) => step.wake_at(due),
                None => self.act(&cause, step.now, step),
            }
        }
        self.planning.is_following = false;
    }

    /// Lets the shell watch what is read now, and fetch what is asked for. Contents are known anyway.
    pub(super) fn watch_reads(&mut self, changes: ReadChanges, step: &mut Step<Effect>) {
        let dynamic = |key: &ObjectKey| crate::knowledge::catalog::content_key(key).is_none();
        for key in changes.begun.into_iter().filter(dynamic) {
            step.effect(Effect::Watch(key));
        }
        for key in changes.ended.into_iter().filter(dynamic) {
            self.knowledge.catalog.forget_resource(&key);
            step.effect(Effect::Unwatch(key));
        }
        for question in changes.settled {
            self.knowledge.catalog.rights.forget(&question);
            step.effect(Effect::Unask(question));
        }
        for request in changes.wanted {
            step.effect(Effect::Fetch(request));
        }
        for request in changes.unwanted {
            self.knowledge.catalog.forget_chart(&request);
            step.effect(Effect::Unfetch(request));
        }
    }
}
