//! From a cause to a rendered profile.

use std::sync::Arc;

use sluice_protocol::rows::{Cause, EventCause};
use sluice_template::{Engine, Limits};

use crate::error::{Error, Result};
use crate::knowledge::Knowledge;
use crate::knowledge::catalog::described;
use crate::knowledge::reads::Reads;
use crate::rendering::chart_outputs::Outputs;
use crate::rendering::content::Manifests;
use crate::rendering::draws::Draws;
use crate::rendering::event::{Action, EventRender};
use crate::rendering::generate::Generated;
use crate::rendering::profile;
use crate::rendering::rendered::Rendered;
use crate::rendering::salt::Salt;
use crate::rendering::templates::{Caches, Templates};
use crate::rendering::veil::Veil;

/// What renders, with what it keeps.
pub(crate) struct Rendering {
    pub(crate) templates: Templates,
    pub(crate) manifests: Manifests,
    pub(crate) outputs: Outputs,
}

// === impl Rendering ===

impl Rendering {
    /// One that may use so much for a render, and draws random values from this on.
    pub(crate) fn new(limits: &Limits, salt: &Salt, caches: &Caches) -> Self {
        Self {
            templates: Templates::new(limits, salt, caches),
            manifests: caches.manifests.clone(),
            outputs: caches.outputs.clone(),
        }
    }

    /// Lets this engine render what is written in Tera.
    pub(crate) fn set_tera(&mut self, engine: Arc<dyn Engine>) {
        self.templates.set_tera(engine);
    }

    /// Lets this open the texts of Secrets, and cover what is made of them.
    pub(crate) fn set_veil(&mut self, veil: Arc<dyn Veil>) {
        self.templates.set_veil(veil);
    }

    /// Templates that draw random values for this cause.
    pub(crate) fn templates_of(&self, knowledge: &Knowledge, cause: &Cause) -> Templates {
        let sharing = knowledge.common(cause).map(|common| common.random).unwrap_or_default();
        self.templates.for_draws(Draws::of(cause, knowledge.account(cause), sharing))
    }

    /// What the generators of a cause make.
    ///
    /// # Errors
    /// The generator, the field, and what is wrong with it.
    pub(crate) fn generate(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        reads: &mut Reads,
    ) -> Result<Vec<Generated>> {
        let Cause::Event(event) = cause else { return Ok(Vec::new()) };
        let generated = self.with_event(knowledge, event, |render| {
            render.action()?;
            render.generate(reads)
        })?;
        generated.iter().try_for_each(|one| check_name(knowledge, cause, one))?;
        Ok(generated)
    }

    // D-0902: profiles of users and of events go through the same code.
    /// The profile that a cause leads to; what was read is noted in `reads` also when it fails.
    ///
    /// # Errors
    /// The field, the reference, or the template's message.
    pub(crate) fn render(&self, knowledge: &Knowledge, cause: &Cause, reads: &mut Reads) -> Result<Rendered> {
        match cause {
            Cause::Profile(id) => match knowledge.catalog.profiles.get(id).map(Arc::as_ref) {
                Some(Ok(profile)) => Ok(profile::render(
                    profile,
                    &knowledge.catalog,
                    &self.templates_of(knowledge, cause),
                    reads,
                )),
                Some(Err(error)) => Err(error.clone().into()),
                None => Err(Error::Gone(id.to_string())),
            },
            Cause::Event(event) => self.with_event(knowledge, event, |render| render.render(reads)),
        }
    }

    /// What becomes of what an event has led to.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub(crate) fn action(&self, knowledge: &Knowledge, event: &Arc<EventCause>) -> Result<Action> {
        self.with_event(knowledge, event, |render| render.action())
    }

    fn with_event<T>(
        &self,
        knowledge: &Knowledge,
        event: &Arc<EventCause>,
        work: impl FnOnce(&EventRender<'_>) -> Result<T>,
    ) -> Result<T> {
        let trigger = knowledge.trigger(&event.trigger);
        let cluster = knowledge.catalog.fleet.clusters().get(&event.cluster);
        let (Some(trigger), Some(cluster)) = (trigger, cluster) else {
            return Err(Error::Gone(format!("{} or {}", event.trigger, event.cluster)));
        };
        let set = knowledge.counted(&event.cluster, &event.source, event.item.as_ref());
        let set = set.ok_or_else(|| Error::NotChosen(event.source.clone()))?;
        let templates = &self.templates_of(knowledge, &Cause::Event(Arc::clone(event)));
        let (catalog, oldest) = (&knowledge.catalog, knowledge.oldest(trigger));
        work(&EventRender { catalog, templates, trigger, cluster, cause: event, set: &set, oldest })
    }
}

/// A tenant's generator takes no name that what is not of that tenant refers to.
fn check_name(knowledge: &Knowledge, cause: &Cause, Generated { path, key, .. }: &Generated) -> Result<()> {
    let Some(account) = knowledge.account(cause) else { return Ok(()) };
    if knowledge.catalog.maker_account(key) == Some(account) {
        return Ok(());
    }
    match knowledge.catalog.other_reader(key, account) {
        None => Ok(()),
        Some(reader) => Err(Error::value(
            format!("{path}: nameFormat: {reader}"),
            format!(
                "refers to {}, and is not of ServiceAccount {account}; make {path}.nameFormat differ",
                described(key)
            ),
        )),
    }
}
