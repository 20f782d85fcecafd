//! Generators: ConfigMaps and Secrets that a trigger makes of templates in the management cluster, before its profile.

use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_api::model::{Generator, NAMESPACE, is_sluices_own};
use sluice_api::object;
use sluice_protocol::rows::Cause;
use sluice_template::Data;

use crate::error::{Error, Result};
use crate::knowledge::catalog::ContentKey;
use crate::knowledge::catalog::described;
use crate::knowledge::labels;
use crate::knowledge::reads::Reads;
use crate::rendering::content;
use crate::rendering::event::EventRender;
use crate::rendering::language::Language;
use crate::rendering::project;
use crate::rendering::projection::Projection;
use crate::rendering::references::{missing, namespace_or, object_name};

/// What a generator makes.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
    /// The generator's place in the trigger.
    pub(crate) path: String,
    pub(crate) key: ContentKey,
    pub(crate) projection: Projection,
}

// === impl EventRender ===

impl EventRender<'_> {
    /// What the trigger's generators make of the event.
    ///
    /// # Errors
    /// The generator, the field, and what is wrong with it.
    pub(crate) fn generate(&self, reads: &mut Reads) -> Result<Vec<Generated>> {
        let mut made = Vec::<Generated>::new();
        if self.trigger.generators.is_empty() {
            return Ok(made);
        }
        self.with_scene(reads, |scene, reads| {
            for generator in &self.trigger.generators {
                let one = self.generate_one(generator, &scene.dot, reads);
                let Some(one) = one.map_err(|error| error.within(&generator.path))? else {
                    continue;
                };
                if made.iter().any(|other| other.key == one.key) {
                    return Err(taken(generator, &one.key, "another generator of this trigger"));
                }
                made.push(one);
            }
            Ok(made)
        })
    }

    fn generate_one(
        &self,
        generator: &Generator,
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<Option<Generated>> {
        let field = |field: &str, text: &str| {
            self.template_in(Language::Go, text, dot).map_err(|error| error.within(field))
        };
        let namespace = namespace_or(field("namespace", &generator.namespace)?, &self.cluster.id);
        let from: ContentKey = (generator.kind.to_owned(), namespace, field("name", &generator.name)?);
        let Some(source) = reads.content(self.catalog, &from)? else {
            let excused = generator.optional || reads.is_unknown();
            return if excused { Ok(None) } else { Err(missing(&described(&from))) };
        };
        let name = object_name(field("nameFormat", &generator.name_format)?);
        let name = name.map_err(|error| error.within("nameFormat"))?;
        let key: ContentKey = (generator.kind.to_owned(), NAMESPACE.to_owned(), name);
        // Also where nothing is there yet: keys of the bus would be whatever a template says.
        if is_sluices_own(&key.0, &key.1, &key.2) {
            return Err(taken(generator, &key, "Sluice itself"));
        }
        let instantiated = Language::of(source).and_then(|language| {
            let texts = content::texts(source)?;
            self.instantiate(generator.kind, language, &texts, dot)
        });
        let texts = instantiated.map_err(|error| error.within(described(&from)))?;
        let labels = self.generated_labels(&from);
        reads.insert(key.clone());
        if let Some(other) = self.maker_of(&key, &labels) {
            return Err(taken(generator, &key, &other));
        }
        let annotations = object::at(source, &["metadata", "annotations"]).cloned();
        let data = content::data(generator.kind, &texts);
        let projection = project::content(generator.kind, &key.2, data, annotations, labels);
        Ok(Some(Generated { path: generator.path.clone(), key, projection }))
    }

    /// The labels of what a generator makes. They do not name the EventSource, and say where it comes from.
    fn generated_labels(&self, from: &ContentKey) -> Map<String, Value> {
        let mut labels = self.labels();
        labels.remove(labels::EVENT_SOURCE);
        project::label(&mut labels, "refnamespace", &from.1);
        project::label(&mut labels, "refname", &from.2);
        labels.insert(labels::FROM_GENERATOR.into(), "ok".into());
        labels
    }

    /// Who else has made what is there under this name: nothing of others is written over.
    fn maker_of(&self, key: &ContentKey, labels: &Map<String, Value>) -> Option<String> {
        if let Some(cause) = self.catalog.generator_of(key) {
            let own = matches!(cause, Cause::Event(event) if **event == *self.cause);
            return (!own).then(|| cause.to_string());
        }
        let there = self.catalog.written(key)?;
        let same = labels.iter().all(|(label, value)| object::label(there, label) == value.as_str());
        (!same).then(|| "somebody else".to_owned())
    }
}

impl Generated {
    /// The object as those read it who do not wait until it is written.
    pub(crate) fn object(&self) -> Option<(ContentKey, Arc<Value>)> {
        Some((self.key.clone(), Arc::new(self.projection.object.clone()?)))
    }
}

fn taken(generator: &Generator, key: &ContentKey, by: &str) -> Error {
    let remedy = format!("make {}.nameFormat differ", generator.path);
    Error::Taken { object: described(key), by: by.to_owned(), remedy }.within("nameFormat")
}
