//! `sluice install check`: whether an installation has all it needs, or a management cluster is fit for one.

mod bus;
mod clusters;
mod facts;
mod finding;
mod kinds;
mod rights;
mod server;
#[cfg(test)]
mod tests;
mod workloads;

use self::facts::{Facts, gather};
use self::finding::{Finding, Level};
use crate::print::say;
use crate::reach::{Management, Reach};
use crate::table::{Format, Output, Table};

/// What is looked at; before an installation the first three.
const AREAS: [&str; 6] = ["api", "crd", "install", "rights", "bus", "cluster"];

/// Arguments of `sluice install check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice install check --pre --kubeconfig management.yaml
  sluice install check --nats-url nats://127.0.0.1:4222 --nats-nkey people.nk
  sluice install check -o json | jq -r 'select(.level == \"error\") | .remedy'

Exit code: 0 nothing is wrong (there may be warnings), 1 something is.")]
pub(super) struct Args {
    /// Before an installation: only what it will need of the management cluster.
    #[arg(long)]
    pre: bool,
    /// Only these areas, separated by commas; others are not looked at.
    #[arg(long, value_name = "AREA,...", value_delimiter = ',', value_parser = AREAS)]
    only: Vec<String>,
    /// Namespace of the installation.
    #[arg(long, default_value = "projectsveltos")]
    namespace: String,
    /// Namespaces in which the chart lets stages write, as its value `rbac.namespaces` has them, separated by commas; all without it.
    #[arg(long, value_name = "NAMESPACE,...", value_delimiter = ',')]
    namespaces: Vec<String>,
    /// Name of the release, with which the names of accounts begin.
    #[arg(long, default_value = "sluice")]
    release: String,
    /// Print what is well, too.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// The areas that are looked at.
    fn areas(&self) -> Vec<&'static str> {
        let possible = if self.pre { &AREAS[..3] } else { &AREAS[..] };
        let is_wanted = |area: &&&str| self.only.is_empty() || self.only.iter().any(|only| only == **area);
        possible.iter().filter(is_wanted).copied().collect()
    }

    pub(super) async fn run(self) -> anyhow::Result<()> {
        let facts = Box::pin(gather(&self)).await?;
        let findings = judge(&facts);
        let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
        let (all, errors, warnings) = (findings.len(), count(Level::Error), count(Level::Warning));
        let is_table = matches!(self.output.output, Format::Table | Format::Wide);
        let shown = findings.into_iter().filter(|finding| {
            !is_table || self.verbose || matches!(finding.level, Level::Error | Level::Warning)
        });
        let shown: Vec<Finding> = shown.collect();
        if !is_table || !shown.is_empty() {
            self.output.print(shown, |findings| table(findings, self.output))?;
        }
        if is_table {
            say!("{all} checks: {errors} wrong, {warnings} to be looked at");
        }
        anyhow::ensure!(errors == 0, "{errors} of {all} checks failed");
        Ok(())
    }
}

// D-1101: facts are gathered once, and a pure function decides.
/// What is to be said of these facts, area by area.
fn judge(facts: &Facts) -> Vec<Finding> {
    let judges = [server::judge, kinds::judge, workloads::judge, rights::judge, bus::judge, clusters::judge];
    let areas = AREAS.into_iter().zip(judges).filter(|(area, _)| facts.areas.contains(area));
    areas.flat_map(|(_, judge)| judge(facts)).collect()
}

fn table(findings: Vec<Finding>, output: Output) -> Table {
    let mut table = Table::new(&["CHECK", "LEVEL", "WHAT", "REMEDY", "SEE"], output.no_headers);
    for finding in findings {
        let level = finding.level.name().to_owned();
        table.add([finding.check, level, finding.says, finding.remedy, finding.see.to_owned()]);
    }
    table
}
