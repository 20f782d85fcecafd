//! The place for a second engine: what it is asked, and what stands there when there is none.

use std::fmt;

use crate::{Data, Env, Limits, Stage, TextError};

/// One render by another engine.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The template's name, for messages.
    pub name: &'a str,
    /// Source of the template, in Go's syntax.
    pub text: &'a str,
    /// Which functions it may call.
    pub stage: Stage,
    /// What it sees: a map whose keys are the variables.
    pub dot: &'a Data<'a>,
    /// What it may know besides.
    pub env: &'a Env<'a>,
    /// What it may use.
    pub limits: &'a Limits,
}

/// An engine for another template language. It is asked by synchronous code and answers within
/// the limits, whatever the template does.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Renders a template.
    ///
    /// # Errors
    /// What is wrong, with its place in the template.
    fn render(&self, request: &Request<'_>) -> Result<String, TextError>;
}

/// Refuses every template.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEngine;

impl Engine for NoEngine {
    fn render(&self, _: &Request<'_>) -> Result<String, TextError> {
        let why = "this process has no second template engine; write a Go template, or let sluice-renderer or sluice \
                   render it";
        Err(TextError::Wrong(why.to_owned()))
    }
}
