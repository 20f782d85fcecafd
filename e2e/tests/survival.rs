//! What the pipeline survives: real processes, a real bus, and an end that equals `sluice build` every time.
//! `make survive` runs these, one after the other.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_bus::Connection;
use sluice_e2e::survival::{CLUSTERS, Installation, Problem, problems, service};
use sluice_testbed::STAGES;
use sluice_testbed::manifests;

/// Changes of one storm.
const STORM: u64 = 1000;
/// A membership row lives for 3 s; a replica that was away for longer than twice that has lost everything.
const PAUSED: Duration = Duration::from_secs(6);

/// Names of sources, triggers and templates that nobody should write.
const HOSTILE: [&str; 3] = ["hostile-loops", "hostile-allocates", "hostile-template"];

/// No trigger was deleted: nothing may lose its add-ons but by its own Service.
fn never(_: &str) -> u64 {
    0
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_killed_stage_comes_back_and_nothing_is_lost() {
    let mut installation = Installation::start(None).await.unwrap();
    for stage in STAGES {
        let storm = installation.storm(STORM, &[]);
        storm.part(0.3).await.unwrap();
        installation.kill_stage(stage).unwrap();
        storm.part(0.7).await.unwrap();
        installation.start_stage(stage).unwrap();
        storm.finish().await.unwrap();
        installation.wait_until_equal(&[]).await.unwrap();
        installation.watcher.verdict(never).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn one_replica_of_two_is_enough() {
    let mut installation = Installation::start(None).await.unwrap();
    for stage in STAGES {
        let storm = installation.storm(STORM, &[]);
        storm.part(0.3).await.unwrap();
        installation.stack.kill_replica(&format!("{stage}-1")).unwrap();
        storm.finish().await.unwrap();
        installation.wait_until_equal(&[]).await.unwrap();
        installation.stack.start_replica(stage, 1).unwrap();
        installation.stack.wait_until_ready().await.unwrap();
        installation.watcher.verdict(never).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_killed_bus_comes_back_on_its_data() {
    let mut installation = Installation::start(None).await.unwrap();
    let storm = installation.storm(STORM, &[]);
    for part in [0.2, 0.5, 0.8] {
        storm.part(part).await.unwrap();
        installation.stack.bus_mut().kill_and_restart(0).await.unwrap();
    }
    storm.finish().await.unwrap();
    installation.wait_until_equal(&[]).await.unwrap();
    if let Err(error) = installation.watcher.verdict(never).await {
        panic!("{error}, logs in {}", installation.keep());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_paused_replica_overwrites_nothing_newer() {
    let mut installation = Installation::start(None).await.unwrap();
    for stage in STAGES {
        let storm = installation.storm(STORM, &[]);
        storm.part(0.2).await.unwrap();
        let paused = Instant::now();
        installation.stack.replica(&format!("{stage}-1")).unwrap().signal("STOP").unwrap();
        storm.finish().await.unwrap();
        tokio::time::sleep_until((paused + PAUSED).into()).await;
        // Its shards are with the other replica now, and more changes come while it wakes up.
        let storm = installation.storm(STORM, &[]);
        storm.part(0.2).await.unwrap();
        installation.stack.replica(&format!("{stage}-1")).unwrap().signal("CONT").unwrap();
        storm.finish().await.unwrap();
        installation.wait_until_equal(&[]).await.unwrap();
        installation.watcher.verdict(never).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn losing_every_stream_and_bucket_deletes_nothing() {
    let mut installation = Installation::start(None).await.unwrap();
    let before = installation.watcher.deletions();
    assert!(sluice_bus::wipe(&Connection::plain(installation.stack.nats_url()), "").await.unwrap() > 10);
    // Longer than every membership, refresh and completeness takes; nothing changes in the clusters.
    tokio::time::sleep(Duration::from_secs(15)).await;
    installation.wait_until_equal(&[]).await.unwrap();
    assert_eq!(installation.watcher.deletions(), before, "a wiped bus withdrew something");
    let storm = installation.storm(STORM, &[]);
    storm.part(0.5).await.unwrap();
    sluice_bus::wipe(&Connection::plain(installation.stack.nats_url()), "").await.unwrap();
    storm.finish().await.unwrap();
    installation.wait_until_equal(&[]).await.unwrap();
    installation.watcher.verdict(never).await.unwrap();
    // Who comes now knows only what has been written again.
    for stage in ["agent", "matcher"] {
        installation.kill_stage(stage).unwrap();
        installation.start_stage(stage).unwrap();
    }
    installation.storm(STORM, &[]).finish().await.unwrap();
    installation.wait_until_equal(&[]).await.unwrap();
    installation.watcher.verdict(never).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn what_lost_its_cause_while_a_stage_was_away_is_withdrawn() {
    const TOMBSTONE_TTL: u64 = 3;
    let mut installation = Installation::start(Some(TOMBSTONE_TTL)).await.unwrap();
    let trigger = manifests::management()
        .into_iter()
        .map(|(_, object)| object)
        .find(|object| object["kind"] == "EventBasedAddOn" && object["spec"]["oneForEvent"] == false)
        .unwrap();
    for (round, stage) in (1..).zip(STAGES) {
        let going = [("a", manifests::EACH), ("b", manifests::EACH), ("c", manifests::ALL)]
            .map(|(name, label)| service(&format!("{label}-going-{round}-{name}"), label, 80));
        for (place, object) in everywhere(&installation, &going) {
            installation.fleet.apply(&place, &object).await.unwrap();
        }
        installation.wait_until_equal(&[]).await.unwrap();
        installation.kill_stage(stage).unwrap();
        for (place, object) in everywhere(&installation, &going) {
            installation.fleet.delete(&place, &object).await.unwrap();
        }
        installation.delete(&trigger).await.unwrap();
        // Every tombstone of these deletions expires before the stage is back.
        tokio::time::sleep(Duration::from_secs(3 * TOMBSTONE_TTL)).await;
        installation.start_stage(stage).unwrap();
        installation.wait_until_equal(&[]).await.unwrap();
        let excused = |name: &str| if name.starts_with("all-") { round } else { 0 };
        installation.watcher.verdict(excused).await.unwrap();
        installation.apply(trigger.clone()).await.unwrap();
        installation.wait_until_equal(&[]).await.unwrap();
    }
}

/// These objects, in every managed cluster.
fn everywhere(installation: &Installation, objects: &[Value]) -> Vec<(String, Value)> {
    let places = installation.fleet.members.keys();
    places.flat_map(|place| objects.iter().map(move |object| (place.clone(), object.clone()))).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_third_replica_takes_its_share() {
    let mut installation = Installation::start(None).await.unwrap();
    let storm = installation.storm(STORM, &[]);
    for stage in STAGES {
        let before = owned(&installation, stage).await;
        assert!(before.iter().all(|&shards| shards > 0.0), "{stage}: {before:?}");
        installation.stack.start_replica(stage, 3).unwrap();
        installation.stack.wait_until_ready().await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let now = owned(&installation, stage).await;
            let (sum, expected): (f64, f64) = (now.iter().sum(), before.iter().sum());
            if now.len() == 3 && now.iter().all(|&shards| shards > 0.0) && sum == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{stage}: {before:?} became {now:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    storm.finish().await.unwrap();
    installation.wait_until_equal(&[]).await.unwrap();
    installation.watcher.verdict(never).await.unwrap();
}

/// How many shards each replica of a stage works on.
async fn owned(installation: &Installation, stage: &str) -> Vec<f64> {
    let mut shards = Vec::new();
    for replica in installation.stack.replicas().values().filter(|replica| replica.stage() == stage) {
        shards.push(replica.metric("sluice_shards_owned", &[&format!("stage=\"{stage}\"")]).await.unwrap());
    }
    shards
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn hostile_inputs_are_problems_and_nobody_elses_delay() {
    let mut installation = Installation::start(None).await.unwrap();
    let broken = format!("default/cluster-{CLUSTERS}");
    let [loops, allocates, fails] = HOSTILE;
    let hostile = [
        hostile(loops, "while true do end", "name: a"),
        hostile(allocates, "local t = {} while true do t[#t + 1] = string.rep('x', 1048576) end", "name: b"),
        hostile(fails, "", "name: {{ index .Resource.spec.ports 99 }}"),
    ];
    installation
        .faults(&format!("cluster-{CLUSTERS}"), json!({"errorRate": 1.0, "errorCode": 500}))
        .await
        .unwrap();
    for object in hostile.iter().flatten().chain(&profile()) {
        installation.apply(object.clone()).await.unwrap();
    }
    let victim = service("victim", "hostile", 80);
    installation.fleet.apply("default/cluster-1", &victim).await.unwrap();
    let rows = wait_for_problems(&mut installation, |rows| {
        HOSTILE.iter().all(|name| about(rows, name).len() == 1) && !at(rows, "deployer", &broken).is_empty()
    })
    .await;
    assert_eq!(at(&rows, "deployer", &broken).len(), 1, "{rows:#?}");
    assert!(rows.iter().all(|row| row.error.len() > 10), "{rows:#?}");
    // The others do not wait for any of it.
    let started = Instant::now();
    installation.storm(STORM, &[&broken]).finish().await.unwrap();
    installation.wait_until_equal(&[&broken]).await.unwrap();
    installation.watcher.verdict(never).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(30), "it took {:?}", started.elapsed());
    // What is mended is no problem any more.
    installation.faults(&format!("cluster-{CLUSTERS}"), json!({"errorRate": 0.0})).await.unwrap();
    for object in hostile.iter().flatten() {
        installation.delete(object).await.unwrap();
    }
    wait_for_problems(&mut installation, <[Problem]>::is_empty).await;
    installation.wait_until_equal(&[]).await.unwrap();
}

/// Rows that name one of the hostile inputs.
fn about<'a>(rows: &'a [Problem], name: &str) -> Vec<&'a Problem> {
    rows.iter().filter(|row| format!("{} {}", row.object, row.error).contains(name)).collect()
}

fn at<'a>(rows: &'a [Problem], stage: &str, cluster: &str) -> Vec<&'a Problem> {
    rows.iter().filter(|row| row.stage == stage && row.cluster.ends_with(cluster)).collect()
}

async fn wait_for_problems(
    installation: &mut Installation,
    enough: impl Fn(&[Problem]) -> bool,
) -> Vec<Problem> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let rows = problems(installation.stack.programs(), &installation.stack.nats_url()).unwrap();
        if enough(&rows) {
            return rows;
        }
        assert!(Instant::now() < deadline, "logs in {}: {rows:#?}", installation.keep());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A source whose script begins with `body`, and a trigger on it with this template.
fn hostile(name: &str, body: &str, template: &str) -> [Value; 3] {
    let script = format!("function evaluate()\n  {body}\n  return {{ matching = true }}\nend\n");
    let content = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {template}\n  namespace: default\n");
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": {"content.yaml": content}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": name},
            "spec": {"collectResources": true, "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service",
                "labelFilters": [{"key": "sveltos", "operation": "Equal", "value": "hostile"}], "evaluate": script}]}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1alpha1", "kind": "EventBasedAddOn", "metadata": {"name": name},
            "spec": {"clusterSelector": format!("{}=true", manifests::CLUSTER_LABEL), "eventSourceName": name,
                "oneForEvent": true, "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}}),
    ]
}

/// A profile for the last cluster alone, so that there is something to deploy there.
fn profile() -> [Value; 2] {
    let content = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\n";
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": "default"},
            "data": {"content.yaml": content}}),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "base"},
            "spec": {"clusterSelector": {"matchLabels": {"number": CLUSTERS.to_string()}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "base"}]}}),
    ]
}
