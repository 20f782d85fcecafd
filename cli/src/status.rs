//! `sluice status`: bus, stages, clusters and problems on one screen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{Api, ListParams};
use serde::Serialize;
use sluice_api::Gvk;
use sluice_api::model::LIB_GROUP;
use sluice_bus::{BusReport, check, problem_feed, roll_call};
use sluice_kube::{Raw, resource_of};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::print::put;
use crate::reach::{Management, Reach};
use crate::table::{Format, Output};

/// How long the bus, and the management cluster, may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];

/// Arguments of `sluice status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice status
  sluice status --nats-url nats://bus:4222 --kubeconfig management.yaml -o json

Exit code 1 when the bus is not as it should be, a stage has no replica, or something cannot be done.")]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    output: Output,
    /// The same as `-o json`.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

/// What there is to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Picture {
    servers: usize,
    streams: usize,
    rows: u64,
    /// The replicas of each stage.
    stages: BTreeMap<String, Vec<String>>,
    /// Registered clusters; where the management cluster does not answer, why.
    clusters: Result<usize, String>,
    /// Open problems, by stage.
    problems: BTreeMap<String, usize>,
    /// What is wrong.
    wrong: Vec<String>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let report = check(&self.reach.options(Role::People)?).await?;
        let tasks = Tasks::default();
        let (mut living, mut problems) = (by_stage(&BTreeMap::new()), BTreeMap::new());
        if report.problems.is_empty() {
            let bus = self.reach.bus(Role::People, &tasks).await?;
            let heard = roll_call(&bus, |heard| is_everybody(&by_stage(heard), &report.owners)).await?;
            living = by_stage(&heard);
            let feed = problem_feed(&bus, tasks.stop().clone());
            let synced = tokio::time::timeout(PATIENCE, feed.synced()).await;
            synced.map_err(|_| anyhow::anyhow!("the bus does not tell its problems; ask again"))?;
            // What is only to be known is not wrong.
            for problem in feed.values().into_iter().filter(|problem| problem.severity.is_error()) {
                *problems.entry(problem.stage).or_default() += 1;
            }
        }
        let picture = Picture::new(&report, living, problems, self.clusters().await);
        let output = if self.json { Output { output: Format::Json, ..self.output } } else { self.output };
        put!("{}", output.data(&picture)?.unwrap_or_else(|| picture.text()));
        anyhow::ensure!(picture.wrong.is_empty(), "{} wrong", counted(picture.wrong.len(), "thing"));
        Ok(())
    }

    /// How many clusters are registered.
    async fn clusters(&self) -> Result<usize, String> {
        let asked = async {
            let client = self.management.client().await?;
            let gvk = Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster");
            let Some((resource, _)) = resource_of(&client, &gvk).await? else { return Ok(0) };
            let api: Api<Raw> = Api::all_with(client, &resource);
            let first = api.list(&ListParams::default().limit(1)).await?;
            let more = first.metadata.remaining_item_count.unwrap_or(0);
            anyhow::Ok(first.items.len() + usize::try_from(more).unwrap_or(0))
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(count)) => Ok(count),
            Ok(Err(error)) => Err(format!("{error:#}")),
            Err(_) => Err("the management cluster does not answer".to_owned()),
        }
    }
}

// === impl Picture ===

impl Picture {
    fn new(
        report: &BusReport,
        stages: BTreeMap<String, Vec<String>>,
        problems: BTreeMap<String, usize>,
        clusters: Result<usize, String>,
    ) -> Self {
        let mut wrong = report.problems.clone();
        if report.problems.is_empty() {
            let silent = stages.iter().filter(|(_, names)| names.is_empty());
            wrong.extend(silent.map(|(stage, _)| format!("no {stage} is heard; start one")));
        }
        let open: usize = problems.values().sum();
        if open > 0 {
            wrong.push(format!("{} open; `sluice problems` prints all", counted(open, "problem")));
        }
        Self {
            servers: report.servers.len(),
            streams: report.streams.len(),
            rows: report.streams.iter().map(|stream| stream.rows).sum(),
            stages,
            clusters,
            problems,
            wrong,
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![format!(
            "bus        {} with {} streams, {} rows",
            counted(self.servers, "server"),
            self.streams,
            self.rows
        )];
        for stage in STAGES {
            let names = self.stages.get(stage).map_or(&[][..], Vec::as_slice);
            lines.push(format!("{stage:<10} {}: {}", counted(names.len(), "replica"), names.join(", ")));
        }
        lines.push(match &self.clusters {
            Ok(count) => format!("clusters   {count} registered"),
            Err(error) => format!("clusters   unknown: {error}"),
        });
        let open: Vec<_> = self.problems.iter().map(|(stage, count)| format!("{stage} {count}")).collect();
        lines.push(format!(
            "problems   {}",
            if open.is_empty() { "none".to_owned() } else { open.join(", ") }
        ));
        lines.extend(self.wrong.iter().map(|wrong| format!("wrong      {wrong}")));
        lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// The replicas of each stage. An agent of one cluster is a group of its own.
fn by_stage(living: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, Vec<String>> {
    let mut stages: BTreeMap<String, Vec<String>> =
        STAGES.iter().map(|stage| ((*stage).to_owned(), Vec::new())).collect();
    for (group, names) in living {
        let stage = STAGES.iter().find(|stage| group == *stage).unwrap_or(&"agent");
        stages.entry((*stage).to_owned()).or_default().extend(names.iter().cloned());
    }
    stages
}

/// Whether every stage was heard, and everybody who owns a shard.
fn is_everybody(
    stages: &BTreeMap<String, Vec<String>>,
    owners: &BTreeMap<String, BTreeMap<String, usize>>,
) -> bool {
    let is_heard =
        |stage: &String, name: &String| stages.get(stage).is_some_and(|names| names.contains(name));
    stages.values().all(|names| !names.is_empty())
        && owners.iter().all(|(stage, owners)| owners.keys().all(|name| is_heard(stage, name)))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(problems: &[&str]) -> BusReport {
        let problems = problems.iter().map(|text| (*text).to_owned()).collect();
        BusReport {
            servers: Vec::new(),
            api_level: 1,
            streams: Vec::new(),
            store: (0, None),
            sealed: None,
            owners: BTreeMap::new(),
            problems,
        }
    }

    fn heard(groups: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        groups.iter().map(|group| ((*group).to_owned(), BTreeSet::from([format!("{group}-0")]))).collect()
    }

    #[test]
    fn a_stage_that_nobody_hears_and_open_problems_are_wrong() {
        let all = heard(&STAGES);
        let fine = Picture::new(&report(&[]), by_stage(&all), BTreeMap::new(), Ok(3));
        assert!(fine.wrong.is_empty(), "{fine:?}");
        assert!(fine.text().contains("matcher    1 replica: matcher-0\n"), "{}", fine.text());
        assert!(fine.text().contains("clusters   3 registered\nproblems   none\n"), "{}", fine.text());
        let problems = BTreeMap::from([("renderer".to_owned(), 2)]);
        let some = Picture::new(
            &report(&[]),
            by_stage(&heard(&["agent", "matcher", "renderer"])),
            problems,
            Err("away".into()),
        );
        let expected = ["no deployer is heard; start one", "2 problems open; `sluice problems` prints all"];
        assert_eq!(some.wrong, expected);
        assert!(
            some.text().contains("clusters   unknown: away\nproblems   renderer 2\nwrong      no deployer")
        );
    }

    #[test]
    fn of_a_bus_that_is_broken_nobody_is_expected_to_be_heard() {
        let broken = Picture::new(
            &report(&["stream STATUS has no leader"]),
            by_stage(&heard(&[])),
            BTreeMap::new(),
            Ok(0),
        );
        assert_eq!(broken.wrong, ["stream STATUS has no leader"]);
    }

    #[test]
    fn everybody_is_all_who_own_shards_of_their_stage_and_somebody_of_each() {
        let owners = |stage: &str, name: &str| {
            BTreeMap::from([(stage.to_owned(), BTreeMap::from([(name.to_owned(), 2)]))])
        };
        let all = by_stage(&heard(&STAGES));
        assert!(is_everybody(&all, &owners("renderer", "renderer-0")));
        assert!(!is_everybody(&all, &owners("renderer", "matcher-0")), "that one is of another stage");
        let some = by_stage(&heard(&["agent", "matcher", "renderer"]));
        assert!(!is_everybody(&some, &BTreeMap::new()), "no deployer was heard");
    }

    #[test]
    fn agents_of_one_cluster_are_agents() {
        let picture =
            Picture::new(&report(&[]), by_stage(&heard(&["agent-sveltos:n/c"])), BTreeMap::new(), Ok(1));
        assert_eq!(picture.stages["agent"], ["agent-sveltos:n/c-0"]);
    }
}
