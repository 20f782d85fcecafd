//! The result as Markdown.

mod drift;
mod each_event;
mod scale;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::bail;
use sluice_bus::BareForm;

use crate::bus_path::Rate;
use crate::floor::Floor;
use crate::measure::{Cost, Deaths, Drift, Everywhere, Phase, What, middle_and_longest};
use crate::scale::Scale;
use crate::system::{self, Usage};
use sluice_testbed::BusServer;

/// Everything that was measured.
#[derive(Debug, Default)]
pub struct Report {
    /// Simulated clusters.
    pub clusters: usize,
    /// Nodes of the bus.
    pub nodes: usize,
    /// The bare loop, in several forms.
    pub limits: Vec<Limit>,
    /// A matcher that makes all reports again.
    pub matcher: Option<Rate>,
    /// Memory after the idle phase, by process.
    pub idle_memory: BTreeMap<&'static str, Usage>,
    /// Memory once many add-ons are there.
    pub filled: Option<Filled>,
    /// The limit of one idle event.
    pub floor: Option<Floor>,
    /// The idle phase and those with a rate.
    pub paced: Vec<Phase>,
    /// Phases in which everything comes at once.
    pub bursts: Vec<Burst>,
    /// As many as possible.
    pub flood: Option<Phase>,
    /// What died under load.
    pub deaths: Vec<Deaths>,
    /// What went to all clusters.
    pub everywhere: Vec<Everywhere>,
    /// Objects that are watched for drift.
    pub drift: Option<Drift>,
    /// Many clusters and objects; then nothing else.
    pub scale: Option<Scale>,
}

/// What the machine does without any work in between.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What the messages have.
    pub form: BareForm,
    /// How fast they went.
    pub rate: Rate,
}

/// Memory at rest with many add-ons.
#[derive(Debug)]
pub struct Filled {
    /// How many came since memory was looked at when there was nothing to do.
    pub add_ons: usize,
    /// By process.
    pub memory: BTreeMap<&'static str, Usage>,
}

/// Services created at once in one cluster.
#[derive(Debug)]
pub struct Burst {
    /// One profile for each, or for all.
    pub form: &'static str,
    /// What happened.
    pub phase: Phase,
    /// One more, some times.
    pub more: Phase,
}

// === impl Report ===

impl Report {
    /// Whether every event had its effect.
    ///
    /// # Errors
    /// The phases that lost events, and how many.
    pub fn check(&self) -> anyhow::Result<()> {
        let lost: Vec<String> = self
            .phases()
            .filter(|phase| phase.applied() < phase.sent)
            .map(|phase| format!("{}: {} of {}", phase.name, phase.sent - phase.applied(), phase.sent))
            .chain(self.all_deaths().filter(|deaths| deaths.applied < deaths.sent).map(|deaths| {
                format!("{}: {} of {}", deaths.what, deaths.sent - deaths.applied, deaths.sent)
            }))
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        bail!("add-ons did not come: {}", lost.join(", "))
    }

    fn all_deaths(&self) -> impl Iterator<Item = &Deaths> {
        self.deaths.iter().chain(self.scale.iter().flat_map(|scale| &scale.outages))
    }

    fn phases(&self) -> impl Iterator<Item = &Phase> {
        let bursts = self.bursts.iter().flat_map(|burst| [&burst.phase, &burst.more]);
        let points = self.scale.iter().flat_map(|scale| &scale.points);
        self.paced.iter().chain(bursts).chain(&self.flood).chain(points.map(|point| &point.phase))
    }

    fn latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### Event → applied\n")?;
        writeln!(
            f,
            "| load | sent | applied | achieved/s | p50 ms | p99 ms | max ms | at rest after s | others, cores | load average |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|")?;
        for phase in &self.paced {
            writeln!(
                f,
                "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} | {} |",
                phase.name,
                phase.sent,
                phase.applied(),
                phase.rate(),
                phase.quantile(0.5),
                phase.quantile(0.99),
                phase.max(),
                phase.cost.rested.as_secs_f64(),
                phase.cost.others,
                phase.cost.load
            )?;
        }
        Ok(())
    }

    fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### The limit, taken in the same run\n")?;
        writeln!(f, "| what | rate |\n|---|---|")?;
        for limit in &self.limits {
            writeln!(f, "| {} | {:.0}/s |", limit.what(), limit.rate.per_second())?;
        }
        if let Some(matcher) = self.matcher.map(|rate| rate.per_second()) {
            writeln!(f, "| one matcher alone: decode, match, publish | {matcher:.0}/s |")?;
            let share =
                |limit: &Limit| format!("{:.0} %", 100.0 * matcher / limit.rate.per_second().max(1.0));
            let shares: Vec<String> = self.limits.iter().map(share).collect();
            if !shares.is_empty() {
                writeln!(f, "| its share of each | {} |", shares.join(", "))?;
            }
        }
        let Some(flood) = &self.flood else { return Ok(()) };
        writeln!(
            f,
            "| the whole pipeline, {} Services at once over all clusters (others {:.2} cores, load {}) | {:.0} events/s |",
            flood.applied(),
            flood.cost.others,
            flood.cost.load,
            flood.rate()
        )
    }

    fn bursts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Bursts in one cluster\n")?;
        writeln!(
            f,
            "| what | applied | all there after s | p50 ms | one more, p50 ms | its max ms | others, cores | load average |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for Burst { form, phase, more } in &self.bursts {
            writeln!(
                f,
                "| {} Services at once, {form} | {} | {:.2} | {:.0} | {:.1} | {:.1} | {:.2} | {} |",
                phase.sent,
                phase.applied(),
                phase.span.as_secs_f64(),
                phase.quantile(0.5),
                more.quantile(0.5),
                more.max(),
                phase.cost.others,
                phase.cost.load
            )?;
        }
        Ok(())
    }

    fn stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases = || self.paced.iter().filter(|phase| phase.stages.names().next().is_some());
        let names: BTreeSet<&'static str> = phases().flat_map(|phase| phase.stages.names()).collect();
        if names.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n### From a row to what follows from it, p50 / p99 ms\n")?;
        write!(f, "| load |")?;
        names.iter().try_for_each(|name| write!(f, " {name} | of that the bus |"))?;
        writeln!(f, "\n|---|{}", "---|---|".repeat(names.len()))?;
        for phase in phases() {
            write!(f, "| {} |", phase.name)?;
            for (name, what) in names.iter().flat_map(|name| [(name, What::Row), (name, What::Stored)]) {
                let told = |part| {
                    phase.stages.quantile(name, what, part).map_or("–".into(), |ms| format!("{ms:.1}"))
                };
                write!(f, " {} / {} |", told(0.5), told(0.99))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn everywhere(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.everywhere.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n### One cause, all clusters\n")?;
        writeln!(
            f,
            "| what | objects of each cluster | clusters | all there after s, each time | CPU s of the renderer, for each | of the deployer | others, cores |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Everywhere { what, objects, clusters, times, cost, .. } in &self.everywhere {
            let each = times.len().max(1) as f64;
            let cpu = |stage| of(cost, stage).cpu.as_secs_f64() / each;
            let times: Vec<String> = times.iter().map(|time| format!("{:.2}", time.as_secs_f64())).collect();
            writeln!(
                f,
                "| {what} | {objects} | {clusters} | {} | {:.2} | {:.2} | {:.2} |",
                times.join(", "),
                cpu("renderer"),
                cpu("deployer"),
                cost.others
            )?;
        }
        Ok(())
    }

    fn costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### What it costs\n")?;
        write!(f, "| process |")?;
        for phase in &self.paced {
            write!(f, " CPU s per 1000 events, {} |", phase.name)?;
        }
        writeln!(f, " RSS idle MiB | RSS in the end MiB |")?;
        writeln!(f, "|---|{}---|---|", "---|".repeat(self.paced.len()))?;
        let names: BTreeSet<&'static str> = self.idle_memory.keys().copied().collect();
        for name in names {
            write!(f, "| {name} |")?;
            for phase in &self.paced {
                let cpu = of(&phase.cost, name).cpu.as_secs_f64();
                write!(f, " {:.2} |", 1000.0 * cpu / phase.sent.max(1) as f64)?;
            }
            let idle = self.idle_memory.get(name).copied().unwrap_or_default();
            let last = self.flood.as_ref().or(self.paced.last()).map(|phase| of(&phase.cost, name));
            writeln!(f, " {:.1} | {:.1} |", mebibytes(&idle), mebibytes(&last.unwrap_or_default()))?;
        }
        Ok(())
    }
}

// === impl Filled ===

impl Filled {
    /// Bytes that a process has for each add-on.
    pub fn bytes_each(&self, process: &str, idle: &BTreeMap<&'static str, Usage>) -> f64 {
        let rss = |usages: &BTreeMap<&'static str, Usage>| {
            usages.get(process).map_or(0.0, |usage| usage.rss as f64)
        };
        (rss(&self.memory) - rss(idle)) / self.add_ons.max(1) as f64
    }
}

// === impl Limit ===

impl Limit {
    fn what(&self) -> &'static str {
        match self.form {
            BareForm::Bare => "bare loop: consume a row, publish a row, same streams, no work",
            BareForm::Fenced => "the same with the head and the fence of each row",
            BareForm::Grouped => "the same with the head of each row, in groups under a fence",
        }
    }
}

/// What died or was away, each kind a row.
fn outages(all: &[Deaths], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n### Deaths under 40 events/s\n")?;
    writeln!(
        f,
        "| what died | deaths | an event sent after it is applied after s: median, longest | all of the second after it | longest latency of all events, ms | sent | applied |"
    )?;
    writeln!(f, "|---|---|---|---|---|---|---|")?;
    let told = |times| match middle_and_longest(times) {
        Some((middle, longest)) => format!("{:.2}, {:.2}", middle.as_secs_f64(), longest.as_secs_f64()),
        None => "never".to_owned(),
    };
    for deaths in all {
        writeln!(
            f,
            "| {} | {} | {} | {} | {:.0} | {} | {} |",
            deaths.what,
            deaths.first.len(),
            told(&deaths.first),
            told(&deaths.all),
            deaths.longest,
            deaths.sent,
            deaths.applied
        )?;
    }
    Ok(())
}

fn of(cost: &Cost, name: &str) -> Usage {
    cost.processes.get(name).copied().unwrap_or_default()
}

fn mebibytes(usage: &Usage) -> f64 {
    usage.rss as f64 / f64::from(1 << 20)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {} of them; {} simulated clusters\n",
            system::machine(),
            BusServer::version(),
            self.nodes,
            self.clusters
        )?;
        if self.scale.is_some() {
            return self.sizes(f);
        }
        self.latencies(f)?;
        self.floor(f)?;
        self.limits(f)?;
        self.bursts(f)?;
        outages(&self.deaths, f)?;
        self.stages(f)?;
        self.everywhere(f)?;
        self.drift(f)?;
        self.costs(f)?;
        self.counts(f)?;
        self.memory(f)
    }
}
