//! From files to a chart with its dependencies.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use sluice_template::{TextError, go_quoted as quoted};

use crate::{
    archive::{Budget, File, LoadLimits, pack, unpack, without_mark},
    error::{Error, load},
    ignore::Rules,
    metadata::Metadata,
    yaml,
};

/// A chart as it is in its archive or folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The content of `Chart.yaml`.
    pub metadata: Metadata,
    /// The content of `values.yaml`.
    pub values: Map<String, Json>,
    /// `values.schema.json`, if there is one.
    pub schema: Option<Vec<u8>>,
    /// The content of `Chart.lock` or `requirements.lock`.
    pub lock: Option<Json>,
    /// The files below `templates/`.
    pub templates: Vec<File>,
    /// All other files.
    pub files: Vec<File>,
    /// The charts below `charts/`.
    pub dependencies: Vec<Chart>,
}

// === impl Chart ===

impl Chart {
    /// About how many bytes of memory its files take, those of its dependencies included.
    pub fn bytes(&self) -> usize {
        let files = self.templates.iter().chain(&self.files).map(|file| file.data.len() + file.name.len());
        files.sum::<usize>()
            + self.schema.as_ref().map_or(0, Vec::len)
            + self.dependencies.iter().map(Self::bytes).sum::<usize>()
    }

    /// Reads a gzipped archive.
    ///
    /// # Errors
    /// What is wrong with the archive or a file in it, or the limit it exceeds.
    pub fn from_archive(bytes: &[u8], limits: LoadLimits) -> Result<Self, Error> {
        let mut budget = Budget::new(limits);
        let files = unpack(bytes, &mut budget)?;
        from_files(files, &mut budget, 0)
    }

    /// Reads a folder: paths with slashes, relative to it, and contents. `.helmignore` is followed.
    ///
    /// # Errors
    /// What is wrong with a path or a file, or the limit that is exceeded.
    pub fn from_folder(files: &BTreeMap<String, Vec<u8>>, limits: LoadLimits) -> Result<Self, Error> {
        let mut budget = Budget::new(limits);
        let files = kept(files, &mut budget)?;
        from_files(files, &mut budget, 0)
    }

    /// Packs a folder into an archive, as `helm package` does. Equal folders give equal archives.
    ///
    /// # Errors
    /// What is wrong with a path, or the limit that is exceeded.
    pub fn pack(files: &BTreeMap<String, Vec<u8>>, limits: LoadLimits) -> Result<Vec<u8>, Error> {
        pack(&kept(files, &mut Budget::new(limits))?)
    }

    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The files in `crds/`.
    pub(crate) fn own_crds(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            let name = file.name.rsplit('/').next().unwrap_or_default();
            let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
            let known = ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known));
            known && file.name.starts_with("crds/")
        })
    }
}

/// The files of a folder that belong to the chart, in the order of a walk.
fn kept(files: &BTreeMap<String, Vec<u8>>, budget: &mut Budget) -> Result<Vec<File>, Error> {
    let ignore = files.get(".helmignore").map(|text| String::from_utf8_lossy(text));
    let rules = Rules::parse(&ignore.unwrap_or_default())?;
    let mut kept = Vec::new();
    for (path, data) in files {
        if path.is_empty()
            || path.starts_with('/')
            || path.split('/').any(|part| matches!(part, "" | "." | ".."))
        {
            return Err(load(format!("{} is no path within a chart", quoted(path))));
        }
        let in_ignored_folder = path.match_indices('/').any(|(at, _)| rules.ignores(&path[..at], true));
        if in_ignored_folder || rules.ignores(path, false) {
            continue;
        }
        budget.call(path)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        budget.check_file("chart file", name, data.len())?;
        budget.spend(data.len())?;
        kept.push(File { name: path.clone(), data: without_mark(data.clone()) });
    }
    // The order of a walk: a folder's content stands where its name does.
    kept.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    Ok(kept)
}

fn from_files(files: Vec<File>, budget: &mut Budget, depth: usize) -> Result<Chart, Error> {
    budget.check_depth(depth)?;
    // Helm looks into the file of a whole chart first, to tell the versions of charts apart.
    let go_type = if depth == 0 { "loader.chartBase" } else { "v2.Metadata" };
    let mut metadata = None;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        budget.read(file.data.len())?;
        let metadata = metadata.get_or_insert_with(Metadata::default);
        metadata.read(&file.data, go_type).map_err(|error| {
            Error::of(error.reworded(|text| format!("cannot load Chart.yaml: {text}")), load)
        })?;
        if metadata.api_version.is_empty() {
            metadata.api_version = "v1".to_owned();
        }
    }
    let has_file = metadata.is_some();
    let version = metadata.as_ref().map_or("v1", |metadata| metadata.api_version.as_str());
    if depth == 0 && !matches!(version, "v1" | "v2" | "v3") {
        return Err(load("unsupported chart version"));
    }
    let mut chart = Chart {
        metadata: metadata.unwrap_or_default(),
        values: Map::new(),
        schema: None,
        lock: None,
        templates: Vec::new(),
        files: Vec::new(),
        dependencies: Vec::new(),
    };
    let mut below: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        chart.place(file, &mut below, budget)?;
    }
    if !has_file {
        return Err(load("Chart.yaml file is missing"));
    }
    chart.metadata.check()?;
    for (name, files) in below {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let read = subchart(&name, files, &chart, budget, depth + 1);
        let words = format!("error unpacking subchart {name} in {}: ", chart.name());
        chart.dependencies.push(read.map_err(|error| error.within(&words))?);
    }
    Ok(chart)
}

fn subchart(
    name: &str,
    files: Vec<File>,
    parent: &Chart,
    budget: &mut Budget,
    depth: usize,
) -> Result<Chart, Error> {
    if name.ends_with(".tgz") {
        budget.check_depth(depth)?;
        return match files.first() {
            Some(file) if file.name == name => from_files(unpack(&file.data, budget)?, budget, depth),
            Some(file) => Err(load(format!(
                "error unpacking subchart tar in {}: expected {name}, got {}",
                parent.name(),
                file.name
            ))),
            None => Err(load("no files in chart archive")),
        };
    }
    let inner = files.into_iter().filter_map(|file| {
        let (_, rest) = file.name.split_once('/')?;
        Some(File { name: rest.to_owned(), data: file.data })
    });
    from_files(inner.collect(), budget, depth)
}

/// Files that are read, besides `Chart.yaml`, which has been read by then.
const READ: &[&str] =
    &["Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", "requirements.lock"];

/// How many values a value consists of.
pub(crate) fn nodes(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(nodes).sum(),
        Json::Object(map) => map.values().map(nodes).sum(),
        _ => 0,
    }
}

// === impl Chart: reading ===

impl Chart {
    /// Puts a file where it belongs.
    fn place(
        &mut self,
        file: File,
        below: &mut BTreeMap<String, Vec<File>>,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        if READ.contains(&file.name.as_str()) {
            budget.read(file.data.len())?;
        }
        let place = format!("cannot load {}: ", file.name);
        let failed = |error: TextError| Error::of(error.reworded(|text| format!("{place}{text}")), load);
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => self.lock = Some(yaml::read(&file.data).map_err(failed)?),
            "values.yaml" => {
                let values = read_values(&String::from_utf8_lossy(&file.data));
                self.values = values.map_err(|error| error.within(&place))?;
                budget.keep(self.values.values().map(nodes).sum())?;
            }
            "values.schema.json" => self.schema = Some(file.data),
            "requirements.yaml" => {
                self.metadata.read(&file.data, "v2.Metadata").map_err(failed)?;
                self.keep_if_old(file);
            }
            "requirements.lock" => {
                self.lock = Some(yaml::read(&file.data).map_err(failed)?);
                self.keep_if_old(file);
            }
            name if name.starts_with("templates/") => self.templates.push(file),
            name if name.starts_with("charts/") && !name.ends_with(".prov") => {
                let path = name["charts/".len()..].to_owned();
                let first = path.split('/').next().unwrap_or(&path).to_owned();
                below.entry(first).or_default().push(File { name: path, data: file.data });
            }
            _ => self.files.push(file),
        }
        Ok(())
    }

    fn keep_if_old(&mut self, file: File) {
        if self.metadata.api_version == "v1" {
            self.files.push(file);
        }
    }
}

/// Reads a file of values: its documents are laid over each other.
///
/// # Errors
/// What is wrong with a document.
pub fn read_values(text: &str) -> Result<Map<String, Json>, Error> {
    let mut values = Map::new();
    for document in value_documents(text) {
        let document = document.map_err(|error| load(format!("error reading yaml document: {error}")))?;
        let map = yaml::read_map(&document)
            .map_err(|error| error.reworded(|text| format!("cannot unmarshal yaml document: {text}")))
            .map_err(|error| Error::of(error, load))?;
        merge(&mut values, map);
    }
    Ok(values)
}

/// Lays one map over another; tables are merged, everything else is replaced.
pub fn merge(into: &mut Map<String, Json>, from: Map<String, Json>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Json::Object(old)), Json::Object(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The documents between lines of `---`, which may end in a comment and in nothing else. Every line ends, the last one too.
fn value_documents(text: &str) -> Vec<Result<String, String>> {
    let mut documents = Vec::new();
    let mut current = String::new();
    for line in text.lines() {
        let rest = line.strip_prefix("---").map(str::trim);
        if let Some(rest) = rest.filter(|rest| !(rest.is_empty() || rest.starts_with('#'))) {
            documents.push(Err(format!("invalid Yaml document separator: {rest}")));
            return documents;
        }
        if rest.is_some() && !current.is_empty() {
            documents.push(Ok(std::mem::take(&mut current)));
        } else {
            current.push_str(line);
            current.push('\n');
        }
    }
    if !current.is_empty() {
        documents.push(Ok(current));
    }
    documents
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_of_values_are_laid_over_each_other() {
        let values = read_values("---\na: {b: 1, c: 2}\n--- # second\na: {c: 3}\nd: x\n").unwrap();
        assert_eq!(Json::Object(values), serde_json::json!({"a": {"b": 1.0, "c": 3.0}, "d": "x"}));
        assert_eq!(read_values("").unwrap(), Map::new());
    }

    #[test]
    fn values_that_are_no_map_are_refused() {
        let error = read_values("- a\n").unwrap_err().to_string();
        assert!(
            error.ends_with("cannot unmarshal array into Go value of type map[string]interface {}"),
            "{error}"
        );
    }
}
