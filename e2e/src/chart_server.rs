//! Charts of a folder, served as repositories are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use sluice_dryrun::Sources;
use sluice_testbed::{Launch, Process, steady_port};

/// Serves the charts of a folder with a `sources.yaml`, when there is one; the mirror of each repository.
pub(crate) fn serve_charts(dir: &Path, sources: &Path) -> anyhow::Result<(Option<Process>, Vec<String>)> {
    if !sources.join("sources.yaml").exists() {
        return Ok((None, Vec::new()));
    }
    let sources = Sources::read(sources)?;
    let (folder, port) = (dir.join("charts"), steady_port()?);
    let mut indices = BTreeMap::<String, Vec<Value>>::new();
    std::fs::create_dir_all(&folder)?;
    for chart in sources.charts() {
        let file = format!("{}.tgz", chart.digest.trim_start_matches("sha256:"));
        std::fs::write(folder.join(&file), chart.archive)?;
        let entry = serde_json::json!({"name": chart.name, "version": chart.version, "digest": chart.digest,
            "urls": [format!("http://127.0.0.1:{port}/{file}")]});
        indices.entry(chart.repository.to_owned()).or_default().push(entry);
    }
    let mut mirrors = Vec::new();
    for (number, (repository, entries)) in indices.into_iter().enumerate() {
        let mut by_name = serde_json::Map::new();
        for entry in entries {
            let name = entry["name"].as_str().unwrap_or_default().to_owned();
            by_name
                .entry(name)
                .or_insert_with(|| Value::Array(Vec::new()))
                .as_array_mut()
                .context("a list")?
                .push(entry);
        }
        let place = folder.join(number.to_string());
        std::fs::create_dir_all(&place)?;
        let index = serde_json::json!({"apiVersion": "v1", "entries": by_name});
        std::fs::write(place.join("index.yaml"), index.to_string())?;
        mirrors.push(format!("{repository}=http://127.0.0.1:{port}/{number}"));
    }
    let arguments = [
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "--directory",
        &folder.display().to_string(),
        &port.to_string(),
    ];
    let arguments = arguments.map(str::to_owned).to_vec();
    let server = Process::start(Launch::new("charts", PathBuf::from("python3"), arguments, dir))?;
    Ok((Some(server), mirrors))
}
