//! What the streams of the bus stored.

use std::collections::BTreeMap;

use sluice_testbed::Stack;

/// By stream, as the server counts them: rows of tables and buckets, and messages of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(BTreeMap<String, u64>);

// === impl Rows ===

impl Rows {
    /// As many as each stream has ever stored.
    pub async fn stored(stack: &Stack) -> Self {
        Self(stack.bus().view().await.last_sequences().clone())
    }

    /// What came since then. A stream that was not there yet counts for nothing: where it began is not known.
    pub fn since(mut self, before: &Self) -> Self {
        for (stream, last) in &mut self.0 {
            *last = last.saturating_sub(before.0.get(stream).copied().unwrap_or(*last));
        }
        self.0.retain(|_, rows| *rows > 0);
        self
    }

    /// By table, bucket or log: the shards of a table count together.
    pub fn families(&self) -> BTreeMap<String, u64> {
        let mut families = BTreeMap::new();
        for (stream, rows) in &self.0 {
            *families.entry(family(stream)).or_default() += rows;
        }
        families
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// `changes` of `CHANGES-07`, `interest` of `KV_interest`.
fn family(stream: &str) -> String {
    let name = stream.strip_prefix("KV_").unwrap_or(stream);
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '-' || last == '_');
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_rows(streams: &[(&str, u64)]) -> Rows {
        Rows(streams.iter().map(|(stream, last)| ((*stream).to_owned(), *last)).collect())
    }

    #[test]
    fn what_came_is_told_by_table() {
        let before = mk_rows(&[("CHANGES-00", 100), ("CHANGES-01", 50), ("KV_interest", 7)]);
        let after =
            mk_rows(&[("CHANGES-00", 103), ("CHANGES-01", 51), ("KV_interest", 7), ("JOURNAL", 1_000)]);
        let rows = after.since(&before);
        assert_eq!((rows.families(), rows.total()), (BTreeMap::from([("changes".to_owned(), 4)]), 4));
    }

    #[test]
    fn streams_are_named_after_what_is_in_them() {
        let names = ["REPORTS_12", "KV_problems", "STATUS", "JOURNAL"].map(family);
        assert_eq!(names, ["reports", "problems", "status", "journal"]);
    }
}
