//! Patches other than apply: the stored object is changed as JSON and then replaced.

use serde_json::Value;

use super::incoming::{Incoming, Source};
use super::state::{State, Write, Written};
use super::update::{Ownership, check_identity};
use crate::patch;
use crate::status::ApiError;

/// The format of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Merge with directives, and lists by key.
    Strategic,
    /// Server-side apply.
    Apply,
}

// === impl State ===

impl State {
    /// Applies a patch of any format.
    pub fn patch(&mut self, kind: PatchKind, patch: Value, write: &Write<'_>) -> Result<Written, ApiError> {
        if kind == PatchKind::Apply {
            return self.apply(patch, write);
        }
        let endpoint = write.endpoint;
        let def = &endpoint.def;
        let live = self
            .find(def, write.namespace, write.name)
            .cloned()
            .ok_or_else(|| ApiError::not_found(def, write.name))?;
        let current = live.to_value(endpoint.api_version(), &def.kind);
        let patched = match kind {
            PatchKind::Json => patch::json::apply(current, &patch).map_err(|why| {
                ApiError::new(
                    422,
                    "Invalid",
                    format!("the server rejected our request due to an error in our request: {why}"),
                )
            }),
            PatchKind::Strategic if def.custom => {
                let found = "application/strategic-merge-patch+json, which custom resources do not support";
                Err(ApiError::unsupported_media_type(found))
            }
            PatchKind::Strategic => patch::strategic::apply(current, &patch, endpoint.schema())
                .map_err(|why| ApiError::bad_request(format!("invalid strategic merge patch: {why}"))),
            PatchKind::Merge | PatchKind::Apply => Ok(patch::merge::apply(current, &patch)),
        }?;
        let incoming = Incoming::read(patched, write, Source::Patch)?;
        check_identity(&incoming.body, &live, def)?;
        let mut written = self.replace(&live, incoming.body, Ownership::Tracked(incoming.managed), write)?;
        written.warnings.extend(incoming.warnings);
        Ok(written)
    }
}
