//! Stages are killed while clusters go from one profile to its successor, and while a withdrawal waits for somebody to approve it:
//! nothing vanishes in between, and a restart approves nothing. `make survive` runs these.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey, object};
use sluice_e2e::cluster_client::is_deployed;
use sluice_e2e::survival::{Entry, Installation, Journal, Problem, Standing, problems};
use sluice_e2e::until::until_so;
use sluice_protocol::Shard;
use sluice_protocol::subject::cluster_shard;
use sluice_testbed::{Options, STAGES, manifests};

const CLUSTERS: usize = 4;
/// Changes a second of something else.
const RATE: u32 = 10;
const SHARDS: u16 = 16;
/// More Services in each cluster.
const MORE: usize = 10;
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(50);
/// What must not happen is waited for so long.
const STAYS: Duration = Duration::from_secs(5);

fn options() -> Options {
    Options { clusters: CLUSTERS, replicas: 2, nodes: 3, stream_replicas: 3, ..Options::default() }
}

fn clusters(installation: &Installation) -> Vec<String> {
    installation.fleet.members.keys().cloned().collect()
}

fn name_of(cluster: &str) -> &str {
    cluster.trim_start_matches("default/")
}

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data})
}

/// A profile that takes over from the one before, and its content: something that all have, and something of its own.
fn generation(number: usize) -> [Value; 2] {
    let name = format!("app-{number}");
    let data = json!({"generation": number.to_string()});
    let objects = [config_map("common", data.clone()), config_map(&format!("only-{number}"), data)];
    let text = objects.map(|object| object.to_string()).join("\n---\n");
    [
        config_map(&name, json!({"objects.yaml": text})),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
            "spec": {"clusterSelector": {"matchLabels": {"app": number.to_string()}},
                "transitionFrom": [format!("app-{}", number - 1)],
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}}),
    ]
}

fn registration(cluster: &str, generation: usize) -> Value {
    let name = name_of(cluster);
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
        "metadata": {"name": name, "namespace": "default",
            "labels": {manifests::CLUSTER_LABEL: "true", "app": generation.to_string()}}})
}

/// Whether a cluster has what this generation alone has.
async fn has(installation: &Installation, cluster: &str, generation: usize) -> anyhow::Result<bool> {
    let key = ObjectKey {
        gvk: Gvk::new("", "v1", "ConfigMap"),
        namespace: "default".to_owned(),
        name: format!("only-{generation}"),
    };
    Ok(installation.fleet.at(cluster)?.get(&key).await?.is_some())
}

/// What happened that should not: what only the generation before had went once, and nothing else did; what is common is one object.
fn wrong(entries: &[Entry], before: usize, uids: &mut BTreeMap<String, String>) -> Vec<String> {
    let (mut gone, mut wrong) = (BTreeSet::new(), Vec::new());
    for entry in entries.iter().filter(|entry| is_deployed(&entry.object)) {
        let (cluster, name) = (&entry.cluster, object::name(&entry.object));
        let what = || format!("{cluster}, {}: {name}", entry.version);
        if entry.gone && (name != format!("only-{before}") || !gone.insert(cluster)) {
            wrong.push(format!("{} was deleted", what()));
        }
        if name == "common" {
            let uid = object::text(&entry.object, &["metadata", "uid"]);
            if uids.entry(cluster.clone()).or_insert_with(|| uid.to_owned()) != uid {
                wrong.push(format!("{} was made anew", what()));
            }
        }
    }
    wrong
}

/// All clusters go to the next generation, half of them while these stages are away.
async fn go_on(
    installation: &mut Installation,
    number: usize,
    stages: &[&'static str],
) -> anyhow::Result<()> {
    for object in generation(number) {
        installation.apply(object).await?;
    }
    installation.until_known(&generation(number)[1]).await?;
    let all = clusters(installation);
    let (first, others) = all.split_at(all.len() / 2);
    for cluster in first {
        installation.apply(registration(cluster, number)).await?;
    }
    until_so("the first cluster goes to the successor", PATIENCE, async || {
        has(installation, &first[0], number).await
    })
    .await?;
    for stage in stages {
        installation.kill_stage(stage)?;
    }
    for cluster in others {
        installation.apply(registration(cluster, number)).await?;
    }
    for stage in stages {
        installation.start_stage(stage)?;
    }
    for cluster in &all {
        until_so("all clusters go to the successor", PATIENCE, async || {
            Ok(has(installation, cluster, number).await? && !has(installation, cluster, number - 1).await?)
        })
        .await?;
    }
    Ok(())
}

async fn generations(installation: &mut Installation) -> anyhow::Result<()> {
    let all = clusters(installation);
    for object in generation(1) {
        installation.apply(object).await?;
    }
    for cluster in &all {
        installation.apply(registration(cluster, 1)).await?;
    }
    installation.wait_until_equal(&[]).await?;
    let places: Vec<&str> = all.iter().map(String::as_str).collect();
    let journal = Journal::start(&installation.fleet, &places, &[Gvk::new("", "v1", "ConfigMap")]).await?;
    let (mut uids, mut seen) = (BTreeMap::new(), journal.entries().await?.len());
    let pacer = installation.pace(RATE, &[]);
    let each = STAGES.iter().map(std::slice::from_ref);
    let mut number = 1;
    for stages in
        each.chain([["renderer", "deployer"].as_slice(), &STAGES]).cycle().take(2 * (STAGES.len() + 2))
    {
        number += 1;
        go_on(installation, number, stages).await?;
        let entries = journal.entries().await?;
        let wrong = wrong(&entries[seen..], number - 1, &mut uids);
        ensure!(wrong.is_empty(), "{stages:?} were killed: {wrong:#?}");
        installation.say(&format!("{stages:?} were killed on the way to generation {number}"));
        seen = entries.len();
        for object in generation(number - 1) {
            installation.delete(&object).await?;
        }
    }
    ensure!(uids.len() == CLUSTERS, "{} clusters have what is common", uids.len());
    pacer.finish().await?;
    installation.wait_until_equal(&[]).await?;
    installation.watcher.verdict(|_| 0).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn nothing_vanishes_between_a_profile_and_its_successor_while_stages_are_killed() {
    let mut installation = Installation::start_on(options()).await.unwrap();
    if let Err(error) = generations(&mut installation).await {
        panic!("{error:#}; the logs are in {}", installation.keep());
    }
}

/// What is to be approved, once each shard of the renderers that has a cluster says so.
async fn called(installation: &Installation) -> anyhow::Result<BTreeSet<String>> {
    let shard = |cluster: &String| cluster_shard(&ClusterRef::sveltos("default", name_of(cluster)), SHARDS);
    let shards: BTreeSet<Shard> = clusters(installation).iter().map(shard).collect();
    let (stack, deadline) = (&installation.stack, Instant::now() + PATIENCE);
    loop {
        let rows = problems(stack.programs(), &stack.nats_url())?;
        let name = |row: &Problem| {
            let (_, rest) = row.error.split_once("`sluice approve ")?;
            Some(rest.split_once('`')?.0.to_owned())
        };
        let names: BTreeSet<String> = rows.iter().filter_map(name).collect();
        if names.len() == shards.len() {
            return Ok(names);
        }
        if Instant::now() > deadline {
            bail!("{names:?} wait to be approved, of {} shards: {rows:#?}", shards.len());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn waits_for_approval(installation: &mut Installation) -> anyhow::Result<()> {
    let is_of_each =
        |object: &Value| object["kind"] == "EventBasedAddOn" && object["spec"]["oneForEvent"] == true;
    let mut objects = manifests::management().into_iter().map(|(_, object)| object);
    let Some(trigger) = objects.find(is_of_each) else { bail!("there is no trigger of each Service") };
    // More than a shard of the renderers withdraws without asking.
    installation.add_still(MORE * CLUSTERS).await?;
    let (before, deletions) = (Standing::of(installation).await?, installation.watcher.deletions());
    installation.delete(&trigger).await?;
    let names = called(installation).await?;
    installation.say(&format!("{names:?} wait to be approved"));
    for stages in STAGES.iter().map(std::slice::from_ref).chain([STAGES.as_slice()]) {
        for stage in stages {
            installation.kill_stage(stage)?;
        }
        for stage in stages {
            installation.start_stage(stage)?;
        }
        installation.stack.wait_until_ready().await?;
        tokio::time::sleep(STAYS).await;
        let standing = Standing::of(installation).await?;
        standing.same_addons(&before)?;
        standing.same_versions(&before)?;
        let now = installation.watcher.deletions();
        ensure!(now == deletions, "{} add-ons went when {stages:?} were killed", now - deletions);
        let again = called(installation).await?;
        ensure!(again == names, "{names:?} waited, and {again:?} wait since {stages:?} were killed");
        installation.say(&format!("they wait although {stages:?} were killed"));
    }
    let kubeconfig = installation.stack.kubeconfig();
    for name in &names {
        let mut approve = Command::new(installation.stack.programs().find("sluice")?);
        let approved = approve.args(["approve", name, "--kubeconfig"]).arg(&kubeconfig).output()?;
        ensure!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    }
    installation.wait_until_equal(&[]).await?;
    ensure!(installation.watcher.deletions() > deletions, "nothing went although it was approved");
    installation.watcher.verdict(|_| 1).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn what_waits_for_approval_waits_although_stages_are_killed() {
    let mut installation = Installation::start_on(options()).await.unwrap();
    if let Err(error) = waits_for_approval(&mut installation).await {
        panic!("{error:#}; the logs are in {}", installation.keep());
    }
}
