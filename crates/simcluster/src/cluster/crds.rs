//! CustomResourceDefinitions: serving what they define from the moment they are written.

use std::sync::Arc;

use serde_json::{Value, json};

use super::namespaces::builtin;
use super::state::{State, now};
use crate::fields::{Applier, track_update};
use crate::kinds::{ResourceDef, VersionDef, api_version};
use crate::object::{Object, TypePrefix};
use crate::schema::{Structural, from_crd};
use crate::table::Column;

// === impl State ===

impl State {
    /// The resource of CRDs.
    pub(super) fn crds(&self) -> Arc<ResourceDef> {
        builtin("customresourcedefinitions.apiextensions.k8s.io")
    }

    /// Serves the resource that a CRD defines, and says so in its status.
    pub(super) fn serve_crd(&mut self, def: &Arc<ResourceDef>, crd: &Arc<Object>) {
        if let Some(resource) = define(crd) {
            self.restart_collection(&resource.key);
            self.registry_mut().install(resource);
        }
        let status = established(crd);
        if crd.body().get("status") == Some(&status) {
            return;
        }
        let mut body = crd.body().clone();
        body.insert("status".into(), status);
        let version = &def.versions[0];
        let writer = Applier {
            manager: "kube-apiserver",
            api_version: &version.api_version,
            subresource: "status",
            has_status: true,
            time: &now(),
            schema: &version.schema,
        };
        let managers = track_update(Some(crd.body()), &body, crd.managers().to_vec(), &writer);
        self.put(def, body, managers);
    }

    /// Stops serving what a removed CRD defined.
    pub(super) fn unserve_crd(&mut self, crd: &Object) {
        self.registry_mut().remove(crd.name());
        self.end_collection(crd.name());
    }

    /// The objects of the resource that the CRD of this name defines.
    pub(super) fn instances(&self, crd: &str) -> Vec<(Arc<ResourceDef>, Arc<Object>)> {
        let Some(def) = self.registry().get(crd).filter(|def| def.custom) else { return Vec::new() };
        let objects = self.collection(crd).into_iter().flat_map(|collection| collection.iter(""));
        objects.map(|object| (def.clone(), object.clone())).collect()
    }

    /// Whether `object` is a CRD with instances.
    pub(super) fn is_crd_in_use(&self, def: &ResourceDef, object: &Object) -> bool {
        &*def.key == "customresourcedefinitions.apiextensions.k8s.io"
            && self.collection(object.name()).is_some_and(|collection| collection.len() > 0)
    }
}

fn define(crd: &Object) -> Option<ResourceDef> {
    let spec = crd.body().get("spec")?;
    let names = spec.get("names")?;
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(Box::<str>::from);
    let list = |field: &str| -> Vec<Box<str>> {
        let values = names.get(field).and_then(Value::as_array);
        values.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
    };
    let (group, plural, kind) = (text(spec, "group")?, text(names, "plural")?, text(names, "kind")?);
    let mut versions: Vec<VersionDef> = spec
        .get("versions")?
        .as_array()?
        .iter()
        .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true))
        .filter_map(|version| define_version(version, &group, &kind))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_priority(&version.name)));
    Some(ResourceDef {
        key: ResourceDef::key_of(&group, &plural).into(),
        list_kind: text(names, "listKind").unwrap_or_else(|| format!("{kind}List").into()),
        singular: text(names, "singular").unwrap_or_else(|| kind.to_lowercase().into()),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text(spec, "scope").as_deref() == Some("Namespaced"),
        custom: true,
        generation: true,
        versions,
        group,
        kind,
        plural,
    })
}

fn define_version(version: &Value, group: &str, kind: &str) -> Option<VersionDef> {
    let name = version.get("name")?.as_str()?;
    let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let api_version = api_version(group, name);
    Some(VersionDef {
        name: name.into(),
        prefix: TypePrefix::new(&api_version, kind),
        api_version: api_version.into(),
        schema: from_crd(schema),
        structural: schema.cloned().map(Structural::new),
        status: version.get("subresources").is_some_and(|subresources| subresources.get("status").is_some()),
        columns: Column::of_crd(version.get("additionalPrinterColumns")),
    })
}

/// Stable before beta before alpha, higher numbers first, other names last.
fn version_priority(name: &str) -> (u8, u32, u32) {
    let parse = || {
        let rest = name.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u32 = rest[..digits].parse().ok()?;
        let stage = &rest[digits..];
        let minor = |prefix: &str| stage.strip_prefix(prefix)?.parse::<u32>().ok();
        match stage {
            "" => Some((3, major, 0)),
            _ => minor("beta")
                .map(|minor| (2, major, minor))
                .or_else(|| minor("alpha").map(|minor| (1, major, minor))),
        }
    };
    parse().unwrap_or((0, 0, 0))
}

fn established(crd: &Object) -> Value {
    let spec = crd.body().get("spec").cloned().unwrap_or_default();
    let former =
        crd.body().get("status").and_then(|status| status.get("conditions")).and_then(Value::as_array);
    let since = former.and_then(|conditions| conditions.first()?.get("lastTransitionTime").cloned());
    let since = since.unwrap_or_else(|| now().into());
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since});
    let stored: Vec<Value> = spec
        .get("versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|version| version.get("storage").and_then(Value::as_bool) == Some(true))
        .filter_map(|version| version.get("name").cloned())
        .collect();
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": spec.get("names").cloned().unwrap_or_default(),
        "storedVersions": stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut names = ["v1alpha1", "v2", "foo", "v1beta2", "v1", "v1beta1", "v10"];
        names.sort_by_key(|name| std::cmp::Reverse(version_priority(name)));
        assert_eq!(names, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
