//! Tera in this process: for templates that are trusted, as those of tests are.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use sluice_template::{Engine, Request, TextError};

use crate::job::{Job, encode};
use crate::render::Renderer;

/// Renders without a worker: output and function calls are bounded, time and memory are not.
pub struct InProcess(Mutex<Renderer>);

// === impl InProcess ===

impl Default for InProcess {
    fn default() -> Self {
        Self(Mutex::new(Renderer::new()))
    }
}

impl Engine for InProcess {
    fn render(&self, request: &Request<'_>) -> Result<String, TextError> {
        let job = Job::decode(&encode(request)?)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).render(job)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}
