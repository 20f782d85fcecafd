//! Which chart is meant: a folder, an archive, or one of a repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sluice_chart::{Chart, LoadLimits};
use sluice_dryrun::Repositories as _;
use sluice_renderer_core::{Access, ChartRequest, ChartState};

use crate::fetch::{Kept, Remote};

/// Which chart, from where.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// A chart: a folder, a `.tgz` file, an address `oci://host/path/name`, or with --repo a name.
    chart: String,
    /// The address of the chart's repository: `http(s)://` with an index.
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// Version of a chart that is fetched, or a range of versions. The newest where it is left out.
    #[arg(long, default_value = "", hide_default_value = true)]
    version: String,
    /// User name for the repository.
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<String>,
    /// A file with the password for the repository.
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,
    /// The certificate authority of the repository's server, as PEM.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Do not check the certificate of the repository's server.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Speak to an OCI registry without TLS.
    #[arg(long)]
    plain_http: bool,
    #[command(flatten)]
    kept: Kept,
}

// === impl Source ===

impl Source {
    pub(super) fn load(&self) -> anyhow::Result<Chart> {
        let Some((repository, name)) = self.remote() else { return load(Path::new(&self.chart)) };
        let request = ChartRequest::new(repository, name, &self.version, self.access()?);
        let request = request.map_err(|(field, error)| {
            let of_name = field == "chartName" || self.repo.is_none();
            anyhow::anyhow!("{}: {error}", if of_name { "CHART" } else { "--repo" })
        })?;
        let state = Remote::new(&self.kept)?.fetch(&request);
        match state {
            ChartState { chart: Some(loaded), trouble, .. } => {
                if let Some(trouble) = trouble {
                    eprintln!("warning: {trouble}; what was fetched before is used");
                }
                Ok(loaded.chart.clone())
            }
            ChartState { trouble, .. } => anyhow::bail!("{request}: {}", trouble.unwrap_or_default()),
        }
    }

    /// Repository and name, where the chart is not on this machine.
    fn remote(&self) -> Option<(&str, &str)> {
        match &self.repo {
            Some(repo) => Some((repo, &self.chart)),
            None if self.chart.starts_with("oci://") => self.chart.rsplit_once('/'),
            None => None,
        }
    }

    fn access(&self) -> anyhow::Result<Access> {
        let text =
            |file: &PathBuf| fs::read_to_string(file).with_context(|| format!("reading {}", file.display()));
        let password = self.password_file.as_ref().map(text).transpose()?;
        let login = self.username.clone().zip(password);
        Ok(Access {
            login: login.map(|(user, password)| (user, password.trim_end_matches(['\r', '\n']).to_owned())),
            ca: self.ca_file.as_ref().map(text).transpose()?,
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            plain_http: self.plain_http,
            of_tenant: false,
        })
    }
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
