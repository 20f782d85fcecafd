//! What some destinations get, before the render for each of them.

use std::collections::BTreeMap;

use sluice_api::ClusterRef;
use sluice_api::model::Deployment;

use crate::knowledge::catalog::{ContentKey, described};
use crate::rendering::language::Language;

/// What some destinations get, before the render for each of them.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) destinations: Vec<ClusterRef>,
    pub(crate) sources: Vec<PolicySource>,
    /// With patches on it.
    pub(crate) patches: Vec<PolicySource>,
    /// With the Jobs of checks, in their order.
    pub(crate) jobs: Vec<PolicySource>,
    /// Values of each chart.
    pub(crate) values: Vec<Vec<PolicySource>>,
}

/// One reference with its text.
#[derive(Clone, Debug)]
pub(crate) struct PolicySource {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The object that a user wrote, where this is what was made of it.
    pub(crate) from: ContentKey,
    pub(crate) tier: i32,
    pub(crate) skip_namespace_creation: bool,
    pub(crate) force: bool,
    pub(crate) deployment: Deployment,
    pub(crate) subresources: Vec<String>,
    pub(crate) texts: BTreeMap<String, String>,
    /// What its texts are written in where they are templates.
    pub(crate) language: Language,
    /// Whether the text is a template over the destination.
    pub(crate) per_destination: bool,
    /// Whether the text is a script that makes the text for the destination.
    pub(crate) lua: bool,
    /// Whether the text is the same for many clusters, so that its objects are worth keeping.
    pub(crate) shared: bool,
}

// === impl Part ===

impl Part {
    /// Everything in it that somebody has written.
    pub(crate) fn all(&self) -> impl Iterator<Item = &PolicySource> {
        let Self { destinations: _, sources, patches, jobs, values } = self;
        sources.iter().chain(patches).chain(jobs).chain(values.iter().flatten())
    }

    /// What goes there.
    pub(crate) fn sources(&self, deployment: Deployment) -> impl Iterator<Item = &PolicySource> {
        self.sources.iter().filter(move |source| source.deployment == deployment)
    }
}

impl PolicySource {
    /// Whether destinations get different texts.
    pub(crate) fn is_per_destination(&self) -> bool {
        self.per_destination || self.lua
    }

    /// What messages call it: the object that its author can edit.
    pub(crate) fn described(&self) -> String {
        let is_made = (&self.namespace, &self.name) != (&self.from.1, &self.from.2);
        format!("{}{}", described(&self.from), if is_made { ", as rendered" } else { "" })
    }
}
