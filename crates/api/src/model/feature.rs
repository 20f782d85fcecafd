//! The parts of a profile that are told of apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::profile::SpecCommon;
use crate::error::FieldError;
use crate::object;

/// What a profile deploys things with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Feature {
    /// `policyRefs`.
    Resources,
    /// `helmCharts`.
    Helm,
    /// `kustomizationRefs`.
    Kustomize,
}

impl Feature {
    const ALL: [Self; 3] = [Self::Resources, Self::Helm, Self::Kustomize];

    /// As `featureID` has it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Resources => "Resources",
            Self::Helm => "Helm",
            Self::Kustomize => "Kustomize",
        }
    }

    /// The one that `featureID` has.
    pub fn named(title: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.title() == title)
    }

    fn field(self) -> &'static str {
        match self {
            Self::Resources => "policyRefs",
            Self::Helm => "helmCharts",
            Self::Kustomize => "kustomizationRefs",
        }
    }
}

impl SpecCommon {
    /// What it asks for and this version cannot do, by the features that lack it.
    pub fn lacks(&self) -> BTreeMap<Feature, Vec<String>> {
        let mut lacks = BTreeMap::<_, Vec<String>>::new();
        for error in &self.unsupported {
            for feature in self.features_without(error) {
                lacks.entry(feature).or_default().push(format!("{}: {}", error.field, error.reason));
            }
        }
        lacks
    }

    /// The features that a field is about: its own, those that its entries name, or everything that is deployed.
    fn features_without(&self, error: &FieldError) -> BTreeSet<Feature> {
        let field = error.field.strip_prefix("spec.").unwrap_or(&error.field);
        let field = field.split(['.', '[']).next().unwrap_or_default();
        if let Some(own) = Feature::ALL.into_iter().find(|feature| feature.field() == field) {
            return [own].into();
        }
        let entries = self.raw.get(field).and_then(Value::as_array).into_iter().flatten();
        let named = |entry: &Value| Feature::named(object::text(entry, &["featureID"]));
        let named: BTreeSet<_> = entries.filter_map(named).collect();
        if named.is_empty() { self.features() } else { named }
    }

    /// What it deploys things with; one that deploys nothing has nothing in its references.
    fn features(&self) -> BTreeSet<Feature> {
        let has = |feature: &Feature| {
            self.raw.get(feature.field()).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        };
        let features: BTreeSet<_> = Feature::ALL.into_iter().filter(has).collect();
        if features.is_empty() { [Feature::Resources].into() } else { features }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::model::Profile;

    fn lacking(spec: Value) -> Vec<(Feature, usize)> {
        let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
        let lacks = Profile::read(&profile).unwrap().common.lacks();
        lacks.into_iter().map(|(feature, reasons)| (feature, reasons.len())).collect()
    }

    #[test]
    fn what_cannot_be_done_is_lacking_in_its_feature() {
        let chart = json!([{"repositoryURL": "https://x", "chartName": "c", "releaseName": "r", "releaseNamespace": "n",
            "options": {"wait": true, "atomic": true}}]);
        let references = json!([{"kind": "ConfigMap", "name": "c", "namespace": "n"}]);
        assert_eq!(lacking(json!({"kustomizationRefs": [{"name": "x"}]})), [(Feature::Kustomize, 1)]);
        assert_eq!(lacking(json!({"helmCharts": chart, "policyRefs": references})), [(Feature::Helm, 2)]);
        assert_eq!(
            lacking(
                json!({"policyRefs": references, "validateHealths": [{"featureID": "Helm", "name": "x", "metricSource": {"url": "http://p.m.svc", "secretRef": {"namespace": "n", "name": "s"}}}]})
            ),
            [(Feature::Helm, 1)]
        );
        let checks = json!([{"name": "x", "metricSource": {"url": "http://p.m.svc", "secretRef": {"namespace": "n", "name": "s"}}}]);
        assert_eq!(
            lacking(
                json!({"policyRefs": references, "kustomizationRefs": [{"name": "x"}], "preDeployChecks": checks})
            ),
            [(Feature::Resources, 1), (Feature::Kustomize, 2)]
        );
        assert_eq!(lacking(json!({"preDeployChecks": checks})), [(Feature::Resources, 1)]);
        assert!(lacking(json!({"policyRefs": references, "maxUpdate": 1, "dependsOn": ["q"]})).is_empty());
    }
}
