//! `sluice diff`: what manifests of a folder would change in which cluster, before anybody applies them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_dryrun::{Input, manifests_in};
use sluice_inspect::{Difference, Meant, NewProblem};
use sluice_protocol::Role;
use sluice_tasks::Tasks;
use sluice_tera::Workers;

use crate::answers::{Here, Manifests, Served};
use crate::fetch::Fetching;
use crate::print::put;
use crate::reach::{Management, Reach, destination};

/// Arguments of `sluice diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice diff manifests/
  sluice diff manifests/ --cluster default/cluster-1

Values of Secrets are masked, and templates see stand-ins for them. Objects of kinds that no EventSource selected so far are not known, and CloudEvents are left out; charts
are taken from `sources/` in the folder, or fetched. Exit code: 0 nothing would change, 1 something would, 2 it cannot be told.")]
pub(crate) struct Args {
    /// Management manifests, as `sluice build` takes them.
    dir: PathBuf,
    /// Only this cluster; `management` for what is deployed to the management cluster.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = destination)]
    cluster: Option<ClusterRef>,
    #[command(flatten)]
    fetching: Fetching,
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    reach: Reach,
}

impl Args {
    pub(crate) fn run(self) -> ExitCode {
        let mut changes = false;
        let done = crate::blocking(async {
            let difference = Box::pin(self.difference()).await?;
            changes = !difference.is_empty();
            put!("{}", text(&difference));
            Ok(())
        });
        match (done == ExitCode::SUCCESS, changes) {
            (false, _) => ExitCode::from(2),
            (true, true) => ExitCode::from(1),
            (true, false) => ExitCode::SUCCESS,
        }
    }

    async fn difference(self) -> anyhow::Result<Difference> {
        let tasks = Tasks::default();
        let manifests = self.manifests()?;
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let answers = self.served.answers(here, &tasks).await?;
        Ok(Box::pin(answers.diff(manifests, self.cluster)).await?)
    }

    /// What is wrong with a file is said here in either case.
    fn manifests(&self) -> anyhow::Result<Manifests> {
        let Input { management, sources, .. } = Input::read(&self.dir)?;
        if !self.served.is_given() {
            let (repositories, tera) = (self.fetching.repositories()?, Arc::new(Workers::new()));
            return Ok(Manifests::Read(Meant { management, sources, repositories, tera }));
        }
        anyhow::ensure!(
            !self.fetching.is_asked_for(),
            "--fetch: a server fetches no charts; put them into the folder sources/, or leave --server out"
        );
        let read = |path: PathBuf| {
            let content = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            anyhow::Ok((path.display().to_string(), content))
        };
        let files = manifests_in(&self.dir)?.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Manifests::Files(files, sources))
    }
}

/// A difference as people read it.
fn text(difference: &Difference) -> String {
    let mut text: String = difference.changes.iter().map(|change| change.diff.as_str()).collect();
    for NewProblem { stage, cluster, object, severity, error } in &difference.problems {
        text.push_str(&format!("! {stage} {cluster} {object}: {}\n", severity.with(error)));
    }
    text
}

#[cfg(test)]
mod tests {
    use sluice_inspect::Change;
    use sluice_protocol::Severity;

    use super::*;

    #[test]
    fn changes_are_printed_before_new_problems() {
        let change =
            Change { cluster: "n/c".into(), object: "ConfigMap a/b".into(), diff: "-a\n+b\n".into() };
        let problem = NewProblem {
            stage: "renderer".into(),
            cluster: "n/c".into(),
            object: "EventTrigger t".into(),
            severity: Severity::Error,
            error: "new".into(),
        };
        let difference = Difference { changes: vec![change], problems: vec![problem] };
        assert_eq!(text(&difference), "-a\n+b\n! renderer n/c EventTrigger t: new\n");
    }
}
