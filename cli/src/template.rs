//! `sluice template`: what a Helm chart renders to, as `helm template` prints it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use serde_json::{Map, Value};
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release, Show};
use sluice_template::Env;

/// Arguments of `sluice template`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice template ./shop --release-name shop --namespace shop -f values.yaml
  sluice template shop-1.2.0.tgz --set replicas=2 --show-only templates/deployment.yaml")]
pub struct Args {
    /// A chart: a folder or a `.tgz` file.
    chart: PathBuf,
    /// The release's name.
    #[arg(long, default_value = "release-name")]
    release_name: String,
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
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("sluice: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    fn render(&self) -> anyhow::Result<String> {
        let Self { chart, release_name, namespace, values, set, kube_version, api_versions, .. } = self;
        let Self { include_crds, skip_tests, show_only, .. } = self;
        let values = read_values(values, set)?;
        let chart = load(chart)?;
        let mut capabilities = Capabilities::default();
        if let Some(version) = kube_version {
            capabilities = capabilities.with_kube_version(version).map_err(anyhow::Error::msg)?;
        }
        let capabilities = capabilities.with_api_versions(api_versions.iter().cloned());
        let release = Release {
            name: release_name.clone(),
            namespace: namespace.clone(),
            revision: 1,
            is_upgrade: false,
        };
        let options = Options::default();
        let rendered =
            sluice_chart::render(&chart, &values, &release, &capabilities, &surroundings(), &options)?;
        let show = Show { include_crds: *include_crds, skip_tests: *skip_tests, only: show_only.clone() };
        rendered.show(&show).map_err(anyhow::Error::msg)
    }
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

fn load(path: &Path) -> anyhow::Result<Chart> {
    let limits = LoadLimits::default();
    if !path.is_dir() {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        return Chart::from_archive(&bytes, limits).with_context(|| path.display().to_string());
    }
    let mut files = BTreeMap::new();
    collect(path, "", limits.unpacked_bytes as u64, &mut files)?;
    Ok(Chart::from_folder(&files, limits)?)
}

/// Reads a folder. Links are refused, since they may lead out of it; a broken one too.
fn collect(
    folder: &Path,
    below: &str,
    budget: u64,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<u64> {
    let mut budget = budget;
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            budget = collect(&entry.path(), &format!("{name}/"), budget, files)?;
            continue;
        }
        anyhow::ensure!(kind.is_file(), "{name} is a link or no regular file; put its content there");
        let left = budget.checked_sub(entry.metadata()?.len());
        budget = left.with_context(|| format!("{}: the chart is too large", entry.path().display()))?;
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(budget)
}
