//! `sluice events`: the journal, as it is told.

use sluice_bus::journal;
use sluice_protocol::{JournalEntry, Role};
use sluice_runtime::stop_on_signals;

use crate::reach::Reach;
use crate::table::{Format, Output};

/// Arguments of `sluice events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice events --cluster default/cluster-1
  sluice events --stage deployer -o json

What happened before it began is not shown: `sluice trace` tells how something came to be. It ends with Ctrl-C.")]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,
    /// Only this stage.
    #[arg(long, value_parser = ["matcher", "renderer", "deployer"])]
    stage: Option<String>,
    /// Only this cluster: namespace/name.
    #[arg(long)]
    cluster: Option<String>,
    /// Only objects and profiles with this in their name.
    #[arg(long)]
    object: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        let bus = self.reach.bus(Role::People, &tasks).await?;
        let mut lines = journal(&bus).await?;
        while let Some(line) = tasks.stop().run_until_cancelled(lines.recv()).await.flatten() {
            if !self.wants(&line) {
                continue;
            }
            if self.output.output == Format::Json {
                println!("{}", serde_json::to_string(&line)?);
            } else {
                println!("{}", describe(&line));
            }
        }
        Ok(())
    }

    fn wants(&self, line: &JournalEntry) -> bool {
        let same =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        same(&self.stage, &line.stage)
            && (same(&self.cluster, &line.cluster) || same(&self.cluster, path(&line.cluster)))
            && self.object.as_deref().is_none_or(|part| line.object.contains(part))
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
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn lines_are_chosen_by_stage_cluster_and_object() {
        let line = JournalEntry::new("deployer", "applied", "sveltos:n/c", "ConfigMap x/web", 3_500, 1_000);
        assert_eq!(describe(&line), "applied    n/c                  ConfigMap x/web  2.5 ms");
        let wants = |arguments: &[&str]| {
            let parsed = Line::try_parse_from(["x"].iter().chain(arguments)).map(|line| line.args);
            parsed.is_ok_and(|args| args.wants(&line))
        };
        for chosen in [
            &[][..],
            &["--stage=deployer"],
            &["--cluster=n/c"],
            &["--cluster=sveltos:n/c"],
            &["--object=web"],
        ] {
            assert!(wants(chosen), "{chosen:?}");
        }
        for other in [["--stage=matcher"], ["--cluster=n/d"], ["--object=shop"]] {
            assert!(!wants(&other), "{other:?}");
        }
    }
}
