//! The second template engine within the runtime.

use sluice_template::{Engine, Request, TextError};
use sluice_tera::Workers;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Waits for workers without holding up the other tasks of the thread: an answer takes microseconds, but a hostile
/// template as long as its deadline.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Workers);

impl Engine for Waiting {
    fn render(&self, request: &Request<'_>) -> Result<String, TextError> {
        let many =
            Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
        if many { tokio::task::block_in_place(|| self.0.render(request)) } else { self.0.render(request) }
    }
}
