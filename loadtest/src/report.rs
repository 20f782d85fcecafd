//! The result as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::bail;

use crate::bus_path::Rate;
use crate::measure::{Cost, Phase};
use crate::stack::BusServer;
use crate::system::{self, Usage};

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    /// Simulated clusters.
    pub clusters: usize,
    /// The bare loop.
    pub bare: Rate,
    /// The bare loop with heads and fences.
    pub fenced: Rate,
    /// A matcher that makes all reports again.
    pub matcher: Rate,
    /// Memory after the idle phase, by process.
    pub idle_memory: BTreeMap<&'static str, Usage>,
    /// The idle phase and those with a rate.
    pub paced: Vec<Phase>,
    /// The bursts.
    pub bursts: Vec<Burst>,
    /// As many as possible.
    pub flood: Phase,
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
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        bail!("add-ons did not come: {}", lost.join(", "))
    }

    fn phases(&self) -> impl Iterator<Item = &Phase> {
        let bursts = self.bursts.iter().flat_map(|burst| [&burst.phase, &burst.more]);
        self.paced.iter().chain(bursts).chain([&self.flood])
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
                phase.cost.settled.as_secs_f64(),
                phase.cost.others,
                phase.cost.load
            )?;
        }
        Ok(())
    }

    fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bare, fenced) = (self.bare.per_second(), self.fenced.per_second());
        let matcher = self.matcher.per_second();
        writeln!(f, "\n### The limit, taken in the same run\n")?;
        writeln!(f, "| what | rate |\n|---|---|")?;
        writeln!(f, "| bare loop: consume a row, publish a row, same streams, no work | {bare:.0}/s |")?;
        writeln!(f, "| the same with the head and the fence of each row | {fenced:.0}/s |")?;
        writeln!(f, "| one matcher alone: decode, match, publish | {matcher:.0}/s |")?;
        let share = |limit: f64| 100.0 * matcher / limit.max(1.0);
        writeln!(f, "| its share of the two | {:.0} %, {:.0} % |", share(bare), share(fenced))?;
        let (flood, cost) = (&self.flood, &self.flood.cost);
        writeln!(
            f,
            "| the whole pipeline, {} Services at once over all clusters (others {:.2} cores, load {}) | {:.0} events/s |",
            flood.applied(),
            cost.others,
            cost.load,
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
            writeln!(f, " {:.1} | {:.1} |", mebibytes(&idle), mebibytes(&of(&self.flood.cost, name)))?;
        }
        Ok(())
    }
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
            "{}; {}; {} simulated clusters\n",
            system::machine(),
            BusServer::version(),
            self.clusters
        )?;
        self.latencies(f)?;
        self.limits(f)?;
        self.bursts(f)?;
        self.costs(f)
    }
}
