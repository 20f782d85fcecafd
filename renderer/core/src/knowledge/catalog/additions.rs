//! What a renderer knows of the management cluster besides what users wrote of the kinds that it lists: objects that templates
//! read by an identifier, content that generators have made and that is not written yet, and cluster sets.

// D-0908: what a generator makes is an overlay.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey, ServiceAccount, TriggerId, object};
use sluice_protocol::rows::Cause;

use super::{Catalog, ContentKey, Touched};
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::labels;
use crate::knowledge::rights::{Question, Right};

/// What is known of an object that templates read.
#[derive(Clone, Debug, PartialEq)]
pub enum Resource {
    /// It exists like this.
    There(Arc<Value>),
    /// It does not exist.
    Absent,
    /// It cannot be read, for this reason.
    Unavailable(String),
}

// === impl Resource ===

impl Resource {
    /// The object, when there is one.
    pub(crate) fn object(&self) -> Option<&Value> {
        match self {
            Self::There(object) => Some(object),
            Self::Absent | Self::Unavailable(_) => None,
        }
    }
}

// === impl Catalog ===

impl Catalog {
    /// The ConfigMap or Secret of this name: what a generator makes of it here, else what is written.
    pub(crate) fn content(&self, key: &ContentKey) -> Option<&Arc<Value>> {
        self.generated.get(key).map(|(_, object)| object).or_else(|| self.content.get(key))
    }

    /// What is known of an object; `None` when that is nothing.
    pub(crate) fn resource(&self, key: &ObjectKey) -> Option<Resource> {
        match content_key(key) {
            Some(key) => Some(self.content(&key).cloned().map_or(Resource::Absent, Resource::There)),
            None => self.resources.get(key).cloned(),
        }
    }

    /// Takes what has become known of an object that is read; what was known before.
    pub(crate) fn put_resource(&mut self, key: ObjectKey, resource: Resource) -> Option<Resource> {
        let before = self.resources.insert(key.clone(), resource.clone());
        if before.as_ref() != Some(&resource) {
            self.version += 1;
        }
        before
    }

    /// What is known of a chart; `None` when that is nothing.
    pub(crate) fn chart(&self, request: &ChartRequest) -> Option<&ChartState> {
        self.charts.get(request)
    }

    /// Takes what has become known of a chart that is asked for; whether that is new.
    pub(crate) fn put_chart(&mut self, request: ChartRequest, state: ChartState) -> bool {
        let is_new = self.charts.get(&request) != Some(&state);
        if is_new {
            self.charts.insert(request, state);
            self.version += 1;
        }
        is_new
    }

    /// What a cluster can do; `None` when nobody has said so yet.
    pub(crate) fn capabilities(&self, cluster: &ClusterRef) -> Option<&Arc<ClusterCapabilities>> {
        self.capabilities.get(cluster)
    }

    /// Takes what a cluster can do; whether that is new.
    pub(crate) fn put_capabilities(
        &mut self,
        cluster: ClusterRef,
        known: Option<Arc<ClusterCapabilities>>,
    ) -> bool {
        let is_new = self.capabilities.get(&cluster) != known.as_ref();
        if is_new {
            match known {
                Some(known) => drop(self.capabilities.insert(cluster, known)),
                None => drop(self.capabilities.remove(&cluster)),
            }
            self.version += 1;
        }
        is_new
    }

    /// Nobody asks for this chart any more.
    pub(crate) fn forget_chart(&mut self, request: &ChartRequest) {
        self.charts.remove(request);
    }

    /// Takes what has become known of a tenant's right, as it was asked for at this version; `None` when that is nothing new, else
    /// whether it is not what it was.
    pub(crate) fn put_right(&mut self, question: &Question, right: Right, asked: u64) -> Option<bool> {
        let news = self.rights.put(question, right, asked);
        self.version += u64::from(news.is_some());
        news
    }

    /// What is changed for a tenant is read by its present rights.
    pub(super) fn note_tenants(&mut self, touched: &Touched) {
        match touched {
            Touched::Trigger(id) => {
                let read = self.triggers.get(id).map(Arc::as_ref);
                let is_tenants = matches!(read, Some(Ok(trigger)) if trigger.account.is_some());
                self.rights.trigger_changed(id, is_tenants.then_some(self.version));
            }
            Touched::Profile(id) => {
                let read = self.profiles.get(id).map(Arc::as_ref);
                let is_tenants = matches!(read, Some(Ok(profile)) if profile.account.is_some());
                self.rights.profile_changed(id, is_tenants.then_some(self.version));
            }
            _ => {}
        }
    }

    /// Nobody reads this object any more.
    pub(crate) fn forget_resource(&mut self, key: &ObjectKey) {
        self.resources.remove(key);
    }

    /// The cause whose generator makes this content.
    pub(crate) fn generator_of(&self, key: &ContentKey) -> Option<&Cause> {
        self.generated.get(key).map(|(cause, _)| cause)
    }

    /// The tenant whose generator has made what is there under this name: nobody else reads it, so that no tenant gives others
    /// what they deploy.
    pub(crate) fn maker_account(&self, key: &ContentKey) -> Option<&ServiceAccount> {
        let trigger = match self.generator_of(key) {
            Some(Cause::Event(event)) => event.trigger.clone(),
            Some(Cause::Profile(_)) => return None,
            None => {
                let there = self.written(key).filter(|there| labels::is_generator_output(there))?;
                TriggerId::new("EventTrigger", object::label(there, labels::TRIGGER_NAME)?)
            }
        };
        self.triggers.get(&trigger)?.as_ref().as_ref().ok()?.account.as_ref()
    }

    /// The ConfigMap or Secret of this name as it is written in the management cluster.
    pub(crate) fn written(&self, key: &ContentKey) -> Option<&Arc<Value>> {
        self.content.get(key)
    }

    /// The generators of `cause` make exactly this; returns the contents that differ now.
    pub(crate) fn generate(&mut self, cause: &Cause, made: Vec<(ContentKey, Arc<Value>)>) -> Vec<ContentKey> {
        let is_kept = |key: &ContentKey| made.iter().any(|(other, _)| other == key);
        let before = self.made_by.remove(cause).unwrap_or_default();
        let mut changed: Vec<ContentKey> = before.into_iter().filter(|key| !is_kept(key)).collect();
        changed.iter().for_each(|key| drop(self.generated.remove(key)));
        if !made.is_empty() {
            self.made_by.insert(cause.clone(), made.iter().map(|(key, _)| key.clone()).collect());
        }
        for (key, object) in made {
            let same = self.generated.get(&key).is_some_and(|(_, before)| *before == object);
            self.generated.insert(key.clone(), (cause.clone(), object));
            if !same {
                changed.push(key);
            }
        }
        self.version += u64::from(!changed.is_empty());
        changed
    }
}

/// The key of a ConfigMap or Secret: those are known without being asked for.
pub(crate) fn content_key(key: &ObjectKey) -> Option<ContentKey> {
    let is_content = key.gvk.group.is_empty()
        && key.gvk.version == "v1"
        && matches!(key.gvk.kind.as_str(), "ConfigMap" | "Secret");
    is_content.then(|| (key.gvk.kind.clone(), key.namespace.clone(), key.name.clone()))
}
