//! Cases: files of requests, and how they are played.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::normal::Normalizer;
use super::{Response, Server};

/// How long a step may be repeated until it has the wanted code.
const PATIENCE: Duration = Duration::from_secs(20);

/// One case.
#[derive(Debug)]
pub struct Case {
    /// Name of the file without its ending.
    pub name: String,
    path: PathBuf,
    steps: Vec<Step>,
}

/// One request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Step {
    /// Method and path. `{ns}` is the namespace of the case; `{3.metadata.uid}` is a part of the
    /// answer to step 3, counted from 0.
    request: String,
    /// Content type: `apply`, `merge`, `strategic` or `json`; plain JSON when missing.
    #[serde(default)]
    r#type: String,
    /// Value of the `Accept` header.
    #[serde(default)]
    accept: Option<String>,
    #[serde(default)]
    body: Option<Value>,
    /// Repeat the request until its answer has this code.
    #[serde(default)]
    until_code: Option<u16>,
    /// Members of the answer that are not compared, as dotted paths.
    #[serde(default)]
    ignore: Vec<String>,
    /// Only these members of the answer are compared, as dotted paths.
    #[serde(default)]
    only: Vec<String>,
}

// === impl Case ===

impl Case {
    /// The transcript of the real server of e2e/controlplane, when it was recorded.
    pub fn expected(&self) -> anyhow::Result<Value> {
        read(&self.path.with_extension("json"))
    }

    /// The transcript of a real server of a version, `1.35`: its own where it answers otherwise than that of
    /// e2e/controlplane.
    pub fn expected_of(&self, version: &str) -> anyhow::Result<Value> {
        let own = self.transcript_of(version);
        if own.exists() { read(&own) } else { self.expected() }
    }

    /// Keeps a transcript as the expected one of a version.
    pub fn record(&self, version: &str, transcript: &Value) -> anyhow::Result<()> {
        let path = self.transcript_of(version);
        if path.parent() != self.path.parent() && self.expected()? == *transcript {
            if path.exists() {
                std::fs::remove_file(&path)?;
            }
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(path, format!("{transcript:#}\n"))?)
    }

    fn transcript_of(&self, version: &str) -> PathBuf {
        let beside = self.path.with_extension("json");
        match (beside.parent(), beside.file_name()) {
            (Some(folder), Some(name)) if !is_of_controlplane(version) => folder.join(version).join(name),
            _ => beside,
        }
    }

    fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let steps =
            serde_saphyr::from_str(&text).with_context(|| format!("{} is not a case", path.display()))?;
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        Ok(Self { name, path: path.to_owned(), steps })
    }
}

/// Whether e2e/controlplane builds this version unless it is asked for another.
fn is_of_controlplane(version: &str) -> bool {
    include_str!("../../controlplane/go.mod").contains(&format!("k8s.io/kubernetes v{version}."))
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} is missing; record it from the real server", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// All cases, by name.
pub fn load_all() -> anyhow::Result<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    paths.iter().map(|path| Case::load(path)).collect()
}

/// Plays a case in a namespace of its own; returns the transcript.
pub async fn play(case: &Case, server: &Server) -> anyhow::Result<Value> {
    let namespace = format!("contract-{}", case.name);
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let created = server
        .call("POST", "/api/v1/namespaces", &[("content-type", "application/json")], Some(&body))
        .await?;
    if created.code != 201 {
        bail!("cannot create the namespace {namespace}: {}", created.body);
    }
    let mut answers: Vec<Response> = Vec::new();
    let mut normalizer = Normalizer::new(&namespace);
    let mut transcript = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let answer = run(step, server, &namespace, &answers)
            .await
            .with_context(|| format!("step {index}: {}", step.request))?;
        let shown = normalizer.answer(&answer, &step.only, &step.ignore);
        transcript.push(json!({"step": index, "request": step.request, "code": answer.code, "body": shown}));
        answers.push(answer);
    }
    Ok(Value::Array(transcript))
}

async fn run(
    step: &Step,
    server: &Server,
    namespace: &str,
    answers: &[Response],
) -> anyhow::Result<Response> {
    let request = fill(&step.request, namespace, answers)?;
    let (method, path) = request.split_once(' ').context("a request is a method and a path")?;
    let content_type = match step.r#type.as_str() {
        "apply" => "application/apply-patch+yaml",
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "json" => "application/json-patch+json",
        "" => "application/json",
        other => other,
    };
    let accept = step.accept.as_deref().unwrap_or("application/json");
    let headers = [("content-type", content_type), ("accept", accept), ("user-agent", "contract/1.0")];
    let body = step.body.as_ref().map(|body| fill_value(body, namespace, answers)).transpose()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = server.call(method, path, &headers, body.as_ref()).await?;
        match step.until_code {
            Some(code) if code != answer.code && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            _ => return Ok(answer),
        }
    }
}

/// Replaces `{..}` by the namespace or parts of former answers.
fn fill(text: &str, namespace: &str, answers: &[Response]) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').with_context(|| format!("an open {{ in {text:?}"))?;
        out.push_str(before);
        out.push_str(
            &lookup(name, namespace, answers)
                .with_context(|| format!("{{{name}}} names nothing; the answers were {answers:?}"))?,
        );
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn lookup(name: &str, namespace: &str, answers: &[Response]) -> Option<String> {
    if name == "ns" {
        return Some(namespace.to_owned());
    }
    let (step, path) = name.split_once('.')?;
    let answer = answers.get(step.parse::<usize>().ok()?)?;
    let found = path.split('.').try_fold(&answer.body, |value, part| match part.parse::<usize>() {
        Ok(index) if value.is_array() => value.get(index),
        _ => value.get(part),
    })?;
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

fn fill_value(value: &Value, namespace: &str, answers: &[Response]) -> anyhow::Result<Value> {
    Ok(match value {
        Value::String(text) => Value::from(fill(text, namespace, answers)?),
        Value::Array(items) => Value::Array(
            items.iter().map(|item| fill_value(item, namespace, answers)).collect::<Result<_, _>>()?,
        ),
        Value::Object(map) => {
            let filled =
                map.iter().map(|(name, value)| Ok((name.clone(), fill_value(value, namespace, answers)?)));
            Value::Object(filled.collect::<anyhow::Result<_>>()?)
        }
        other => other.clone(),
    })
}
