//! `sluice problems`: what cannot be done, and why.

use std::time::Duration;

use sluice_bus::problem_feed;
use sluice_protocol::Role;
use sluice_protocol::report::ProblemRow;
use sluice_runtime::stop_on_signals;

use crate::reach::Reach;
use crate::table::{Format, Output, Table, time};

/// Arguments of `sluice problems`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice problems --nats-url nats://127.0.0.1:4222
  sluice problems -o json | jq -r .error")]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        let bus = self.reach.bus(Role::People, &tasks).await?;
        let feed = problem_feed(&bus, tasks.stop().clone());
        tokio::time::timeout(Duration::from_secs(10), feed.synced())
            .await
            .map_err(|_| anyhow::anyhow!("the bus does not answer"))?;
        let problems = feed.values();
        if self.output.output == Format::Json {
            for problem in problems {
                println!("{}", serde_json::to_string(&problem)?);
            }
            return Ok(());
        }
        if problems.is_empty() {
            println!("no problems");
            return Ok(());
        }
        print!("{}", table(problems, self.output));
        Ok(())
    }
}

/// Wide, also since when a problem is there and how often it was met.
fn table(mut problems: Vec<ProblemRow>, output: Output) -> Table {
    let wide = output.output == Format::Wide;
    let header: &[&str] = if wide {
        &["STAGE", "CLUSTER", "OBJECT", "SINCE", "ATTEMPTS", "PROBLEM"]
    } else {
        &["STAGE", "CLUSTER", "OBJECT", "PROBLEM"]
    };
    problems.sort_by(|a, b| (&a.stage, &a.cluster, &a.object).cmp(&(&b.stage, &b.cluster, &b.object)));
    let mut table = Table::new(header, output.no_headers);
    for ProblemRow { stage, cluster, object, error, since, attempts } in problems {
        let more = [time(since), attempts.to_string()];
        let more = more.into_iter().filter(|_| wide);
        table.add([stage, cluster, object].into_iter().chain(more).chain([error]));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_in_order_and_wide_says_since_when() {
        let problem = |stage: &str| ProblemRow {
            stage: stage.into(),
            cluster: "default/c".into(),
            object: "EventTrigger t".into(),
            error: "spec.x: is wrong".into(),
            since: 1_700_000_000_000_000,
            attempts: 3,
        };
        let print = |output| {
            table(vec![problem("renderer"), problem("matcher")], Output { output, no_headers: true })
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
