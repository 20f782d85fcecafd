//! CEL: a rule is compiled once and asked about many objects.
//!
//! ```text
//! source ──lex──► tokens ──parse──► expression ──eval(resource)──► true | false | undecided | over a limit
//! ```
//!
//! The language is that of cel-go's standard library, with one variable `resource`: all operators, the macros `has`, `all`,
//! `exists`, `exists_one`, `map` and `filter`, conversions, texts, timestamps and durations. Two things differ. Types are looked at
//! when a rule is evaluated, not when it is compiled. In patterns of `matches`, classes such as `\d` are those of Unicode.
//!
//! Rules are untrusted: how deep they nest is limited when they are compiled, steps, time and memory when they are evaluated.

mod arithmetic;
mod budget;
mod convert;
mod eval;
mod functions;
mod lex;
mod moments;
mod numbers;
mod parse;
mod syntax;
mod value;

use std::sync::Arc;

use serde_json::Value as Json;

use self::budget::{Budget, Fault};
use self::eval::Evaluation;
use self::syntax::Expr;
use self::value::Value;
use crate::{Error, Limits};

/// A compiled rule. Cheap to clone, shared between threads.
#[derive(Clone, Debug)]
pub struct Rule(Arc<Expr>);

/// Why a rule says neither yes nor no of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It has no value for this object: a field that it looks at is missing, or has another type. Such a rule selects nothing.
    #[error("{0}")]
    Undecided(String),
    /// It took more than it may. Nothing follows from that.
    #[error("{0}")]
    Limit(String),
}

// === impl Unanswered ===

impl Unanswered {
    /// Whether the rule needed more than it may use.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Limit(_))
    }
}

// === impl Rule ===

impl Rule {
    /// Compiles `source`.
    ///
    /// # Errors
    /// What is wrong, with line and column: syntax, a name that is not known, or a pattern that is none.
    pub fn compile(source: &str) -> Result<Self, Error> {
        let expression = parse::parse(source).map_err(|wrong| Error::new(wrong.to_string()))?;
        Ok(Self(Arc::new(expression)))
    }

    /// Whether the rule is true of `resource`.
    ///
    /// # Errors
    /// When it has no value for it, a value that is neither true nor false, or needs more than `limits`.
    pub fn holds(&self, resource: &Json, limits: &Limits) -> Result<bool, Unanswered> {
        match Evaluation::new(resource, Budget::new(limits)).eval(&self.0) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => {
                let text = format!("the rule gives a {}; it must give true or false", other.type_name());
                Err(Unanswered::Undecided(text))
            }
            Err(Fault::Data(text)) => Err(Unanswered::Undecided(text)),
            Err(Fault::Limit(text)) => Err(Unanswered::Limit(text)),
        }
    }
}

#[cfg(test)]
mod tests;
