//! `sluice events`: the journal, as it is told.

use sluice_api::ClusterRef;
use sluice_inspect::JournalFilter;
use sluice_protocol::{JournalEntry, Role};
use sluice_runtime::stop_on_signals;

use crate::answers::{Here, Served};
use crate::print::{self, put, say};
use crate::reach::{Reach, cluster};
use crate::table::Output;

/// Arguments of `sluice events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice events --cluster default/cluster-1
  sluice events --stage deployer -o json

What happened before it began is not shown: `sluice trace` tells how something came to be. It ends with Ctrl-C.")]
pub(crate) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    /// Only this stage.
    #[arg(long, value_parser = ["matcher", "renderer", "deployer"])]
    stage: Option<String>,
    /// Only this cluster: namespace/name.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = cluster)]
    cluster: Option<ClusterRef>,
    /// Only objects and profiles with this in their name.
    #[arg(long)]
    object: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        let here = Here { bus: Some((&self.reach, Role::People)), management: None };
        let filter = JournalFilter {
            stage: self.stage.clone(),
            cluster: self.cluster.clone(),
            object: self.object.clone(),
        };
        let mut journal = self.served.answers(here, &tasks).await?.journal(filter).await?;
        while let Some(lines) = tasks.stop().run_until_cancelled(journal.next()).await.transpose()? {
            if lines.is_empty() || print::is_over() {
                break;
            }
            for line in lines {
                match self.output.data(&line)? {
                    Some(data) => put!("{data}"),
                    None => say!("{}", describe(&line)),
                }
            }
        }
        Ok(())
    }
}

/// A line of the journal as people read it.
pub(crate) fn describe(line: &JournalEntry) -> String {
    let time =
        if line.micros > 0 { format!("  {:.1} ms", line.micros as f64 / 1000.0) } else { String::new() };
    format!("{:<10} {:<20} {}{time}", line.what, path(&line.cluster), line.object)
}

/// A cluster without its kind.
fn path(cluster: &str) -> &str {
    cluster.split_once(':').map_or(cluster, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_done_where_and_how_long_after_the_change() {
        let line = JournalEntry::new("deployer", "applied", "sveltos:n/c", "ConfigMap x/web", 3_500, 1_000);
        assert_eq!(describe(&line), "applied    n/c                  ConfigMap x/web  2.5 ms");
    }
}
