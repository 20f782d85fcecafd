//! What manifests would change.

use sluice_api::ClusterRef;
use sluice_dryrun::{Packed, Sources};
use sluice_inspect::{Change, Difference, NewProblem};
use sluice_proto::inspect::v1 as proto;

use super::problem::severity;

pub(crate) fn question(
    files: Vec<(String, String)>,
    charts: &Sources,
    only: Option<&ClusterRef>,
) -> proto::DiffRequest {
    let chart = |packed: Packed<'_>| proto::Chart {
        repository: packed.repository.to_owned(),
        name: packed.name.to_owned(),
        archive: packed.archive.to_vec(),
    };
    proto::DiffRequest {
        files: files.into_iter().map(|(name, content)| proto::File { name, content }).collect(),
        cluster: only.map(ToString::to_string).unwrap_or_default(),
        charts: charts.charts().map(chart).collect(),
    }
}

pub(crate) fn message(difference: Difference) -> proto::DiffResponse {
    let change = |change: Change| {
        let Change { cluster, object, diff } = change;
        proto::Change { cluster, object, diff }
    };
    let problem = |problem: NewProblem| {
        let NewProblem { stage, cluster, object, severity, error } = problem;
        let note = !severity.is_error();
        proto::Problem { stage, cluster, object, error, note, ..proto::Problem::default() }
    };
    proto::DiffResponse {
        changes: difference.changes.into_iter().map(change).collect(),
        problems: difference.problems.into_iter().map(problem).collect(),
        missing: Vec::new(),
    }
}

pub(crate) fn answer(difference: proto::DiffResponse) -> Difference {
    let change = |change: proto::Change| {
        let proto::Change { cluster, object, diff } = change;
        Change { cluster, object, diff }
    };
    let problem = |problem: proto::Problem| {
        let proto::Problem { stage, cluster, object, error, note, .. } = problem;
        NewProblem { stage, cluster, object, severity: severity(note), error }
    };
    Difference {
        changes: difference.changes.into_iter().map(change).collect(),
        problems: difference.problems.into_iter().map(problem).collect(),
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::Severity;

    use super::*;

    #[test]
    fn a_difference_comes_back_as_it_was() {
        let change =
            Change { cluster: "n/c".into(), object: "ConfigMap a/b".into(), diff: "-a\n+b\n".into() };
        let problem = NewProblem {
            stage: "renderer".into(),
            cluster: String::new(),
            object: "EventTrigger t".into(),
            severity: Severity::Note,
            error: "wrong".into(),
        };
        let difference = Difference { changes: vec![change], problems: vec![problem] };
        assert_eq!(answer(message(difference.clone())), difference);
    }
}
