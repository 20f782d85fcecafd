//! How long stages take from a row that was read to what follows from it being stored, by their own histograms; and how
//! much of that the bus takes, which no stage can be faster than.

use std::collections::BTreeMap;

use sluice_testbed::Stack;

/// The histograms of each stage, over all of its replicas.
#[derive(Clone, Debug, Default)]
pub struct StageTimes(BTreeMap<(&'static str, What), Histogram>);

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// From a row that was read until what follows from it was stored.
    Row,
    /// From a group of rows that was sent until it was stored.
    Stored,
}

/// How many rows took at most so long, by microseconds; the last bucket has no end.
type Histogram = BTreeMap<u64, f64>;

impl StageTimes {
    /// As they are now.
    ///
    /// # Errors
    /// When a replica does not answer.
    pub async fn of(stack: &Stack) -> anyhow::Result<Self> {
        let mut stages = BTreeMap::<_, Histogram>::new();
        for replica in stack.replicas().values() {
            for what in [What::Row, What::Stored] {
                for (labels, count) in replica.series(what.buckets()).await? {
                    let Some(end) = end(&labels) else { continue };
                    *stages.entry((replica.stage(), what)).or_default().entry(end).or_default() += count;
                }
            }
        }
        Ok(Self(stages))
    }

    /// What came since then.
    pub fn since(mut self, before: &Self) -> Self {
        for (stage, histogram) in &mut self.0 {
            let old = before.0.get(stage);
            for (end, count) in histogram {
                *count -= old.and_then(|old| old.get(end)).copied().unwrap_or_default();
            }
        }
        self.0.retain(|_, histogram| histogram.values().any(|count| *count > 0.0));
        self
    }

    /// The stages that had rows.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().filter(|(_, what)| *what == What::Row).map(|(stage, _)| *stage)
    }

    /// The time that this part of a stage's rows does not exceed, in milliseconds: as Prometheus estimates it, evenly
    /// within a bucket. `None` without rows, or beyond the last bucket that has an end.
    pub fn quantile(&self, stage: &'static str, what: What, part: f64) -> Option<f64> {
        let histogram = self.0.get(&(stage, what))?;
        let wanted = part * histogram.values().last()?;
        let (mut from, mut below) = (0.0, 0.0);
        for (&end, &count) in histogram {
            if count >= wanted && count > below {
                let share = (wanted - below) / (count - below);
                return (end < u64::MAX).then(|| (from + share * (end as f64 - from)) / 1000.0);
            }
            (from, below) = (end as f64, count);
        }
        None
    }
}

impl What {
    fn buckets(self) -> &'static str {
        match self {
            Self::Row => "sluice_stage_seconds_bucket",
            Self::Stored => "sluice_publish_seconds_bucket",
        }
    }
}

/// Where a bucket ends, in microseconds.
fn end(labels: &str) -> Option<u64> {
    let (_, rest) = labels.split_once("le=\"")?;
    let (text, _) = rest.split_once('"')?;
    if text == "+Inf" {
        return Some(u64::MAX);
    }
    let seconds: f64 = text.parse().ok()?;
    Some((seconds * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(counts: [(u64, f64); 3]) -> StageTimes {
        StageTimes([(("renderer", What::Row), Histogram::from(counts))].into())
    }

    #[test]
    fn quantiles_are_those_of_what_came_since() {
        let now = times([(1000, 110.0), (2000, 118.0), (u64::MAX, 120.0)]);
        let since = now.since(&times([(1000, 100.0), (2000, 100.0), (u64::MAX, 100.0)]));
        assert_eq!(since.quantile("renderer", What::Row, 0.5), Some(1.0));
        assert_eq!(since.quantile("renderer", What::Row, 0.7), Some(1.5));
        assert_eq!(since.quantile("renderer", What::Row, 0.99), None, "nobody knows how long it took");
        assert_eq!(since.quantile("renderer", What::Stored, 0.5), None);
        assert_eq!(since.quantile("agent", What::Row, 0.5), None);
    }

    #[test]
    fn the_end_of_a_bucket_is_read_from_its_labels() {
        assert_eq!(end(r#"{stage="matcher",le="0.004"}"#), Some(4000));
        assert_eq!(end(r#"{stage="matcher",le="+Inf"}"#), Some(u64::MAX));
        assert_eq!(end(r#"{stage="matcher"}"#), None);
    }
}
