//! The events of one phase: when each should have been sent, and when its add-on was there.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::meter::Cost;
use super::stages::StageTimes;
use crate::fleet::Arrival;

/// Events that are under way.
#[derive(Debug)]
pub struct Events {
    name: String,
    prefix: String,
    intended: Vec<Instant>,
    applied: Vec<Option<Instant>>,
    missing: usize,
}

/// A phase that is over.
#[derive(Debug)]
pub struct Phase {
    /// Names the row of the table, and the Services of the phase.
    pub name: String,
    /// Events that were sent.
    pub sent: usize,
    /// From the first intended send time to the last add-on.
    pub span: Duration,
    /// What it cost.
    pub cost: Cost,
    /// From row to row in each stage meanwhile, where that was noted.
    pub stages: StageTimes,
    latencies: Histogram<u64>,
}

// === impl Events ===

impl Events {
    /// No events yet.
    pub fn new(name: &str) -> Self {
        let (name, prefix) = (name.to_owned(), format!("front-{name}-"));
        Self { name, prefix, intended: Vec::new(), applied: Vec::new(), missing: 0 }
    }

    /// An event that should be sent at `due`; the name of its Service.
    pub fn push(&mut self, due: Instant) -> String {
        let name = format!("{}-{}", self.name, self.intended.len());
        self.intended.push(due);
        self.applied.push(None);
        self.missing += 1;
        name
    }

    /// Notes an add-on; those of other phases and those that were seen before count for nothing.
    pub fn arrived(&mut self, arrival: &Arrival) {
        let index = arrival.name.strip_prefix(&self.prefix).and_then(|index| index.parse::<usize>().ok());
        let Some(index) = index else { return };
        let Some(slot) = self.applied.get_mut(index) else { return };
        if slot.is_none() {
            *slot = Some(arrival.at);
            self.missing -= 1;
        }
    }

    /// How many add-ons are not there yet.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// From `at` until the first event that should have been sent after it was applied; `None` when none was.
    pub fn first_after(&self, at: Instant) -> Option<Duration> {
        let pairs = self.intended.iter().zip(&self.applied);
        let after = pairs.filter(|(due, _)| **due >= at).filter_map(|(_, applied)| *applied);
        after.min().map(|applied| applied.saturating_duration_since(at))
    }

    /// From `at` until every event was applied that should have been sent within `span` of it; `None` while one is
    /// missing, or without any.
    pub fn all_within(&self, at: Instant, span: Duration) -> Option<Duration> {
        let pairs = self.intended.iter().zip(&self.applied);
        let within = pairs.filter(|(due, _)| **due >= at && **due < at + span);
        let applied: Option<Vec<Instant>> = within.map(|(_, applied)| *applied).collect();
        applied?.into_iter().max().map(|applied| applied.saturating_duration_since(at))
    }

    /// The phase is over.
    ///
    /// # Errors
    /// When a latency is beyond every scale.
    pub fn phase(self, cost: Cost) -> anyhow::Result<Phase> {
        let mut latencies = Histogram::new(3)?;
        let (first, mut last) = (self.intended.first().copied(), None);
        for (&due, applied) in self.intended.iter().zip(&self.applied) {
            let Some(at) = *applied else { continue };
            latencies.record(u64::try_from(at.saturating_duration_since(due).as_micros())?)?;
            last = last.max(Some(at));
        }
        let span = first.zip(last).map(|(first, last)| last.saturating_duration_since(first));
        let (sent, span) = (self.intended.len(), span.unwrap_or_default());
        Ok(Phase { name: self.name, sent, span, cost, stages: StageTimes::default(), latencies })
    }
}

// === impl Phase ===

impl Phase {
    /// How many add-ons came.
    pub fn applied(&self) -> usize {
        usize::try_from(self.latencies.len()).unwrap_or(usize::MAX)
    }

    /// Add-ons per second.
    pub fn rate(&self) -> f64 {
        self.applied() as f64 / self.span.as_secs_f64().max(1e-6)
    }

    /// The latency that this part of the events does not exceed, in milliseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        self.latencies.value_at_quantile(part) as f64 / 1000.0
    }

    /// The longest latency, in milliseconds.
    pub fn max(&self) -> f64 {
        self.latencies.max() as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn latency_counts_from_the_intended_time() {
        let (start, mut events) = (Instant::now(), Events::new("p"));
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!((events.push(at(0)), events.push(at(10))), ("p-0".to_owned(), "p-1".to_owned()));
        events.push(at(20));
        for (name, millis) in [("front-p-1", 30), ("front-p-1", 90), ("front-other-2", 40), ("front-p-9", 1)]
        {
            events.arrived(&Arrival { name: name.into(), at: at(millis), cluster: 0 });
        }
        assert_eq!(events.missing(), 2);
        events.arrived(&Arrival { name: "front-p-0".into(), at: at(4), cluster: 0 });
        let phase = events.phase(Cost::default()).unwrap();
        assert_eq!((phase.sent, phase.applied(), phase.span), (3, 2, Duration::from_millis(30)));
        assert!((phase.max() - 20.0).abs() < 0.1 && (phase.quantile(0.5) - 4.0).abs() < 0.1);
    }

    #[test]
    fn what_follows_a_death_is_found() {
        let (start, mut events) = (Instant::now(), Events::new("d"));
        let at = |millis| start + Duration::from_millis(millis);
        for millis in [0, 10, 20, 30] {
            events.push(at(millis));
        }
        for (name, millis) in [("front-d-0", 500), ("front-d-2", 70), ("front-d-1", 90)] {
            events.arrived(&Arrival { name: name.into(), at: at(millis), cluster: 0 });
        }
        // The first event does not count: it should have been sent before.
        assert_eq!(events.first_after(at(5)), Some(Duration::from_millis(65)));
        assert_eq!(events.all_within(at(5), Duration::from_millis(20)), Some(Duration::from_millis(85)));
        assert_eq!(events.all_within(at(5), Duration::from_millis(26)), None);
    }
}
