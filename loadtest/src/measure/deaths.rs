//! Deaths under a steady load: how long events stand still, and how long the slowest of them took.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::events::Events;
use super::{Lab, pace};
use sluice_testbed::{STAGES, Stack};

/// Events a second meanwhile.
const RATE: u32 = 40;
/// Before a death events flow for this long.
const BEFORE: Duration = Duration::from_secs(3);
/// A dead replica is away for longer than any lease lives.
const AWAY: Duration = Duration::from_secs(9);
/// Events flow for this long after the dead are back.
const AFTER: Duration = Duration::from_secs(3);
/// Events of this time after a death touch every shard.
const TOUCHED: Duration = Duration::from_secs(1);
/// How long the bus may take until every copy is current.
const HEALING: Duration = Duration::from_secs(120);
/// After this replicas that came back have their share.
const SHARING: Duration = Duration::from_secs(8);

/// Several deaths of one kind.
#[derive(Debug)]
pub struct Deaths {
    /// What died.
    pub what: String,
    /// For each death the time until an event was applied that should have been sent after it.
    pub first: Vec<Option<Duration>>,
    /// For each death the time until all events of the second after it were applied.
    pub all: Vec<Option<Duration>>,
    /// Events that were sent, and those that had their effect.
    pub sent: usize,
    /// See `sent`.
    pub applied: usize,
    /// The longest latency of all events, in milliseconds.
    pub longest: f64,
}

// === impl Deaths ===

impl Deaths {
    pub(super) fn new(what: String) -> Self {
        Self { what, first: Vec::new(), all: Vec::new(), sent: 0, applied: 0, longest: 0.0 }
    }
}

/// The time in the middle, and the longest one; `None` when one of them never came.
pub fn middle_and_longest(times: &[Option<Duration>]) -> Option<(Duration, Duration)> {
    let mut times: Vec<Duration> = times.iter().copied().collect::<Option<_>>()?;
    times.sort();
    Some((*times.get(times.len() / 2)?, *times.last()?))
}

impl Lab {
    /// Kills the node that leads most streams, so often; it comes back each time when it was away for so long.
    ///
    /// # Errors
    /// When the bus does not become healthy again, or Services cannot be created.
    pub async fn nodes_die(&mut self, times: usize, away: Duration) -> anyhow::Result<Deaths> {
        let mut deaths = Deaths::new("the node that leads most streams".into());
        for round in 0..times {
            self.stack.bus().wait_until_healthy(HEALING).await?;
            let fault = async |stack: &mut Stack| {
                let node = stack.bus().busiest().await?;
                let at = Instant::now();
                stack.bus_mut().kill(node)?;
                tokio::time::sleep(away).await;
                stack.bus_mut().start_node(node).await?;
                Ok(at)
            };
            Box::pin(self.death(&mut deaths, (&format!("node{round}"), away), fault)).await?;
        }
        self.stack.bus().wait_until_healthy(HEALING).await?;
        Ok(deaths)
    }

    /// Kills one of two replicas of each stage, so often; it comes back each time.
    ///
    /// # Errors
    /// When a replica does not come up, or Services cannot be created.
    pub async fn replicas_die(&mut self, times: usize) -> anyhow::Result<Vec<Deaths>> {
        for stage in STAGES {
            self.stack.start_replica(stage, 2)?;
        }
        let mut all = Vec::new();
        for stage in STAGES {
            let mut deaths = Deaths::new(format!("one of two replicas of the {stage}"));
            for round in 0..times {
                self.stack.wait_until_ready().await?;
                tokio::time::sleep(SHARING).await;
                let fault = async |stack: &mut Stack| {
                    let at = Instant::now();
                    stack.kill_replica(&format!("{stage}-2"))?;
                    tokio::time::sleep(AWAY).await;
                    stack.start_replica(stage, 2)?;
                    Ok(at)
                };
                Box::pin(self.death(&mut deaths, (&format!("{stage}{round}"), AWAY), fault)).await?;
            }
            all.push(deaths);
        }
        Ok(all)
    }

    /// Sends events all the while; `fault` says when something died.
    pub(super) async fn death(
        &mut self,
        deaths: &mut Deaths,
        (name, away): (&str, Duration),
        fault: impl AsyncFnOnce(&mut Stack) -> anyhow::Result<Instant>,
    ) -> anyhow::Result<()> {
        let mut events = Events::new(name);
        let (stack, targets, sender) = (&mut self.stack, &self.targets, &self.sender);
        let damage = async {
            tokio::time::sleep(BEFORE).await;
            fault(stack).await
        };
        let length = BEFORE + away + AFTER;
        let (paced, died) = tokio::join!(pace(targets, sender, &mut events, RATE, length), damage);
        paced?;
        let died = died.context("the death itself")?;
        self.collect(&mut events).await;
        self.sender.check()?;
        deaths.first.push(events.first_after(died));
        deaths.all.push(events.all_within(died, TOUCHED));
        let phase = events.phase(super::Cost::default())?;
        deaths.sent += phase.sent;
        deaths.applied += phase.applied();
        deaths.longest = deaths.longest.max(phase.max());
        eprintln!(
            "sluice-loadtest: {name}: first {:?}, all {:?}, longest latency {:.0} ms",
            deaths.first.last().copied().flatten(),
            deaths.all.last().copied().flatten(),
            phase.max()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_longest_time_are_told_when_there_is_one_for_each_death() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let times = [seconds(5), seconds(1), seconds(3), None];
        let told = Some((Duration::from_secs(3), Duration::from_secs(5)));
        assert_eq!(middle_and_longest(&times[..3]), told);
        assert_eq!((middle_and_longest(&times), middle_and_longest(&[])), (None, None));
    }
}
