//! How fast a trigger acts, and for how long: Sluice's own annotations on it.

// D-0925: annotations set the pace of a trigger.

use serde_json::Value;

use super::annotation::Annotation;
use crate::error::FieldError;

/// Annotation: what is there stays as it is, and nothing new is made.
pub const SUSPEND: &str = "sluice.dev/suspend";
/// Annotation: how long an event counts.
pub const TTL: &str = "sluice.dev/ttl";
/// Annotation: how long nothing may come before an event is acted upon.
pub const DEBOUNCE: &str = "sluice.dev/debounce";
/// Annotation: how often it acts upon the events of one cluster.
pub const MAX_PER_MINUTE: &str = "sluice.dev/max-per-minute";

/// What the annotations say; without them all of it is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Whether what is there stays as it is, and nothing new is made.
    pub suspended: bool,
    /// How long after its last change an event counts, microseconds.
    pub ttl: Option<i64>,
    /// How long nothing may come before an event is acted upon, microseconds.
    pub debounce: Option<i64>,
    /// How many times in a minute it acts upon new and changed events of one cluster.
    pub max_per_minute: Option<usize>,
}

// === impl Pace ===

impl Pace {
    /// Reads the annotations of a trigger.
    ///
    /// # Errors
    /// The first annotation that cannot be used.
    pub fn read(trigger: &Value) -> Result<Self, FieldError> {
        let read = |key| Annotation::of(trigger, key);
        Ok(Self {
            suspended: read(SUSPEND).flag()?,
            ttl: read(TTL).duration()?,
            debounce: read(DEBOUNCE).duration()?,
            max_per_minute: read(MAX_PER_MINUTE).count()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(key: &str, text: &str) -> Result<Pace, FieldError> {
        Pace::read(&json!({"kind": "EventTrigger", "metadata": {"name": "t", "annotations": {key: text}}}))
    }

    #[test]
    fn every_annotation_is_read_and_none_is_nothing() {
        assert_eq!(read("other", "x"), Ok(Pace::default()));
        assert!(read(SUSPEND, "true").unwrap().suspended && !read(SUSPEND, "false").unwrap().suspended);
        assert_eq!(read(TTL, "1h30m").unwrap().ttl, Some(5_400_000_000));
        assert_eq!(read(DEBOUNCE, "1500ms").unwrap().debounce, Some(1_500_000));
        assert_eq!(read(MAX_PER_MINUTE, "30").unwrap().max_per_minute, Some(30));
    }

    #[test]
    fn what_cannot_be_used_names_the_annotation_and_the_remedy() {
        for (key, texts) in [
            (SUSPEND, &["", "yes", "True"][..]),
            (TTL, &["", "24", "1d", "h", "-1h", "0s", "1.5h", "99999999999999h", "9h9", "5 s"]),
            (DEBOUNCE, &["soon"]),
            (MAX_PER_MINUTE, &["", "0", "-1", "many", "65536", "1.5"]),
        ] {
            for text in texts {
                let error = read(key, text).unwrap_err().to_string();
                let begin =
                    format!("EventTrigger t: metadata.annotations[{key}]: {text:?} cannot be used; write ");
                assert!(error.starts_with(&begin), "{error}");
            }
        }
    }
}
