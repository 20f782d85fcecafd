//! One render as it travels: what the worker needs, and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_template::{Data, Limits, Request, Stage, TextError};

/// The sending side: borrowed from the request.
#[derive(Serialize)]
struct Outgoing<'a> {
    name: &'a str,
    text: &'a str,
    deploy: bool,
    dot: &'a Data<'a>,
    resources: &'a [(&'a str, &'a Value)],
    now: i64,
    seed: [u8; 32],
    budgets: Budgets,
}

/// The receiving side.
#[derive(Debug, Deserialize)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) text: String,
    deploy: bool,
    pub(crate) dot: Map<String, Value>,
    pub(crate) resources: Vec<(String, Value)>,
    pub(crate) now: i64,
    pub(crate) seed: [u8; 32],
    pub(crate) budgets: Budgets,
}

/// The limits that the worker keeps by itself. The parent keeps the clock and the memory.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Budgets {
    steps: u64,
    pub(crate) output_bytes: usize,
    string_bytes: usize,
    memory_bytes: usize,
    template_bytes: usize,
    pub(crate) wall_millis: u64,
}

/// What a worker answers, as it travels.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum RenderOutcome {
    /// The text.
    Rendered(String),
    /// Why there is none.
    Wrong(String),
    /// The limit that was reached.
    Limit(String),
}

/// The frame of a request.
///
/// # Errors
/// When the variables are no JSON.
pub(crate) fn encode(request: &Request<'_>) -> Result<Vec<u8>, String> {
    let job = Outgoing {
        name: request.name,
        text: request.text,
        deploy: request.stage == Stage::Deploy,
        dot: request.dot,
        resources: request.env.resources(),
        now: request.env.now_unix_nanos(),
        seed: request.env.seed(),
        budgets: Budgets::of(request.limits),
    };
    serde_json::to_vec(&job).map_err(|error| format!("the variables cannot be sent to the worker: {error}"))
}

// === impl RenderOutcome ===

impl From<Result<String, TextError>> for RenderOutcome {
    fn from(rendered: Result<String, TextError>) -> Self {
        match rendered {
            Ok(text) => Self::Rendered(text),
            Err(TextError::Wrong(text)) => Self::Wrong(text),
            Err(TextError::Limit(text)) => Self::Limit(text),
        }
    }
}

impl From<RenderOutcome> for Result<String, TextError> {
    fn from(answer: RenderOutcome) -> Self {
        match answer {
            RenderOutcome::Rendered(text) => Ok(text),
            RenderOutcome::Wrong(text) => Err(TextError::Wrong(text)),
            RenderOutcome::Limit(text) => Err(TextError::Limit(text)),
        }
    }
}

// === impl Job ===

impl Job {
    /// Reads a frame.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(frame: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(frame).map_err(|error| format!("the worker cannot read the request: {error}"))
    }

    pub(crate) fn stage(&self) -> Stage {
        if self.deploy { Stage::Deploy } else { Stage::Event }
    }
}

// === impl Budgets ===

impl Budgets {
    fn of(limits: &Limits) -> Self {
        Self {
            steps: limits.steps,
            output_bytes: limits.output_bytes,
            string_bytes: limits.string_bytes,
            memory_bytes: limits.memory_bytes,
            template_bytes: limits.template_bytes,
            wall_millis: u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// As functions of Go templates take them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            steps: self.steps,
            output_bytes: self.output_bytes,
            string_bytes: self.string_bytes,
            memory_bytes: self.memory_bytes,
            template_bytes: self.template_bytes,
            ..Limits::default()
        }
    }
}
