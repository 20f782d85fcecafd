//! The part of the report about sizes.

use std::fmt;

use super::{Filled, Report, of, outages};
use crate::scale::{Point, Scale};
use sluice_testbed::STAGES;

/// Processes whose cost is told, besides those of the simulation.
const COSTS: [&str; 5] = ["agent", "matcher", "renderer", "deployer", "nats-server"];

impl Report {
    /// What an event costs in each size, memory, and how everything came back.
    pub(super) fn sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(scale) = &self.scale else { return Ok(()) };
        scale.costs(f)?;
        scale.memory(f)?;
        outages(&scale.outages, f)
    }
}

impl Scale {
    fn costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### An event in each size, {} replicas of each stage; CPU ms per event\n", 2)?;
        write!(f, "| clusters | objects | read in s | p50 ms | p99 ms |")?;
        COSTS.iter().try_for_each(|name| write!(f, " {name} |"))?;
        writeln!(f, " rows | share of the simulation |")?;
        writeln!(f, "|---|---|---|---|---|{}---|---|", "---|".repeat(COSTS.len()))?;
        for point in &self.points {
            let Point { clusters, objects, read, phase, .. } = point;
            let (p50, p99, read) = (phase.quantile(0.5), phase.quantile(0.99), read.as_secs_f64());
            write!(f, "| {clusters} | {objects} | {read:.0} | {p50:.1} | {p99:.1} |")?;
            for name in COSTS {
                write!(f, " {:.2} |", point.cpu(name))?;
            }
            let rows = phase.cost.rows.total() as f64 / phase.sent.max(1) as f64;
            writeln!(f, " {rows:.1} | {:.0} % |", 100.0 * point.simulated())?;
        }
        Ok(())
    }

    fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Memory: replicas of a stage and nodes of the bus together\n")?;
        write!(f, "| process |")?;
        self.points.iter().try_for_each(|Point { clusters, objects, .. }| {
            write!(f, " {clusters} clusters, {objects} objects, MiB |")
        })?;
        writeln!(f, " bytes for each object | bytes for each add-on |")?;
        writeln!(f, "|---|{}---|---|", "---|".repeat(self.points.len()))?;
        let told = |bytes: Option<f64>| bytes.map_or("–".to_owned(), |bytes| format!("{bytes:.0}"));
        for name in STAGES.into_iter().chain(["nats-server", "simulated clusters"]) {
            write!(f, "| {name} |")?;
            for point in &self.points {
                let rss = point.memory.get(name).map_or(0, |usage| usage.rss);
                write!(f, " {:.0} |", rss as f64 / f64::from(1 << 20))?;
            }
            writeln!(f, " {} | {} |", told(self.bytes_per_object(name)), told(self.bytes_per_add_on(name)))?;
        }
        Ok(())
    }

    /// Bytes of memory that a process has for each add-on of the largest.
    pub fn bytes_per_add_on(&self, process: &str) -> Option<f64> {
        let filled: &Filled = self.filled.as_ref()?;
        Some(filled.bytes_each(process, &self.points.last()?.memory))
    }
}

// === impl Point ===

impl Point {
    /// CPU of a process for each event, in milliseconds.
    pub fn cpu(&self, process: &str) -> f64 {
        1000.0 * of(&self.phase.cost, process).cpu.as_secs_f64() / self.phase.sent.max(1) as f64
    }

    /// The part of all CPU that the simulated clusters and the load took.
    pub fn simulated(&self) -> f64 {
        let cpu = |name: &str| of(&self.phase.cost, name).cpu.as_secs_f64();
        let all: f64 = self.phase.cost.processes.values().map(|usage| usage.cpu.as_secs_f64()).sum();
        (cpu("simulated clusters") + cpu("load generator")) / all.max(1e-6)
    }
}
