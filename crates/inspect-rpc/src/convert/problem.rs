//! What cannot be done.

use sluice_inspect::ProblemFilter;
use sluice_proto::inspect::v1 as proto;
use sluice_protocol::problem::Class;
use sluice_protocol::{ProblemRow, Severity};

use super::time::{micros, stamp};

pub(crate) fn question(filter: &ProblemFilter) -> proto::ListProblemsRequest {
    proto::ListProblemsRequest {
        stage: filter.stage.clone().unwrap_or_default(),
        cluster: filter.cluster.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn message(problem: ProblemRow) -> proto::Problem {
    let ProblemRow { stage, cluster, object, severity, error, since, attempts, .. } = problem;
    let note = !severity.is_error();
    proto::Problem { stage, cluster, object, error, since: stamp(since), attempts, note }
}

pub(crate) fn severity(is_note: bool) -> Severity {
    if is_note { Severity::Note } else { Severity::Error }
}

/// As a value what it is about, its class, and which clusters are left, are not told.
pub(crate) fn answer(problem: proto::Problem) -> ProblemRow {
    let proto::Problem { stage, cluster, object, error, since, attempts, note } = problem;
    let (about, class) = (None, Class::Other);
    ProblemRow {
        stage,
        cluster,
        object,
        about,
        severity: severity(note),
        class,
        left: 0,
        waiting: Vec::new(),
        error,
        since: micros(since),
        attempts,
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::{About, Fault};

    use super::*;

    #[test]
    fn a_problem_comes_back_as_it_was() {
        let (about, note) = (About::Source("s".into()), Fault::note("strange"));
        let row = ProblemRow::new("matcher", "sveltos:n/c", about, note, 1_700_000_000_000_001);
        let row = ProblemRow { about: None, attempts: 3, ..row };
        assert_eq!(answer(message(row.clone())), row);
    }
}
