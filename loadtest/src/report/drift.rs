//! The part of the report about objects that are watched for drift.

use std::fmt;

use super::Report;
use crate::measure::middle_and_longest;

impl Report {
    /// What watching takes, and how soon one that drifts is put right.
    pub(super) fn drift(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(drift) = &self.drift else { return Ok(()) };
        let times: Vec<_> = drift.put_right.times.iter().copied().map(Some).collect();
        let Some((middle, longest)) = middle_and_longest(&times) else { return Ok(()) };
        let watched = drift.put_right.objects * drift.put_right.clusters;
        writeln!(
            f,
            "\nDrift: {watched} objects are watched, which takes {:.0} bytes each of the deployers' memory. One that is deleted is there again after {:.0} ms, {:.0} ms at most.",
            drift.each(),
            1000.0 * middle.as_secs_f64(),
            1000.0 * longest.as_secs_f64()
        )
    }
}
