//! `sluice rollout`: what goes to few clusters at a time, and going on with it, or not.

use anyhow::bail;
use serde_json::{Value, json};
use sluice_api::ObjectKey;
use sluice_api::model::{ROLLOUT, ROLLOUT_APPROVE, ROLLOUT_STOP, ROLLOUT_UNDO};
use sluice_inspect::ProblemFilter;
use sluice_protocol::{ProblemRow, Role};
use sluice_runtime::stop_on_signals;

use crate::answers::{Here, Served};
use crate::maker::maker;
use crate::patched;
use crate::print::say;
use crate::reach::{Management, Reach};
use crate::table::{Format, Output, Table};

/// Arguments of `sluice rollout`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// How far rollouts are of which clusters wait for their turn.
    #[command(after_help = "Examples:
  sluice rollout status
  sluice rollout status ClusterProfile/admission-policies
  sluice rollout status -o json | jq -r .error

What has gone to all its clusters is not among them: `sluice show profiles` says what became of it.")]
    Status(Box<Status>),
    /// Let it go on after the first clusters.
    #[command(after_help = "Examples:
  sluice rollout approve ClusterProfile/admission-policies 3f2a90c1d4e5
  sluice rollout approve EventTrigger/network-policies 3f2a90c1d4e5 --kubeconfig mgmt.kubeconfig

It writes the annotation sluice.dev/rollout-approve. What is approved is said by `sluice rollout status`; what is written later waits
for its own approval.")]
    Approve {
        #[command(flatten)]
        of: Of,
        /// What is approved.
        digest: String,
    },
    /// Let it go to no more clusters, and leave those as they are that have it.
    #[command(after_help = "Examples:
  sluice rollout stop ClusterProfile/admission-policies
  sluice rollout stop Profile/shop/quota

It writes the annotation sluice.dev/rollout-stop. To take a content back, see `sluice rollout undo`, or write the former one: it goes
to few clusters at a time as well, first to those that come first by name.")]
    Stop(Of),
    /// Go on with what was stopped.
    #[command(after_help = "Examples:
  sluice rollout resume ClusterProfile/admission-policies
  sluice rollout resume Profile/shop/quota")]
    Resume(Of),
    /// Let all clusters go back to the last content that was good.
    #[command(after_help = "Examples:
  sluice rollout undo ClusterProfile/admission-policies
  sluice rollout undo EventTrigger/network-policies 3f2a90c1d4e5

It writes the annotation sluice.dev/rollout-undo, which names what went out last: all clusters that have it go back at once, and get
nothing until another content is written. Needs sluice.dev/rollout-on-failure: rollback on the profile or trigger, since when clusters
keep what they can go back to.")]
    Undo(Box<Undo>),
}

#[derive(Debug, clap::Args)]
struct Undo {
    /// The profile or trigger: ClusterProfile/name, Profile/namespace/name or EventTrigger/name.
    #[arg(value_name = "KIND/NAME", value_parser = maker)]
    of: ObjectKey,
    /// What is undone, as `sluice rollout status` calls it; without it, what went out last.
    digest: Option<String>,
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
}

#[derive(Debug, clap::Args)]
struct Status {
    /// Of this one only: ClusterProfile/name, Profile/namespace/name or EventTrigger/name.
    #[arg(value_name = "KIND/NAME", value_parser = maker)]
    of: Option<ObjectKey>,
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    output: Output,
}

/// A profile or trigger.
#[derive(Debug, clap::Args)]
struct Of {
    /// The profile or trigger: ClusterProfile/name, Profile/namespace/name or EventTrigger/name.
    #[arg(value_name = "KIND/NAME", value_parser = maker)]
    of: ObjectKey,
    #[command(flatten)]
    management: Management,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Status(status) => status.run().await,
            What::Approve { of, digest } => {
                if digest.is_empty() {
                    bail!("write what is approved: `sluice rollout status` says it");
                }
                of.annotate(ROLLOUT_APPROVE, json!(digest), "may go on").await
            }
            What::Stop(of) => of.annotate(ROLLOUT_STOP, json!("true"), "goes to no more clusters").await,
            What::Resume(of) => of.annotate(ROLLOUT_STOP, Value::Null, "goes on").await,
            What::Undo(undo) => undo.run().await,
        }
    }
}

impl Of {
    async fn annotate(&self, annotation: &str, value: Value, what: &str) -> anyhow::Result<()> {
        let client = self.management.client().await?;
        let ObjectKey { gvk, namespace, name } = &self.of;
        let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        let kind = patched::patch(&client, std::slice::from_ref(gvk), namespace, name, &patch).await?;
        say!("{kind} {name} {what}");
        Ok(())
    }
}

impl Undo {
    async fn run(self) -> anyhow::Result<()> {
        let Self { of, digest, served, reach, management } = self;
        let digest = match digest.filter(|digest| !digest.is_empty()) {
            Some(digest) => digest,
            None => {
                let here = Here { bus: Some((&reach, Role::Operator)), management: Some(&management) };
                let tasks = stop_on_signals();
                let rollout = served.answers(here, &tasks).await?.rollout(&of).await?;
                went_out_last(&rollout.called)?.to_owned()
            }
        };
        let what = format!("goes back from {digest}");
        Of { of, management }.annotate(ROLLOUT_UNDO, json!(digest), &what).await
    }
}

/// The one content that went out last.
fn went_out_last(called: &[String]) -> anyhow::Result<&str> {
    match called {
        [called] => Ok(called),
        [] => bail!(
            "its clusters keep no former content: only with sluice.dev/rollout-on-failure: rollback can they go back"
        ),
        called => bail!(
            "each of its events leads to a content of its own; write which is undone: {}",
            called.join(", ")
        ),
    }
}

impl Status {
    async fn run(self) -> anyhow::Result<()> {
        let Self { of, served, reach, output } = self;
        let tasks = stop_on_signals();
        let here = Here { bus: Some((&reach, Role::People)), management: None };
        let answers = served.answers(here, &tasks).await?;
        let rollouts = rollouts(answers.problems(&ProblemFilter::default()).await?, of.as_ref());
        if rollouts.is_empty() && !matches!(output.output, Format::Json | Format::Yaml) {
            say!("no cluster waits for its turn");
            return Ok(());
        }
        Ok(output.print(rollouts, |rollouts| table(&rollouts, output))?)
    }
}

/// What is said of rollouts, of all or of one profile or trigger.
fn rollouts(problems: Vec<ProblemRow>, of: Option<&ObjectKey>) -> Vec<ProblemRow> {
    let is_of = |problem: &ProblemRow| of.is_none_or(|of| is_about(problem, of));
    problems.into_iter().filter(|problem| problem.error.contains(ROLLOUT) && is_of(problem)).collect()
}

/// Whether it is about this object. A server does not tell that as a value; the text names the object first.
fn is_about(problem: &ProblemRow, of: &ObjectKey) -> bool {
    match &problem.about {
        Some(about) => about.user_object(None).as_ref() == Some(of),
        None => problem.object.split(", ").next() == Some(of.to_string().as_str()),
    }
}

fn table(rollouts: &[ProblemRow], output: Output) -> Table {
    let mut table = Table::new(&["OBJECT", "ROLLOUT"], output.no_headers);
    for rollout in rollouts {
        // Before it there may be what else is said of the object.
        let text = rollout.error.find(ROLLOUT).map_or("", |at| &rollout.error[at + ROLLOUT.len()..]);
        table.add([rollout.object.clone(), text.to_owned()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use sluice_api::ProfileId;
    use sluice_protocol::About;

    use super::*;

    #[test]
    fn what_went_out_last_is_undone_where_there_is_one() {
        let of = |called: &[&str]| {
            let called: Vec<_> = called.iter().map(|&called| called.to_owned()).collect();
            went_out_last(&called).map(str::to_owned).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["3f2a"]).unwrap(), "3f2a");
        assert!(of(&[]).unwrap_err().contains("only with sluice.dev/rollout-on-failure: rollback"));
        assert!(of(&["1a", "2b"]).unwrap_err().ends_with("write which is undone: 1a, 2b"));
    }

    #[test]
    fn of_what_is_said_rollouts_are_told() {
        let about = |name: &str| About::Profile(ProfileId::cluster(name));
        let row = |name: &str, text: &str| ProblemRow::new("renderer", "", about(name), text, 1);
        let all = || {
            vec![
                row("a", "rollout: 1 of 3 clusters have it"),
                row("b", "x; note: rollout: 2 of 3"),
                row("c", "no"),
            ]
        };
        let names = |all: Vec<ProblemRow>, of: Option<&str>| {
            let of = of.map(|name| maker(name).unwrap());
            rollouts(all, of.as_ref()).into_iter().map(|row| row.object).collect::<Vec<_>>()
        };
        assert_eq!(names(all(), None), ["ClusterProfile a", "ClusterProfile b"]);
        assert_eq!(names(all(), Some("ClusterProfile/b")), ["ClusterProfile b"]);
        let of_a_server = all().into_iter().map(|row| ProblemRow { about: None, ..row }).collect();
        assert_eq!(names(of_a_server, Some("ClusterProfile/b")), ["ClusterProfile b"]);
        let text =
            table(&rollouts(all(), None), Output { output: Format::Table, no_headers: true }).to_string();
        assert!(text.contains("| ClusterProfile b | 2 of 3"), "{text}");
    }
}
