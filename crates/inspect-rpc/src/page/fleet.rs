//! The first view: the clusters, and of everything else how much there is. A large fleet has thousands of problems and profiles, of which
//! this view shows a number.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use sluice_inspect::ProblemFilter;
use sluice_protocol::{ProblemRow, Severity};

use super::{Answered, Asked};

pub(super) async fn fleet(State(answers): Asked) -> Answered<Value> {
    let (inspector, all) = (&answers.inspector, ProblemFilter::default());
    let lists = async {
        futures::try_join!(
            Box::pin(inspector.clusters(None)),
            Box::pin(inspector.problems(&all)),
            Box::pin(inspector.profiles(None)),
            Box::pin(inspector.triggers()),
        )
    };
    let Json((clusters, problems, profiles, triggers)) = answers.make(lists).await?;
    let missing = [clusters.missing, problems.missing, profiles.missing, triggers.missing].concat();
    let of_clusters = counted(&problems.found);
    Ok(Json(json!({
        "found": clusters.found,
        "missing": missing,
        "profiles": profiles.found.len(),
        "triggers": triggers.found.len(),
        "problems": of_clusters.values().sum::<usize>(),
        "of": of_clusters,
    })))
}

/// How much is wrong in each cluster, and, without one, in all. Notes do not count.
fn counted(problems: &[ProblemRow]) -> BTreeMap<&str, usize> {
    let mut of = BTreeMap::new();
    for problem in problems.iter().filter(|problem| problem.severity == Severity::Error) {
        *of.entry(problem.cluster.as_str()).or_default() += 1;
    }
    of
}

#[cfg(test)]
mod tests {
    use sluice_protocol::About;

    use super::*;

    #[test]
    fn problems_are_counted_by_cluster_and_notes_are_not() {
        let problem = |cluster: &str, severity| ProblemRow {
            severity,
            ..ProblemRow::new("matcher", cluster, About::Source("s".into()), "wrong", 1)
        };
        let (error, note) = (Severity::Error, Severity::Note);
        let all = [
            problem("a", error),
            problem("a", error),
            problem("a", note),
            problem("", error),
            problem("b", note),
        ];
        assert_eq!(counted(&all), BTreeMap::from([("", 1), ("a", 2)]));
    }
}
