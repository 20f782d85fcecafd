//! What people are told of things that happened once.

use serde::{Deserialize, Serialize};
use sluice_api::{ClusterRef, Digest};

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// `matched`, `unmatched`, `rendered`, `applied`, `drifted`, `reloaded`, `withdrawn` or `problem`.
    pub what: String,
    /// The stage that did it.
    pub stage: String,
    /// The cluster it was done on or for, in its text form.
    pub cluster: String,
    /// The object or profile that it was done to.
    pub object: String,
    /// Microseconds from the change that caused it; 0 when unknown.
    pub micros: i64,
    /// When it happened, microseconds since 1970; 0 when unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: i64,
    /// What everything that one change leads to has in common, 32 hexadecimal digits; empty when unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl JournalEntry {
    /// Something that happened at `now` because of a change at `time` (both microseconds since 1970).
    pub fn new(
        stage: &str,
        what: &str,
        cluster: impl ToString,
        object: impl ToString,
        now: i64,
        time: i64,
    ) -> Self {
        let micros = if time > 0 { (now - time).max(0) } else { 0 };
        Self {
            what: what.into(),
            stage: stage.into(),
            cluster: cluster.to_string(),
            object: object.to_string(),
            micros,
            at: now,
            trace: String::new(),
        }
    }

    /// It happened because of a change in this cluster at `time`. Every stage knows both of what it works on, so no row has to
    /// carry the name of a trace.
    #[must_use]
    pub fn because_of(mut self, cluster: &ClusterRef, time: i64) -> Self {
        if time > 0 {
            self.trace = Digest::of(&[cluster.to_string().as_bytes(), &time.to_le_bytes()]).to_string();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cluster: &str, time: i64) -> JournalEntry {
        JournalEntry::new("matcher", "matched", "c", "x", 10, time)
            .because_of(&ClusterRef::sveltos("n", cluster), time)
    }

    #[test]
    fn what_one_change_leads_to_has_one_trace_and_no_other_change_has_it() {
        let first = line("a", 5);
        assert_eq!((first.trace.len(), first.at), (32, 10));
        assert_eq!(first.trace, line("a", 5).trace);
        assert!(first.trace != line("a", 6).trace && first.trace != line("b", 5).trace);
        assert_eq!(line("a", 0).trace, "", "when it happened is not known");
    }

    #[test]
    fn lines_of_former_versions_are_read() {
        let old = r#"{"what":"matched","stage":"matcher","cluster":"c","object":"x","micros":6}"#;
        let read: JournalEntry = serde_json::from_str(old).unwrap();
        assert_eq!((read.micros, read.at, read.trace.as_str()), (6, 0, ""));
    }

    #[test]
    fn how_long_it_took_is_known_from_the_time_of_the_cause() {
        let micros = |now: i64, time: i64| JournalEntry::new("s", "w", "c", "o", now, time).micros;
        assert_eq!((micros(10, 4), micros(10, 10)), (6, 0));
        assert_eq!((micros(10, 0), micros(10, -1)), (0, 0), "it is not known");
        assert_eq!(micros(4, 10), 0, "clocks differ");
    }

    #[test]
    fn what_is_not_known_is_not_written() {
        let text = serde_json::to_string(&JournalEntry::new("s", "w", "c", "o", 0, 0)).unwrap();
        assert_eq!(text, r#"{"what":"w","stage":"s","cluster":"c","object":"o","micros":0}"#);
        let line = line("a", 5);
        assert_eq!(
            serde_json::from_str::<JournalEntry>(&serde_json::to_string(&line).unwrap()).unwrap(),
            line
        );
    }
}
