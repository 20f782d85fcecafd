//! The part of the report that says what one event is made of: rows, wakeups, memory.

use std::collections::BTreeSet;
use std::fmt;

use super::{Report, of};
use crate::measure::Phase;

impl Report {
    /// One idle event beside the least that it can take.
    pub(super) fn floor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(floor) = &self.floor else { return Ok(()) };
        writeln!(
            f,
            "\n### The floor of one event: three rows, then two API calls, {} tries\n",
            floor.whole.count()
        )?;
        writeln!(f, "| what | p50 ms | p99 ms |\n|---|---|---|")?;
        for (what, times) in
            [("the rows", &floor.rows), ("the calls", &floor.calls), ("both: the floor", &floor.whole)]
        {
            writeln!(f, "| {what} | {:.2} | {:.2} |", times.quantile(0.5), times.quantile(0.99))?;
        }
        let Some(idle) = self.paced.iter().find(|phase| phase.name == "idle") else { return Ok(()) };
        let ratio = |part| idle.quantile(part) / floor.whole.quantile(part);
        writeln!(f, "| an idle event / the floor | {:.2} × | {:.2} × |", ratio(0.5), ratio(0.99))
    }

    /// Rows of the streams, and wakeups of the processes.
    pub(super) fn counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Rows and wakeups per event\n")?;
        write!(f, "| what |")?;
        self.paced.iter().try_for_each(|phase| write!(f, " {} |", phase.name))?;
        writeln!(f, "\n|---|{}", "---|".repeat(self.paced.len()))?;
        let each = |count: u64, phase: &Phase| count as f64 / phase.sent.max(1) as f64;
        let families: BTreeSet<String> =
            self.paced.iter().flat_map(|phase| phase.cost.rows.families().into_keys()).collect();
        for family in &families {
            write!(f, "| rows of `{family}` |")?;
            for phase in &self.paced {
                let count = phase.cost.rows.families().get(family).copied().unwrap_or_default();
                write!(f, " {:.2} |", each(count, phase))?;
            }
            writeln!(f)?;
        }
        write!(f, "| all rows |")?;
        self.paced
            .iter()
            .try_for_each(|phase| write!(f, " {:.2} |", each(phase.cost.rows.total(), phase)))?;
        writeln!(f)?;
        for name in self.idle_memory.keys() {
            write!(f, "| wakeups: {name} |")?;
            for phase in &self.paced {
                write!(f, " {:.1} |", each(of(&phase.cost, name).wakeups, phase))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// What each add-on, and the object that it is for, takes.
    pub(super) fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(filled) = &self.filled else { return Ok(()) };
        writeln!(f, "\n### Memory of {} add-ons, one for each object\n", filled.add_ons)?;
        writeln!(f, "| process | KiB for each |\n|---|---|")?;
        for process in filled.memory.keys() {
            let kibibytes = filled.bytes_each(process, &self.idle_memory) / 1024.0;
            writeln!(f, "| {process} | {kibibytes:.1} |")?;
        }
        Ok(())
    }
}
