//! `sluice import`: what of a running Sveltos, or of its manifests, works here as it is; and its taking over.

mod judge;
mod takeover;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::Value;
use sluice_api::{ClusterRef, Gvk, object, yaml};
use sluice_kube::{Raw, discover, resource_of};

use self::judge::{Fit, Row, judge};
use self::takeover::{Left, Outcome, Request, Taken, Way};
use crate::check::manifests;
use crate::print::say;
use crate::reach::{Management, cluster};
use crate::table::{Format, Output, Table};

/// Arguments of `sluice import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice import manifests/
  sluice import --kubeconfig management.yaml
  sluice import --kubeconfig management.yaml -o json | jq -r 'select(.fit == \"missing\")'
  sluice import --kubeconfig management.yaml --apply --dry-run
  sluice import --kubeconfig management.yaml --apply
  sluice import --kubeconfig management.yaml --undo

Without --apply and --undo it reads and changes nothing. Exit code: 0 everything works, maybe in another way; 1 something does not, or is left alone; 2 the input, or a file of it, cannot be read, or controllers still run.")]
pub(crate) struct Args {
    /// Folder with manifests; without it the management cluster is asked.
    dir: Option<PathBuf>,
    /// Take over what Sveltos has deployed: write inventories, and make names and field managers of its objects ours. Its controllers must
    /// not run. Only metadata is written.
    #[arg(long, conflicts_with_all = ["dir", "undo"])]
    apply: bool,
    /// Give back what was taken over. Stages of Sluice must not run.
    #[arg(long, conflicts_with = "dir")]
    undo: bool,
    /// Say what --apply or --undo would do, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Only this cluster, as it is registered; a Cluster of Cluster API has capi: before it. Can be given several times.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = cluster)]
    cluster: Vec<ClusterRef>,
    /// Print what works as it is, too.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) fn run(self) -> ExitCode {
        let way = match (self.apply, self.undo) {
            (true, _) => Way::Adopt,
            (_, true) => Way::Undo,
            _ => return self.report_all(),
        };
        let request = Request { way, dry_run: self.dry_run, clusters: self.cluster.clone() };
        let work = || -> anyhow::Result<Outcome> {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async {
                sluice_runtime::install_defaults()?;
                let client = self.management.client().await?;
                takeover::run(&client, &of_server(&client).await?, &request).await
            })
        };
        match work() {
            Ok(outcome) => self.tell(outcome, &request),
            Err(error) => {
                eprintln!("sluice import: {error:#}");
                ExitCode::from(2)
            }
        }
    }

    /// What came of taking over, or of giving back.
    fn tell(&self, outcome: Outcome, request: &Request) -> ExitCode {
        let Outcome { taken, left, changed } = outcome;
        let (profiles, is_left) = (taken.len(), !left.is_empty());
        let lines = taken.into_iter().map(Line::Taken).chain(left.into_iter().map(Line::Left)).collect();
        if let Err(error) = self.output.print(lines, |lines| outcome_table(lines, self.output)) {
            eprintln!("sluice import: {error}");
        }
        if matches!(self.output.output, Format::Table | Format::Wide) {
            let verb = match (request.way, request.dry_run) {
                (Way::Adopt, false) => "are taken over",
                (Way::Adopt, true) => "would be taken over",
                (Way::Undo, false) => "are given back",
                (Way::Undo, true) => "would be given back",
            };
            say!("{profiles} profiles {verb}; metadata of {changed} objects");
        }
        ExitCode::from(u8::from(is_left))
    }

    fn report_all(self) -> ExitCode {
        let read = || -> anyhow::Result<(Vec<Value>, usize)> {
            match &self.dir {
                Some(dir) => of_folder(dir),
                None => {
                    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                    runtime.block_on(async { Ok((of_server(&self.management.client().await?).await?, 0)) })
                }
            }
        };
        match read() {
            Ok((objects, 0)) => self.report(&objects),
            Ok((objects, _)) => {
                self.report(&objects);
                ExitCode::from(2)
            }
            Err(error) => {
                eprintln!("sluice import: {error:#}");
                ExitCode::from(2)
            }
        }
    }

    fn report(&self, objects: &[Value]) -> ExitCode {
        let rows = judge(objects);
        let count = |fit: Fit| rows.iter().filter(|row| row.fit == fit).count();
        let (works, differs, missing) = (count(Fit::Works), count(Fit::Differs), count(Fit::Missing));
        let is_table = matches!(self.output.output, Format::Table | Format::Wide);
        let shown = |row: &Row| !is_table || self.verbose || row.fit != Fit::Works;
        let shown: Vec<Row> = rows.into_iter().filter(shown).collect();
        if (!is_table || !shown.is_empty())
            && let Err(error) = self.output.print(shown, |rows| table(rows, self.output))
        {
            eprintln!("sluice import: {error}");
        }
        if is_table {
            say!("{works} objects work as they are, {differs} things differ, {missing} are missing");
        }
        ExitCode::from(u8::from(missing > 0))
    }
}

/// One line of what came of it.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
enum Line {
    Taken(Taken),
    Left(Left),
}

fn outcome_table(lines: Vec<Line>, output: Output) -> Table {
    let mut table = Table::new(&["CLUSTER", "PROFILE", "OBJECTS", "RELEASES", "SAYS"], output.no_headers);
    for line in lines {
        table.add(match line {
            Line::Taken(Taken { cluster, profile, former, objects, releases }) => {
                let was = if former == profile { String::new() } else { format!("{former} in Sveltos") };
                [cluster, profile, objects.to_string(), releases.to_string(), was]
            }
            Line::Left(Left { cluster, what, why }) => {
                [cluster, String::new(), String::new(), String::new(), format!("{what} is left alone: {why}")]
            }
        });
    }
    table
}

fn table(rows: Vec<Row>, output: Output) -> Table {
    let mut table = Table::new(&["OBJECT", "FIT", "FIELD", "WHAT", "DO"], output.no_headers);
    for Row { object, fit, field, what, remedy } in rows {
        table.add([object, fit.name().to_owned(), field, what, remedy]);
    }
    table
}

/// The manifests of a folder, and how many of its files hold none.
fn of_folder(dir: &Path) -> anyhow::Result<(Vec<Value>, usize)> {
    anyhow::ensure!(dir.exists(), "{}: there is no such folder", dir.display());
    let (mut all, mut unreadable) = (Vec::new(), 0);
    for file in manifests(dir) {
        match std::fs::read_to_string(&file)
            .map_err(anyhow::Error::from)
            .and_then(|text| Ok(yaml::documents(&text)?))
        {
            Ok(found) => all.extend(found),
            Err(error) => {
                eprintln!("sluice import: {}: {error:#}", file.display());
                unreadable += 1;
            }
        }
    }
    Ok((all, unreadable))
}

/// Everything that users of Sveltos write: its own kinds, what profiles refer to, and its controllers.
async fn of_server(client: &Client) -> anyhow::Result<Vec<Value>> {
    let served = discover(client).await.context("the management cluster does not say what it serves")?;
    let mut kinds: Vec<Gvk> = vec![Gvk::new("", "v1", "ConfigMap"), Gvk::new("apps", "v1", "Deployment")];
    for text in &served.api_versions {
        let mut parts = text.split('/');
        if let (Some(group), Some(version), Some(kind)) = (parts.next(), parts.next(), parts.next())
            && group.ends_with("projectsveltos.io")
        {
            kinds.push(Gvk::new(group, version, kind));
        }
    }
    let mut found: Vec<Value> = Vec::new();
    for gvk in kinds {
        // One kind is served in several versions.
        let is_known = |object: &Value| {
            object::text(object, &["kind"]) == gvk.kind
                && object::text(object, &["apiVersion"]).starts_with(&gvk.group)
        };
        if found.iter().any(is_known) {
            continue;
        }
        let Some((resource, _)) = resource_of(client, &gvk).await? else { continue };
        let api: Api<Raw> = Api::all_with(client.clone(), &resource);
        let listed = api.list(&ListParams::default()).await.with_context(|| format!("listing {gvk}"))?;
        found.extend(listed.items.into_iter().map(|object| object.complete(&resource)));
    }
    Ok(found)
}
