//! The management cluster of the simulation: two triggers, their templates, and what changes of them.

use std::sync::Arc;

use rand::Rng as _;
use rand::rngs::SmallRng;
use serde_json::{Value, json};
use sluice_api::{ObjectKey, object};
use sluice_renderer_core::Change;

/// The objects as they are, and every change there ever was: readers have positions in the log.
#[derive(Default)]
pub(crate) struct Management {
    pub(crate) objects: Vec<Arc<Value>>,
    pub(crate) log: Vec<Change>,
    /// The triggers that are deleted, or whose destination does not select every cluster.
    pub(crate) missing: Vec<&'static str>,
    version: u64,
    edits: u64,
}

/// Names of the managed clusters.
pub(crate) const CLUSTERS: [&str; 2] = ["a", "b"];

/// One add-on for each event, in the cluster of the event.
pub(crate) const EACH: &str = "each";
/// One add-on for all events of a cluster, in all clusters of the tier.
pub(crate) const ALL: &str = "all";

fn trigger(name: &str) -> Value {
    let mut spec = json!({
        "sourceClusterSelector": {"matchLabels": {"env": "fv"}},
        "eventSourceName": "services",
        "oneForEvent": name == EACH,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}],
    });
    if name == ALL {
        spec["destinationClusterSelector"] = json!({"matchLabels": {"tier": "x"}});
    }
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": name}, "spec": spec})
}

fn template(name: &str, edit: u64) -> Value {
    let each = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"each-{{{{ .Resource.metadata.name }}}}\", namespace: default}}\ndata: {{v: \"{{{{ .Resource.metadata.annotations.v }}}}\", edit: \"{edit}\"}}\n"
    );
    let all = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"all-{{{{ .Cluster.metadata.name }}}}\", namespace: default}}\ndata:\n  edit: \"{edit}\"\n{{{{- range .Resources }}}}\n  {{{{ .metadata.name }}}}: \"{{{{ .metadata.annotations.v }}}}\"\n{{{{- end }}}}\n"
    );
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "annotations": {"projectsveltos.io/instantiate": "ok"}},
        "data": {"content.yaml": if name == EACH { each } else { all }},
    })
}

fn registration(name: &str, tier: &str) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"name": name, "namespace": "default", "labels": {"env": "fv", "tier": tier}}, "spec": {}})
}

impl Management {
    pub(crate) fn new() -> Self {
        let mut management = Self::default();
        let source = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "services"},
            "spec": {"collectResources": true, "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service",
                "labelFilters": [{"key": "event", "operation": "Equal", "value": "yes"}]}]}});
        management.put(source);
        for name in CLUSTERS {
            management.put(registration(name, "x"));
        }
        for name in [EACH, ALL] {
            management.put(trigger(name));
            management.put(template(name, 0));
        }
        management
    }

    fn put(&mut self, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let key = ObjectKey::of(&object);
        let object = Arc::new(object);
        self.objects.retain(|known| ObjectKey::of(known) != key);
        self.objects.push(object.clone());
        self.log.push(Change::Upsert(object));
        self.missing = self.look_for_triggers();
    }

    fn delete(&mut self, kind: &str, name: &str) {
        let same =
            |object: &Arc<Value>| object::text(object, &["kind"]) == kind && object::name(object) == name;
        let Some(index) = self.objects.iter().position(same) else { return };
        let mut object = (*self.objects.remove(index)).clone();
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.log.push(Change::Delete(Arc::new(object)));
        self.missing = self.look_for_triggers();
    }

    fn has_trigger(&self, name: &str) -> bool {
        self.objects
            .iter()
            .any(|object| object::text(object, &["kind"]) == "EventTrigger" && object::name(object) == name)
    }

    fn look_for_triggers(&self) -> Vec<&'static str> {
        let away = |object: &Arc<Value>| object::label(object, "tier").is_some_and(|tier| tier != "x");
        let moved = self.objects.iter().any(away);
        [EACH, ALL].into_iter().filter(|name| !self.has_trigger(name) || (*name == ALL && moved)).collect()
    }

    /// Changes something; the names of triggers whose add-ons may go for a reason from now on.
    pub(crate) fn change(&mut self, random: &mut SmallRng) -> Vec<&'static str> {
        let name = if random.random_bool(0.5) { EACH } else { ALL };
        match random.random_range(0..4) {
            0 if self.has_trigger(name) => {
                self.delete("EventTrigger", name);
                vec![name]
            }
            0 | 1 if !self.has_trigger(name) => {
                self.put(trigger(name));
                vec![name]
            }
            2 => {
                let cluster = CLUSTERS[random.random_range(0..CLUSTERS.len())];
                self.put(registration(cluster, if random.random_bool(0.7) { "x" } else { "y" }));
                vec![ALL]
            }
            _ => {
                self.edits += 1;
                self.put(template(name, self.edits));
                Vec::new()
            }
        }
    }
}
