//! Command line, and what follows from it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Parser;

use crate::running::Load;
use crate::scale::Sizes;

/// Measures the pipeline over simulated clusters and prints a Markdown table.
#[derive(Clone, Debug, Parser)]
#[command(name = "sluice-loadtest", version)]
pub struct Args {
    /// Loads a pipeline that runs already, with the simulated clusters of this file, instead of starting one: each of --rates for
    /// --seconds, and nothing else. Fails when an event has no effect, or an add-on is left when the Services are gone.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Simulated managed clusters.
    #[arg(long, default_value_t = 300)]
    clusters: usize,
    /// Nodes of the bus, each of which has a copy of every stream: 1 or 3.
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// Matched events per second, one phase for each.
    #[arg(long, value_delimiter = ',', default_value = "100,200,500,1000")]
    rates: Vec<u32>,
    /// Length of each of these phases, in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Events of the idle phase: each after the one before has been applied and the pause has passed.
    #[arg(long, default_value_t = 60)]
    idle: u32,
    /// Pause between events of the idle phase, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    pause: u64,
    /// Services created at once in one cluster, one phase for each size and form.
    #[arg(long, value_delimiter = ',', default_value = "200,1000")]
    bursts: Vec<u32>,
    /// Services created as fast as possible over all clusters.
    #[arg(long, default_value_t = 6000)]
    flood: u32,
    /// Services whose add-ons the memory is measured with, besides those of the phases before.
    #[arg(long, default_value_t = 6000)]
    fill: u32,
    /// How long memory is given to come to rest, in seconds: allocators keep what was freed for ten.
    #[arg(long, default_value_t = 12)]
    settle: u64,
    /// Rows of the bare loop.
    #[arg(long, default_value_t = 40_000)]
    rows: u64,
    /// How often a node of the bus is killed, where there are three; and replicas of each stage, up to three times.
    /// Default: 10 on three nodes, 0 on one.
    #[arg(long)]
    deaths: Option<usize>,
    /// How long a node that was killed is away, in seconds.
    #[arg(long, default_value_t = 9)]
    away: u64,
    /// Objects of a chart that goes to all clusters.
    #[arg(long, default_value_t = 100)]
    chart_objects: usize,
    /// Only these phases: bare, floor, idle, rate100, memory, burst200, flood, later, matcher, deaths-nodes, deaths-replicas,
    /// everywhere-event, everywhere-chart, beside-ill, drift; with --scale outage-agent and so for each stage, outage-stages, outage-node,
    /// outage-everything. A name without a number means all that begin with it, as `rate` or `deaths`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Writes everything that was measured to this file, too: one JSON object of numbers, with names that stay.
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
    /// Many clusters and objects on three nodes with two replicas of each stage, and nothing else: some twenty minutes.
    #[arg(long)]
    scale: bool,
    /// Numbers of clusters, the largest last.
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000")]
    scale_clusters: Vec<usize>,
    /// Numbers of watched objects over all clusters, the largest last.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000")]
    scale_objects: Vec<usize>,
    /// Add-ons of the largest.
    #[arg(long, default_value_t = 30_000)]
    scale_add_ons: usize,
    /// A small version that takes seconds, for CI; sizes given beside it are upper bounds.
    #[arg(long)]
    quick: bool,
}

/// Events a second of each size: what the slowest of them can do beside its simulation.
const SCALE_RATE: u32 = 100;
/// How long events flow after each outage.
const SCALE_WATCHED: Duration = Duration::from_secs(40);

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Simulated managed clusters.
    pub clusters: usize,
    /// Services of each of them that are there from the beginning, and are no event.
    pub services: usize,
    /// Replicas of each stage.
    pub replicas: usize,
    /// Nodes of the bus.
    pub nodes: usize,
    /// Matched events per second.
    pub rates: Vec<u32>,
    /// Length of each of these phases.
    pub phase: Duration,
    /// Events of the idle phase.
    pub idle: u32,
    /// Pause between them.
    pub pause: Duration,
    /// Sizes of the bursts.
    pub bursts: Vec<u32>,
    /// Services of the flood.
    pub flood: u32,
    /// Services whose add-ons the memory is measured with.
    pub fill: u32,
    /// How long memory is given to come to rest.
    pub settle: Duration,
    /// Rows of the bare loop.
    pub rows: u64,
    /// How often a node is killed.
    pub deaths: usize,
    /// How long a node that was killed is away.
    pub away: Duration,
    /// Objects of a chart that goes to all clusters.
    pub chart_objects: usize,
    /// The phases to run; all when it is empty.
    pub only: Vec<String>,
    /// How long the add-ons of a phase may take after its last event.
    pub patience: Duration,
    /// Where the figures are written, too.
    pub figures: Option<PathBuf>,
    /// Many clusters and objects, and nothing else.
    pub scale: Option<Sizes>,
}

// === impl Args ===

impl Args {
    /// Measures, prints, and fails when an event had no effect, or when it is stopped before the end.
    ///
    /// # Errors
    /// When something cannot be started, or events were lost.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let plan = self.plan()?;
        let load = self.load(&plan);
        let tasks = sluice_runtime::stop_on_signals();
        tokio::select! {
            // Dropping the run ends every process that it started.
            () = tasks.stop().cancelled() => {
                eprintln!("sluice-loadtest: stopped before the measurements were complete");
                Ok(ExitCode::FAILURE)
            }
            done = Box::pin(either(plan, load)) => done.map(|()| ExitCode::SUCCESS),
        }
    }

    /// What is sent to a pipeline that runs already, where one is named.
    fn load(&self, plan: &Plan) -> Option<Load> {
        let kubeconfig = self.kubeconfig.clone()?;
        let (rates, phase, patience) = (plan.rates.clone(), plan.phase, plan.patience);
        Some(Load { kubeconfig, rates, phase, patience })
    }

    /// Checks the arguments.
    ///
    /// # Errors
    /// The argument and the remedy.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        if self.clusters == 0 {
            bail!("--clusters is 0; at least one cluster is needed");
        }
        if ![1, 3].contains(&self.nodes) {
            bail!("--nodes is {}; a bus has one node, or three: two stop as soon as one is away", self.nodes);
        }
        if self.rates.contains(&0) || self.bursts.contains(&0) {
            bail!("--rates and --bursts take numbers above 0, or nothing at all");
        }
        let plan = Plan {
            clusters: self.clusters,
            services: 0,
            replicas: 1,
            nodes: if self.scale { 3 } else { self.nodes },
            rates: self.rates.clone(),
            phase: Duration::from_secs(self.seconds.max(1)),
            idle: self.idle,
            pause: Duration::from_millis(self.pause),
            bursts: self.bursts.clone(),
            flood: self.flood,
            fill: self.fill,
            settle: Duration::from_secs(self.settle),
            rows: self.rows,
            deaths: self.deaths.unwrap_or(if self.nodes == 1 { 0 } else { 10 }),
            away: Duration::from_secs(self.away),
            chart_objects: self.chart_objects,
            only: self.only.clone(),
            patience: Duration::from_secs(120),
            figures: self.figures.clone(),
            scale: self.scale.then(|| self.sizes()),
        };
        Ok(if self.quick { plan.quick() } else { plan })
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            clusters: self.scale_clusters.clone(),
            objects: self.scale_objects.clone(),
            add_ons: self.scale_add_ons,
            rate: SCALE_RATE,
            watched: SCALE_WATCHED,
        }
    }
}

async fn either(plan: Plan, load: Option<Load>) -> anyhow::Result<()> {
    match load {
        Some(load) => crate::running::run(load).await,
        None => crate::run(plan).await,
    }
}

// === impl Plan ===

impl Plan {
    /// Whether a phase is to be run. A name without a number at its end means every phase that begins with it.
    pub fn wants(&self, phase: &str) -> bool {
        let meant = |name: &String| {
            let whole = name.ends_with(|last: char| last.is_ascii_digit());
            name == phase || (!whole && phase.starts_with(name.as_str()))
        };
        self.only.is_empty() || self.only.iter().any(meant)
    }

    fn quick(self) -> Self {
        Self {
            clusters: self.clusters.min(10),
            services: self.services,
            replicas: self.replicas,
            nodes: self.nodes,
            rates: vec![50],
            phase: Duration::from_secs(2),
            idle: self.idle.min(5),
            pause: self.pause.min(Duration::from_millis(200)),
            bursts: vec![20],
            flood: self.flood.min(200),
            fill: self.fill.min(100),
            settle: self.settle.min(Duration::from_secs(1)),
            rows: self.rows.min(2000),
            deaths: self.deaths.min(1),
            away: self.away,
            chart_objects: self.chart_objects.min(10),
            only: self.only,
            patience: Duration::from_secs(30),
            figures: self.figures,
            scale: self.scale.map(Sizes::quick),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let plan = Args::parse_from(["sluice-loadtest"]).plan().unwrap();
        assert_eq!(
            (plan.clusters, plan.rates, plan.bursts),
            (300, vec![100, 200, 500, 1000], vec![200, 1000])
        );
    }

    #[test]
    fn the_quick_version_is_small_and_impossible_sizes_are_refused() {
        let plan = Args::parse_from(["sluice-loadtest", "--quick"]).plan().unwrap();
        assert!(plan.clusters <= 10 && plan.phase <= Duration::from_secs(2));
        let refused = Args::parse_from(["sluice-loadtest", "--clusters=0"]).plan().unwrap_err();
        assert!(refused.to_string().contains("--clusters"));
        let refused = Args::parse_from(["sluice-loadtest", "--nodes=2"]).plan().unwrap_err();
        assert!(refused.to_string().contains("--nodes"));
    }

    #[test]
    fn phases_are_chosen_by_name() {
        let plan = Args::parse_from(["sluice-loadtest", "--only=idle,rate100,burst"]).plan().unwrap();
        assert!(["idle", "rate100", "burst200"].iter().all(|phase| plan.wants(phase)));
        assert!(["rate1000", "flood", "bare"].iter().all(|phase| !plan.wants(phase)));
        assert!(Args::parse_from(["sluice-loadtest"]).plan().unwrap().wants("bare"));
    }
}
