//! What the server adds to objects and refuses in them before they are stored.

mod defaults;
mod empty;
mod immutable;
mod names;
mod required;
pub mod typed;

use serde_json::Value;

use crate::cluster::{Validation, Write};
use crate::kinds::ResourceDef;
use crate::object::{Json, meta_str};
use crate::status::{ApiError, Cause};

pub use defaults::allocate;

/// Prunes, defaults and validates an object; returns warnings about dropped fields.
pub fn complete(body: &mut Json, live: Option<&Json>, write: &Write<'_>) -> Result<Vec<String>, ApiError> {
    let version = write.endpoint.version();
    empty::drop_empty(body, &write.endpoint.def, write.endpoint.schema());
    let warnings = prune_config(body, write)?;
    let name = meta_str(body, "name").to_owned();
    match &version.structural {
        Some(structural) => structural.default(body),
        None => defaults::fill(body, &write.endpoint.def.kind),
    }
    let mut causes = names::check(body, &write.endpoint.def);
    if let Some(structural) = &version.structural {
        causes.extend(if write.is_status() {
            structural.validate_status(body)
        } else {
            structural.validate(body)
        });
    }
    causes.extend(required::check(body, &write.endpoint.def.kind));
    causes.extend(immutable::check(body, live, &write.endpoint.def));
    causes.extend(check_load_balancer(body, &write.endpoint.def));
    if causes.is_empty() { Ok(warnings) } else { Err(ApiError::invalid(&write.endpoint.def, &name, &causes)) }
}

/// Drops what the schema of a custom resource does not know, or refuses it when asked to.
pub fn prune_config(body: &mut Json, write: &Write<'_>) -> Result<Vec<String>, ApiError> {
    let Some(structural) = &write.endpoint.version().structural else { return Ok(Vec::new()) };
    let unknown: Vec<String> =
        structural.prune(body).into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match write.options.validation {
        Validation::Strict if !unknown.is_empty() => {
            let def = &write.endpoint.def;
            let (kind, version) = (&def.kind, &write.endpoint.version().name);
            let message = format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {}",
                unknown.join(", ")
            );
            Err(ApiError::bad_request(message))
        }
        Validation::Ignore => Ok(Vec::new()),
        Validation::Strict | Validation::Warn => Ok(unknown),
    }
}

/// Only a Service of type LoadBalancer has the address of a load balancer.
fn check_load_balancer(body: &Json, def: &ResourceDef) -> Option<Cause> {
    let ingress = body.get("status")?.get("loadBalancer")?.get("ingress")?;
    let kind = body.get("spec").and_then(|spec| spec.get("type")).and_then(Value::as_str);
    let wrong = &*def.key == "services"
        && kind != Some("LoadBalancer")
        && ingress.as_array().is_some_and(|list| !list.is_empty());
    wrong.then(|| Cause {
        reason: "FieldValueForbidden",
        message: "Forbidden: may only be used when `spec.type` is 'LoadBalancer'".into(),
        field: "status.loadBalancer.ingress".into(),
    })
}
