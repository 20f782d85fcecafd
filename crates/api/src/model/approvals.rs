//! What people have approved: a ConfigMap with a field for each, named by its digest, and when that was.

// D-0931: what withdraws much of a fleet at once waits until somebody says so.

use jiff::Timestamp;
use serde_json::Value;

use crate::object;

/// So long an approval counts, microseconds: what is called so later is another matter.
const COUNTS: i64 = 3_600_000_000;
/// So far ahead of this clock it may be, microseconds.
const AHEAD: i64 = 300_000_000;

/// Whether this ConfigMap approves what is called so, at a time in microseconds since 1970.
pub fn approves(approvals: &Value, digest: &str, now: i64) -> bool {
    let at = object::text(approvals, &["data", digest]).parse::<Timestamp>();
    at.is_ok_and(|at| (now - COUNTS..=now + AHEAD).contains(&at.as_microsecond()))
}

/// Which of its fields count no more.
pub fn outdated(approvals: &Value, now: i64) -> Vec<String> {
    let data = approvals.get("data").and_then(Value::as_object);
    let names = data.into_iter().flatten().map(|(name, _)| name);
    names.filter(|name| !approves(approvals, name, now)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approval_counts_for_an_hour() {
        let approvals = json!({"data": {"abc": "1970-01-01T02:00:00Z", "def": "soon"}});
        let minute = 60_000_000;
        let counts = |minutes: i64| approves(&approvals, "abc", minutes * minute);
        assert_eq!([114, 115, 120, 180, 181].map(counts), [false, true, true, true, false]);
        assert!(!approves(&approvals, "def", 0) && !approves(&approvals, "x", 0));
        assert!(!approves(&json!({}), "abc", 0));
        assert_eq!(outdated(&approvals, 120 * minute), ["def"]);
        assert_eq!(outdated(&approvals, 181 * minute), ["abc", "def"]);
    }
}
