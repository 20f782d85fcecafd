//! What charts have rendered to.

use serde_json::Value;

use crate::error::{Error, Result};

/// What a chart renders to, as text: it is kept for as long as it is deployed.
#[derive(Debug)]
pub(crate) struct ChartOutput {
    /// Those of `crds/`, and those of the templates.
    pub(crate) objects: Result<[Box<str>; 2]>,
    /// What is in `crds/` and defines no kind.
    pub(crate) no_crds: Vec<String>,
    pub(crate) hooks: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Digest of the values.
    pub(crate) values: String,
    pub(crate) has_drawn: bool,
}

// === impl ChartOutput ===

impl ChartOutput {
    /// The definitions of `crds/`, after them the objects of the templates in the order of installation, and how many are
    /// definitions of `crds/`.
    ///
    /// # Errors
    /// Why it could not be rendered.
    pub(crate) fn objects(&self) -> Result<(Vec<Value>, usize)> {
        let [crds, objects] = self.objects.as_ref().map_err(Error::clone)?;
        let read = |text: &str| {
            serde_json::from_str::<Vec<Value>>(text).map_err(|error| Error::Json(error.to_string()))
        };
        let (mut all, objects) = (read(crds)?, read(objects)?);
        let crds = all.len();
        all.extend(objects);
        Ok((all, crds))
    }

    /// What is in `crds/` and defines no kind, by kind and name; the first ten.
    pub(crate) fn no_crds(&self) -> &[String] {
        &self.no_crds
    }

    /// Whether there is anything random in it.
    pub(crate) fn has_drawn(&self) -> bool {
        self.has_drawn
    }

    /// Digest of the values that it was rendered with.
    pub(crate) fn values(&self) -> &str {
        &self.values
    }

    /// What Helm warns of, each once, at most ten.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What would be run before or after, as `<kind> <name>`.
    pub(crate) fn hooks(&self) -> &[String] {
        &self.hooks
    }
}
