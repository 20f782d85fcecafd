//! What a phase costs: CPU and memory of every process, and what else the machine did.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::rows::Rows;
use crate::system::{self, Usage};
use sluice_testbed::Stack;

/// How often the processes are looked at while they come to rest.
const LOOK: Duration = Duration::from_millis(500);
/// The stages are at rest when they use less than this between two looks, twice.
const REST: Duration = Duration::from_millis(30);
/// They are not waited for any longer than this.
const PATIENCE: Duration = Duration::from_secs(60);
/// Nor for any longer than this where only memory counts.
const SETTLING: Duration = Duration::from_secs(900);

/// A running measurement.
#[derive(Debug)]
pub struct Meter {
    started: Instant,
    busy: Duration,
    load: String,
    before: BTreeMap<&'static str, Usage>,
    rows: Rows,
}

/// What a phase cost.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// By process: CPU time and wakeups during the phase and until everything came to rest; memory at its end.
    pub processes: BTreeMap<&'static str, Usage>,
    /// Cores that others used during the phase.
    pub others: f64,
    /// The machine's load averages before the phase.
    pub load: String,
    /// How long the stages worked on after the last add-on: projections, most of all.
    pub rested: Duration,
    /// What the streams of the bus stored meanwhile.
    pub rows: Rows,
}

// === impl Meter ===

impl Meter {
    /// Notes what every process has used until now.
    pub async fn start(stack: &Stack) -> Self {
        let rows = Rows::stored(stack).await;
        let (started, load) = (Instant::now(), system::load_average());
        Self { started, load, busy: system::busy(), before: usages(stack), rows }
    }

    /// Waits until the stages are at rest, and says what has been used.
    pub async fn finish(self, stack: &Stack) -> Cost {
        let Self { started, busy, load, before, rows } = self;
        let active = started.elapsed();
        let ours = total(&since(&before, &usages(stack)));
        let others = system::busy().saturating_sub(busy).saturating_sub(ours);
        let rested = rest(stack, PATIENCE).await;
        let processes = since(&before, &usages(stack));
        let others = others.as_secs_f64() / active.as_secs_f64().max(1e-3);
        Cost { processes, others, load, rested, rows: Rows::stored(stack).await.since(&rows) }
    }
}

/// What each process has used so far; replicas of one stage, and nodes of the bus, count together.
pub fn usages(stack: &Stack) -> BTreeMap<&'static str, Usage> {
    let replicas = stack.replicas().values().map(|replica| (replica.stage(), replica.pid()));
    let others = [("load generator", std::process::id()), ("simulated clusters", stack.simulator().pid())];
    let nodes = stack.bus().processes().map(|node| ("nats-server", node.pid()));
    let mut usages: BTreeMap<&'static str, Usage> = BTreeMap::new();
    for (name, pid) in replicas.chain(others).chain(nodes) {
        let (sum, one) = (usages.entry(name).or_default(), system::usage(pid));
        sum.cpu += one.cpu;
        sum.rss += one.rss;
        sum.wakeups += one.wakeups;
    }
    usages
}

fn since(
    before: &BTreeMap<&'static str, Usage>,
    after: &BTreeMap<&'static str, Usage>,
) -> BTreeMap<&'static str, Usage> {
    let used = |(&name, now): (&&'static str, &Usage)| {
        let before = before.get(name).copied().unwrap_or_default();
        let cpu = now.cpu.saturating_sub(before.cpu);
        (name, Usage { cpu, rss: now.rss, wakeups: now.wakeups.saturating_sub(before.wakeups) })
    };
    after.iter().map(used).collect()
}

fn total(usages: &BTreeMap<&'static str, Usage>) -> Duration {
    usages.values().map(|usage| usage.cpu).sum()
}

/// What each process has once the stages are at rest and their allocators have given back what nobody used for ten seconds.
pub async fn settled(stack: &Stack, settle: Duration) -> BTreeMap<&'static str, Usage> {
    rest(stack, SETTLING).await;
    tokio::time::sleep(settle).await;
    usages(stack)
}

/// How long it takes until the stages are at rest.
async fn rest(stack: &Stack, patience: Duration) -> Duration {
    let started = Instant::now();
    let stages =
        || -> Duration { stack.replicas().values().map(|replica| system::usage(replica.pid()).cpu).sum() };
    let (mut last, mut quiet) = (stages(), 0);
    while quiet < 2 && started.elapsed() < patience {
        tokio::time::sleep(LOOK).await;
        let now = stages();
        quiet = if now.saturating_sub(last) < REST { quiet + 1 } else { 0 };
        last = now;
    }
    // The last two looks only found that it had been over before.
    started.elapsed().saturating_sub(LOOK * 2)
}
