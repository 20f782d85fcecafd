//! Charts whose output official Helm has printed before: every document, in order, to the byte.
//!
//! `SLUICE_CHART_CASES` names another folder of cases. A case is a folder with `chart/` or `chart.tgz`, `case.json`,
//! `expected.yaml` or `expected_error.txt`, and maybe `values.yaml`; `SLUICE_CHART_OUTPUT` names a folder for what is printed; `scripts/chart-expected.sh` makes what is expected.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value as Json};
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release, Show};
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

fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) {
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

fn load(folder: &Path) -> Result<Chart, String> {
    let archive = folder.join("chart.tgz");
    let chart = if archive.exists() {
        Chart::from_archive(&fs::read(archive).unwrap(), LoadLimits::default())
    } else {
        let mut files = BTreeMap::new();
        collect(&folder.join("chart"), "", &mut files);
        Chart::from_folder(&files, LoadLimits::default())
    };
    chart.map_err(|error| error.to_string())
}

fn run(folder: &Path) -> Result<String, String> {
    let case: Json = serde_json::from_slice(&fs::read(folder.join("case.json")).unwrap()).unwrap();
    let chart = load(folder)?;
    let mut values = Map::new();
    for name in ["values.yaml", "values2.yaml"] {
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            sluice_chart::merge(&mut values, sluice_chart::read_values(&text)?);
        }
    }
    for line in texts_of(&case, "set") {
        sluice_chart::set(&mut values, &line)
            .map_err(|error| format!("failed parsing --set data: {error}"))?;
    }
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
    let render = || sluice_chart::render(&chart, &values, &release, &capabilities, &env, &options);
    let rendered = render();
    assert_eq!(render(), rendered, "the templates are parsed already");
    let show = Show {
        include_crds: truth_of(&case, "includeCRDs"),
        skip_tests: truth_of(&case, "skipTests"),
        only: texts_of(&case, "showOnly"),
    };
    rendered.map_err(|error| error.to_string())?.show(&show)
}

/// The error without what the command line adds to it.
fn plain_error(text: &str) -> &str {
    let text = text.find("Error: ").map_or(text, |at| &text[at + "Error: ".len()..]);
    let text = text.split_once("\n\nUse --debug flag").map_or(text, |(text, _)| text);
    text.trim()
}

/// What differs first.
fn check(folder: &Path) -> Result<(), String> {
    let got = run(folder);
    if let Ok(wanted) = fs::read_to_string(folder.join("expected_error.txt")) {
        return match got {
            Err(error) if error.trim() == plain_error(&wanted) => Ok(()),
            Err(error) => Err(format!("wanted the error\n{}\ngot\n{error}", plain_error(&wanted))),
            Ok(_) => Err(format!("wanted the error\n{}\ngot none", plain_error(&wanted))),
        };
    }
    let wanted = fs::read_to_string(folder.join("expected.yaml")).map_err(|error| error.to_string())?;
    let got = got.map_err(|error| format!("failed: {error}"))?;
    if let (Some(folder_of_outputs), Some(name)) =
        (std::env::var_os("SLUICE_CHART_OUTPUT"), folder.file_name())
    {
        fs::write(Path::new(&folder_of_outputs).join(name), &got).map_err(|error| error.to_string())?;
    }
    if got == wanted {
        return Ok(());
    }
    let lines = wanted.lines().zip(got.lines()).enumerate().find(|(_, (wanted, got))| wanted != got);
    Err(match lines {
        Some((at, (wanted, got))) => format!("line {}\nwanted {wanted:?}\ngot    {got:?}", at + 1),
        None => format!("wanted {} bytes, got {}", wanted.len(), got.len()),
    })
}

#[test]
fn charts_are_rendered_as_helm_renders_them() {
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/charts"));
    let folder = std::env::var_os("SLUICE_CHART_CASES").map_or(own, PathBuf::from);
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.join("case.json").exists());
    cases.sort();
    let mut failed = 0;
    for case in &cases {
        if let Err(difference) = check(case) {
            failed += 1;
            println!("{}: {difference}", case.file_name().unwrap().to_string_lossy());
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    assert!(failed == 0 && !cases.is_empty());
}
