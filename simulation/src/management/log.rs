//! What there was to read of the management cluster, change by change.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_renderer_core::Change;

use super::Management;

impl Management {
    /// The version of every kind at a position: a list says which version of the server it shows.
    pub(crate) fn versions_at(&self, position: usize) -> Vec<(String, u64)> {
        let objects =
            self.log[..position.min(self.log.len())].iter().filter_map(|(_, change)| match change {
                Change::Upsert(object) | Change::Delete(object) => Some(object),
                Change::Listed(..) => None,
            });
        let newest = objects.map(|object| object::resource_version(object)).max().unwrap_or(0);
        sluice_renderer_core::KINDS.iter().map(|kind| ((*kind).to_owned(), newest)).collect()
    }

    /// The objects as somebody sees them who has read the log up to `position`.
    pub(crate) fn at(&self, position: usize) -> Vec<Arc<Value>> {
        let mut objects = Vec::<(Option<ObjectKey>, Arc<Value>)>::new();
        for (_, change) in &self.log[..position.min(self.log.len())] {
            let (Change::Upsert(object) | Change::Delete(object)) = change else { continue };
            let key = ObjectKey::of(object);
            objects.retain(|(known, _)| *known != key);
            if matches!(change, Change::Upsert(_)) {
                objects.push((key, object.clone()));
            }
        }
        objects.into_iter().map(|(_, object)| object).collect()
    }

    /// The last change, for the trace.
    pub(crate) fn last(&self) -> String {
        self.log.last().map(|(_, change)| format!("{change:?}")).unwrap_or_default()
    }
}
