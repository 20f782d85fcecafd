//! Which rows hold what a Secret holds, so that the bus seals them: what has a Secret in it, or was made while one was read.

use sluice_protocol::rows::Cause;

use super::Renderer;

impl Renderer {
    /// Whether a cause is a Secret, or whatever is made of it may hold parts of one: nobody can tell what a template does with
    /// what it reads.
    pub(super) fn uses_secrets(&self, cause: &Cause) -> bool {
        let mut contents = self.renderings.content_read_by(cause);
        let mut resources = self.renderings.resources_read_by(cause);
        contents.any(|(kind, ..)| kind == "Secret")
            || resources.any(|key| key.gvk.is_secret())
            || self.knowledge.is_of_secret(cause)
    }
}
