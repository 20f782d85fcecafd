//! Reading and running conformance cases.
#![allow(clippy::unwrap_used, dead_code)]

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value as Json;
use sluice_template::{Data, Env, Limits, MissingKey, Options, Program, Stage};

/// A recorded case.
#[derive(Debug, Clone, Default)]
pub struct Case {
    pub name: String,
    pub group: String,
    pub template: String,
    pub data: Json,
    pub resources: BTreeMap<String, Json>,
    pub missing_key: Option<String>,
    pub expect: Option<String>,
    pub expect_error: Option<String>,
}

/// The case files of this crate.
pub fn own_files() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| path.ends_with(".json"))
        .collect();
    files.sort();
    files
}

/// The cases of a file.
pub fn read(file: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let all: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
    all.as_array().unwrap().iter().map(Case::from).collect()
}

impl From<&Json> for Case {
    fn from(json: &Json) -> Self {
        let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
        let resources = json.get("resources").and_then(Json::as_object);
        Self {
            name: text("name").unwrap_or_default(),
            group: text("group").unwrap_or_default(),
            template: text("template").unwrap_or_default(),
            data: json.get("data").cloned().unwrap_or(Json::Null),
            resources: resources.into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect(),
            missing_key: text("missingkey"),
            expect: text("expect"),
            expect_error: text("expect_error"),
        }
    }
}

impl Case {
    /// The recorded output or error text.
    pub fn expected(&self) -> Result<String, String> {
        match (&self.expect, &self.expect_error) {
            (Some(output), _) => Ok(output.clone()),
            (None, error) => Err(error.clone().unwrap_or_default()),
        }
    }

    /// The options of the case's group.
    pub fn options(&self) -> Options {
        let stage = match self.group.as_str() {
            "sprig" => Stage::Sprig,
            "sveltos-event" => Stage::Event,
            "sveltos-deploy" => Stage::Deploy,
            _ => Stage::Plain,
        };
        let strict = matches!(stage, Stage::Event | Stage::Deploy);
        let missing_key = match self.missing_key.as_deref() {
            Some("error") => MissingKey::Error,
            Some("zero") => MissingKey::Zero,
            None if strict => MissingKey::Error,
            _ => MissingKey::Default,
        };
        Options { missing_key, stage, lenient_numbers: false, extras: false }
    }

    /// What this engine prints.
    pub fn run(&self) -> Result<String, String> {
        let program = Program::compile("t", &self.template, &self.options()).map_err(|e| e.to_string())?;
        let mut env = Env::new(1_763_731_200_000_000_000, [7; 32]);
        for (identifier, object) in &self.resources {
            env = env.with_resource(identifier, object);
        }
        let limits = Limits { call_depth: 100_000, ..Limits::default() };
        program.render(&self.dot(), &env, &limits).map_err(|e| e.to_string())
    }

    /// Templates of the deploy stage also see the resources as data.
    fn dot(&self) -> Data<'_> {
        match &self.data {
            Json::Object(entries) if self.group == "sveltos-deploy" => {
                let mut all: Vec<(&str, Data<'_>)> =
                    entries.iter().map(|(k, v)| (k.as_str(), Data::Json(v))).collect();
                let resources = self.resources.iter().map(|(k, v)| (k.as_str(), Data::Json(v))).collect();
                all.push(("MgmtResources", Data::Map(resources)));
                Data::Map(all)
            }
            other => Data::Json(other),
        }
    }
}
