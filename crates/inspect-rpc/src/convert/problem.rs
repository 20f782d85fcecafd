//! What cannot be done.

use sluice_inspect::ProblemFilter;
use sluice_proto::inspect::v1 as proto;
use sluice_protocol::report::ProblemRow;

use super::time::{micros, stamp};

pub(crate) fn question(filter: &ProblemFilter) -> proto::ListProblemsRequest {
    proto::ListProblemsRequest {
        stage: filter.stage.clone().unwrap_or_default(),
        cluster: filter.cluster.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn message(problem: ProblemRow) -> proto::Problem {
    let ProblemRow { stage, cluster, object, error, since, attempts } = problem;
    proto::Problem { stage, cluster, object, error, since: stamp(since), attempts }
}

pub(crate) fn answer(problem: proto::Problem) -> ProblemRow {
    let proto::Problem { stage, cluster, object, error, since, attempts } = problem;
    ProblemRow { stage, cluster, object, error, since: micros(since), attempts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_comes_back_as_it_was() {
        let problem = ProblemRow {
            stage: "matcher".into(),
            cluster: "sveltos:n/c".into(),
            object: "EventTrigger t".into(),
            error: "wrong".into(),
            since: 1_700_000_000_000_001,
            attempts: 3,
        };
        assert_eq!(answer(message(problem.clone())), problem);
    }
}
