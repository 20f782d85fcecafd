//! Patches on what a destination gets: `patches`, and after them what `patchesFrom` names.

use std::borrow::Cow;

use serde_json::Value;
use sluice_api::model::{PatchContent, SpecCommon};
use sluice_api::patch::{Patch, Rule, Target};
use sluice_api::secrets::without_text;
use sluice_api::{TextError, object};

use crate::error::{Error, Result};
use crate::rendering::destination::Destination;
use crate::rendering::language::Language;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::templates::Templates;
use crate::rendering::text::for_destination;
use crate::rendering::veil::ReadAs;

/// A patch as one destination gets it.
pub(crate) struct Change<'a> {
    /// Where it is written, for messages.
    place: String,
    patch: Cow<'a, Patch>,
    target: Option<Cow<'a, Target>>,
}

/// Whether all destinations get the same.
pub(crate) fn same_everywhere(common: &SpecCommon, part: &Part) -> bool {
    common.patches.iter().all(|spec| matches!(spec.content, PatchContent::Ready(_)))
        && part.patches.iter().all(|source| !source.is_per_destination())
}

/// All patches as one destination gets them.
///
/// # Errors
/// The patch and what is wrong in it.
pub(crate) fn for_cluster<'a>(
    common: &'a SpecCommon,
    part: &Part,
    destination: Destination<'_>,
    name: &str,
    templates: &Templates,
) -> Result<Vec<Change<'a>>> {
    let mut changes = Vec::with_capacity(common.patches.len());
    for spec in &common.patches {
        let patch = match &spec.content {
            PatchContent::Ready(patch) => Cow::Borrowed(patch),
            PatchContent::Template(text) => {
                let rendered = templates.render_for(Language::Go, name, text, destination);
                let patch = rendered.and_then(|text| Ok(Patch::parse(&text)?));
                Cow::Owned(patch.map_err(|error| error.within(format!("{}.patch", spec.path)))?)
            }
        };
        changes.push(Change {
            place: spec.path.clone(),
            patch,
            target: spec.target.as_ref().map(Cow::Borrowed),
        });
    }
    for source in &part.patches {
        for (key, text) in &source.texts {
            let place = format!("spec.patchesFrom: {}: data.{key}", source.described());
            let text = for_destination(source, (ReadAs::Patches, text), destination, name, templates);
            let rules = text.and_then(|text| Rule::read_all(&text).map_err(|error| of_source(source, error)));
            let rules = rules.map_err(|error| error.within(&place))?;
            changes.extend(rules.into_iter().map(|Rule { patch, target }| Change {
                place: place.clone(),
                patch: Cow::Owned(patch),
                target: target.map(Cow::Owned),
            }));
        }
    }
    Ok(changes)
}

fn of_source(source: &PolicySource, error: TextError) -> Error {
    Error::from(error).covered_if(source.kind == "Secret", without_text)
}

/// The objects with all of it, in order; those that a patch deletes are left out.
///
/// # Errors
/// The patch, the object, and why it does not apply.
pub(crate) fn apply(changes: &[Change<'_>], objects: Vec<Value>) -> Result<Vec<Value>> {
    if changes.is_empty() {
        return Ok(objects);
    }
    let patched = objects.into_iter().map(|object| patched(changes, object));
    patched.filter_map(Result::transpose).collect()
}

fn patched(changes: &[Change<'_>], mut object: Value) -> Result<Option<Value>> {
    for change in changes.iter() {
        if !change.patch.is_for(change.target.as_deref(), &object) {
            continue;
        }
        let patched = change.patch.apply(&object);
        let named =
            |error: TextError| Error::from(error).within(object::describe(&object)).within(&change.place);
        match patched.map_err(named)? {
            Some(patched) => object = patched,
            None => return Ok(None),
        }
    }
    Ok(Some(object))
}
