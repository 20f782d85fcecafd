//! Which triggers listen to which EventSource on which cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::TriggerId;
use sluice_api::model::{Cluster, Trigger};
use sluice_template::Stage;

use crate::error::{Error, Result};
use crate::knowledge::catalog::Catalog;
use crate::rendering::draws::Draws;
use crate::rendering::templates::{Templates, cluster_only, template_name};

/// The EventSource of a trigger on a cluster, or why its name cannot be told.
pub(crate) type Bound = Result<String>;

/// The triggers of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterBindings {
    /// The EventSource of each trigger that selects the cluster, or why its name cannot be told.
    pub(crate) by_trigger: BTreeMap<TriggerId, Bound>,
    by_source: BTreeMap<String, BTreeSet<TriggerId>>,
}

impl ClusterBindings {
    /// Binds every trigger that selects `cluster`. A trigger that cannot be read keeps its former binding:
    /// what it made stays until it can be read again.
    pub(crate) fn of(
        cluster: &Cluster,
        catalog: &Catalog,
        templates: &Templates,
        before: Option<&Self>,
    ) -> Self {
        let mut bindings = Self::default();
        for id in catalog.triggers.keys() {
            let before = before.and_then(|before| before.by_trigger.get(id));
            bindings.put(id, bound(id, cluster, catalog, templates, before));
        }
        bindings
    }

    /// Binds one trigger anew, as it is or is not any more; what it was bound to, and whether the sources that somebody listens to
    /// are others now. Nothing when it is bound as before.
    pub(crate) fn rebind(
        &mut self,
        id: &TriggerId,
        cluster: &Cluster,
        catalog: &Catalog,
        templates: &Templates,
    ) -> Option<(Option<Bound>, bool)> {
        let before = self.by_trigger.get(id);
        let after = bound(id, cluster, catalog, templates, before);
        if before == after.as_ref() {
            return None;
        }
        let before = self.by_trigger.remove(id);
        let mut ended = false;
        if let Some(Ok(source)) = &before
            && let Some(listeners) = self.by_source.get_mut(source)
        {
            listeners.remove(id);
            if listeners.is_empty() {
                self.by_source.remove(source);
                ended = true;
            }
        }
        let left = self.by_source.len();
        self.put(id, after);
        Some((before, ended || self.by_source.len() != left))
    }

    fn put(&mut self, id: &TriggerId, bound: Option<Bound>) {
        let Some(bound) = bound else { return };
        if let Ok(source) = &bound {
            self.by_source.entry(source.clone()).or_default().insert(id.clone());
        }
        self.by_trigger.insert(id.clone(), bound);
    }

    /// Whether somebody listens to `source`.
    pub(crate) fn listens_to(&self, source: &str) -> bool {
        self.by_source.contains_key(source)
    }

    /// The triggers that listen to `source`.
    pub(crate) fn listeners(&self, source: &str) -> Vec<TriggerId> {
        self.by_source.get(source).into_iter().flatten().cloned().collect()
    }

    /// The EventSources somebody listens to.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &String> {
        self.by_source.keys()
    }

    /// What the interest row of the cluster should list; whose they are only where everybody there knows what that means.
    pub(crate) fn interest(&self, catalog: &Catalog, knows_tenants: bool) -> Vec<(String, Arc<Value>)> {
        let manifest = |name: &String| {
            let manifest = catalog.sources.get(name)?;
            let listed = if knows_tenants { manifest.clone() } else { without_labels(manifest) };
            Some((name.clone(), listed))
        };
        self.sources().filter_map(manifest).collect()
    }
}

/// The manifest of an EventSource as of nobody in particular.
fn without_labels(manifest: &Arc<Value>) -> Arc<Value> {
    if manifest["metadata"].get("labels").is_none() {
        return manifest.clone();
    }
    let mut bare = (**manifest).clone();
    if let Some(metadata) = bare["metadata"].as_object_mut() {
        metadata.remove("labels");
    }
    Arc::new(bare)
}

/// What a trigger listens to on a cluster. One that cannot be read keeps its former binding.
pub(crate) fn bound(
    id: &TriggerId,
    cluster: &Cluster,
    catalog: &Catalog,
    templates: &Templates,
    before: Option<&Bound>,
) -> Option<Bound> {
    match catalog.triggers.get(id)?.as_ref() {
        Ok(trigger) => source_name(trigger, cluster, catalog, templates),
        Err(_) => before.cloned(),
    }
}

/// The EventSource that `trigger` listens to on `cluster`; `None` when it does not select the cluster.
fn source_name(
    trigger: &Trigger,
    cluster: &Cluster,
    catalog: &Catalog,
    templates: &Templates,
) -> Option<Result<String>> {
    match trigger.selects(cluster, &catalog.fleet) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(error) => return Some(Err(Error::Unsure(error))),
    }
    Some(named(trigger, cluster, templates))
}

/// The EventSource that `trigger` names for `cluster`, whether it selects the cluster or not.
pub(crate) fn named(trigger: &Trigger, cluster: &Cluster, templates: &Templates) -> Bound {
    let dot = cluster_only(&cluster.object);
    let templates = templates.for_draws(Draws::of_trigger(trigger));
    let name =
        templates.render(&template_name(&cluster.id, trigger), &trigger.event_source, Stage::Event, &dot);
    name.map_err(|error| error.within("spec.eventSourceName"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;
    use sluice_template::Limits;

    use super::*;
    use crate::knowledge::catalog::Change;
    use crate::rendering::salt::Salt;
    use crate::rendering::templates::Caches;

    fn templates() -> Templates {
        Templates::new(&Limits::default(), &Salt::default(), &Caches::default())
    }

    fn cluster() -> Cluster {
        let object = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c", "labels": {"env": "fv"}}, "spec": {}});
        Cluster::read(&Arc::new(object)).unwrap()
    }

    /// A trigger in one of several forms: some select nothing, or cannot be read or rendered.
    fn trigger(name: usize, form: usize) -> Value {
        let env = if form == 5 { "other" } else { "fv" };
        let source = ["a", "b", "{{ .Cluster.metadata.name }}", "{{ .Cluster.nothing.at }}", "a", "a"][form];
        let mut spec =
            json!({"sourceClusterSelector": {"matchLabels": {"env": env}}, "eventSourceName": source});
        if form == 4 {
            spec["tier"] = "x".into();
        }
        json!({"kind": "EventTrigger", "metadata": {"name": format!("t{name}")}, "spec": spec})
    }

    proptest! {
        /// One trigger after the other, however they come, change and go, leads to what all of them together lead to.
        #[test]
        fn step_by_step_is_as_all_at_once(changes in proptest::collection::vec((0..3_usize, 0..7_usize), 0..30)) {
            let (templates, cluster, mut catalog) = (templates(), cluster(), Catalog::default());
            let mut bindings = ClusterBindings::default();
            for (name, form) in changes {
                let change = match form {
                    6 => Change::Delete(Arc::new(trigger(name, 0))),
                    form => Change::Upsert(Arc::new(trigger(name, form))),
                };
                catalog.apply(&change);
                let before = bindings.clone();
                let whole = ClusterBindings::of(&cluster, &catalog, &templates, Some(&before));
                let id = TriggerId::new("EventTrigger", &format!("t{name}"));
                let changed = bindings.rebind(&id, &cluster, &catalog, &templates);
                prop_assert_eq!(&bindings, &whole);
                prop_assert_eq!(changed.is_some(), before != whole);
                if let Some((former, others)) = changed {
                    prop_assert_eq!(former.as_ref(), before.by_trigger.get(&id));
                    prop_assert_eq!(others, !before.sources().eq(whole.sources()));
                }
            }
        }
    }
}
