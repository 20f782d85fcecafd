//! Everything that was measured as one flat JSON object, for programs: names stay what they are from version to version.
//!
//! `<phase>.<figure>[.<process or table>]`, as `rate500.p50_ms` or `rate500.cpu_ms_per_event.renderer`. Units end the name of the
//! figure. What was not measured is not there.

use std::collections::BTreeMap;

use sluice_bus::BareForm;

use crate::measure::{Deaths, Everywhere, Phase, What, middle_and_longest};
use crate::report::{Burst, Limit, Report};
use crate::scale::Scale;
use crate::system::Usage;

/// Bytes of a KiB.
const KIB: f64 = 1024.0;

/// Figures by name.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<String, f64>);

// === impl Figures ===

impl Figures {
    /// All of a report.
    pub fn of(report: &Report) -> Self {
        let mut figures = Self::default();
        figures.note("plan.clusters", report.clusters as f64);
        figures.note("plan.nodes", report.nodes as f64);
        report.limits.iter().for_each(|limit| figures.limit(limit, report));
        report.paced.iter().chain(&report.flood).for_each(|phase| figures.phase(&phase.name, phase));
        report.bursts.iter().for_each(|burst| figures.burst(burst));
        report.deaths.iter().for_each(|deaths| figures.deaths(deaths));
        report.everywhere.iter().for_each(|everywhere| figures.everywhere(everywhere));
        if let Some(drift) = &report.drift {
            figures.everywhere(&drift.put_right);
            figures.note("drift.bytes_each", drift.each());
        }
        figures.memory(report);
        figures.floor(report);
        report.scale.iter().for_each(|scale| figures.scale(scale));
        figures
    }

    /// As JSON, one figure a line.
    ///
    /// # Errors
    /// Never for numbers.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&self.0).map(|text| text + "\n")
    }

    /// What cannot be told, a share of nothing for example, is left out.
    fn note(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.0.insert(name.replace(' ', "-"), (value * 1e6).round() / 1e6);
        }
    }

    fn limit(&mut self, limit: &Limit, report: &Report) {
        let form = match limit.form {
            BareForm::Bare => "bare",
            BareForm::Fenced => "fenced",
            BareForm::Grouped => "grouped",
        };
        self.note(&format!("limit.{form}_per_s"), limit.rate.per_second());
        if let Some(matcher) = report.matcher {
            self.note("matcher.per_s", matcher.per_second());
            self.note(&format!("matcher.share_of_{form}"), matcher.per_second() / limit.rate.per_second());
        }
    }

    fn phase(&mut self, name: &str, phase: &Phase) {
        self.note(&format!("{name}.sent"), phase.sent as f64);
        self.note(&format!("{name}.applied"), phase.applied() as f64);
        self.note(&format!("{name}.per_s"), phase.rate());
        self.note(&format!("{name}.p50_ms"), phase.quantile(0.5));
        self.note(&format!("{name}.p99_ms"), phase.quantile(0.99));
        self.note(&format!("{name}.max_ms"), phase.max());
        self.note(&format!("{name}.at_rest_after_s"), phase.cost.rested.as_secs_f64());
        self.note(&format!("{name}.others_cores"), phase.cost.others);
        let events = phase.sent as f64;
        for (process, used) in &phase.cost.processes {
            let cpu = used.cpu.as_secs_f64() * 1000.0;
            self.note(&format!("{name}.cpu_ms_per_event.{process}"), cpu / events);
            self.note(&format!("{name}.wakeups_per_event.{process}"), used.wakeups as f64 / events);
        }
        self.note(&format!("{name}.rows_per_event.all"), phase.cost.rows.total() as f64 / events);
        for (family, rows) in phase.cost.rows.families() {
            self.note(&format!("{name}.rows_per_event.{family}"), rows as f64 / events);
        }
        for stage in phase.stages.names() {
            for (figure, what, part) in [
                ("row_p50_ms", What::Row, 0.5),
                ("row_p99_ms", What::Row, 0.99),
                ("stored_p50_ms", What::Stored, 0.5),
                ("stored_p99_ms", What::Stored, 0.99),
            ] {
                let value = phase.stages.quantile(stage, what, part).unwrap_or(f64::NAN);
                self.note(&format!("{name}.{figure}.{stage}"), value);
            }
        }
    }

    fn scale(&mut self, scale: &Scale) {
        for point in &scale.points {
            let name = format!("scale.{}", point.phase.name);
            self.phase(&name, &point.phase);
            self.note(&format!("{name}.read_s"), point.read.as_secs_f64());
            self.note(&format!("{name}.simulated_share"), point.simulated());
            for (process, usage) in &point.memory {
                self.note(&format!("{name}.rss_mib.{process}"), usage.rss as f64 / KIB / KIB);
                let (per_object, per_add_on) =
                    (scale.bytes_per_object(process), scale.bytes_per_add_on(process));
                self.note(&format!("scale.bytes_per_object.{process}"), per_object.unwrap_or(f64::NAN));
                self.note(&format!("scale.bytes_per_add_on.{process}"), per_add_on.unwrap_or(f64::NAN));
            }
        }
        scale.outages.iter().for_each(|outage| self.deaths(outage));
    }

    fn floor(&mut self, report: &Report) {
        let Some(floor) = &report.floor else { return };
        for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
            let least = floor.whole.quantile(part);
            self.note(&format!("floor.{name}_ms"), least);
            self.note(&format!("floor.rows_{name}_ms"), floor.rows.quantile(part));
            self.note(&format!("floor.calls_{name}_ms"), floor.calls.quantile(part));
            for phase in report.paced.iter().filter(|phase| phase.name != "fill") {
                self.note(&format!("{}.{name}_per_floor", phase.name), phase.quantile(part) / least);
            }
        }
    }

    fn burst(&mut self, Burst { phase, more, .. }: &Burst) {
        self.phase(&phase.name, phase);
        self.phase(&more.name, more);
        self.note(&format!("{}.all_there_s", phase.name), phase.span.as_secs_f64());
    }

    fn deaths(&mut self, deaths: &Deaths) {
        let name = format!("deaths.{}", deaths.what);
        for (figure, times) in [("first", &deaths.first), ("all", &deaths.all)] {
            let Some((middle, longest)) = middle_and_longest(times) else { continue };
            self.note(&format!("{name}.{figure}_median_s"), middle.as_secs_f64());
            self.note(&format!("{name}.{figure}_longest_s"), longest.as_secs_f64());
        }
        self.note(&format!("{name}.max_ms"), deaths.longest);
        self.note(&format!("{name}.sent"), deaths.sent as f64);
        self.note(&format!("{name}.applied"), deaths.applied as f64);
    }

    fn everywhere(&mut self, everywhere: &Everywhere) {
        let Everywhere { name, times, cost, .. } = everywhere;
        let told: Vec<_> = times.iter().copied().map(Some).collect();
        if let Some((middle, longest)) = middle_and_longest(&told) {
            self.note(&format!("{name}.median_s"), middle.as_secs_f64());
            self.note(&format!("{name}.longest_s"), longest.as_secs_f64());
        }
        for (process, used) in &cost.processes {
            let each = used.cpu.as_secs_f64() / times.len() as f64;
            self.note(&format!("{name}.cpu_s.{process}"), each);
        }
    }

    fn memory(&mut self, report: &Report) {
        let mebibytes = |usage: &Usage| usage.rss as f64 / KIB / KIB;
        for (process, usage) in &report.idle_memory {
            self.note(&format!("idle.rss_mib.{process}"), mebibytes(usage));
        }
        let Some(filled) = &report.filled else { return };
        self.note("memory.add_ons", filled.add_ons as f64);
        for (process, usage) in &filled.memory {
            self.note(&format!("memory.rss_mib.{process}"), mebibytes(usage));
            let kibibytes = filled.bytes_each(process, &report.idle_memory) / KIB;
            // Each object that is watched is an event here, and has one add-on.
            let each = if ["agent", "matcher"].contains(process) { "object" } else { "add_on" };
            self.note(&format!("memory.kib_per_{each}.{process}"), kibibytes);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;
    use crate::bus_path::Rate;
    use crate::report::Filled;

    fn mk_usage(rss: u64) -> Usage {
        Usage { rss, ..Usage::default() }
    }

    #[test]
    fn figures_have_flat_names_and_what_was_not_measured_is_not_there() {
        let limit =
            Limit { form: BareForm::Grouped, rate: Rate { rows: 1000.0, elapsed: Duration::from_secs(2) } };
        let report = Report {
            clusters: 3,
            nodes: 1,
            limits: vec![limit],
            idle_memory: [("renderer", mk_usage(1 << 20)), ("load generator", mk_usage(0))].into(),
            filled: Some(Filled { add_ons: 512, memory: [("renderer", mk_usage(2 << 20))].into() }),
            ..Report::default()
        };
        let text = Figures::of(&report).to_json().unwrap();
        let expected = serde_json::json!({
            "plan.clusters": 3.0,
            "plan.nodes": 1.0,
            "limit.grouped_per_s": 500.0,
            "idle.rss_mib.renderer": 1.0,
            "idle.rss_mib.load-generator": 0.0,
            "memory.add_ons": 512.0,
            "memory.rss_mib.renderer": 2.0,
            "memory.kib_per_add_on.renderer": 2.0,
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    }
}
