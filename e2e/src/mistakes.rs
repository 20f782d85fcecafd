//! Mistakes that users make, each in a folder of `e2e/mistakes`: the object says what is wrong with it, in its own
//! status, until it is mended.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;
use sluice_api::{Gvk, ObjectKey, object, yaml};

use crate::fleet::Fleet;
use crate::scenario::MANAGEMENT;

/// How long a status may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);
/// The cluster in which the events happen, and in whose place a kubeconfig is mended.
const CLUSTER: &str = "default/cluster-1";
/// Stands for the kubeconfig of that cluster.
const KUBECONFIG: &str = "${KUBECONFIG_OF_CLUSTER_1}";

/// Which object says what.
#[derive(Debug, Deserialize)]
struct Expected {
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
    /// Parts of the text, in any order.
    says: Vec<String>,
    /// The ConfigMap of `default` in [`CLUSTER`] that was deployed before the mistake, and is not touched by it.
    #[serde(default)]
    stays: Option<String>,
    /// Whether only an API server notices that has rights to deny.
    #[serde(default)]
    needs_rights: bool,
}

/// The charts that the mistakes are made with.
pub fn sources() -> PathBuf {
    folder().join("sources")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mistakes")
}

/// Makes and mends every mistake on a fleet on which Sluice runs. Simulated API servers deny nobody anything.
///
/// # Errors
/// The mistake, and what the object says instead.
pub async fn play(fleet: &Fleet, is_simulated: bool) -> anyhow::Result<()> {
    let folder = folder();
    let kubeconfig = &fleet.members.get(CLUSTER).context("the test has no cluster-1")?.kubeconfig;
    let read = |path: &Path| objects(path, kubeconfig);
    let (common, event) = (read(&folder.join("common.yaml"))?, read(&folder.join("event.yaml"))?);
    apply(fleet, MANAGEMENT, &common).await?;
    apply(fleet, CLUSTER, &event).await?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        names.extend((path.is_dir() && path != sources()).then_some(path));
    }
    names.sort();
    for path in names {
        let named = || path.display().to_string();
        let (broken, mended) = (read(&path.join("broken.yaml"))?, read(&path.join("mended.yaml"))?);
        let expected: Expected = serde_json::from_str(&std::fs::read_to_string(path.join("expected.json"))?)
            .with_context(named)?;
        if expected.needs_rights && is_simulated {
            continue;
        }
        let before = path.join("before.yaml");
        let before = if before.exists() { read(&before)? } else { Vec::new() };
        apply(fleet, MANAGEMENT, &before).await.with_context(named)?;
        let deployed = deployed(fleet, &expected).await.with_context(named)?;
        apply(fleet, MANAGEMENT, &broken).await.with_context(named)?;
        wait(fleet, &expected, |text| expected.says.iter().all(|part| text.contains(part)))
            .await
            .with_context(named)?;
        is_untouched(fleet, deployed.as_ref()).await.with_context(named)?;
        apply(fleet, MANAGEMENT, &mended).await.with_context(named)?;
        wait(fleet, &expected, str::is_empty).await.with_context(|| format!("{}, mended", named()))?;
        is_as_before(fleet, deployed.as_ref()).await.with_context(named)?;
        delete(fleet, MANAGEMENT, &before).await?;
        delete(fleet, MANAGEMENT, &broken).await?;
    }
    delete(fleet, CLUSTER, &event).await?;
    delete(fleet, MANAGEMENT, &common).await
}

async fn apply(fleet: &Fleet, place: &str, objects: &[Value]) -> anyhow::Result<()> {
    for object in objects {
        fleet.apply(place, object).await?;
    }
    Ok(())
}

async fn delete(fleet: &Fleet, place: &str, objects: &[Value]) -> anyhow::Result<()> {
    for object in objects.iter().rev() {
        fleet.delete(place, object).await?;
    }
    Ok(())
}

fn objects(path: &Path, kubeconfig: &str) -> anyhow::Result<Vec<Value>> {
    let named = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(named)?;
    // A JSON string is a YAML string.
    let text = text.replace(KUBECONFIG, &serde_json::to_string(kubeconfig)?);
    yaml::documents(&text).map_err(anyhow::Error::msg).with_context(named)
}

/// What is deployed before the mistake, once it is there.
async fn deployed(fleet: &Fleet, expected: &Expected) -> anyhow::Result<Option<Value>> {
    let Some(name) = &expected.stays else { return Ok(None) };
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = fleet.at(CLUSTER)?.get(&config_map(name)).await? {
            return Ok(Some(found));
        }
        if Instant::now() > deadline {
            bail!("after {TIMEOUT:?} ConfigMap {name} is not in {CLUSTER}");
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// It is as it was deployed before the mistake, which nobody else's content has taken the place of.
async fn is_untouched(fleet: &Fleet, before: Option<&Value>) -> anyhow::Result<()> {
    is_as_before(fleet, before).await?;
    let Some(before) = before else { return Ok(()) };
    let found = fleet.at(CLUSTER)?.get(&config_map(object::name(before))).await?;
    if found.as_ref().map(|found| &found["data"]) != Some(&before["data"]) {
        bail!("{CLUSTER} has {found:?} in the place of {before}");
    }
    Ok(())
}

/// It was neither deleted nor made anew.
async fn is_as_before(fleet: &Fleet, before: Option<&Value>) -> anyhow::Result<()> {
    let Some(before) = before else { return Ok(()) };
    let found = fleet.at(CLUSTER)?.get(&config_map(object::name(before))).await?;
    let uid = |found: &Value| object::text(found, &["metadata", "uid"]).to_owned();
    if found.as_ref().map(uid) != Some(uid(before)) {
        bail!("{CLUSTER} has {found:?} in the place of {before}");
    }
    Ok(())
}

fn config_map(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "default".to_owned(), name: name.to_owned() }
}

async fn wait(fleet: &Fleet, expected: &Expected, enough: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let group = if expected.kind.ends_with("Profile") { "config" } else { "lib" };
    let key = ObjectKey {
        gvk: Gvk::new(format!("{group}.projectsveltos.io"), "v1beta1", &expected.kind),
        namespace: expected.namespace.clone(),
        name: expected.name.clone(),
    };
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let found = fleet.management.get(&key).await?.with_context(|| format!("{key} is not there"))?;
        let text = problem(&found);
        if enough(&text) {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("after {TIMEOUT:?} {key} says {text:?}, its status is {}", found["status"]);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What the condition `Ready` says against an object; empty when it says nothing.
fn problem(found: &Value) -> String {
    let conditions = object::at(found, &["status", "conditions"]).and_then(Value::as_array);
    let not_ready = |condition: &&Value| condition["type"] == "Ready" && condition["status"] == "False";
    let text =
        conditions.into_iter().flatten().find(not_ready).map(|found| object::text(found, &["message"]));
    text.unwrap_or_default().to_owned()
}
