//! References to ConfigMaps and Secrets, and what is said of them.

use std::fmt::Display;

use serde_json::Value;
use sluice_api::model::{LUA, PolicyRef, SUBRESOURCES, TEMPLATE};
use sluice_api::{ClusterRef, names, object};

use crate::error::{Error, Result};
use crate::knowledge::catalog::{Catalog, ContentKey, described};
use crate::knowledge::reads::Reads;
use crate::rendering::content;
use crate::rendering::language::Language;
use crate::rendering::part::PolicySource;

/// A referenced object; `None` when it is missing and may be.
///
/// # Errors
/// When it is missing and must not be.
pub(crate) fn referenced<'w>(
    catalog: &'w Catalog,
    item: &PolicyRef,
    key: &ContentKey,
    reads: &mut Reads,
) -> Result<Option<&'w Value>> {
    match reads.content(catalog, key).map_err(|error| error.within(&item.path))? {
        Some(object) => Ok(Some(object)),
        None if item.optional || reads.is_unknown() => Ok(None),
        None => Err(missing(&described(key)).within(&item.path)),
    }
}

/// The text of a referenced object as it is.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn verbatim(item: &PolicyRef, key: &ContentKey, referenced: &Value) -> Result<PolicySource> {
    let texts = content::texts(referenced).map_err(|error| named(item, key, error))?;
    Ok(PolicySource {
        kind: key.0.clone(),
        namespace: key.1.clone(),
        name: key.2.clone(),
        from: key.clone(),
        tier: item.tier,
        skip_namespace_creation: item.skip_namespace_creation,
        force: item.force,
        deployment: item.deployment,
        subresources: subresources(referenced).map_err(|error| named(item, key, error))?,
        texts,
        language: Language::of(referenced).map_err(|error| named(item, key, error))?,
        per_destination: object::annotation(referenced, TEMPLATE).is_some(),
        lua: object::annotation(referenced, LUA).is_some(),
        shared: true,
    })
}

/// The subresources that an object of the management cluster names.
///
/// # Errors
/// How to write them.
fn subresources(object: &Value) -> Result<Vec<String>> {
    let text = object::annotation(object, SUBRESOURCES).unwrap_or_default();
    let all: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    match all.iter().find(|name| !name.bytes().all(|byte| byte.is_ascii_lowercase())) {
        Some(name) => Err(Error::value(
            format!("annotation {SUBRESOURCES}: {name:?}"),
            "is no name of a subresource; write names such as status, separated by commas",
        )),
        None => Ok(all),
    }
}

/// An error about a referenced object.
pub(crate) fn named(item: &PolicyRef, key: &ContentKey, error: Error) -> Error {
    error.within(described(key)).within(&item.path)
}

/// What is said of an object that is missing and must not be.
pub(crate) fn missing(object: &dyn Display) -> Error {
    Error::Absent { object: object.to_string(), or: ", or set optional: true".to_owned() }
}

/// A rendered name, when an object may have it.
///
/// # Errors
/// How to write it.
pub(crate) fn object_name(name: String) -> Result<String> {
    if names::is_object_name(&name) {
        return Ok(name);
    }
    Err(Error::value(format!("{name:?}"), "is not a name; use lower-case letters, digits, '-' and '.'"))
}

/// The namespace that a reference without one means: the cluster's.
pub(crate) fn namespace_or(text: String, cluster: &ClusterRef) -> String {
    if text.is_empty() { cluster.namespace.clone() } else { text }
}
