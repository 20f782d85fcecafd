//! A case of a chart: a folder with `chart/` or `chart.tgz`, `case.json`, and maybe `values.yaml` and `values2.yaml`.
#![allow(clippy::unwrap_used, dead_code)]

use std::{collections::BTreeMap, fs, path::Path};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Map, Value as Json};
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release, Show, Warnings};
use sluice_template::Env;

fn text_of<'c>(case: &'c Json, field: &str, default: &'c str) -> &'c str {
    case.get(field).and_then(Json::as_str).filter(|text| !text.is_empty()).unwrap_or(default)
}

fn texts_of(case: &Json, field: &str) -> Vec<String> {
    let items = case.get(field).and_then(Json::as_array);
    items.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

fn truth_of(case: &Json, field: &str) -> bool {
    case.get(field).and_then(Json::as_bool).unwrap_or(false)
}

/// All files below a folder, by their paths.
pub fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// The files of a case's chart.
fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&folder.join("chart"), "", &mut files);
    files
}

/// What Sluice prints of a case when its chart has been packed.
pub fn run_packed(folder: &Path) -> Result<String, String> {
    let limits = LoadLimits::default();
    let packed =
        Chart::pack(&files_of(folder), limits).and_then(|packed| Chart::from_archive(&packed, limits));
    run_chart(folder, packed.map_err(|error| error.to_string())?, &mut Warnings::default())
}

/// What Sluice prints of a case when all files of its chart are in an archive, whoever made it.
pub fn run_archived(folder: &Path) -> Result<String, String> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, data) in files_of(folder) {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        archive.append_data(&mut header, format!("chart/{name}"), data.as_slice()).unwrap();
    }
    let bytes = archive.into_inner().unwrap().finish().unwrap();
    let chart = Chart::from_archive(&bytes, LoadLimits::default()).map_err(|error| error.to_string())?;
    run_chart(folder, chart, &mut Warnings::default())
}

fn load(folder: &Path) -> Result<Chart, String> {
    let archive = folder.join("chart.tgz");
    let chart = if archive.exists() {
        Chart::from_archive(&fs::read(archive).unwrap(), LoadLimits::default())
    } else {
        Chart::from_folder(&files_of(folder), LoadLimits::default())
    };
    chart.map_err(|error| error.to_string())
}

/// What Sluice prints of a case, or says about it.
pub fn run(folder: &Path) -> Result<String, String> {
    run_aloud(folder, &mut Warnings::default())
}

/// The warnings as Helm writes them, in some order: Helm's own is that of Go's maps.
pub fn lines(warnings: &Warnings) -> Vec<String> {
    let mut lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    lines.sort();
    lines
}

/// As `run`, with what there is to warn of.
pub fn run_aloud(folder: &Path, warnings: &mut Warnings) -> Result<String, String> {
    run_loaded(folder, || load(folder), warnings)
}

fn run_chart(folder: &Path, chart: Chart, warnings: &mut Warnings) -> Result<String, String> {
    run_loaded(folder, || Ok(chart), warnings)
}

fn run_loaded(
    folder: &Path,
    load: impl FnOnce() -> Result<Chart, String>,
    warnings: &mut Warnings,
) -> Result<String, String> {
    let case: Json = serde_json::from_slice(&fs::read(folder.join("case.json")).unwrap()).unwrap();
    let mut values = Map::new();
    for name in ["values.yaml", "values2.yaml"] {
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            sluice_chart::merge(
                &mut values,
                sluice_chart::read_values(&text).map_err(|error| error.to_string())?,
            );
        }
    }
    for line in texts_of(&case, "set") {
        sluice_chart::set(&mut values, &line)
            .map_err(|error| format!("failed parsing --set data: {error}"))?;
    }
    let chart = load()?;
    let release = Release {
        name: text_of(&case, "release", "release").to_owned(),
        namespace: text_of(&case, "namespace", "default").to_owned(),
        revision: 1,
        is_upgrade: false,
    };
    let mut capabilities = Capabilities::default();
    if let Some(version) = case.get("kubeVersion").and_then(Json::as_str) {
        capabilities = capabilities.with_kube_version(version)?;
    }
    let capabilities = capabilities.with_api_versions(texts_of(&case, "apiVersions"));
    let env = Env::new(1_700_000_000_000_000_000, [7; 32]);
    let options = Options::default();
    let rendered =
        sluice_chart::render_and_warn(&chart, &values, &release, &capabilities, &env, &options, warnings);
    let again = sluice_chart::render(&chart, &values, &release, &capabilities, &env, &options);
    assert_eq!(again, rendered, "the templates are parsed already");
    let show = Show {
        include_crds: truth_of(&case, "includeCRDs"),
        skip_tests: truth_of(&case, "skipTests"),
        only: texts_of(&case, "showOnly"),
    };
    rendered.map_err(|error| error.to_string())?.show(&show)
}

/// The error without what the command line adds to it.
pub fn plain_error(text: &str) -> &str {
    let text = text.find("Error: ").map_or(text, |at| &text[at + "Error: ".len()..]);
    let text = text.split_once("\n\nUse --debug flag").map_or(text, |(text, _)| text);
    text.trim()
}
