//! `sluice explain`: why something is deployed or an event, or why not.

use std::process::ExitCode;

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_inspect::{Explained, InspectError, Question, Target, Verdict};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::print::put;
use crate::reach::{Management, Reach, destination};
use crate::table::{Output, Table};

/// Arguments of `sluice explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice explain --cluster default/cluster-1 trigger network-policies
  sluice explain --cluster default/cluster-1 object ConfigMap/settings -n shop
  sluice explain --cluster default/cluster-1 event svc/web -n shop

It reads rows that people have no right to: with accounts, use the operator's. Exit code: 0 it is deployed (an event: a trigger
follows from it), 1 it is not, 2 nobody can tell.")]
pub(crate) struct Args {
    /// The cluster; `management` for what is deployed to the management cluster.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = destination)]
    cluster: ClusterRef,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// An object: Kind/name, as kubectl takes it, such as deploy/web.
    #[command(after_help = "Examples:
  sluice explain --cluster default/cluster-1 object ConfigMap/settings -n shop
  sluice explain --cluster default/cluster-1 object NetworkPolicy/front-web -o json")]
    Object(Placed),
    /// A trigger, by its name.
    #[command(after_help = "Examples:
  sluice explain --cluster default/cluster-1 trigger network-policies
  sluice explain --cluster default/cluster-1 trigger credentials -o json")]
    Trigger(Named),
    /// A profile, by its name; with a namespace a Profile, else a ClusterProfile.
    #[command(after_help = "Examples:
  sluice explain --cluster default/cluster-1 profile admission-policies
  sluice explain --cluster default/cluster-1 profile quota -n shop")]
    Profile(Placed),
    /// An object of the cluster that may be an event: Kind/name, as kubectl takes it, such as svc/web.
    #[command(after_help = "Examples:
  sluice explain --cluster default/cluster-1 event svc/web -n shop
  sluice explain --cluster default/cluster-1 event Namespace/eng -o json

It says which EventSources look at the object, what each says of it, and which triggers follow. A CloudEvent is called by its subject,
and its namespace is its source: event CloudEvent/order-7 -n /shop.")]
    Event(Placed),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// What it is called.
    which: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Placed {
    /// What it is called.
    which: String,
    /// Its namespace; without one any, or none.
    #[arg(short, long, default_value = "")]
    namespace: String,
    #[command(flatten)]
    common: Common,
}

/// What every question needs.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) fn run(self) -> ExitCode {
        let mut verdict = Verdict::Unknown;
        let done = crate::blocking(async {
            verdict = Box::pin(self.explained()).await?;
            Ok(())
        });
        match verdict {
            _ if done != ExitCode::SUCCESS => ExitCode::from(2),
            Verdict::Yes => ExitCode::SUCCESS,
            Verdict::No => ExitCode::from(1),
            Verdict::Unknown => ExitCode::from(2),
        }
    }

    async fn explained(self) -> anyhow::Result<Verdict> {
        let question = self.question()?;
        let (What::Object(Placed { common, .. })
        | What::Event(Placed { common, .. })
        | What::Trigger(Named { common, .. })
        | What::Profile(Placed { common, .. })) = self.what;
        let explained = common.explained(&question).await?;
        match common.output.data(&explained)? {
            Some(data) => put!("{data}"),
            None => put!("{}", table(&explained, common.output)),
        }
        Ok(explained.verdict)
    }

    fn question(&self) -> anyhow::Result<Question> {
        let cluster = self.cluster.clone();
        Ok(match &self.what {
            What::Trigger(Named { which, .. }) => Question::Trigger { name: which.clone(), cluster },
            What::Profile(Placed { which, namespace, .. }) => {
                Question::Profile { namespace: namespace.clone(), name: which.clone(), cluster }
            }
            What::Object(placed) => Question::Object(placed.target(cluster, "ConfigMap")?),
            What::Event(placed) => Question::Event(placed.target(cluster, "Service")?),
        })
    }
}

impl Placed {
    /// The object that is meant; an example names one of this kind.
    fn target(&self, cluster: ClusterRef, such_as: &str) -> anyhow::Result<Target> {
        let name = &self.which;
        let (kind, name) = name
            .split_once('/')
            .with_context(|| format!("{name}: write Kind/name, such as {such_as}/{name}"))?;
        let (kind, namespace, name) = (kind.to_owned(), self.namespace.clone(), name.to_owned());
        Ok(Target { cluster, kind, namespace, name })
    }
}

impl Common {
    async fn explained(&self, question: &Question) -> Result<Explained, InspectError> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let tasks = Tasks::default();
        self.served.answers(here, &tasks).await?.explain(question).await
    }
}

/// A line for each condition, with what would turn it into a yes.
fn table(explained: &Explained, output: Output) -> Table {
    let mut table = Table::new(&["STEP", "VERDICT", "FOUND", "REMEDY"], output.no_headers);
    for step in &explained.steps {
        let verdict = match step.verdict {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Unknown => "unknown",
        };
        table.add([step.about.to_string(), verdict.to_owned(), step.says.clone(), step.remedy.clone()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use sluice_inspect::Step;

    use super::*;
    use crate::table::Format;

    #[test]
    fn a_line_says_what_would_turn_it_into_a_yes() {
        let step = |verdict, remedy: &str| Step {
            about: "events".into(),
            verdict,
            says: "found".into(),
            remedy: remedy.into(),
        };
        let steps = vec![step(Verdict::Yes, ""), step(Verdict::No, "do it")];
        let explained = Explained { verdict: Verdict::No, steps, missing: Vec::new() };
        let text = table(&explained, Output { output: Format::Table, no_headers: true }).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "| events | yes     | found |        |");
        assert_eq!(lines[2], "| events | no      | found | do it  |");
    }
}
