//! What a client sent, checked against the path it was sent to.

use serde_json::Value;

use super::apply::untyped;
use super::state::{Validation, Write};
use crate::admission::typed;
use crate::fields::Manager;
use crate::object::{Json, meta_str, metadata_mut};
use crate::status::ApiError;

/// An object as a client sent it, split into what is stored apart.
#[derive(Debug)]
pub struct Incoming {
    /// The object without `apiVersion`, `kind` and `managedFields`.
    pub body: Json,
    /// What it says about field ownership.
    pub managed: Managed,
    /// Fields that were dropped.
    pub warnings: Vec<String>,
}

/// How an object was sent, which decides how the server complains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// As a whole.
    Body,
    /// As the result of a patch.
    Patch,
    /// As an applied configuration.
    Apply,
}

/// What a client says about field ownership.
#[derive(Debug, PartialEq)]
pub enum Managed {
    /// Nothing: the stored one stays.
    Keep,
    /// An empty list: start again.
    Reset,
    /// This.
    Set(Vec<Manager>),
}

// === impl Incoming ===

impl Incoming {
    /// Checks type, name and namespace of an object against the path.
    pub fn read(value: Value, write: &Write<'_>, source: Source) -> Result<Self, ApiError> {
        let Value::Object(mut body) = value else {
            return Err(ApiError::bad_request("the body of the request is not a JSON object"));
        };
        check_type(&mut body, write)?;
        drop_nulls(&mut body);
        let managed = take_managed(&mut body);
        typed::normalize_quantities(&mut body);
        check_namespace(&mut body, write)?;
        let name = meta_str(&body, "name");
        if !write.name.is_empty() && name != write.name {
            if !name.is_empty() {
                let why = format!(
                    "the name of the object ({name}) does not match the name on the URL ({})",
                    write.name
                );
                return Err(ApiError::bad_request(why));
            }
            metadata_mut(&mut body).insert("name".into(), write.name.into());
        }
        let mut incoming = Self { body, managed, warnings: Vec::new() };
        if source != Source::Apply {
            incoming.check_types(write, source)?;
        }
        Ok(incoming)
    }

    /// Reads a built-in object as its type. An applied configuration may be known already, so that
    /// whoever applies it calls this where it is not.
    pub fn check_types(&mut self, write: &Write<'_>, source: Source) -> Result<(), ApiError> {
        if !write.endpoint.def.custom {
            self.warnings = check_types(&mut self.body, write, source)?;
        }
        Ok(())
    }

    /// The resourceVersion that the write was made for; empty when it does not care.
    pub fn resource_version(&self) -> &str {
        meta_str(&self.body, "resourceVersion")
    }
}

fn check_type(body: &mut Json, write: &Write<'_>) -> Result<(), ApiError> {
    let (def, wanted) = (&write.endpoint.def, write.endpoint.api_version());
    let found =
        |body: &mut Json, field: &str| body.remove(field).and_then(|value| value.as_str().map(str::to_owned));
    let (api_version, kind) = (found(body, "apiVersion"), found(body, "kind"));
    // The real server fills in both for built-in kinds only, whose decoder knows the type.
    if def.custom && (api_version.is_none() || kind.is_none()) {
        return Err(ApiError::bad_request(
            "the object provided is unrecognized (must be of type apiVersion and kind)",
        ));
    }
    let api_version = api_version.filter(|text| !text.is_empty()).unwrap_or_else(|| wanted.to_owned());
    let kind = kind.filter(|text| !text.is_empty()).unwrap_or_else(|| def.kind.to_string());
    if api_version != wanted || kind != *def.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{api_version}\" cannot be handled as a {}: expected {} in version \"{wanted}\"",
            def.kind, def.kind
        )));
    }
    Ok(())
}

/// Reads a built-in object as its type: wrong types are refused, unknown fields are dropped.
fn check_types(body: &mut Json, write: &Write<'_>, source: Source) -> Result<Vec<String>, ApiError> {
    let (def, version) = (&write.endpoint.def, &write.endpoint.version().name);
    let refuse = |why: String| match source {
        Source::Body => {
            let kind = &def.kind;
            ApiError::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
            ))
        }
        Source::Patch => {
            ApiError::new(422, "Invalid", format!(" \"\" is invalid: patch: Invalid value: {why}"))
        }
        Source::Apply => untyped(&why, write),
    };
    let mut unknown = typed::unknown_fields(&def.kind, body).map_err(refuse)?;
    unknown.sort_unstable();
    if let Some(first) = unknown.first().filter(|_| source == Source::Apply) {
        return Err(refuse(format!(".{first}: field not declared in schema")));
    }
    unknown.iter().for_each(|path| typed::remove(body, path));
    let warnings: Vec<String> = unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match write.options.validation {
        Validation::Strict if !warnings.is_empty() => {
            Err(refuse(format!("strict decoding error: {}", warnings.join(", "))))
        }
        Validation::Ignore => Ok(Vec::new()),
        Validation::Strict | Validation::Warn => Ok(warnings),
    }
}

fn check_namespace(body: &mut Json, write: &Write<'_>) -> Result<(), ApiError> {
    let metadata = metadata_mut(body);
    if !write.endpoint.def.namespaced {
        metadata.remove("namespace");
        return Ok(());
    }
    match metadata.get("namespace").and_then(Value::as_str) {
        Some(found) if !found.is_empty() && found != write.namespace => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => {
            metadata.insert("namespace".into(), write.namespace.into());
            Ok(())
        }
    }
}

fn take_managed(body: &mut Json) -> Managed {
    let Some(managed) = metadata_mut(body).remove("managedFields") else { return Managed::Keep };
    let empty = |entry: &Value| entry.as_object().is_some_and(Json::is_empty);
    match managed.as_array() {
        Some(entries) if entries.iter().all(empty) => Managed::Reset,
        _ => Manager::list_from_json(&managed).map_or(Managed::Keep, Managed::Set),
    }
}

/// A null is the same as nothing, as it is for the typed decoder of the real server.
fn drop_nulls(map: &mut Json) {
    map.retain(|_, value| !value.is_null());
    map.values_mut().for_each(drop_nulls_within);
}

fn drop_nulls_within(value: &mut Value) {
    match value {
        Value::Object(map) => drop_nulls(map),
        Value::Array(items) => items.iter_mut().for_each(drop_nulls_within),
        _ => {}
    }
}
