//! By what objects of the management cluster that Sluice has made are known.

use serde_json::Value;
use sluice_api::model::{MADE_OF_EVENTS, OWNER_NAME};
use sluice_api::{ClusterKind, ClusterRef, object};

/// Label of what a generator has made.
pub(crate) const FROM_GENERATOR: &str = "eventtrigger.lib.projectsveltos.io/fromgenerator";
/// The label that names the trigger of what is made.
pub(crate) const TRIGGER_NAME: &str = "eventtrigger.lib.projectsveltos.io/eventtriggername";

/// Label with the name of the EventSource.
pub(crate) const EVENT_SOURCE: &str = "eventtrigger.lib.projectsveltos.io/eventsourcename";

/// The cluster that a generated object was made for, from its labels; `None` when it is not one of ours.
pub fn generated_for(object: &Value) -> Option<ClusterRef> {
    let label = |key: &str| object::label(object, &format!("{MADE_OF_EVENTS}{key}"));
    let kind = if label("clustertype")? == "Capi" { ClusterKind::Capi } else { ClusterKind::Sveltos };
    Some(ClusterRef {
        kind,
        namespace: label("clusterNamespace")?.to_owned(),
        name: label("clustername")?.to_owned(),
    })
}

/// Whether an object of the management cluster was made by a generator: such are known to everybody, as if a user had written
/// them.
pub fn is_generator_output(object: &Value) -> bool {
    object::label(object, FROM_GENERATOR).is_some()
}

/// Whether Sluice has made an object of the management cluster: by a generator, or because a profile deploys it there.
pub(crate) fn is_made(object: &Value) -> bool {
    is_generator_output(object) || object::annotation(object, OWNER_NAME).is_some()
}
