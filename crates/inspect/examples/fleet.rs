//! A bus that holds a large fleet, for measuring how fast questions are answered: see `docs/performance/2026-11-25.md`.
//!
//! ```text
//! cargo run -p sluice-inspect --example fleet -- KUBECONFIG [CLUSTERS [ROWS [PROBLEMS]]]
//! ```
//!
//! With problems, so many in each cluster, the rest of what a page shows is there as well: ClusterProfiles, ten for each cluster, and what
//! deployers have written down.
//!
//! Prints the address once everything is there, and keeps the server until its input ends. The kubeconfig is written to this path: of
//! a management cluster that has the clusters and two triggers, `t` whose events are there and `quiet` which has none.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::wire::OF_ROWS;
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};
use sluice_bus::kit::{Server, write_as};
use sluice_bus::{Bus, BusOptions, Connection, InterestWriter, ProblemSource, Problems};
use sluice_kube::fake_api::{FakeApi, Request};
use sluice_protocol::interest::{Interest, Source};
use sluice_protocol::rows::{Cause, EventCause};
use sluice_protocol::subject::{change_shard, cluster_shard};
use sluice_protocol::{About, Body, Meta, Problem, Publish, Revision, Subject, WantedSet};
use sluice_tasks::Tasks;

const SHARDS: u16 = 16;
/// Of so many rows one is a report, and one of so many a profile with its status; the rest are objects.
const PARTS: usize = 10;
/// Objects that one profile deploys.
const DEPLOYED: usize = 10;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let kubeconfig = arguments.next().unwrap();
    let mut numbers = arguments.map(|text| text.parse::<usize>().unwrap());
    let (clusters, rows) = (numbers.next().unwrap_or(300), numbers.next().unwrap_or(1_000));
    let problems = numbers.next().unwrap_or_default();
    let server = Server::start();
    let tasks = Tasks::default();
    let options = BusOptions {
        connection: Connection::plain(server.url()),
        name: "fleet".into(),
        shards: SHARDS,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(6 * 3600),
        keys: sluice_bus::BusKeys::default(),
    };
    let bus = Bus::connect(&options, &tasks).await.unwrap();
    let begin = Instant::now();
    for number in 0..clusters {
        fill(&bus, number, rows).await;
    }
    eprintln!("{clusters} clusters of {rows} rows in {:.0?}", begin.elapsed());
    let _source = tell(&bus, clusters, problems).await;
    let size = Size { clusters, profiles: rows / PARTS, is_shown: problems > 0 };
    let management = FakeApi::start(move |request| management(request, size));
    std::fs::write(kubeconfig, management.kubeconfig()).unwrap();
    println!("{}", server.url());
    let ended = std::thread::spawn(|| std::io::stdin().lines().for_each(drop));
    while !ended.is_finished() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn fill(bus: &Bus, number: usize, rows: usize) {
    let cluster = named(number);
    let part = rows / PARTS;
    let objects = (0..rows - 3 * part).map(|number| change(&cluster, number));
    write_as(bus, &cluster.to_string(), objects).await;
    let others = (0..part)
        .flat_map(|number| [report(&cluster, number), desired(&cluster, number), status(&cluster, number)]);
    write_as(bus, "0", others).await;
    let manifest = json!({"kind": "EventSource", "metadata": {"name": "services"}, "spec": {"resourceSelectors": [
        {"version": "v1", "kind": "Service"}]}});
    let source = Source { name: "services".into(), changed: Revision::new(1), manifest: Arc::new(manifest) };
    InterestWriter::new(bus)
        .write(
            &cluster,
            &Interest { revision: Revision::new(1), sources: vec![source], ..Interest::default() },
        )
        .await
        .unwrap();
}

/// What cannot be done, until what is given back is dropped.
async fn tell(bus: &Bus, clusters: usize, problems: usize) -> ProblemSource {
    let source = Problems::start(bus).source();
    for number in 0..clusters {
        for problem in 0..problems {
            let about = About::Source(format!("source-{problem:03}"));
            let error =
                "the script of the EventSource takes longer than 200 ms; look for a loop that does not end";
            source.report(Problem::open("matcher", named(number), about, error));
        }
        // No more at once than are taken.
        tokio::time::sleep(Duration::from_millis(problems as u64)).await;
    }
    source
}

fn named(number: usize) -> ClusterRef {
    ClusterRef::sveltos("default", format!("cluster-{number:03}"))
}

/// How large the fleet is.
#[derive(Clone, Copy)]
struct Size {
    clusters: usize,
    /// Those of one cluster.
    profiles: usize,
    /// Whether what a page shows is there.
    is_shown: bool,
}

/// What a deployer has written down of a cluster, as of its rows.
fn configuration(number: usize, profiles: usize) -> Value {
    let cluster = named(number);
    let mut wanted = WantedSet::default();
    let mut by = Vec::new();
    for part in 0..profiles {
        let row = desired(&cluster, part);
        let Subject::Desired { origin, profile, .. } = &row.subject else { unreachable!() };
        wanted.add(profile, *origin, row.head_by(None).digest);
        let deployed = |object: usize| {
            json!({"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "default",
            "name": format!("made-{part:04}-{object}"), "lastAppliedTime": "2026-11-28T12:00:00Z"})
        };
        let resources: Vec<Value> = (0..DEPLOYED).map(deployed).collect();
        by.push(json!({"clusterProfileName": profile.name, "Features": [{"featureID": "Resources", "resources": resources}]}));
    }
    json!({"metadata": {"namespace": "default", "name": format!("sveltos--{}", cluster.name),
        "annotations": {OF_ROWS: wanted.digest().to_string()}}, "status": {"clusterProfileResources": by}})
}

/// Kinds and lists of what the stages write for a page.
fn written(path: &str, request: &Request, size: Size) -> Option<Value> {
    let kinds = ["ClusterProfile", "Profile", "ClusterConfiguration"].map(resource);
    let profile = |number: usize| {
        let clusters = vec![json!({}); size.clusters.min(30)];
        json!({"metadata": {"name": format!("profile-{number:05}")}, "spec": {"syncMode": "Continuous"},
            "status": {"matchingClusters": clusters, "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    Some(match path {
        "" => {
            json!({"kind": "APIResourceList", "groupVersion": "config.projectsveltos.io/v1beta1", "resources": kinds})
        }
        "/clusterprofiles" => listed((0..size.clusters * 10).map(profile).collect()),
        "/profiles" => listed(json!([])),
        _ => {
            let name = request.path.split("metadata.name%3D").nth(1)?;
            let number =
                name.split('&').next()?.strip_prefix("sveltos--cluster-").and_then(|it| it.parse().ok());
            let found: Vec<Value> =
                number.map(|number| configuration(number, size.profiles)).into_iter().collect();
            listed(found.into())
        }
    })
}

fn resource(kind: &str) -> Value {
    json!({"name": format!("{}s", kind.to_lowercase()), "singularName": "", "namespaced": false, "kind": kind, "verbs": ["list"]})
}

fn listed(items: Value) -> Value {
    json!({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items})
}

/// What users wrote.
fn management(request: &Request, size: Size) -> (u16, String) {
    let clusters = size.clusters;
    let kinds = ["SveltosCluster", "EventTrigger", "EventSource"];
    let trigger = |name: &str, source: &str| {
        let spec = json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": source, "oneForEvent": true});
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let source = |name: &str| json!({"metadata": {"name": name}, "spec": {"resourceSelectors": [{"version": "v1", "kind": "Service"}]}});
    let cluster = |number: usize| {
        let name = format!("cluster-{number:03}");
        json!({"metadata": {"namespace": "default", "name": name, "labels": {"env": "fv"}}, "spec": {}})
    };
    let path = request.path.split('?').next().unwrap_or_default();
    if let Some(path) = path.strip_prefix("/apis/config.projectsveltos.io/v1beta1").filter(|_| size.is_shown)
        && let Some(body) = written(path, request, size)
    {
        return (200, body.to_string());
    }
    let body = match path.strip_prefix("/apis/lib.projectsveltos.io/v1beta1").unwrap_or(path) {
        "/apis" => json!({"kind": "APIGroupList", "groups": []}),
        "" => json!({"kind": "APIResourceList", "groupVersion": "lib.projectsveltos.io/v1beta1",
            "resources": kinds.map(resource)}),
        "/sveltosclusters" => listed((0..clusters).map(cluster).collect()),
        "/eventtriggers" => listed(json!([trigger("t", "services"), trigger("quiet", "quiet")])),
        "/eventsources" => listed(json!([source("services"), source("quiet")])),
        _ => {
            return (
                404,
                json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "none"}).to_string(),
            );
        }
    };
    (200, body.to_string())
}

fn row(subject: Subject, body: &Value) -> Publish {
    Publish::new(subject, Body::Value(serde_json::to_vec(body).unwrap().into()), 5)
}

fn key(number: usize) -> ObjectKey {
    let gvk = Gvk::new("", "v1", "Service");
    ObjectKey { gvk, namespace: format!("team-{}", number % 20), name: format!("web-{number:04}") }
}

fn change(cluster: &ClusterRef, number: usize) -> Publish {
    let object = key(number);
    let body = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": object.namespace, "name": object.name, "labels": {"app": "web"}, "resourceVersion": "7"},
        "spec": {"ports": [{"port": 80}]}});
    let shard = change_shard(cluster, &object, SHARDS);
    row(Subject::Change { shard, cluster: cluster.clone(), viewer: String::new(), object }, &body)
}

fn report(cluster: &ClusterRef, number: usize) -> Publish {
    let object = key(number);
    let (shard, origin) = (cluster_shard(cluster, SHARDS), change_shard(cluster, &object, SHARDS));
    let (cluster, source) = (cluster.clone(), "services".to_owned());
    row(Subject::Report { shard, cluster, source, origin, object }, &json!({}))
}

fn cause(cluster: &ClusterRef, number: usize) -> Cause {
    Cause::from(EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: cluster.clone(),
        source: "services".into(),
        item: Some(key(number)),
    })
}

fn profile(number: usize) -> ProfileId {
    ProfileId::cluster(format!("sveltos-{number:04}"))
}

fn desired(cluster: &ClusterRef, number: usize) -> Publish {
    let (cause, profile) = (cause(cluster, number), profile(number));
    let object = |part: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": format!("made-{number:04}-{part}")},
            "data": {"a": "b"}})
    };
    let objects: Vec<Value> = (0..DEPLOYED).map(object).collect();
    let body = json!({"ownerKind": "ClusterProfile", "ownerName": profile.name, "tier": 100, "cause": cause, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "tier": 100, "objects": objects}]});
    let (shard, origin) = (cluster_shard(cluster, SHARDS), cause.origin(SHARDS));
    row(Subject::Desired { shard, cluster: cluster.clone(), origin, profile }, &body)
        .meta(Meta::of_cause(&cause))
}

fn status(cluster: &ClusterRef, number: usize) -> Publish {
    let (cause, profile) = (cause(cluster, number), profile(number));
    let subject = Subject::Status {
        shard: cluster_shard(cluster, SHARDS),
        cluster: cluster.clone(),
        origin: cause.origin(SHARDS),
        profile,
    };
    row(subject, &json!({"state": "Provisioned"})).meta(Meta::of_cause(&cause))
}
