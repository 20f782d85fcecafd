//! The triggers that follow from the events of an EventSource on a cluster, as renderers decide it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Cluster, Trigger};
use sluice_api::{TriggerId, object};
use sluice_renderer_core::{Listener, listeners};

use super::super::NAMED;
use super::super::Steps;
use super::super::trigger::{TRIGGERS, unmet};

/// All triggers, and what each has to do with the events of one cluster.
pub(super) struct Listening {
    cluster: Cluster,
    triggers: Vec<Trigger>,
    listeners: BTreeMap<TriggerId, Listener>,
    /// Name, EventSource and error of those that cannot be read.
    broken: Vec<(String, String, String)>,
}

impl Listening {
    /// Of a cluster, by the objects of the management cluster.
    pub(super) fn of(objects: &[Arc<Value>], cluster: Cluster) -> Self {
        let listeners = listeners(objects, &cluster.id);
        let (mut triggers, mut broken) = (Vec::new(), Vec::new());
        for object in objects.iter().filter(|object| TRIGGERS.contains(&object::text(object, &["kind"]))) {
            match Trigger::read(object) {
                Ok(trigger) => triggers.push(trigger),
                Err(error) => {
                    let source = object::text(object, &["spec", "eventSourceName"]).to_owned();
                    broken.push((object::describe(object), source, error.to_string()));
                }
            }
        }
        Self { cluster, triggers, listeners, broken }
    }

    /// Whether a trigger listens to the EventSource on the cluster.
    pub(super) fn is_live(&self, source: &str) -> bool {
        self.listeners.values().any(|listener| listener.selects == Ok(true) && is_named(listener, source))
    }

    /// Says which triggers follow from events of the EventSource, and which do not listen to the cluster; whether one does.
    pub(super) fn follow(&self, source: &str, steps: &mut Steps) -> bool {
        let mut follows = false;
        let (mut others, path) = (Vec::new(), self.cluster.id.path());
        for trigger in &self.triggers {
            let Some(listener) = self.listeners.get(&trigger.id()) else { continue };
            let named = trigger.id().described();
            match (&listener.source, &listener.selects) {
                (Ok(name), _) if name != source => {}
                (Ok(_), Ok(true)) if trigger.pace.suspended => {
                    let says = format!("{named} is suspended: what is there stays as it is");
                    steps.no("trigger", says, "take the annotation sluice.dev/suspend off");
                }
                (Ok(_), Ok(true)) => {
                    follows = true;
                    steps.yes("trigger", format!("{named} listens to EventSource {source} on {path}"));
                }
                (Ok(_), Err(error)) => steps.no("trigger", format!("{named}: {error}"), "correct the set"),
                (Ok(_), Ok(false)) => others.push(trigger),
                (Err(_), _) => {}
            }
        }
        self.elsewhere(source, &others, steps);
        let broken = self.broken.iter().filter(|(_, name, _)| name == source);
        for (_, _, error) in broken {
            steps.no("trigger", error.clone(), "correct the field; what it led to before stays");
        }
        follows
    }

    /// Those that select the cluster, and whose EventSource cannot be told.
    pub(super) fn untold(&self, steps: &mut Steps) {
        let selecting = self.listeners.iter().filter(|(_, listener)| listener.selects == Ok(true));
        for (id, listener) in selecting {
            if let Err(error) = &listener.source {
                steps.no("trigger", format!("{}: {error}", id.described()), "correct it");
            }
        }
    }

    /// Those that name the EventSource, and do not select the cluster; that nobody names it.
    fn elsewhere(&self, source: &str, others: &[&Trigger], steps: &mut Steps) {
        let (path, correct) = (self.cluster.id.path(), "label the cluster, or correct the selector");
        for trigger in others.iter().take(NAMED) {
            let named = trigger.id().described();
            let unmet = unmet(&trigger.source_selector, &self.cluster).unwrap_or_default();
            let says = format!(
                "{named} listens to EventSource {source}, and not to {path}: spec.sourceClusterSelector: {unmet}"
            );
            steps.no("trigger", says, correct);
        }
        let more = others.len().saturating_sub(NAMED);
        if more > 0 {
            steps.no(
                "trigger",
                format!("{more} more listen to EventSource {source}, and not to {path}"),
                correct,
            );
        }
        let is_broken = self.broken.iter().any(|(_, name, _)| name == source);
        if !is_broken && !self.listeners.values().any(|listener| is_named(listener, source)) {
            let says = format!("no trigger listens to EventSource {source}");
            steps.no("trigger", says, "apply an EventTrigger with this spec.eventSourceName");
        }
    }
}

fn is_named(listener: &Listener, source: &str) -> bool {
    listener.source.as_deref() == Ok(source)
}
