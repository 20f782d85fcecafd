//! Problems that are open, so that their end can be told once.

use std::collections::BTreeSet;

use sluice_api::ObjectKey;
use sluice_protocol::{Problem, Step};

use crate::matcher::{Effect, STAGE};
use crate::program::Program;

/// Whether a source can have to do with objects of this kind; one that cannot be compiled may.
pub(crate) fn watches(program: &Result<Program, String>, key: &ObjectKey) -> bool {
    program.as_ref().map_or(true, |program| program.watches(&key.gvk))
}

/// Opens or closes a problem.
pub(crate) fn note_problem(
    failing: &mut BTreeSet<(String, String)>,
    cluster: &str,
    object: String,
    error: Option<String>,
    step: &mut Step<Effect>,
) {
    let key = (cluster.to_owned(), object);
    match error {
        Some(error) => {
            step.effect(Effect::Problem(Problem::open(STAGE, &key.0, &key.1, error)));
            failing.insert(key);
        }
        None if failing.remove(&key) => {
            step.effect(Effect::Problem(Problem::resolved(STAGE, &key.0, &key.1)))
        }
        None => {}
    }
}

/// Closes every problem of an EventSource that is no longer live on this cluster.
pub(crate) fn heal_source(
    failing: &mut BTreeSet<(String, String)>,
    cluster: &str,
    source: &str,
    step: &mut Step<Effect>,
) {
    let whole = format!("EventSource {source}");
    let of_it = |object: &str| {
        object.strip_prefix(&whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    };
    let open: Vec<_> =
        failing.iter().filter(|(at, object)| at == cluster && of_it(object)).cloned().collect();
    for (_, object) in open {
        note_problem(failing, cluster, object, None, step);
    }
}
