//! What opens and what is resolved from one look at all problems to the next.

use std::time::Duration;

use serde::Serialize;
use sluice_inspect::{InspectError, Listed, ProblemFilter};
use sluice_protocol::ProblemRow;
use sluice_tasks::Tasks;
use tokio::time::MissedTickBehavior;

use crate::answers::Answers;
use crate::print::{self, put};
use crate::table::Output;

/// How often it is looked. Problems stay for as long as their cause does: seconds at least.
const LOOK: Duration = Duration::from_secs(2);

/// A problem that was not there the last time, or is not there any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Turn {
    /// `opened` or `resolved`.
    what: &'static str,
    #[serde(flatten)]
    problem: ProblemRow,
}

/// Prints what opens and what is resolved, until the process is stopped. While nobody answers it says so, once.
pub(super) async fn watch(
    answers: &Answers,
    mut last: Vec<ProblemRow>,
    tasks: &Tasks,
    output: Output,
) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut away = false;
    while tasks.stop().run_until_cancelled(ticks.tick()).await.is_some() {
        let Some(answer) = tasks.stop().run_until_cancelled(Box::pin(look(answers))).await else { break };
        match answer {
            Ok(now) => {
                for turn in turns(&last, &now) {
                    put!("{}", output.data(&turn)?.unwrap_or_else(|| turn.text()));
                }
                if print::is_over() {
                    break;
                }
                (last, away) = (now, false);
            }
            Err(InspectError::Away(error)) => {
                if !away {
                    eprintln!("sluice: {error}; asking again");
                }
                away = true;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// All problems. What is not whole cannot be compared, and is no answer.
async fn look(answers: &Answers) -> Result<Vec<ProblemRow>, InspectError> {
    let Listed { found, missing } = answers.listed_problems(&ProblemFilter::default()).await?;
    if missing.is_empty() { Ok(found) } else { Err(InspectError::Away(missing.join("; "))) }
}

/// What has changed. A problem that says something else has opened anew, and is resolved when nothing is said any more.
fn turns(last: &[ProblemRow], now: &[ProblemRow]) -> Vec<Turn> {
    let is_same = |a: &ProblemRow, b: &ProblemRow| place(a) == place(b) && a.error == b.error;
    let turn = |what| move |problem: &ProblemRow| Turn { what, problem: problem.clone() };
    let resolved = last.iter().filter(|was| !now.iter().any(|is| place(is) == place(was)));
    let opened = now.iter().filter(|is| !last.iter().any(|was| is_same(is, was)));
    resolved.map(turn("resolved")).chain(opened.map(turn("opened"))).collect()
}

/// What a problem is about.
fn place(problem: &ProblemRow) -> [&str; 3] {
    [&problem.stage, &problem.cluster, &problem.object]
}

// === impl Turn ===

impl Turn {
    fn text(&self) -> String {
        let ProblemRow { stage, cluster, object, .. } = &self.problem;
        let cluster = if cluster.is_empty() { "-" } else { cluster };
        let error = self.problem.text().replace(['\n', '\r', '\t'], " ");
        format!("{:<8}  {stage:<8}  {cluster}  {object}: {error}\n", self.what)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::TriggerId;
    use sluice_protocol::About;

    use super::*;
    use crate::table::Format;

    fn mk_problem(trigger: &str, error: &str) -> ProblemRow {
        let about = About::Trigger(TriggerId::new("EventTrigger", trigger));
        ProblemRow::new("renderer", "", about, error, 1)
    }

    fn texts(last: &[ProblemRow], now: &[ProblemRow]) -> Vec<String> {
        turns(last, now).iter().map(Turn::text).collect()
    }

    #[test]
    fn what_is_new_opens_and_what_is_gone_is_resolved() {
        let (a, b) = (mk_problem("a", "wrong"), mk_problem("b", "bad\nvery"));
        assert_eq!(
            texts(std::slice::from_ref(&a), &[b]),
            [
                "resolved  renderer  -  EventTrigger a: wrong\n",
                "opened    renderer  -  EventTrigger b: bad very\n"
            ]
        );
        assert_eq!(texts(std::slice::from_ref(&a), std::slice::from_ref(&a)), [""; 0]);
    }

    #[test]
    fn a_problem_that_is_met_again_has_not_opened_anew() {
        let met = mk_problem("a", "wrong");
        let again = ProblemRow { attempts: 2, ..met.clone() };
        assert_eq!(texts(&[met], &[again]), [""; 0]);
    }

    #[test]
    fn a_problem_that_says_something_else_opens_and_is_not_resolved() {
        let now = [mk_problem("a", "other")];
        assert_eq!(
            texts(&[mk_problem("a", "wrong")], &now),
            ["opened    renderer  -  EventTrigger a: other\n"]
        );
    }

    #[test]
    fn as_data_a_line_says_what_has_become_of_the_problem() {
        let turn = turns(&[], &[mk_problem("a", "wrong")]).remove(0);
        let text = Output { output: Format::Json, no_headers: false }.data(&turn).unwrap().unwrap();
        assert!(text.starts_with("{\"what\":\"opened\",\"stage\":\"renderer\""), "{text}");
    }
}
