//! `sluice template`: what a Helm chart renders to, as `helm template` prints it.

use std::{
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use serde_json::{Map, Value};
use sluice_chart::{Capabilities, Options, Release, Show, Warnings};
use sluice_template::{Data, Env, Limits, Program, Stage};

use self::source::Source;

use crate::print::put;

mod source;

/// Arguments of `sluice template`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice template ./shop --release-name shop --namespace shop -f values.yaml
  sluice template shop-1.2.0.tgz --set replicas=2 --show-only templates/deployment.yaml
  sluice template shop --repo https://charts.example.com --version 1.x
  sluice template oci://registry.example.com/charts/shop --version 1.2.0")]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// The release's name.
    #[arg(long, default_value = "release-name")]
    release_name: String,
    /// A template that makes the release's name, with the functions of sprig.
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "release_name")]
    name_template: Option<String>,
    /// The release's namespace.
    #[arg(long, short, default_value = "default")]
    namespace: String,
    /// A file of values; later ones win.
    #[arg(long, short = 'f')]
    values: Vec<PathBuf>,
    /// Single values over all files, such as `a.b=1,c={x,y}`.
    #[arg(long)]
    set: Vec<String>,
    /// The Kubernetes version that the chart is told.
    #[arg(long)]
    kube_version: Option<String>,
    /// API versions that the chart is told besides those of Kubernetes.
    #[arg(long, short, value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Print the CRDs in `crds/` too.
    #[arg(long)]
    include_crds: bool,
    /// Leave out hooks that are tests.
    #[arg(long)]
    skip_tests: bool,
    /// Print only what comes from this template, such as `templates/service.yaml`.
    #[arg(long, short)]
    show_only: Vec<String>,
}

// === impl Args ===

impl Args {
    /// Prints the chart; 1 when it cannot be read or rendered.
    pub fn run(self) -> ExitCode {
        match self.render() {
            Ok(text) => {
                put!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("sluice: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    fn name_of_release(&self) -> anyhow::Result<String> {
        match &self.name_template {
            Some(text) => from_template(text).context("--name-template"),
            None => Ok(self.release_name.clone()),
        }
    }

    fn render(&self) -> anyhow::Result<String> {
        let Self { source, namespace, values, set, kube_version, api_versions, .. } = self;
        let Self { include_crds, skip_tests, show_only, .. } = self;
        let values = read_values(values, set)?;
        let chart = source.load()?;
        let mut capabilities = Capabilities::default();
        if let Some(version) = kube_version {
            capabilities = capabilities.with_kube_version(version).map_err(anyhow::Error::msg)?;
        }
        let capabilities = capabilities.with_api_versions(api_versions.iter().cloned());
        let release = Release {
            name: self.name_of_release()?,
            namespace: namespace.clone(),
            revision: 1,
            is_upgrade: false,
        };
        let (options, mut warnings) = (Options::default(), Warnings::default());
        let rendered = sluice_chart::render_and_warn(
            &chart,
            &values,
            &release,
            &capabilities,
            &surroundings(),
            &options,
            &mut warnings,
        );
        warnings.iter().for_each(|warning| eprintln!("{warning}"));
        let rendered = rendered?;
        let show = Show { include_crds: *include_crds, skip_tests: *skip_tests, only: show_only.clone() };
        rendered.show(&show).map_err(anyhow::Error::msg)
    }
}

/// What the template of a name makes, in one line.
fn from_template(text: &str) -> Result<String, sluice_template::Error> {
    let options = sluice_template::Options { stage: Stage::Sprig, ..sluice_template::Options::default() };
    let program = Program::compile("name-template", text, &options)?;
    program.render(&Data::Null, &surroundings(), &Limits::default())
}

/// The clock's time, and random values that begin with it: what is printed is not applied.
fn surroundings() -> Env<'static> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&now.to_le_bytes());
    seed[16..20].copy_from_slice(&std::process::id().to_le_bytes());
    Env::new(i64::try_from(now).unwrap_or(i64::MAX), seed)
}

fn read_values(files: &[PathBuf], set: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut values = Map::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let map = sluice_chart::read_values(&text);
        let map = map.map_err(|error| anyhow::anyhow!("failed to parse {}: {error}", file.display()))?;
        sluice_chart::merge(&mut values, map);
    }
    for line in set {
        let done = sluice_chart::set(&mut values, line);
        done.map_err(|error| anyhow::anyhow!("failed parsing --set data: {error}"))?;
    }
    Ok(values)
}
