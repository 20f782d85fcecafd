//! From an event to a profile.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use sluice_api::cloud_event::{is_event, item_of};
use sluice_api::model::{Cluster, NAMESPACE, PolicyRef, ResourceRef, Trigger, no_action};
use sluice_api::secrets::without_text;
use sluice_api::{ClusterRef, ObjectKey, ProfileId, ServiceAccount, TextError, names, object};
use sluice_protocol::rows::EventCause;
use sluice_template::Data;

use crate::error::{Error, Result};
use crate::knowledge::catalog::{Catalog, ContentKey};
use crate::knowledge::reads::Reads;
use crate::knowledge::sets::{Match, Set, in_order, newest_of};
use crate::rendering::charts;
use crate::rendering::content;
use crate::rendering::destination;
use crate::rendering::language::Language;
use crate::rendering::part::PolicySource;
use crate::rendering::project;
use crate::rendering::projection::Projection;
use crate::rendering::references::{named, namespace_or, object_name, referenced, verbatim};
use crate::rendering::rendered::Rendered;
use crate::rendering::resources;
use crate::rendering::templates::template_name;
use crate::rendering::templates::{Templates, reference};

/// What becomes of what a CloudEvent has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is there, as the event says.
    Create,
    /// It goes.
    Delete,
}

mod destinations;
mod patches;

/// What a render of an event works with.
pub(crate) struct EventRender<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) templates: &'a Templates,
    pub(crate) trigger: &'a Trigger,
    pub(crate) cluster: &'a Cluster,
    pub(crate) cause: &'a EventCause,
    pub(crate) set: &'a Set,
    /// Matches that are not younger than this do not count.
    pub(crate) oldest: i64,
}

/// What the templates of an event see, and what is left to read for each destination.
pub(crate) struct Scene<'d> {
    pub(crate) dot: Data<'d>,
    refs: Vec<ResourceRef>,
}

impl EventRender<'_> {
    /// Renders the profile; what was read is noted in `reads` also when it fails.
    ///
    /// # Errors
    /// The field, the reference, or the template's message.
    pub(crate) fn render(&self, reads: &mut Reads) -> Result<Rendered> {
        self.with_scene(reads, |scene, reads| self.render_with(scene, reads))
    }

    /// Calls `work` with what the templates of the event see.
    pub(crate) fn with_scene<T>(
        &self,
        reads: &mut Reads,
        work: impl FnOnce(&Scene<'_>, &mut Reads) -> Result<T>,
    ) -> Result<T> {
        let matches = self.matches();
        let versions: Vec<String> = matches.iter().map(|(key, _)| key.gvk.api_version()).collect();
        let mut variables = self.variables(&matches, &versions);
        if self.trigger.common.resource_refs.is_empty() {
            return work(&Scene { dot: Data::Map(variables), refs: Vec::new() }, reads);
        }
        let bare = Data::Map(variables);
        let refs = self.resource_refs(&bare)?;
        let visible = resources::of_event(&refs, self.cluster, self.catalog, reads)?;
        variables = self.variables(&matches, &versions);
        variables.push(("MgmtResources", destination::variables(&visible.resources)));
        work(&Scene { dot: Data::Map(variables), refs }, reads).map_err(|error| visible.explained(error))
    }

    /// The trigger's references with the places that the event gives them; what is left of templates is rendered for each
    /// destination.
    fn resource_refs(&self, dot: &Data<'_>) -> Result<Vec<ResourceRef>> {
        let mut refs = self.trigger.common.resource_refs.clone();
        for item in &mut refs {
            let field = |field: &str, text: &str| {
                let rendered = self.template(text, dot);
                rendered.map_err(|error| error.within(format!("{}.resource.{field}", item.path)))
            };
            let (namespace, name) = (field("namespace", &item.namespace)?, field("name", &item.name)?);
            (item.namespace, item.name) = (namespace, name);
        }
        Ok(refs)
    }

    fn render_with(&self, scene: &Scene<'_>, reads: &mut Reads) -> Result<Rendered> {
        let dot = &scene.dot;
        let name = self.profile_name(dot)?;
        let (mut refs, mut sources, mut projections) = (Vec::new(), Vec::new(), Vec::new());
        for item in &self.trigger.common.policy_refs {
            if let Some((source, projection)) = self.policy(item, dot, reads)? {
                refs.push(project::policy_ref(item, &source));
                sources.push(source);
                projections.extend(projection);
            }
        }
        let destinations = self.destinations(dot)?;
        let mut spec = self.spec(refs, &scene.refs, destinations.clusters.first());
        let (clusters, unsure) = (destinations.clusters, destinations.unsure);
        let patched = self.patched(&name, sources, clusters, dot, reads)?;
        charts::write(&mut spec, &patched.charts);
        projections.extend(patched.projections);
        if !patched.refs.is_empty() {
            spec.insert("patchesFrom".into(), patched.refs.into());
        }
        let id = ProfileId::cluster(&*name);
        if self.catalog.profiles.contains_key(&id) {
            return Ok(Rendered::refused(id, spec));
        }
        projections.push(project::cluster_profile(&name, &spec, self.labels()));
        let (parts, charts, failed, resources) =
            (patched.parts, patched.charts, patched.failed, scene.refs.clone());
        let (grants_to, is_refused, warnings) = (None, false, Vec::new());
        Ok(Rendered {
            id,
            is_refused,
            parts,
            charts,
            succeeds: BTreeSet::new(),
            grants_to,
            resources,
            failed,
            unsure,
            warnings,
            spec,
            projections,
        })
    }

    /// The matches that the cause stands for, in the order in which templates see them.
    fn matches(&self) -> Vec<(&ObjectKey, &Match)> {
        match &self.cause.item {
            Some(item) => newest_of(self.set, item).into_iter().collect(),
            None => {
                let mut matches = in_order(self.set);
                matches.retain(|(key, found)| found.is_after(self.oldest) && !is_event(key));
                matches.extend(self.events());
                matches
            }
        }
    }

    /// The newest CloudEvent of each source and subject, in the order in which they came.
    fn events(&self) -> Vec<(&ObjectKey, &Match)> {
        let items: BTreeSet<_> = self.set.keys().filter(|key| is_event(key)).map(item_of).collect();
        let mut events: Vec<_> = items.iter().filter_map(|item| newest_of(self.set, item)).collect();
        events.retain(|(_, found)| found.is_after(self.oldest));
        events.sort_by_key(|(_, found)| found.order);
        events
    }

    /// What becomes of what the event has led to.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub(crate) fn action(&self) -> Result<Action> {
        let is_event = self.cause.item.as_ref().is_some_and(is_event);
        let Some(template) = self.trigger.cloud_event_action.as_ref().filter(|_| is_event) else {
            return Ok(Action::Create);
        };
        let matches = self.matches();
        let dot = Data::Map(self.variables(&matches, &[]));
        let named = |error: Error| error.within("spec.cloudEventAction");
        match self.template(template, &dot).map_err(named)?.trim() {
            "Create" => Ok(Action::Create),
            "Delete" => Ok(Action::Delete),
            other => Err(named(TextError::from(no_action(other)).into())),
        }
    }

    /// What templates see.
    fn variables<'d>(
        &'d self,
        matches: &[(&'d ObjectKey, &'d Match)],
        versions: &'d [String],
    ) -> Vec<(&'d str, Data<'d>)> {
        let cluster = ("Cluster", Data::Json(&self.cluster.object));
        let objects = matches.iter().zip(versions).filter(|((key, _), _)| !is_event(key));
        let mut references: Vec<_> = objects.map(|((key, _), version)| reference(key, version)).collect();
        let content = |event: bool| {
            let found = matches.iter().filter(move |(key, _)| is_event(key) == event);
            found.filter_map(|(_, found)| found.object.as_deref()).map(Data::Json).collect::<Vec<_>>()
        };
        let (mut objects, mut events) = (content(false), content(true));
        let nothing = || Data::Map(Vec::new());
        if self.cause.item.is_some() {
            // Without the object Sveltos has a nil map: every field of it is an error, also here.
            return vec![
                ("MatchingResource", references.pop().unwrap_or_else(nothing)),
                ("Resource", objects.pop().unwrap_or_else(nothing)),
                ("CloudEvent", events.pop().unwrap_or_else(nothing)),
                cluster,
            ];
        }
        vec![
            ("MatchingResources", Data::List(references)),
            ("Resources", Data::List(objects)),
            ("CloudEvents", Data::List(events)),
            cluster,
        ]
    }

    fn template(&self, text: &str, dot: &Data<'_>) -> Result<String> {
        self.template_in(Language::Go, text, dot)
    }

    pub(crate) fn template_in(&self, language: Language, text: &str, dot: &Data<'_>) -> Result<String> {
        let name = template_name(&self.cluster.id, self.trigger);
        self.templates.render_at(&self.cluster.id, language, (&name, text), dot)
    }

    fn profile_name(&self, dot: &Data<'_>) -> Result<String> {
        let Some(format) = &self.trigger.profile_name_format else {
            return Ok(self.cause.profile_name());
        };
        let name = self.template(format, dot).and_then(object_name);
        name.map_err(|error| error.within("spec.profileNameFormat"))
    }

    fn policy(
        &self,
        item: &PolicyRef,
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<Option<(PolicySource, Option<Projection>)>> {
        let field = |field: &str, text: &str| {
            self.template(text, dot).map_err(|error| error.within(format!("{}.{field}", item.path)))
        };
        let namespace = namespace_or(field("namespace", &item.namespace)?, &self.cluster.id);
        let key: ContentKey = (item.kind.clone(), namespace, field("name", &item.name)?);
        let Some(object) = referenced(self.catalog, item, &key, reads)? else { return Ok(None) };
        let mut source = verbatim(item, &key, object)?;
        source.per_destination = self.trigger.era.renders_on_deploy(object);
        if !self.trigger.era.instantiates(object) {
            return Ok(Some((source, None)));
        }
        source.texts = self
            .instantiate(&item.kind, source.language, &source.texts, dot)
            .map_err(|error| named(item, &key, error))?;
        source.shared = false;
        source.name = names::generated(
            &[&self.cause.identity("content")[..], &[&*key.0, &*key.1, &*key.2, &*item.path]].concat(),
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
    pub(crate) fn instantiate(
        &self,
        kind: &str,
        language: Language,
        texts: &BTreeMap<String, String>,
        dot: &Data<'_>,
    ) -> Result<BTreeMap<String, String>> {
        let one = |(key, text): (&String, &String)| {
            let veil = self.templates.veil();
            let text = match veil.open(text) {
                Some(opened) => veil.close(text, self.template_in(language, &opened, dot)),
                None if kind == "Secret" => {
                    self.template_in(language, text, dot).map_err(|error| error.covered(without_text))
                }
                None => self.template_in(language, text, dot),
            };
            Ok((key.clone(), text.map_err(|error| error.within(format!("data.{key}")))?))
        };
        texts.iter().map(one).collect()
    }

    /// The spec of the generated ClusterProfile: what the trigger says, with the references resolved.
    fn spec(
        &self,
        refs: Vec<Value>,
        resources: &[ResourceRef],
        destination: Option<&ClusterRef>,
    ) -> Map<String, Value> {
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
        let written = spec.get_mut("templateResourceRefs").and_then(Value::as_array_mut);
        for (written, item) in written.into_iter().flatten().zip(resources) {
            written["resource"]["name"] = item.name.clone().into();
            if !item.namespace.is_empty() {
                written["resource"]["namespace"] = item.namespace.clone().into();
            }
        }
        match (&self.trigger.destination_selector, destination) {
            (Some(selector), _) => spec.insert("clusterSelector".into(), selector.to_label_selector()),
            (None, destination) => {
                let id = destination.unwrap_or(&self.cluster.id);
                let reference = match self.catalog.fleet.clusters().get(id) {
                    Some(cluster) => project::cluster_reference(cluster),
                    None => sluice_status_core::reference(id),
                };
                spec.insert("clusterRefs".into(), vec![reference].into())
            }
        };
        spec
    }

    pub(crate) fn labels(&self) -> Map<String, Value> {
        let mut labels = project::cause_labels(self.cause, &self.trigger.name);
        let tenant = self.trigger.account.iter().flat_map(ServiceAccount::labels);
        labels.extend(tenant.map(|(key, value)| (key.to_owned(), value.into())));
        labels
    }
}
