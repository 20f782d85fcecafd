//! Charts that lie beside the manifests: nothing is fetched.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use sluice_api::Digest;
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
    /// Reads the charts of a folder of manifests; without `sources/` there are none.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub(crate) fn read(dir: &Path) -> Result<Self, InputError> {
        let (folder, file) = (dir.join(FOLDER), dir.join(FOLDER).join(FILE));
        if !folder.exists() {
            return Ok(Self::default());
        }
        let failed = |reason: String| InputError::of(&file, reason);
        let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
        let mut documents = sluice_api::yaml::documents(&text).map_err(failed)?;
        let written = documents.pop().unwrap_or_default();
        let written: Written = serde_json::from_value(written).map_err(|error| failed(error.to_string()))?;
        let charts = written.charts.into_iter().enumerate();
        let read = charts.map(|(place, chart)| {
            Source::read(&folder, chart).map_err(|error| failed(format!("charts[{place}].{error}")))
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// The charts with their repositories and what was read of them, for who serves them.
    pub fn charts(&self) -> impl Iterator<Item = (&str, &Arc<LoadedChart>)> {
        self.0.iter().map(|source| (source.repository.as_str(), &source.loaded))
    }

    /// The chart that is asked for.
    pub(crate) fn find(&self, request: &ChartRequest) -> ChartState {
        let fits = |source: &&Source| source.repository == request.repository && source.name == request.name;
        let versions = self.0.iter().filter(fits).map(|source| source.version.as_str());
        let version = best_version(&request.version, versions);
        let found = version.and_then(|version| self.0.iter().filter(fits).find(|it| it.version == version));
        match found {
            Some(source) => ChartState::there(source.loaded.clone()),
            None => ChartState::failed(format!(
                "nothing is fetched here, and {FOLDER}/{FILE} has no such chart; add `- {{repository: {:?}, chart: {:?}, path: …}}` \
                 to its charts, and the chart's folder or archive beside it",
                request.repository, request.name
            )),
        }
    }
}

// === impl Source ===

impl Source {
    fn read(folder: &Path, written: WrittenChart) -> Result<Self, String> {
        let path = Path::new(&written.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(format!("path: {:?} leads out of {FOLDER}/", written.path));
        }
        let loaded = load(&folder.join(path)).map_err(|error| format!("path: {}: {error}", written.path))?;
        Ok(Self {
            repository: written.repository.trim_end_matches('/').to_owned(),
            name: written.chart,
            version: loaded.chart.metadata.version.clone(),
            loaded: Arc::new(loaded),
        })
    }
}

fn load(path: &Path) -> Result<LoadedChart, String> {
    let text = |error: std::io::Error| error.to_string();
    let limits = LoadLimits::default();
    if !path.is_dir() {
        let bytes = std::fs::read(path).map_err(text)?;
        let chart = Chart::from_archive(&bytes, limits).map_err(|error| error.to_string())?;
        return Ok(LoadedChart { digest: Digest::of(&[&bytes]).to_string(), chart });
    }
    let mut files = BTreeMap::new();
    collect(path, "", &mut files).map_err(text)?;
    let parts: Vec<&[u8]> =
        files.iter().flat_map(|(name, data)| [name.as_bytes(), data.as_slice()]).collect();
    let digest = Digest::of(&parts).to_string();
    let chart = Chart::from_folder(&files, limits).map_err(|error| error.to_string())?;
    Ok(LoadedChart { digest, chart })
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
