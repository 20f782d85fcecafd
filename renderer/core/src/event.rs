//! From an event to a profile.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_api::model::{Cluster, NAMESPACE, PolicyRef, Trigger};
use sluice_api::{ObjectKey, ProfileId, names, object};
use sluice_protocol::rows::EventCause;
use sluice_template::{Data, Stage};

use crate::bindings::template_name;
use crate::catalog::{Catalog, ContentKey};
use crate::content;
use crate::language::Language;
use crate::project::{self, Projection};
use crate::render::{PolicySource, Reads, Rendered, named, namespace_or, referenced, verbatim};
use crate::sets::{Match, Set, in_order};
use crate::templates::{Templates, reference};

mod patches;

/// What a render of an event works with.
pub(crate) struct EventRender<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) templates: &'a Templates,
    pub(crate) trigger: &'a Trigger,
    pub(crate) cluster: &'a Cluster,
    pub(crate) cause: &'a EventCause,
    pub(crate) set: &'a Set,
}

impl EventRender<'_> {
    /// Renders the profile; what was read is noted in `reads` also when it fails.
    ///
    /// # Errors
    /// The field, the reference, or the template's message.
    pub(crate) fn render(&self, reads: &mut Reads) -> Result<Rendered, String> {
        let matches = self.matches();
        let versions: Vec<String> = matches.iter().map(|(key, _)| key.gvk.api_version()).collect();
        let dot = self.dot(&matches, &versions);
        let name = self.profile_name(&dot)?;
        let (mut refs, mut sources, mut projections) = (Vec::new(), Vec::new(), Vec::new());
        for item in &self.trigger.common.policy_refs {
            if let Some((source, projection)) = self.policy(item, &dot, reads)? {
                refs.push(project::policy_ref(item, &source));
                sources.push(source);
                projections.extend(projection);
            }
        }
        let patched = self.patched(&name, sources, &dot, reads)?;
        projections.extend(patched.projections);
        let mut spec = self.spec(refs);
        if !patched.refs.is_empty() {
            spec.insert("patchesFrom".into(), patched.refs.into());
        }
        projections.push(project::cluster_profile(&name, &spec, self.labels()));
        let (parts, failed) = (patched.parts, patched.failed);
        Ok(Rendered { id: ProfileId::cluster(name), parts, failed, spec, projections })
    }

    /// The matches that the cause stands for, in the order in which templates see them.
    fn matches(&self) -> Vec<(&ObjectKey, &Match)> {
        match &self.cause.item {
            Some(item) => self.set.get_key_value(item).into_iter().collect(),
            None => in_order(self.set),
        }
    }

    /// What templates see.
    fn dot<'d>(&'d self, matches: &[(&'d ObjectKey, &'d Match)], versions: &'d [String]) -> Data<'d> {
        let cluster = ("Cluster", Data::Json(&self.cluster.object));
        let mut references: Vec<_> =
            matches.iter().zip(versions).map(|((key, _), version)| reference(key, version)).collect();
        let mut objects: Vec<_> =
            matches.iter().filter_map(|(_, found)| found.object.as_deref()).map(Data::Json).collect();
        let nothing = || Data::Map(Vec::new());
        if self.cause.item.is_some() {
            // Without the object Sveltos has a nil map: every field of it is an error, also here.
            let (matching, resource) =
                (references.pop().unwrap_or_else(nothing), objects.pop().unwrap_or_else(nothing));
            return Data::Map(vec![
                ("MatchingResource", matching),
                ("Resource", resource),
                ("CloudEvent", nothing()),
                cluster,
            ]);
        }
        Data::Map(vec![
            ("MatchingResources", Data::List(references)),
            ("Resources", Data::List(objects)),
            ("CloudEvents", Data::List(Vec::new())),
            cluster,
        ])
    }

    fn template(&self, text: &str, dot: &Data<'_>) -> Result<String, String> {
        self.template_in(Language::Go, text, dot)
    }

    fn template_in(&self, language: Language, text: &str, dot: &Data<'_>) -> Result<String, String> {
        let name = template_name(&self.cluster.id, self.trigger);
        self.templates.render_in(language, &name, text, Stage::Event, dot)
    }

    fn profile_name(&self, dot: &Data<'_>) -> Result<String, String> {
        let Some(format) = &self.trigger.profile_name_format else {
            return Ok(names::generated(&self.identity("profile")));
        };
        let name = self.template(format, dot).map_err(|error| format!("spec.profileNameFormat: {error}"))?;
        if names::is_object_name(&name) {
            return Ok(name);
        }
        Err(format!(
            "spec.profileNameFormat: {name:?} is not a name; use lower-case letters, digits, '-' and '.'"
        ))
    }

    /// What makes generated names differ.
    fn identity<'i>(&'i self, what: &'i str) -> Vec<&'i str> {
        let cause = self.cause;
        let mut parts = vec![
            what,
            cause.trigger.as_str(),
            cause.cluster.kind.lower(),
            &cause.cluster.namespace,
            &cause.cluster.name,
            &cause.source,
        ];
        if let Some(item) = &cause.item {
            parts.extend([&*item.gvk.group, &*item.gvk.kind, &*item.namespace, &*item.name]);
        }
        parts
    }

    fn destinations(&self) -> Vec<sluice_api::ClusterRef> {
        match &self.trigger.destination_selector {
            None => vec![self.cluster.id.clone()],
            Some(selector) => {
                let selected =
                    self.catalog.clusters.values().filter(|cluster| selector.matches(cluster.labels()));
                selected.map(|cluster| cluster.id.clone()).collect()
            }
        }
    }

    fn policy(
        &self,
        item: &PolicyRef,
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<Option<(PolicySource, Option<Projection>)>, String> {
        let field = |field: &str, text: &str| {
            self.template(text, dot).map_err(|error| format!("{}.{field}: {error}", item.path))
        };
        let namespace = namespace_or(field("namespace", &item.namespace)?, &self.cluster.id);
        let key: ContentKey = (item.kind.clone(), namespace, field("name", &item.name)?);
        let Some(object) = referenced(self.catalog, item, &key, reads)? else { return Ok(None) };
        let mut source = verbatim(item, &key, object)?;
        source.per_destination = self.trigger.era.renders_on_deploy(object);
        if !self.trigger.era.instantiates(object) {
            return Ok(Some((source, None)));
        }
        source.texts = self.instantiate(&source, dot).map_err(|error| named(item, &key, &error))?;
        source.shared = false;
        source.name = names::generated(
            &[&self.identity("content")[..], &[&*key.0, &*key.1, &*key.2, &*item.path]].concat(),
        );
        source.namespace = NAMESPACE.to_owned();
        let data = content::data(&item.kind, &source.texts);
        let annotations = object::at(object, &["metadata", "annotations"]).cloned();
        let mut labels = self.labels();
        project::label(&mut labels, "refnamespace", &key.1);
        project::label(&mut labels, "refname", &key.2);
        let projection = project::content(&item.kind, &source.name, data, annotations, labels);
        Ok(Some((source, Some(projection))))
    }

    /// Every value is a template of its own, rendered in the order of the keys.
    fn instantiate(&self, source: &PolicySource, dot: &Data<'_>) -> Result<BTreeMap<String, String>, String> {
        let one = |(key, text): (&String, &String)| {
            let text = self.template_in(source.language, text, dot);
            Ok((key.clone(), text.map_err(|error| format!("data.{key}: {error}"))?))
        };
        source.texts.iter().map(one).collect()
    }

    /// The spec of the generated ClusterProfile: what the trigger says, with the references resolved.
    fn spec(&self, refs: Vec<Value>) -> Map<String, Value> {
        const NOT_COPIED: [&str; 12] = [
            "sourceClusterSelector",
            "clusterSelector",
            "destinationClusterSelector",
            "destinationCluster",
            "clusterSetRefs",
            "eventSourceName",
            "oneForEvent",
            "profileNameFormat",
            "configMapGenerator",
            "secretGenerator",
            "cloudEventAction",
            "policyRefs",
        ];
        let mut spec = self.trigger.common.raw.clone();
        spec.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
        if !refs.is_empty() {
            spec.insert("policyRefs".into(), refs.into());
        }
        match &self.trigger.destination_selector {
            Some(selector) => spec.insert("clusterSelector".into(), selector.to_label_selector()),
            None => spec.insert("clusterRefs".into(), vec![project::cluster_reference(self.cluster)].into()),
        };
        spec
    }

    fn labels(&self) -> Map<String, Value> {
        let mut labels = project::cause_labels(self.cause, &self.trigger.name);
        labels.extend(
            self.trigger.tenant_labels.iter().map(|(key, value)| (key.clone(), value.clone().into())),
        );
        labels
    }
}
