//! Which causes there are, what has become of each, and which names they have.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, ObjectKey, TriggerId};
use sluice_protocol::Revision;
use sluice_protocol::rows::{Cause, EventCause};

use crate::error::Result;
use crate::knowledge::Knowledge;
use crate::planning::Planning;
use crate::planning::row_ledger::Place;
use crate::rendering::rendered::Rendered;
use crate::rendering::row::Taken;

impl Planning {
    /// Everything that one trigger makes of one EventSource of one cluster, or should perhaps.
    pub(crate) fn causes_of(
        &self,
        knowledge: &Knowledge,
        trigger: &TriggerId,
        cluster: &ClusterRef,
        source: &str,
    ) -> BTreeSet<Cause> {
        let all = event_cause(trigger, cluster, source, None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(e) if e.trigger == *trigger && e.cluster == *cluster && e.source == source);
        let mut causes = self.ledger.causes_from(&all, same);
        if knowledge.is_one_for_event(trigger) {
            let items = knowledge.items(cluster, source).into_iter();
            causes.extend(items.map(|item| event_cause(trigger, cluster, source, Some(item))));
        } else {
            causes.insert(all);
        }
        causes
    }

    /// Whether a cause has been rendered, and nothing that it is made of has changed since.
    pub(crate) fn is_rendered(&self, knowledge: &Knowledge, cause: &Cause) -> bool {
        self.renderings.is_of(cause, knowledge.basis(cause))
    }

    // D-1203: all that was made while a Secret was read is sealed.
    /// Whether a cause is a Secret, or whatever is made of it may hold parts of one: nobody can tell what a template does with
    /// what it reads.
    pub(crate) fn uses_secrets(&self, knowledge: &Knowledge, cause: &Cause) -> bool {
        let mut contents = self.renderings.content_read_by(cause);
        let mut resources = self.renderings.resources_read_by(cause);
        contents.any(|(kind, ..)| kind == "Secret")
            || resources.any(|key| key.gvk.is_secret())
            || knowledge.is_of_secret(cause)
    }

    /// Who else of this shard makes a profile of this name on its destinations: it keeps it, and this cause waits.
    ///
    /// # Errors
    /// That the cause does not exist.
    pub(crate) fn taken(
        &mut self,
        knowledge: &Knowledge,
        cause: &Cause,
        rendered: &Rendered,
    ) -> Result<Taken> {
        let management = rendered.is_for_management(knowledge.common(cause)?).then(ClusterRef::management);
        let clusters = knowledge.catalog.fleet.clusters();
        let destinations = rendered.parts.iter().flat_map(|part| &part.destinations);
        let destinations = destinations.filter(|id| clusters.contains_key(*id)).cloned().chain(management);
        let mut taken = Taken::new();
        for cluster in destinations {
            if let Some(user) = self.ledger.ask_for(&(cluster.clone(), rendered.id.clone()), cause) {
                let user = user.clone();
                taken.insert(cluster, user);
            }
        }
        Ok(taken)
    }

    /// Whether a row without content must say that `cause` wants this name: it has no row there, nobody else of this shard
    /// uses the name, and makers of other shards may.
    pub(crate) fn wants_name(&self, knowledge: &Knowledge, cause: &Cause, place: &Place) -> bool {
        knowledge.names_may_be_shared(cause) && !self.ledger.is_used(place)
    }

    /// Such a tombstone is a proof by itself: no complete set is needed. One of a former form of the source is none, as the object
    /// may match the present one. It is kept until it has been acted upon, which may be later. Of a whole set the tombstone of
    /// the last match is kept.
    pub(crate) fn note_gone(&mut self, cause: &Cause, gone: Option<Revision>) {
        match (cause, gone) {
            (Cause::Event(_), Some(revision)) => drop(self.gone.insert(cause.clone(), revision)),
            _ => drop(self.gone.remove(cause)),
        }
    }

    /// Whether everything that it wants follows from what it knows by now; else something waits for more.
    pub(crate) fn is_decided(&self, knowledge: &Knowledge) -> bool {
        // A source that does not exist has no events.
        let decided = |cluster: &ClusterRef, source: &String| {
            !knowledge.catalog.sources.contains_key(source)
                || knowledge.completeness.is_complete(cluster, source)
        };
        self.agenda.is_clear()
            && self.renderings.is_clear()
            && self
                .bindings
                .iter()
                .all(|(cluster, bound)| bound.sources().all(|source| decided(cluster, source)))
    }
}

/// A cause of a trigger: of an item, or of all together.
pub(crate) fn event_cause(
    trigger: &TriggerId,
    cluster: &ClusterRef,
    source: &str,
    item: Option<ObjectKey>,
) -> Cause {
    Cause::from(EventCause {
        trigger: trigger.clone(),
        cluster: cluster.clone(),
        source: source.to_owned(),
        item,
    })
}
