//! What cannot be done, by the bucket of problems; without the bus, by what stages have written onto users' objects.

use kube::Client;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, problem_feed};
use sluice_protocol::problem::Class;
use sluice_protocol::{ProblemRow, Severity};
use sluice_tasks::Tasks;

use crate::objects::{Shown, lines};

/// Which problems are asked for.
#[derive(Clone, Debug, Default)]
pub struct ProblemFilter {
    /// Only what this stage cannot do.
    pub stage: Option<String>,
    /// Only what concerns this cluster, or all clusters.
    pub cluster: Option<ClusterRef>,
}

// === impl ProblemFilter ===

impl ProblemFilter {
    /// The chosen ones, in order.
    pub(crate) fn choose(&self, mut problems: Vec<ProblemRow>) -> Vec<ProblemRow> {
        problems.retain(|problem| self.wants(problem));
        problems.sort_by(|a, b| (&a.stage, &a.cluster, &a.object).cmp(&(&b.stage, &b.cluster, &b.object)));
        problems
    }

    fn wants(&self, problem: &ProblemRow) -> bool {
        let is_near = |cluster: &ClusterRef| {
            problem.cluster.is_empty()
                || problem.cluster == cluster.to_string()
                || problem.cluster == cluster.path()
        };
        self.stage.as_ref().is_none_or(|stage| *stage == problem.stage)
            && self.cluster.as_ref().is_none_or(is_near)
    }
}

/// All that are open. Ends what it has begun also when nobody waits for it any more.
pub(crate) async fn problems(bus: &Bus) -> Vec<ProblemRow> {
    let tasks = Tasks::default();
    let _ends = tasks.stop().clone().drop_guard();
    let feed = problem_feed(bus, tasks.stop().clone());
    feed.synced().await;
    feed.values()
}

/// What triggers and profiles say themselves of what is wrong with them.
pub(crate) async fn said_by_objects(client: &Client) -> Result<Vec<ProblemRow>, String> {
    let mut found = Vec::new();
    for shown in [Shown::Triggers, Shown::Profiles] {
        let of_kind = lines(client, shown, None).await?.into_iter().filter(|line| line.ready == "no");
        found.extend(of_kind.map(|line| ProblemRow {
            stage: "renderer".to_owned(),
            cluster: String::new(),
            object: if line.namespace.is_empty() {
                format!("{} {}", line.kind, line.name)
            } else {
                format!("{} {}/{}", line.kind, line.namespace, line.name)
            },
            about: None,
            severity: Severity::Error,
            class: Class::Other,
            left: 0,
            waiting: Vec::new(),
            error: line.message,
            since: 0,
            attempts: 0,
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use sluice_protocol::About;

    use super::*;

    fn problem(stage: &str, cluster: &str) -> ProblemRow {
        ProblemRow::new(stage, cluster, About::Source("s".into()), "wrong", 1)
    }

    #[test]
    fn problems_are_chosen_by_stage_and_cluster_and_come_in_order() {
        let all =
            vec![problem("renderer", ""), problem("matcher", "sveltos:n/b"), problem("agent", "sveltos:n/a")];
        let stages = |filter: ProblemFilter| -> Vec<String> {
            filter.choose(all.clone()).into_iter().map(|problem| problem.stage).collect()
        };
        assert_eq!(stages(ProblemFilter::default()), ["agent", "matcher", "renderer"]);
        let of_stage = ProblemFilter { stage: Some("matcher".into()), ..ProblemFilter::default() };
        assert_eq!(stages(of_stage), ["matcher"]);
        let cluster = Some(ClusterRef::sveltos("n", "a"));
        assert_eq!(stages(ProblemFilter { stage: None, cluster }), ["agent", "renderer"]);
    }
}
