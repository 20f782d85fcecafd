//! What a renderer makes, with answers to all that it asks for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Interest;
use sluice_protocol::{Body, Core as _, Problem, Publish, Row, Sequence, Step, Subject};
use sluice_renderer_core as renderer;

use crate::packed::Packed;
use crate::pipeline::Rows;
use crate::resources::Resources;
use crate::sources::{Repositories, Sources};

/// What a renderer may ask for.
pub(crate) struct Known {
    pub(crate) resources: Resources,
    pub(crate) sources: Sources,
    pub(crate) repositories: Arc<dyn Repositories>,
}

/// Keeps the newest of each row.
pub(crate) fn store(rows: &mut Rows, publishes: Vec<Publish>) {
    for publish in publishes {
        let (key, head) = (publish.subject.to_string(), publish.head());
        match publish.body {
            Body::Value(body) => {
                drop(rows.insert(key, Row { subject: publish.subject, head, body, sequence: Sequence::NONE }))
            }
            Body::Tombstone => drop(rows.remove(&key)),
        }
    }
}

/// Renders what follows from these reports.
pub(crate) fn render(
    renderer: &mut renderer::Renderer,
    rows: Rows,
    now: i64,
    known: &Known,
    rendering: &mut Rendering,
) {
    let (complete, reports): (Vec<_>, Vec<_>) =
        rows.into_values().partition(|row| matches!(row.subject, Subject::Complete { .. }));
    // Each row's effects are packed before the next one's are made.
    for row in reports.into_iter().chain(complete) {
        let mut step = Step::at(now);
        renderer.row(&row, &mut step);
        rendering.take(renderer, step, known);
    }
    let mut step = Step::at(now);
    renderer.caught_up(Sequence::END, &mut step);
    rendering.take(renderer, step, known);
    // Late enough for everything that waits for more to come.
    let mut step = Step::at(now + 10_000_000);
    renderer.tick(&mut step);
    rendering.take(renderer, step, known);
}

/// What a renderer has made so far.
#[derive(Default)]
pub(crate) struct Rendering {
    pub(crate) desired: Rows,
    pub(crate) management: BTreeMap<ObjectKey, Option<Packed>>,
    pub(crate) interests: BTreeMap<ClusterRef, Interest>,
    pub(crate) problems: Vec<Problem>,
}

// === impl Rendering ===

impl Rendering {
    /// Takes what a step has led to, and answers what it asks for, and what that leads to.
    pub(crate) fn take(
        &mut self,
        renderer: &mut renderer::Renderer,
        step: Step<renderer::Effect>,
        known: &Known,
    ) {
        let mut steps = VecDeque::from([step]);
        while let Some(step) = steps.pop_front() {
            let now = step.now;
            let (publishes, effects, _) = step.into_parts();
            store(&mut self.desired, publishes);
            for effect in effects {
                match effect {
                    renderer::Effect::Project(projection) => {
                        let object = projection.object.as_ref().map(Packed::of);
                        drop(self.management.insert(projection.key, object));
                    }
                    renderer::Effect::Problem(problem) => self.problems.push(problem),
                    renderer::Effect::WriteInterest(cluster, row) => {
                        drop(self.interests.insert(cluster, row));
                    }
                    renderer::Effect::Watch(key) => {
                        let mut step = Step::at(now);
                        let resource = known.resources.find(&key);
                        renderer.external(renderer::ExternalInput::Resource(key, resource), &mut step);
                        steps.push_back(step);
                    }
                    renderer::Effect::Fetch(request) => {
                        let mut step = Step::at(now);
                        let beside = known.sources.find(&request);
                        let state = beside.unwrap_or_else(|| known.repositories.fetch(&request));
                        renderer.external(renderer::ExternalInput::Chart(request, state), &mut step);
                        steps.push_back(step);
                    }
                    renderer::Effect::Ask(question, asked) => {
                        let mut step = Step::at(now);
                        let granted =
                            renderer::ExternalInput::Right(question, renderer::Right::Granted, asked);
                        renderer.external(granted, &mut step);
                        steps.push_back(step);
                    }
                    _ => {}
                }
            }
        }
    }
}
