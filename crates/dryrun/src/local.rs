//! What is deployed to the management cluster is there like everything else: it may be a trigger, or content. So it is built again
//! with what came of it, until nothing new does.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::{MANAGEMENT, ObjectKey, object};

use crate::because::FIELD;
use crate::input::Input;
use crate::output::Made;

/// What leads to itself may never settle.
const ROUNDS: usize = 10;

/// Objects by what they are.
type Objects = BTreeMap<ObjectKey, Value>;

/// Whether something asks for it.
pub(crate) fn is_in(input: &Input) -> bool {
    let is_local = |item: &Value| object::text(item, &["deploymentType"]) == "Local";
    let refs =
        |object: &Value| object::at(object, &["spec", "policyRefs"]).and_then(Value::as_array).cloned();
    input.management.iter().filter_map(refs).flatten().any(|item| is_local(&item))
}

/// Builds again and again, with what the management cluster has come to hold.
pub(crate) fn settle(input: &Input, build: impl Fn(&Input) -> Made) -> Made {
    let (mut there, mut made) = (Objects::new(), build(input));
    for _ in 0..ROUNDS {
        let deployed = deployed(&made);
        if deployed == there {
            return made;
        }
        there = deployed;
        made = build(&Input { management: over(&input.management, &there), ..input.clone() });
    }
    let error = format!(
        "what is deployed there still changes after {ROUNDS} rounds; let nothing read its own output"
    );
    let problem = json!({"stage": "build", "cluster": MANAGEMENT, "object": MANAGEMENT, "error": error});
    made.problems.push(problem);
    made
}

fn deployed(made: &Made) -> Objects {
    let values = made.clusters.get(MANAGEMENT).into_iter().flatten().map(|object| {
        let mut value = object.value();
        value.as_object_mut().into_iter().for_each(|fields| drop(fields.remove(FIELD)));
        value
    });
    values.filter_map(|value| Some((ObjectKey::of(&value)?, value))).collect()
}

fn over(written: &[Value], deployed: &Objects) -> Vec<Value> {
    let is_kept = |object: &&Value| ObjectKey::of(object).is_none_or(|key| !deployed.contains_key(&key));
    written.iter().filter(is_kept).chain(deployed.values()).cloned().collect()
}
