//! What is wrong with a manifest whatever its events are: templates and scripts that do not compile. It is found when the manifest
//! changes, not with the first event, and `sluice check` says the same.

// D-0924: a manifest is checked when it changes.

use serde_json::Value;
use sluice_api::model::{self, EventSource, Sees, Templated, Trigger};
use sluice_api::{FieldError, object};
use sluice_script::Script;
use sluice_script::cel::Rule;
use sluice_template::{Options, Program, Stage};

use crate::error::Error;

/// The field, and why its template can never be rendered, of each such template of a trigger or profile.
pub fn broken_templates(manifest: &Value) -> Vec<(String, String)> {
    broken_of(model::templates(manifest)).map(|(field, error)| (field, error.to_string())).collect()
}

fn broken_of(templates: Vec<Templated<'_>>) -> impl Iterator<Item = (String, Error)> {
    let broken = |one: Templated<'_>| {
        let error = broken(&one.path, one.text, one.sees)?;
        Some((one.path, error))
    };
    templates.into_iter().filter_map(broken)
}

/// What is said of a trigger with templates that can never be rendered.
pub(crate) fn broken_trigger(trigger: &Trigger) -> Option<Error> {
    let broken = broken_of(model::templates_of(&trigger.kind, &trigger.common.raw));
    let errors: Vec<_> = broken.map(|(field, error)| error.within(field)).collect();
    (!errors.is_empty()).then_some(Error::Several(errors))
}

/// Whether the name of the EventSource can never be rendered, on whichever cluster.
pub(crate) fn has_broken_source_name(trigger: &Trigger) -> bool {
    broken("spec.eventSourceName", &trigger.event_source, Sees::Source).is_some()
}

/// Why the template of a field can never be rendered.
fn broken(field: &str, text: &str, sees: Sees) -> Option<Error> {
    let stage = match sees {
        Sees::Source | Sees::Event => Stage::Event,
        Sees::Destination => Stage::Deploy,
    };
    let options = Options { stage, ..Options::default() };
    let error = Program::compile(field, text, &options).err()?;
    Some(Error::from(error).explained("correct the template"))
}

/// Why an EventSource can never judge anything: its first field that is wrong.
///
/// # Errors
/// The object, the field and the reason.
pub fn check_source(manifest: &Value) -> Result<(), FieldError> {
    let source = EventSource::read(manifest)?;
    for selector in &source.selectors {
        for rule in &selector.rules {
            if let Err(error) = Rule::compile(&rule.rule) {
                let reason = format!("{error}; correct the rule");
                return Err(FieldError::new(object::describe(manifest), &rule.path, reason));
            }
        }
        if let Some(Err(error)) = selector.evaluate.as_ref().map(|text| Script::compile(text)) {
            let reason = format!("{error}; correct the script");
            return Err(FieldError::new(object::describe(manifest), &selector.evaluate_path, reason));
        }
    }
    if let Some(Err(error)) = source.aggregate.as_ref().map(|text| Script::compile(text)) {
        let (field, reason) =
            (format!("spec.{}", EventSource::AGGREGATE), format!("{error}; correct the script"));
        return Err(FieldError::new(object::describe(manifest), &field, reason));
    }
    Ok(())
}
