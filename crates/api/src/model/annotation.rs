//! Reading annotations of our own, with errors that name them.

use serde_json::Value;

use crate::error::FieldError;
use crate::object;

/// An annotation of an object, where it has it.
pub(super) struct Annotation<'a> {
    object: &'a Value,
    key: &'a str,
    pub(super) text: Option<&'a str>,
}

// === impl Annotation ===

impl<'a> Annotation<'a> {
    /// The annotation of this name.
    pub(super) fn of(object: &'a Value, key: &'a str) -> Self {
        Self { object, key, text: object::annotation(object, key) }
    }
}

impl Annotation<'_> {
    /// An error about it.
    pub(super) fn error(&self, remedy: &str) -> FieldError {
        let field = format!("metadata.annotations[{}]", self.key);
        let reason = format!("{:?} cannot be used; {remedy}", self.text.unwrap_or_default());
        FieldError::new(object::describe(self.object), field, reason)
    }

    /// `true` or `false`; missing is `false`.
    pub(super) fn flag(&self) -> Result<bool, FieldError> {
        match self.text {
            Some("true") => Ok(true),
            Some("false") | None => Ok(false),
            Some(_) => Err(self.error("write \"true\" or \"false\"")),
        }
    }

    /// A time above zero, microseconds.
    pub(super) fn duration(&self) -> Result<Option<i64>, FieldError> {
        let Some(text) = self.text else { return Ok(None) };
        let remedy = "write a time above zero with its unit, such as 500ms, 5s, 10m or 1h30m";
        micros(text).map(Some).ok_or_else(|| self.error(remedy))
    }

    /// A whole number above zero.
    pub(super) fn count(&self) -> Result<Option<usize>, FieldError> {
        let Some(text) = self.text else { return Ok(None) };
        let count = text.parse::<u16>().ok().filter(|count| *count > 0);
        let remedy = "write a whole number from 1 to 65535, in quotes";
        count.map(|count| Some(usize::from(count))).ok_or_else(|| self.error(remedy))
    }
}

/// A time as Go writes it, without fractions; `None` when it is none, is zero, or is above a thousand years.
pub(super) fn micros(text: &str) -> Option<i64> {
    const LONGEST: i64 = 1_000 * 366 * 24 * 3_600 * 1_000_000;
    let (mut rest, mut sum) = (text, 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = match unit {
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        rest = after;
    }
    (0 < sum && sum <= LONGEST).then_some(sum)
}
