//! A text as one destination gets it: a template, a script, or as it is.

use serde_json::json;
use sluice_api::secrets::{without_message, without_text};
use sluice_script::Script;

use crate::error::{Error, Result};
use crate::rendering::destination::Destination;
use crate::rendering::part::PolicySource;
use crate::rendering::templates::Templates;
use crate::rendering::veil::ReadAs;

/// A text as one destination gets it; a sealed one without its values.
///
/// # Errors
/// The engine's message, with template name, line and column.
pub(crate) fn for_destination(
    source: &PolicySource,
    (read_as, text): (ReadAs, &str),
    destination: Destination<'_>,
    name: &str,
    templates: &Templates,
) -> Result<String> {
    match templates.veil().open(text) {
        None => written(source, text, destination, name, templates)
            .map_err(|error| without_secrets(source, destination, error)),
        Some(opened) => {
            let written = written(source, &opened, destination, name, templates);
            templates.veil().cover(text, read_as, written)
        }
    }
}

/// Why a text cannot be rendered or read, without what is secret in it.
fn without_secrets(source: &PolicySource, destination: Destination<'_>, error: Error) -> Error {
    if source.kind == "Secret" {
        return error.covered(without_text);
    }
    error.covered_if(source.lua && destination.reads_secret(), without_message)
}

fn written(
    source: &PolicySource,
    text: &str,
    destination: Destination<'_>,
    name: &str,
    templates: &Templates,
) -> Result<String> {
    let rendered = if source.per_destination {
        templates.render_for(source.language, name, text, destination)?
    } else {
        text.to_owned()
    };
    if !source.lua {
        return Ok(rendered);
    }
    let script = Script::compile(&rendered)?;
    let mut resources = json!({"Cluster": *destination.cluster.object});
    for (identifier, object) in destination.resources.iter().chain(destination.provider) {
        resources[identifier.as_str()] = (**object).clone();
    }
    let env = templates.env(name, &rendered, Some(&destination.cluster.id));
    Ok(script.generate(&resources, &env, &sluice_script::Limits::default())?)
}
