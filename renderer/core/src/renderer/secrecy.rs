//! Which rows hold what a Secret holds, so that the bus seals them: what has a Secret in it, or was made while one was read.

use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_protocol::rows::Cause;

use super::Renderer;

/// Whether an object is a Secret.
pub(super) fn is_secret(content: &Value) -> bool {
    object::text(content, &["kind"]) == "Secret" && object::text(content, &["apiVersion"]) == "v1"
}

/// Whether a key is that of a Secret.
fn names_secret(key: &ObjectKey) -> bool {
    key.gvk.group.is_empty() && key.gvk.kind == "Secret"
}

impl Renderer {
    /// Whether a cause is a Secret, or whatever is made of it may hold parts of one: nobody can tell what a template does with
    /// what it reads.
    pub(super) fn uses_secrets(&self, cause: &Cause) -> bool {
        let mut contents = self.renderings.content_read_by(cause);
        let mut resources = self.renderings.resources_read_by(cause);
        contents.any(|(kind, ..)| kind == "Secret") || resources.any(names_secret) || self.is_of_secret(cause)
    }

    fn is_of_secret(&self, cause: &Cause) -> bool {
        let Cause::Event(event) = cause else { return false };
        match &event.item {
            Some(item) => names_secret(item),
            None => {
                self.sets.get(&event.cluster, &event.source).is_some_and(|set| set.keys().any(names_secret))
            }
        }
    }
}
