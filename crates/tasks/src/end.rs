//! How a task can end.

use std::any::Any;

/// What a task says when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its work is done, or nobody wants it any more.
    Done,
    /// It cannot go on although its work is wanted. Nothing but the end while the process stops.
    Early,
}

/// How a task ended that should not have ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum How {
    /// It returned [`End::Early`].
    #[error("ended early")]
    Early,
    /// It panicked with this message.
    #[error("panicked: {0}")]
    Panicked(String),
}

/// The process had to stop because a task ended without which it cannot go on. The next process begins everything again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process cannot go on without its task {task:?}, which {how}")]
pub struct TaskFailed {
    /// Name of the task, as in the table.
    pub task: &'static str,
    /// How it ended.
    pub how: How,
}

impl How {
    /// From what a panic carries.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("without a message").to_owned())
    }

    /// As a label of metrics: `early` or `panicked`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Panicked(_) => "panicked",
        }
    }
}
