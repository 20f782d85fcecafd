//! `sluice problems`: what cannot be done, and why.

mod watch;

use sluice_inspect::ProblemFilter;
use sluice_protocol::{ProblemRow, Role};
use sluice_runtime::stop_on_signals;

use crate::answers::{Here, Served};
use crate::print::say;
use crate::reach::Reach;
use crate::table::{Format, Output, Table, time};

/// Arguments of `sluice problems`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice problems --nats-url nats://127.0.0.1:4222
  sluice problems -o json | jq -r .error
  sluice problems --watch

With --watch it goes on, with a line for each problem that opens or is resolved, until Ctrl-C; as data, every line says which.
What each message means, and what to do: docs/operations/troubleshooting.md.")]
pub(crate) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    /// Print those that are open, and then each that opens or is resolved.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        let here = Here { bus: Some((&self.reach, Role::People)), management: None };
        let answers = self.served.answers(here, &tasks).await?;
        if self.watch && self.is_data() {
            return watch::watch(&answers, Vec::new(), &tasks, self.output).await;
        }
        let problems = answers.problems(&ProblemFilter::default()).await?;
        self.print(problems.clone())?;
        if self.watch {
            watch::watch(&answers, problems, &tasks, self.output).await?;
        }
        Ok(())
    }

    fn is_data(&self) -> bool {
        matches!(self.output.output, Format::Json | Format::Yaml)
    }

    fn print(&self, problems: Vec<ProblemRow>) -> anyhow::Result<()> {
        if problems.is_empty() && !self.is_data() {
            say!("no problems");
            return Ok(());
        }
        Ok(self.output.print(problems, |problems| table(problems, self.output))?)
    }
}

/// Wide, also since when a problem is there and how often it was met.
fn table(problems: Vec<ProblemRow>, output: Output) -> Table {
    let wide = output.is_wide();
    let header: &[&str] = if wide {
        &["STAGE", "CLUSTER", "OBJECT", "SINCE", "ATTEMPTS", "PROBLEM"]
    } else {
        &["STAGE", "CLUSTER", "OBJECT", "PROBLEM"]
    };
    let mut table = Table::new(header, output.no_headers);
    for problem in problems {
        let text = problem.text();
        let ProblemRow { stage, cluster, object, since, attempts, .. } = problem;
        let more = [time(since), attempts.to_string()];
        let more = more.into_iter().filter(|_| wide);
        table.add([stage, cluster, object].into_iter().chain(more).chain([text]));
    }
    table
}

#[cfg(test)]
mod tests {
    use sluice_api::TriggerId;
    use sluice_protocol::About;

    use super::*;

    #[test]
    fn wide_says_since_when() {
        let about = || About::Trigger(TriggerId::new("EventTrigger", "t"));
        let problem = |stage: &str| ProblemRow {
            attempts: 3,
            ..ProblemRow::new(stage, "default/c", about(), "spec.x: is wrong", 1_700_000_000_000_000)
        };
        let print = |output| {
            table(vec![problem("matcher"), problem("renderer")], Output { output, no_headers: true })
                .to_string()
        };
        let plain = print(Format::Table);
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines[1], "| matcher  | default/c | EventTrigger t | spec.x: is wrong |");
        assert!(lines[2].starts_with("| renderer |"), "{plain}");
        assert!(
            print(Format::Wide).contains("| EventTrigger t | 2023-11-14T22:13:20.000Z | 3        | spec.x")
        );
    }
}
