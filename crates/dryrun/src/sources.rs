//! Charts that lie beside the manifests, and those that do not.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use sluice_api::digest::sveltos_hash;
use sluice_chart::{Chart, LoadLimits, best_version};
use sluice_renderer_core::{ChartRequest, ChartState, LoadedChart};

use crate::input::InputError;

/// The folder of charts, and the file in it that says which is which.
pub(crate) const FOLDER: &str = "sources";
const FILE: &str = "sources.yaml";

/// Charts by their repositories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources(Vec<Source>);

#[derive(Clone, Debug, PartialEq)]
struct Source {
    repository: String,
    name: String,
    version: String,
    loaded: Arc<LoadedChart>,
    archive: Arc<[u8]>,
}

/// Where charts come from that do not lie beside the manifests.
pub trait Repositories: fmt::Debug + Send + Sync {
    /// The chart, or why it cannot be had. It may block.
    fn fetch(&self, request: &ChartRequest) -> ChartState;
}

/// Why a chart that lies beside the manifests cannot be used.
#[derive(Debug, thiserror::Error)]
enum SourceError {
    /// It does not lie there.
    #[error("path: {0:?} leads out of {FOLDER}/")]
    Outside(String),
    /// Its file or folder.
    #[error("path: {path}: {error}")]
    File { path: String, error: Unread },
}

/// Why a file or folder holds no chart.
#[derive(Debug, thiserror::Error)]
enum Unread {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is none.
    #[error(transparent)]
    Chart(#[from] sluice_chart::Error),
}

/// Nothing is fetched.
#[derive(Clone, Copy, Debug)]
pub struct NoRepositories;

/// A chart as a repository gives it.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// Address of the repository, without a slash at its end.
    pub repository: &'a str,
    /// Name of the chart.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// `sha256:…` of the archive.
    pub digest: &'a str,
    /// The `.tgz`.
    pub archive: &'a Arc<[u8]>,
}

/// What the file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    charts: Vec<WrittenChart>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenChart {
    /// As in `repositoryURL`.
    repository: String,
    /// Without the name of the repository.
    chart: String,
    /// A folder or an archive, seen from the file.
    path: String,
}

// === impl Sources ===

impl Sources {
    /// Reads the charts of a folder with a `sources.yaml`; where there is no such folder there are none.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let file = folder.join(FILE);
        if !folder.exists() {
            return Ok(Self::default());
        }
        let failed = |reason: String| InputError::of(&file, reason);
        let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
        let mut documents = sluice_api::yaml::documents(&text).map_err(|error| failed(error.to_string()))?;
        let written = documents.pop().unwrap_or_default();
        let written: Written = serde_json::from_value(written).map_err(|error| failed(error.to_string()))?;
        let charts = written.charts.into_iter().enumerate();
        let read = charts.map(|(place, chart)| {
            Source::read(folder, chart).map_err(|error| failed(format!("charts[{place}].{error}")))
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Adds a chart of a repository.
    ///
    /// # Errors
    /// What is wrong with the files of its folder.
    pub fn add(
        &mut self,
        repository: &str,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), sluice_chart::Error> {
        let packed = Chart::pack(files, LoadLimits::default())?;
        self.0.push(Source::of(repository, None, packed)?);
        Ok(())
    }

    /// Adds a chart as a repository gives it, under the name that it has there.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn add_archive(
        &mut self,
        repository: &str,
        name: &str,
        archive: Vec<u8>,
    ) -> Result<(), sluice_chart::Error> {
        self.0.push(Source::of(repository, Some(name), archive)?);
        Ok(())
    }

    /// The charts, for who serves them.
    pub fn charts(&self) -> impl Iterator<Item = Packed<'_>> {
        self.0.iter().map(|source| Packed {
            repository: &source.repository,
            name: &source.name,
            version: &source.version,
            digest: &source.loaded.digest,
            archive: &source.archive,
        })
    }

    /// The chart that is asked for, where it lies here.
    pub(crate) fn find(&self, request: &ChartRequest) -> Option<ChartState> {
        let fits = |source: &&Source| source.repository == request.repository && source.name == request.name;
        let versions = self.0.iter().filter(fits).map(|source| source.version.as_str());
        let version = best_version(&request.version, versions);
        let found = version.and_then(|version| self.0.iter().filter(fits).find(|it| it.version == version));
        found.map(|source| ChartState::there(source.loaded.clone()))
    }
}

// === impl NoRepositories ===

impl Repositories for NoRepositories {
    fn fetch(&self, request: &ChartRequest) -> ChartState {
        ChartState::failed(format!(
            "nothing is fetched here, and {FOLDER}/{FILE} has no such chart; use `--fetch`, or add \
             `- {{repository: {:?}, chart: {:?}, path: …}}` to its charts, and the chart's folder or archive beside it",
            request.repository, request.name
        ))
    }
}

// === impl Source ===

impl Source {
    fn read(folder: &Path, written: WrittenChart) -> Result<Self, SourceError> {
        let path = Path::new(&written.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(SourceError::Outside(written.path));
        }
        let of_file = |error| SourceError::File { path: written.path.clone(), error };
        let archive = archive(&folder.join(path)).map_err(of_file)?;
        Self::of(&written.repository, Some(&written.chart), archive).map_err(|error| of_file(error.into()))
    }

    /// A chart by its own name, where it is called by no other.
    fn of(repository: &str, name: Option<&str>, archive: Vec<u8>) -> Result<Self, sluice_chart::Error> {
        let chart = Chart::from_archive(&archive, LoadLimits::default())?;
        Ok(Self {
            repository: repository.trim_end_matches('/').to_owned(),
            name: name.unwrap_or(&chart.metadata.name).to_owned(),
            version: chart.metadata.version.clone(),
            loaded: Arc::new(LoadedChart { digest: sveltos_hash(&archive), chart }),
            archive: archive.into(),
        })
    }
}

/// An archive as it is, and a folder as a repository would give it: what is drawn from a chart's digest is the same here and there.
fn archive(path: &Path) -> Result<Vec<u8>, Unread> {
    if !path.is_dir() {
        return Ok(std::fs::read(path)?);
    }
    let mut files = BTreeMap::new();
    collect(path, "", &mut files)?;
    Ok(Chart::pack(&files, LoadLimits::default())?)
}

/// The regular files of a folder. Links may lead out of it, and are left out.
fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (name, kind): (String, _) =
            (format!("{below}{}", entry.file_name().to_string_lossy()), entry.file_type()?);
        let path: PathBuf = entry.path();
        if kind.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.insert(name, std::fs::read(path)?);
        }
    }
    Ok(())
}
