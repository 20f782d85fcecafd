//! Why something is deployed, or why not.

use sluice_inspect::{Explained, Question, Step, Verdict};
use sluice_proto::inspect::v1 as proto;
use sluice_proto::inspect::v1::explain_request::About;

use super::trace::object;

pub(crate) fn question(question: &Question) -> proto::ExplainRequest {
    let about = match question {
        Question::Trigger { name, .. } => About::Trigger(name.clone()),
        Question::Profile { namespace, name, .. } => {
            About::Profile(proto::Profile { namespace: namespace.clone(), name: name.clone() })
        }
        Question::Object(target) => About::Object(object(target)),
        Question::Event(target) => About::Event(object(target)),
    };
    proto::ExplainRequest { cluster: question.cluster().to_string(), about: Some(about) }
}

pub(crate) fn message(explained: Explained) -> proto::ExplainResponse {
    let step = |step: Step| proto::Step {
        about: step.about.into_owned(),
        verdict: verdict(step.verdict).into(),
        says: step.says,
        remedy: step.remedy,
    };
    proto::ExplainResponse {
        verdict: verdict(explained.verdict).into(),
        steps: explained.steps.into_iter().map(step).collect(),
        missing: explained.missing,
    }
}

pub(crate) fn answer(explained: proto::ExplainResponse) -> Explained {
    let verdict_of = explained.verdict();
    let step = |step: proto::Step| Step {
        verdict: said(step.verdict()),
        about: step.about.into(),
        says: step.says,
        remedy: step.remedy,
    };
    Explained {
        verdict: said(verdict_of),
        steps: explained.steps.into_iter().map(step).collect(),
        missing: explained.missing,
    }
}

fn verdict(verdict: Verdict) -> proto::Verdict {
    match verdict {
        Verdict::Yes => proto::Verdict::Yes,
        Verdict::No => proto::Verdict::No,
        Verdict::Unknown => proto::Verdict::Unknown,
    }
}

/// A verdict that is not known yet says that nobody can tell.
fn said(verdict: proto::Verdict) -> Verdict {
    match verdict {
        proto::Verdict::Yes => Verdict::Yes,
        proto::Verdict::No => Verdict::No,
        proto::Verdict::Unknown | proto::Verdict::Unspecified => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_comes_back_as_it_was() {
        let step =
            |verdict| Step { about: "events".into(), verdict, says: "found".into(), remedy: "do it".into() };
        let steps = [Verdict::Yes, Verdict::No, Verdict::Unknown].map(step).to_vec();
        let explained = Explained { verdict: Verdict::No, steps, missing: vec!["the bus".into()] };
        assert_eq!(answer(message(explained.clone())), explained);
    }
}
