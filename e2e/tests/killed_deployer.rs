//! A deployer is killed after each write of a plan with many steps: the namespace, the definition, its object, a chart, one
//! reference after the other, checks, what is stale, and what a predecessor had. `make survive` runs it.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey, object};
use sluice_e2e::cluster_client::is_deployed;
use sluice_e2e::survival::{Entry, Installation, Journal};
use sluice_protocol::subject::cluster_shard;
use sluice_testbed::{Options, manifests};

/// The cluster whose deployer is killed; changes go on in the others.
const NAME: &str = "cluster-3";
const CLUSTER: &str = "default/cluster-3";
const OTHERS: [&str; 2] = ["default/cluster-1", "default/cluster-2"];
/// Changes a second in the others.
const RATE: u32 = 10;
const SHARDS: u16 = 16;
/// Fewer writes than any plan here has, and more.
const FEWEST: u64 = 15;
const MOST: u64 = 100;
/// A plan that is carried out and stays so for so long has no more writes.
const STAYS: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(50);
/// Where Sluice keeps its inventories.
const OWN: &str = "projectsveltos";

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data})
}

/// What a reference reads: these objects.
fn content(name: &str, objects: &[Value]) -> Value {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    config_map(name, json!({"objects.yaml": texts.join("\n---\n")}))
}

fn profile(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": name}, "spec": spec})
}

fn widget(generation: u64) -> Gvk {
    Gvk::new("plan.example.com", "v1", format!("Widget{generation}"))
}

fn definition(generation: u64) -> [Value; 2] {
    let (kind, plural) = (widget(generation), format!("widget{generation}s"));
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    [
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{}", kind.group)},
            "spec": {"group": kind.group, "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": plural, "singular": format!("widget{generation}")},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}}),
        json!({"apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": {"name": "first", "namespace": format!("plan-{generation}")}, "spec": {"size": 1}}),
    ]
}

/// A profile with many steps that takes over from the generation before, and all that it refers to.
fn generation(number: u64) -> Vec<Value> {
    let namespace = format!("plan-{number}");
    let named = |part: &str| format!("plan-{number}-{part}");
    let inside = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inside", "namespace": namespace}});
    let base = [json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}), inside];
    let data = json!({"generation": number.to_string()});
    let parts = ["base", "definition", "a", "b", "common"];
    let mut objects =
        vec![content(&named("base"), &base), content(&named("definition"), &definition(number))];
    for part in ["a", "b"] {
        objects.push(content(&named(part), &[config_map(&format!("{part}-{number}"), data.clone())]));
    }
    objects.push(content(&named("common"), &[config_map("common", data)]));
    let references =
        parts.map(|part| json!({"kind": "ConfigMap", "namespace": "default", "name": named(part)}));
    let check = |name: &str, gate: &str, rule: String| {
        json!([{"name": name, "featureID": "Resources", "group": "", "version": "v1", "kind": "ConfigMap", "namespace": "default",
            "labelFilters": [{"key": gate, "operation": "Has"}], "evaluateCEL": [{"name": name, "rule": rule}]}])
    };
    let is_new = format!("resource.metadata.name != 'common' || resource.data.generation == '{number}'");
    objects.push(profile(
        &format!("plan-{number}"),
        json!({
            "clusterSelector": {"matchLabels": {"plan": number.to_string()}},
            "transitionFrom": [format!("plan-{}", number - 1)],
            "preDeployChecks": check("the-gate-is-open", "gate", "resource.data.open == 'yes'".to_owned()),
            "validateHealths": check("it-is-the-new-one", "projectsveltos.io/reason", is_new),
            "policyRefs": references,
            "helmCharts": [{"repositoryURL": "https://charts.example.com", "repositoryName": "example",
                "chartName": "example/site", "chartVersion": "1.0.0", "releaseName": "site", "releaseNamespace": "default",
                "values": format!("team: t{number}\n")}],
        }),
    ));
    objects
}

/// A profile that stays, and whose content is another one in each generation: one object of it is stale then.
fn staying(number: u64) -> [Value; 2] {
    let parts = [config_map(&format!("stale-{number}"), json!({})), config_map("steady", json!({"a": "b"}))];
    [
        content("staying", &parts),
        profile(
            "staying",
            json!({"clusterSelector": {"matchLabels": {"number": "3"}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "staying"}]}),
        ),
    ]
}

fn registration(generation: u64) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
        "metadata": {"name": NAME, "namespace": "default",
            "labels": {manifests::CLUSTER_LABEL: "true", "number": "3", "plan": generation.to_string()}}})
}

fn kinds() -> [Gvk; 3] {
    [
        Gvk::new("", "v1", "Namespace"),
        Gvk::new("", "v1", "ConfigMap"),
        Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ]
}

/// What is there of Sluice's, and the uid of each.
async fn deployed(installation: &Installation) -> anyhow::Result<BTreeMap<ObjectKey, String>> {
    let found = installation.fleet.at(CLUSTER)?.deployed(&kinds()).await?;
    let uid = |object: &Value| object::text(object, &["metadata", "uid"]).to_owned();
    Ok(found.iter().filter_map(|object| Some((ObjectKey::of(object)?, uid(object)))).collect())
}

/// How many inventories are in the cluster.
async fn inventories(installation: &Installation) -> anyhow::Result<usize> {
    let maps = installation.fleet.at(CLUSTER)?.list(&Gvk::new("", "v1", "ConfigMap")).await?;
    Ok(maps.iter().filter(|map| object::namespace(map) == OWN).count())
}

/// What happened that should not: only what is there no more was deleted, and that once; what is new was made once.
fn wrong(
    entries: &[Entry],
    before: &BTreeMap<ObjectKey, String>,
    after: &BTreeMap<ObjectKey, String>,
) -> Vec<String> {
    let (mut deleted, mut made, mut wrong) = (BTreeSet::new(), BTreeMap::<_, BTreeSet<_>>::new(), Vec::new());
    for Entry { object, version, gone, .. } in entries {
        let Some(key) = ObjectKey::of(object).filter(|key| key.namespace != OWN) else { continue };
        if *gone {
            let may_go = before.contains_key(&key) && !after.contains_key(&key);
            if !may_go || !deleted.insert(key) {
                wrong.push(format!("{version}: {} was deleted", object::describe(object)));
            }
        } else if is_deployed(object) && !before.contains_key(&key) {
            made.entry(key).or_default().insert(object::text(object, &["metadata", "uid"]));
        }
    }
    let twice = made.iter().filter(|(_, uids)| uids.len() > 1);
    wrong.extend(twice.map(|(key, uids)| format!("{key} was made {} times", uids.len())));
    let anew = before.iter().filter(|(key, uid)| after.get(key).is_some_and(|now| now != *uid));
    wrong.extend(anew.map(|(key, _)| format!("{key} was made anew")));
    wrong
}

/// Waits until so many writes have come (`true`), or the plan is carried out without so many.
async fn held_or_over(installation: &Installation) -> anyhow::Result<bool> {
    let (deadline, mut since) = (Instant::now() + PATIENCE, None);
    loop {
        if installation.is_held(NAME).await? {
            return Ok(true);
        }
        let found = installation.differences(&OTHERS).await?;
        if found.is_empty() {
            if since.get_or_insert_with(Instant::now).elapsed() > STAYS {
                return Ok(false);
            }
        } else {
            since = None;
            ensure!(Instant::now() < deadline, "after {PATIENCE:?}: {found:#?}");
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Kills the replica that has the cluster, or both, lets the cluster go on, and starts them again.
async fn kill(installation: &mut Installation, both: bool) -> anyhow::Result<()> {
    let (stage, go_on) = ("deployer", json!({"writesLeft": null}));
    if both {
        installation.kill_stage(stage)?;
        installation.faults(NAME, go_on).await?;
        return installation.start_stage(stage);
    }
    let shard = cluster_shard(&ClusterRef::sveltos("default", NAME), SHARDS);
    let owner = installation.owner(stage, shard.index())?;
    installation.stack.kill_replica(&owner)?;
    installation.faults(NAME, go_on).await?;
    installation.stack.start_replica(stage, if owner.ends_with('1') { 1 } else { 2 })
}

/// The next generation takes over, and a deployer is killed after so many writes; whether there were so many.
async fn takes_over(installation: &mut Installation, journal: &Journal, writes: u64) -> anyhow::Result<bool> {
    let (number, before) = (writes + 1, deployed(installation).await?);
    let seen = journal.entries().await?.len();
    installation.compare(widget(number));
    installation.faults(NAME, json!({"writesLeft": writes})).await?;
    let objects = generation(number);
    for object in objects.iter().cloned().chain(staying(number)) {
        installation.apply(object).await?;
    }
    // First the successor, then the label.
    for profile in objects.iter().filter(|object| object["kind"] == "ClusterProfile") {
        installation.until_known(profile).await?;
    }
    installation.apply(registration(number)).await?;
    let is_held = held_or_over(installation).await?;
    if is_held {
        kill(installation, writes.is_multiple_of(3)).await?;
        installation.wait_until_equal(&OTHERS).await?;
    }
    installation.faults(NAME, json!({"writesLeft": null})).await?;
    let (entries, after) = (journal.entries().await?, deployed(installation).await?);
    let wrong = wrong(&entries[seen..], &before, &after);
    ensure!(wrong.is_empty(), "after write {writes}: {wrong:#?}");
    for object in generation(number - 1) {
        installation.delete(&object).await?;
    }
    Ok(is_held)
}

/// The first generation, and what belongs to somebody else.
async fn begin(installation: &mut Installation) -> anyhow::Result<()> {
    kinds().into_iter().for_each(|kind| installation.compare(kind));
    let mut gate = config_map("gate", json!({"open": "yes"}));
    gate["metadata"]["labels"] = json!({"gate": "here"});
    for object in [gate, config_map("somebodys", json!({"a": "b"}))] {
        installation.fleet.apply(CLUSTER, &object).await?;
    }
    installation.compare(widget(1));
    for object in generation(1).into_iter().chain(staying(1)).chain([registration(1)]) {
        installation.apply(object).await?;
    }
    installation.wait_until_equal(&[]).await
}

async fn every_write(installation: &mut Installation) -> anyhow::Result<()> {
    begin(installation).await?;
    let journal = Journal::start(&installation.fleet, &[CLUSTER], &kinds()).await?;
    let kept = inventories(installation).await?;
    ensure!(kept > 1, "there are {kept} inventories");
    let pacer = installation.pace(RATE, &[CLUSTER]);
    let mut writes = 1;
    while takes_over(installation, &journal, writes).await? {
        installation.say(&format!("a deployer was killed after write {writes}"));
        writes += 1;
        ensure!(writes < MOST, "the plan has no end");
    }
    let (writes, made) = (writes - 1, pacer.finish().await?);
    installation.say(&format!("the plan had {writes} writes, and {made} changes were made meanwhile"));
    ensure!(writes > FEWEST, "a plan of {writes} writes has not all steps");
    installation.wait_until_equal(&[]).await?;
    installation.watcher.verdict(|_| 0).await?;
    // An inventory stays for as long as calls of those that were killed may still come.
    let deadline = Instant::now() + PATIENCE;
    while let left = inventories(installation).await?
        && left != kept
    {
        ensure!(Instant::now() < deadline, "there were {kept} inventories, and there are {left}");
        tokio::time::sleep(LOOK).await;
    }
    installation.say("no inventory is left behind");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_deployer_is_killed_after_each_write_of_a_plan() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/de-transition-chart/input/sources");
    let options = Options { clusters: 3, replicas: 2, nodes: 3, stream_replicas: 3, ..Options::default() };
    let mut installation = Installation::start_with(options, Some(&sources)).await.unwrap();
    if let Err(error) = every_write(&mut installation).await {
        panic!("{error:#}; the logs are in {}", installation.keep());
    }
}
