//! A fleet as Sveltos leaves it: what it has deployed, with its marks and its field manager, and its own objects.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_api::model::MADE_OF_EVENTS;
use sluice_api::{Gvk, ObjectKey, object};
use sluice_dryrun::{Input, build_at};
use sluice_kube::{Raw, resource_of};
use sluice_testbed::Programs;

use crate::fleet::Fleet;
use crate::scenario::{Expected, MANAGEMENT};

/// Field manager of Sveltos.
pub const FORMER: &str = "application/apply-patch";
/// What it holds its objects with.
const FINALIZER: &str = "clusterprofilefinalizer.projectsveltos.io";

/// One object in a managed cluster.
pub type Place = (String, ObjectKey);

/// What was deployed.
#[derive(Debug, Default)]
pub struct Deployed {
    /// What is wanted.
    pub wanted: Vec<Place>,
    /// What a profile has deployed once and nobody wants any more.
    pub stale: Vec<Place>,
    /// The triggers.
    pub triggers: Vec<Value>,
}

/// Puts the input of a recorded case into place, and what Sveltos made of it: the objects that were recorded, and a profile for each
/// owner that they name.
///
/// # Errors
/// What cannot be put there.
pub async fn deploy(case: &Path, fleet: &Fleet) -> anyhow::Result<Deployed> {
    let input = Input::read(&case.join("input"))?;
    let expected = Expected::read(&case.join("expected.json"))?;
    let built = build_at(&input, 0);
    for (place, objects) in places(&input) {
        for object in objects {
            make_namespace(fleet, &place, object::namespace(object)).await?;
            fleet.apply(&place, &without_servers_part(object)).await?;
        }
    }
    let triggers = input.management.iter().filter(|object| object::text(object, &["kind"]) == "EventTrigger");
    let mut deployed = Deployed { triggers: triggers.cloned().collect(), ..Deployed::default() };
    let mut owners = BTreeMap::new();
    for (cluster, recorded) in &expected.clusters {
        for object in recorded {
            let key = ObjectKey::of(object).context("a recorded object has no name")?;
            let same = built
                .clusters
                .get(cluster)
                .into_iter()
                .flatten()
                .find(|made| ObjectKey::of(made).as_ref() == Some(&key));
            let same = same.with_context(|| format!("{key} is recorded, and not made"))?;
            owners.insert(owner(same), owner(object));
            apply(fleet, cluster, &applied(object, same)?).await?;
            deployed.wanted.push((cluster.clone(), key));
        }
        if let Some(first) = recorded.first() {
            let stale = stale(first);
            apply(fleet, cluster, &stale).await?;
            deployed.stale.extend(ObjectKey::of(&stale).map(|key| (cluster.clone(), key)));
        }
    }
    let made = built.management.iter().filter(|object| object::text(object, &["kind"]) == "ClusterProfile");
    for profile in
        made.filter(|object| object::label(object, &format!("{MADE_OF_EVENTS}eventtriggername")).is_some())
    {
        let Some(former) = owners.get(object::name(profile)) else { continue };
        let mut profile = profile.clone();
        profile["metadata"]["name"] = former.clone().into();
        profile["metadata"]["finalizers"] = json!([FINALIZER]);
        fleet.apply(MANAGEMENT, &profile).await?;
    }
    Ok(deployed)
}

fn places(input: &Input) -> impl Iterator<Item = (String, &Vec<Value>)> {
    let clusters = input.clusters.iter();
    let clusters = clusters.map(|((namespace, name), objects)| (format!("{namespace}/{name}"), objects));
    std::iter::once((MANAGEMENT.to_owned(), &input.management)).chain(clusters)
}

fn owner(object: &Value) -> String {
    object::annotation(object, "projectsveltos.io/owner-name").unwrap_or_default().to_owned()
}

/// What Sveltos had applied: the hash that was recorded says that it was this content. The marks are those of versions after 1.13.
fn applied(recorded: &Value, made: &Value) -> anyhow::Result<Value> {
    let hash = |object| object::annotation(object, "projectsveltos.io/hash");
    anyhow::ensure!(
        hash(recorded) == hash(made),
        "{} was recorded with other content",
        object::describe(recorded)
    );
    let mut object = made.clone();
    object["metadata"] = without_servers_part(recorded)["metadata"].clone();
    object["metadata"]["annotations"]["projectsveltos.io/clustersummary"] = "sveltos-default-workload".into();
    object["metadata"]["annotations"]["projectsveltos.io/deploymenttype"] = "Remote".into();
    Ok(object)
}

/// An object as its user wrote it: another server gives another uid, and other addresses.
fn without_servers_part(object: &Value) -> Value {
    let mut object = object.clone();
    let mut take = |part: &str, names: &[&str]| {
        let map = object.get_mut(part).and_then(Value::as_object_mut);
        map.into_iter().for_each(|map| map.retain(|name, _| !names.contains(&name.as_str())));
    };
    take("metadata", &["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"]);
    take("spec", &["clusterIP", "clusterIPs"]);
    object
}

/// One more object of the same profile.
fn stale(of: &Value) -> Value {
    let metadata = json!({"name": "nobody-wants-it", "namespace": "default",
        "labels": of["metadata"]["labels"], "annotations": of["metadata"]["annotations"]});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
}

/// As Sveltos applies.
async fn apply(fleet: &Fleet, place: &str, object: &Value) -> anyhow::Result<()> {
    make_namespace(fleet, place, object::namespace(object)).await?;
    let (client, key) =
        (fleet.at(place)?.client(), ObjectKey::of(object).context("an object without a name")?);
    let (resource, is_namespaced) =
        resource_of(&client, &key.gvk).await?.context("a kind that is not there")?;
    let api: Api<Raw> = match is_namespaced {
        true => Api::namespaced_with(client, &key.namespace, &resource),
        false => Api::all_with(client, &resource),
    };
    api.patch(&key.name, &PatchParams::apply(FORMER).force(), &Patch::Apply(object))
        .await
        .with_context(|| key.to_string())?;
    Ok(())
}

/// Makes a namespace that is not there: one that is may be an event.
async fn make_namespace(fleet: &Fleet, place: &str, name: &str) -> anyhow::Result<()> {
    let key =
        ObjectKey { gvk: Gvk::new("", "v1", "Namespace"), namespace: String::new(), name: name.to_owned() };
    if name.is_empty() || fleet.at(place)?.get(&key).await?.is_some() {
        return Ok(());
    }
    fleet
        .at(place)?
        .apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .await
}

/// Which objects there are, as only their makers see them: uid, generation, and everything but metadata, and of Sveltos' own kinds
/// their status, which Sluice writes.
///
/// # Errors
/// When a server does not answer, or one is gone.
pub async fn contents(fleet: &Fleet, places: &[Place]) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for (place, key) in places {
        let mut object =
            fleet.at(place)?.get(key).await?.with_context(|| format!("{place}: {key} is gone"))?;
        let (uid, generation) = (object["metadata"]["uid"].clone(), object["metadata"]["generation"].clone());
        object["metadata"] = json!({"uid": uid, "generation": generation});
        if key.gvk.group.ends_with("projectsveltos.io") {
            object["status"] = Value::Null;
        }
        all.push(object);
    }
    Ok(all)
}

/// The metadata of these objects without versions and times, and with managers in a fixed order.
///
/// # Errors
/// When a server does not answer, or one is gone.
pub async fn metadata(fleet: &Fleet, places: &[Place]) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for (place, key) in places {
        let object = fleet.at(place)?.get(key).await?.with_context(|| format!("{place}: {key} is gone"))?;
        let mut metadata = object["metadata"].clone();
        metadata["resourceVersion"] = Value::Null;
        let managers = metadata["managedFields"].as_array_mut();
        for entry in managers.into_iter().flatten() {
            entry["time"] = Value::Null;
        }
        if let Some(entries) = metadata["managedFields"].as_array_mut() {
            entries.sort_by_key(|entry| (entry["manager"].to_string(), entry["operation"].to_string()));
        }
        all.push(metadata);
    }
    Ok(all)
}

/// Names of the profiles that are in the management cluster.
///
/// # Errors
/// When the server does not answer.
pub async fn profiles(fleet: &Fleet) -> anyhow::Result<Vec<String>> {
    let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterProfile");
    let found = fleet.management.list(&gvk).await?;
    Ok(found.iter().map(|object| object::name(object).to_owned()).collect())
}

/// Runs `sluice import`: its exit code, and what it printed.
///
/// # Errors
/// When it cannot be run.
pub fn import(kubeconfig: &Path, arguments: &[&str]) -> anyhow::Result<(i32, String)> {
    let done = Command::new(Programs::beside_me()?.find("sluice")?)
        .args(["import", "--kubeconfig"])
        .arg(kubeconfig)
        .args(arguments)
        .output()?;
    let text = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ok((done.status.code().context("sluice import was killed")?, text))
}

/// Who manages fields of an object, and how.
///
/// # Errors
/// When the server does not answer, or the object is gone.
pub async fn managers(fleet: &Fleet, (place, key): &Place) -> anyhow::Result<Vec<String>> {
    let object = fleet.at(place)?.get(key).await?.with_context(|| format!("{place}: {key} is gone"))?;
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    Ok(entries
        .map(|entry| format!("{} {}", object::text(entry, &["manager"]), object::text(entry, &["operation"])))
        .collect())
}
