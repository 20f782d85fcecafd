//! The budgets that keep an untrusted template from hurting the process.

use std::{fmt, sync::Arc, time::Duration};

/// The default of [`Limits::value_depth`]. Below the 128 that JSON readers allow, so that a value still fits into the
/// message that carries it.
pub const VALUE_DEPTH: usize = 100;

/// Every budget of a compile and a render, passed in by the caller.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Executed nodes and units of work inside functions. Default 1 000 000.
    pub steps: u64,
    /// Bytes of rendered text. Default 4 MiB.
    pub output_bytes: usize,
    /// Bytes of one computed string. Default 2 MiB.
    pub string_bytes: usize,
    /// Bytes of all values computed in one render. Default 32 MiB.
    pub memory_bytes: usize,
    /// Nested `template`, `include` and `tpl` calls. Default 100.
    pub call_depth: usize,
    /// Nested blocks and parentheses in the text. Default 100.
    pub parse_depth: usize,
    /// Maps and lists nested in each other, for everything that reads, writes, copies, compares or merges them. It is
    /// the stack that this protects, since those functions are recursive: 200 fit into any. Default [`VALUE_DEPTH`].
    pub value_depth: usize,
    /// Bytes of the template's text. Default 1 MiB.
    pub template_bytes: usize,
    /// Asked every 1024 steps whether the render must end. Default none.
    pub deadline: Option<Deadline>,
    /// How long an engine that counts no steps may take for one render, see [`crate::Engine`]. Default 1 s.
    pub wall: Duration,
    /// How much memory such an engine may take, data and text included. Default 256 MiB.
    pub worker_bytes: u64,
}

/// A question "is the time over?", answered by the caller's clock.
#[derive(Clone)]
pub struct Deadline(Arc<dyn Fn() -> bool + Send + Sync>);

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 1_000_000,
            output_bytes: 4 << 20,
            string_bytes: 2 << 20,
            memory_bytes: 32 << 20,
            call_depth: 100,
            parse_depth: 100,
            value_depth: VALUE_DEPTH,
            template_bytes: 1 << 20,
            deadline: None,
            wall: Duration::from_secs(1),
            worker_bytes: 256 << 20,
        }
    }
}

// === impl Deadline ===

impl Deadline {
    /// A deadline that has passed once `passed` answers true.
    pub fn when(passed: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(passed))
    }

    /// Whether the time is over.
    pub fn passed(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deadline")
    }
}
