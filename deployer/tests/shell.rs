//! The deployer on a real bus and simulated clusters: what becomes of the rows that renderers write.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use serde_json::{Value, json};
use sluice_api::model::{Cluster, INVENTORY};
use sluice_api::{ClusterRef, ProfileId};
use sluice_bus::{Bus, problem_feed};
use sluice_deployer::Settings;
use sluice_kube::outside::OwnHosts;
use sluice_kube::{Claims, Trust, client_of_kubeconfig, token_user};
use sluice_protocol::interest::Complete;
use sluice_protocol::rows::{Cause, Desired, Policy, State, Status};
use sluice_protocol::{Body, Meta, Publish, Revision, Role, Row, Shard, Subject, Table};
use sluice_runtime::kit::{self, Server};
use sluice_runtime::{Access, ClusterFeed, Context};
use sluice_simcluster::{FleetConfig, SimFleet};
use tokio_util::sync::CancellationToken;

const TRUST: Trust = Trust::Registered { proxies: false };

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

/// A bus, a management cluster, and a cluster to deploy to.
struct Stand {
    server: Server,
    fleet: SimFleet,
    feed: ClusterFeed,
}

impl Stand {
    async fn start() -> Self {
        let clusters = ["management", "c"].map(str::to_owned).into();
        let fleet = SimFleet::start(FleetConfig { clusters, ..FleetConfig::default() }).await.unwrap();
        let place = Self { server: Server::start(), fleet, feed: ClusterFeed::new() };
        place.register(false);
        place.feed.set_synced();
        place
    }

    fn register(&self, paused: bool) {
        let kubeconfig = Some(Ok(Arc::from(self.fleet.kubeconfig(&["c"]))));
        self.feed.put(cluster(), Access { paused, ..Access::new(cluster(), kubeconfig, TRUST) });
    }

    /// The management cluster has the kinds in which people are shown something.
    fn define(&self) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
        for object in sluice_api::crd::all().into_iter().chain([namespace]) {
            self.fleet.apply("management", "test", object).unwrap();
        }
    }

    async fn management(&self) -> Client {
        client_of_kubeconfig(&self.fleet.kubeconfig(&["management"]), Trust::Own).await.unwrap()
    }

    /// Runs a deployer until `script` has ended. The renderer has said that all its rows are there.
    async fn deploy(&self, script: impl AsyncFnOnce(&Bus)) {
        let client = self.management().await;
        let settings = Settings { prune_guard: None, metric_hosts: Arc::new(OwnHosts::All) };
        let deployer =
            async |context| sluice_deployer::run(context, client, self.feed.clone(), settings).await;
        let script = async |context: &Context| {
            let life = context.bus.incarnation(&Table::Desired.stream(Shard::FIRST));
            let said = Meta::Complete(Complete::of_all(life, Revision::NONE));
            let subject = Subject::AllDesired { shard: Shard::FIRST, origin: Shard::FIRST };
            kit::write(&context.bus, [Publish::new(subject, Body::value([]), 0).meta(said)]).await;
            script(&context.bus).await;
        };
        kit::with_stage(&self.server, Role::Deployer(None), deployer, script).await;
    }

    fn text(&self, namespace: &str, name: &str) -> Option<String> {
        let object = self.fleet.get("c", "v1", "ConfigMap", namespace, name)?;
        object["data"]["text"].as_str().map(str::to_owned)
    }

    fn inventories(&self) -> usize {
        let all = self.fleet.list("c", "v1", "ConfigMap", "").unwrap();
        all.iter().filter(|object| sluice_api::object::label(object, INVENTORY).is_some()).count()
    }
}

/// Names of what a profile has on the cluster, as the management cluster shows it.
fn listed(place: &Stand, profile: &str) -> Vec<String> {
    let version = "config.projectsveltos.io/v1beta1";
    let shown = place.fleet.get("management", version, "ClusterConfiguration", "default", "sveltos--c");
    let shown = shown.unwrap_or_default();
    let profiles = shown["status"]["clusterProfileResources"].as_array().cloned().unwrap_or_default();
    let own = profiles.into_iter().find(|one| one["clusterProfileName"] == profile).unwrap_or_default();
    let resources = own["Features"][0]["resources"].as_array().cloned().unwrap_or_default();
    resources.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

fn config_map(namespace: &str, name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": {"text": text}})
}

fn row(profile: &str, body: Body) -> Publish {
    row_on(cluster(), profile, body)
}

fn row_on(cluster: ClusterRef, profile: &str, body: Body) -> Publish {
    let subject = Subject::Desired {
        shard: Shard::FIRST,
        cluster,
        origin: Shard::FIRST,
        profile: ProfileId::cluster(profile),
    };
    Publish::new(subject, body, 1).meta(Meta::of_cause(&Cause::Profile(ProfileId::cluster(profile))))
}

/// A profile with these objects.
fn wanted(profile: &str, objects: Vec<Value>) -> Publish {
    wanted_on(cluster(), profile, objects)
}

fn wanted_on(cluster: ClusterRef, profile: &str, objects: Vec<Value>) -> Publish {
    wanted_as(cluster, profile, objects, json!({}))
}

/// The same, which is only tried.
fn tried(profile: &str, objects: Vec<Value>) -> Publish {
    let row = wanted(profile, objects);
    let Body::Value(body) = &row.body else { return row };
    let desired = Desired { dry_run: true, ..serde_json::from_slice(body).unwrap() };
    Publish { body: Body::value(serde_json::to_vec(&desired).unwrap()), ..row }
}

/// The same with a spec that says this.
fn wanted_as(cluster: ClusterRef, profile: &str, objects: Vec<Value>, spec: Value) -> Publish {
    let policy = Policy {
        kind: "ConfigMap".into(),
        namespace: "n".into(),
        name: "c".into(),
        tier: 100,
        objects,
        ..Policy::default()
    };
    let desired = Desired {
        owner_kind: "ClusterProfile".into(),
        owner_namespace: String::new(),
        owner_name: profile.into(),
        tier: 100,
        leave: false,
        dry_run: false,
        one_time: false,
        staged: false,
        hidden: false,
        allow_prune: String::new(),
        succeeds: std::collections::BTreeSet::new(),
        lacks: std::collections::BTreeMap::new(),
        jobs: Vec::new(),
        redeploy: std::collections::BTreeSet::new(),
        extra_labels: BTreeMap::new(),
        extra_annotations: BTreeMap::new(),
        account: None,
        cause: Cause::Profile(ProfileId::cluster(profile)),
        spec: spec.as_object().cloned().unwrap(),
        policies: vec![policy],
    };
    row_on(cluster, profile, Body::value(serde_json::to_vec(&desired).unwrap()))
}

fn status(row: &Row) -> Option<Status> {
    serde_json::from_slice(&row.body).ok()
}

/// Waits until a profile is said to be so.
async fn is(bus: &Bus, named: &str, state: State) -> Status {
    let wanted = |row: &Row| {
        matches!(&row.subject, Subject::Status { profile, .. } if profile.name == named)
            && status(row).is_some_and(|status| status.state == state)
    };
    status(&kit::row(bus, &Table::Status.stream(Shard::FIRST), wanted).await).unwrap()
}

async fn is_gone(bus: &Bus, named: &str) {
    let gone = |row: &Row| {
        matches!(&row.subject, Subject::Status { profile, .. } if profile.name == named) && row.head.tombstone
    };
    kit::row(bus, &Table::Status.stream(Shard::FIRST), gone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_becomes_what_its_rows_say_and_its_namespaces_are_made() {
    let place = Stand::start().await;
    place
        .deploy(async |bus| {
            let objects = vec![config_map("default", "a", "1"), config_map("team", "b", "1")];
            kit::write(bus, [wanted("p", objects)]).await;
            is(bus, "p", State::Provisioned).await;
            assert_eq!(
                (place.text("default", "a"), place.text("team", "b")),
                (Some("1".into()), Some("1".into()))
            );
            assert_eq!(place.inventories(), 1);
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "2")])]).await;
            kit::until(|| place.text("team", "b").is_none()).await;
            assert_eq!(place.text("default", "a"), Some("2".into()), "what stays comes before what goes");
            kit::write(bus, [row("p", Body::Tombstone)]).await;
            is_gone(bus, "p").await;
            assert_eq!((place.text("default", "a"), place.inventories()), (None, 0));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_on_a_cluster_is_shown_in_the_management_cluster_by_profile() {
    let place = Stand::start().await;
    place.define();
    place
        .deploy(async |bus| {
            let objects =
                |names: &[&str]| names.iter().map(|name| config_map("default", name, "1")).collect();
            kit::write(bus, [wanted("p", objects(&["a", "b"])), wanted("q", objects(&["d"]))]).await;
            kit::until(|| listed(&place, "p") == ["a", "b"] && listed(&place, "q") == ["d"]).await;
            kit::write(bus, [wanted("p", objects(&["a"])), row("q", Body::Tombstone)]).await;
            kit::until(|| listed(&place, "p") == ["a"] && listed(&place, "q").is_empty()).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_says_what_the_server_would_make_of_it_without_values_of_secrets_and_writes_nothing() {
    let place = Stand::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    for object in sluice_api::crd::all().into_iter().chain([namespace]) {
        place.fleet.apply("management", "test", object).unwrap();
    }
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "s"}, "data": {"key": value}});
    let report = || {
        let version = "config.projectsveltos.io/v1beta1";
        let report = place.fleet.get("management", version, "ClusterReport", "default", "p--sveltos--c")?;
        report["status"]["resourceReports"].as_array().cloned()
    };
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1"), secret("b25l")])]).await;
            is(bus, "p", State::Provisioned).await;
            let new = config_map("new-namespace", "n", "1");
            kit::write(bus, [tried("p", vec![config_map("default", "a", "2"), secret("dHdv"), new])]).await;
            is(bus, "p", State::DryRun).await;
            kit::until(|| report().is_some_and(|lines| lines.len() == 3)).await;
            let lines = report().unwrap();
            let line = |name: &str| lines.iter().find(|line| line["resource"]["name"] == name).unwrap();
            let text = |name: &str| line(name)["message"].as_str().unwrap();
            assert_eq!(
                (line("a")["action"].as_str(), line("n")["action"].as_str()),
                (Some("Update"), Some("Create"))
            );
            let expected = "--- deployed: ConfigMap a\n+++ proposed: ConfigMap a\n";
            assert!(text("a").starts_with(expected), "{}", text("a"));
            assert!(
                text("a").contains("-  text: '1'\n+  text: '2'")
                    || text("a").contains("-  text: \"1\"\n+  text: \"2\""),
                "{}",
                text("a")
            );
            assert!(
                text("s").contains("+  key: (masked, after)") && !text("s").contains("dHdv"),
                "{}",
                text("s")
            );
            assert_eq!(
                (place.text("default", "a"), place.text("new-namespace", "n")),
                (Some("1".into()), None)
            );
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "2")])]).await;
            kit::until(|| report().is_none() && place.text("default", "a") == Some("2".into())).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_management_cluster_needs_no_registration_and_nothing_of_sluices_own_there_is_written_over() {
    let place = Stand::start().await;
    let there = |name: &str| place.fleet.get("management", "v1", "ConfigMap", "default", name);
    let mut generated = config_map("default", "generated", "made");
    generated["metadata"]["labels"] = json!({"eventtrigger.lib.projectsveltos.io/clustername": "c"});
    place.fleet.apply("management", "test", generated).unwrap();
    place
        .deploy(async |bus| {
            let here = ClusterRef::management;
            let objects =
                vec![config_map("default", "own", "1"), config_map("default", "generated", "taken")];
            kit::write(
                bus,
                [wanted_on(here(), "p", objects), wanted("p", vec![config_map("default", "a", "1")])],
            )
            .await;
            let failed = is(bus, "p", State::Failed).await;
            assert!(failed.errors[0].starts_with("ConfigMap default/generated"), "{failed:?}");
            assert!(failed.errors[0].contains("is made by Sluice itself"), "{failed:?}");
            kit::until(|| there("own").is_some() && place.text("default", "a").is_some()).await;
            assert_eq!(there("generated").unwrap()["data"]["text"], "made");
            assert_eq!(place.text("default", "own"), None);
            kit::write(bus, [row_on(here(), "p", Body::Tombstone)]).await;
            kit::until(|| there("own").is_none()).await;
            assert!(there("generated").is_some() && place.text("default", "a").is_some());
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_is_a_problem_of_its_profile_alone() {
    let place = Stand::start().await;
    place
        .deploy(async |bus| {
            let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
            let mut bad = config_map("default", "bad", "1");
            bad["data"] = json!({"text": {"no": "text"}});
            kit::write(
                bus,
                [wanted("bad", vec![bad]), wanted("good", vec![config_map("default", "a", "1")])],
            )
            .await;
            is(bus, "good", State::Provisioned).await;
            let failed = is(bus, "bad", State::Failed).await;
            assert!(failed.errors[0].starts_with("ConfigMap default/bad"), "{failed:?}");
            let told = kit::told(&mut problems, |row| row.object == "ClusterProfile bad").await;
            assert_eq!((told.stage.as_str(), told.cluster), ("deployer", cluster().to_string()));
            kit::write(bus, [wanted("bad", vec![config_map("default", "bad", "mended")])]).await;
            is(bus, "bad", State::Provisioned).await;
            kit::told(&mut problems, |row| row.object == "ClusterProfile bad" && row.error.is_empty()).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_comes_later_is_deployed_then() {
    let place = Stand::start().await;
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"namespace": "default", "name": "w"}});
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted("p", vec![widget, config_map("default", "a", "1")])]).await;
            let failed = is(bus, "p", State::Failed).await;
            assert!(failed.errors[0].contains("the cluster has no kind"), "{failed:?}");
            kit::until(|| place.text("default", "a").is_some()).await;
            place.fleet.apply("c", "test", definition).unwrap();
            is(bus, "p", State::Provisioned).await;
            assert!(place.fleet.get("c", "example.com/v1", "Widget", "default", "w").is_some());
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_cluster_is_left_alone_until_it_is_not() {
    let place = Stand::start().await;
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1")])]).await;
            is(bus, "p", State::Provisioned).await;
            place.register(true);
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "2")])]).await;
            place.register(false);
            kit::until(|| place.text("default", "a").as_deref() == Some("2")).await;
        })
        .await;
}

/// A check of ConfigMaps with a label.
fn check(name: &str, label: &str, fields: Value) -> Value {
    let mut check = json!({"name": name, "featureID": "Resources", "version": "v1", "kind": "ConfigMap", "namespace": "default",
        "labelFilters": [{"key": label, "operation": "Has"}]});
    check.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    check
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_see_what_is_in_the_cluster_and_what_becomes_of_it() {
    let place = Stand::start().await;
    let put = |label: &str, text: &str| {
        let mut object = config_map("default", label, text);
        object["metadata"]["labels"] = json!({label: "x"});
        place.fleet.apply("c", "test", object).unwrap();
    };
    let rule = json!({"evaluateCEL": [{"name": "go", "rule": "resource.data.text == 'yes'"}]});
    let script = json!({"script": "function evaluate() return {healthy = obj.data.text == 'yes', message = 'says ' .. obj.data.text} end"});
    let broken = json!({"script": "function evaluate( end"});
    let checks = json!({"preDeployChecks": [check("may", "gate", rule)], "validateHealths": [check("well", "health", script)],
        "preDeleteChecks": [check("drained", "drained", json!({}))], "postDeleteChecks": [check("broken", "x", broken)]});
    let wanted =
        |text: &str| wanted_as(cluster(), "p", vec![config_map("default", "a", text)], checks.clone());
    place
        .deploy(async |bus| {
            put("gate", "no");
            kit::write(bus, [wanted("1")]).await;
            let said = is(bus, "p", State::Failed).await;
            assert!(said.errors[0].contains("ConfigMap default/gate: none of its rules"), "{said:?}");
            assert_eq!(place.text("default", "a"), None);
            put("health", "no");
            put("gate", "yes");
            kit::until(|| place.text("default", "a").as_deref() == Some("1")).await;
            put("health", "yes");
            is(bus, "p", State::Provisioned).await;
            put("health", "perhaps");
            let said = is(bus, "p", State::Failed).await;
            assert!(said.errors[0].ends_with("ConfigMap default/health: says perhaps"), "{said:?}");
            put("health", "yes");
            is(bus, "p", State::Provisioned).await;
            kit::write(bus, [row("p", Body::Tombstone)]).await;
            kit::until(|| place.text("default", "a").is_none()).await;
            let said = is(bus, "p", State::Failed).await;
            assert!(said.errors[0].contains("postDeleteChecks[0].script: "), "{said:?}");
            assert_eq!(place.inventories(), 1);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_change_is_put_right_and_what_is_excluded_is_theirs() {
    let place = Stand::start().await;
    let exclusion = json!({"paths": ["/data/theirs"], "target": {"kind": "ConfigMap"}});
    let spec = json!({"syncMode": "ContinuousWithDriftDetection", "driftExclusions": [exclusion]});
    let wanted = |text: &str| {
        let mut object = config_map("default", "a", text);
        object["data"]["theirs"] = "ours".into();
        wanted_as(cluster(), "p", vec![object, config_map("default", "b", "1")], spec.clone())
    };
    let of = |field: &str| {
        let object = place.fleet.get("c", "v1", "ConfigMap", "default", "a").unwrap_or_default();
        object["data"][field].as_str().unwrap_or_default().to_owned()
    };
    let put = |data: Value| {
        let mut object = config_map("default", "a", "");
        object["data"] = data;
        place.fleet.apply("c", "test", object).unwrap();
    };
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted("1")]).await;
            is(bus, "p", State::Provisioned).await;
            assert_eq!(of("theirs"), "ours", "what is new gets everything");
            put(json!({"text": "changed", "more": "x"}));
            kit::until(|| of("text") == "1").await;
            assert_eq!(of("more"), "x", "what others add is theirs");
            place.fleet.delete("c", "v1", "ConfigMap", "default", "b").unwrap();
            kit::until(|| place.text("default", "b").is_some()).await;
            put(json!({"theirs": "changed"}));
            kit::write(bus, [wanted("2")]).await;
            kit::until(|| of("text") == "2").await;
            assert_eq!(of("theirs"), "changed");
        })
        .await;
    // What happens while nobody watches is seen by the next one.
    put(json!({"text": "changed"}));
    place.deploy(async |_| kit::until(|| of("text") == "2").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_correction_is_an_event_of_the_cluster_summary_and_of_nothing_in_the_managed_cluster() {
    let place = Stand::start().await;
    place.define();
    let spec = json!({"syncMode": "ContinuousWithDriftDetection"});
    let summary = || {
        let version = "config.projectsveltos.io/v1beta1";
        place.fleet.get("management", version, "ClusterSummary", "default", "p-sveltos-c")
    };
    let events = |cluster: &str| place.fleet.list(cluster, "v1", "Event", "").unwrap();
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted_as(cluster(), "p", vec![config_map("default", "a", "1")], spec)]).await;
            is(bus, "p", State::Provisioned).await;
            kit::until(|| summary().is_some()).await;
            for _ in 0..3 {
                place.fleet.apply("c", "test", config_map("default", "a", "changed")).unwrap();
                kit::until(|| place.text("default", "a").as_deref() == Some("1")).await;
            }
            kit::until(|| !events("management").is_empty()).await;
        })
        .await;
    let [event] = &events("management")[..] else { panic!("{:?}", events("management")) };
    assert_eq!(
        (&event["reason"], &event["metadata"]["namespace"]),
        (&json!("DriftCorrected"), &json!("default"))
    );
    assert_eq!(event["involvedObject"]["uid"], summary().unwrap()["metadata"]["uid"]);
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("ConfigMap default/a was changed by test (data.text"), "{message}");
    assert_eq!(events("c"), Vec::<Value>::new());
}

/// The registration of the cluster, as it is in the management cluster.
fn registration(place: &Stand) -> Option<Value> {
    place.fleet.get("management", "lib.projectsveltos.io/v1beta1", "SveltosCluster", "default", "c")
}

/// Stages hear of the registration as it is now.
fn hear(place: &Stand) {
    let registered = registration(place).and_then(|object| Cluster::read(&Arc::new(object)));
    let known = place.feed.get(&cluster()).unwrap();
    place.feed.put(cluster(), Access { farewell: registered.and_then(|cluster| cluster.farewell), ..known });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_asks_for_it_is_kept_until_all_is_withdrawn_whoever_owns_the_cluster_by_then() {
    let place = Stand::start().await;
    place.define();
    let asks = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
        "metadata": {"namespace": "default", "name": "c", "annotations": {"sluice.dev/withdraw-on-delete": "true"},
            "finalizers": ["example.com/other"]}});
    place.fleet.apply("management", "user", asks).unwrap();
    let finalizers = || registration(&place).unwrap_or_default()["metadata"]["finalizers"].clone();
    hear(&place);
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1")])]).await;
            is(bus, "p", State::Provisioned).await;
            kit::until(|| finalizers() == json!(["example.com/other", "sluice.dev/withdraw"])).await;
        })
        .await;
    // Nobody is there when it is deleted.
    place
        .fleet
        .delete("management", "lib.projectsveltos.io/v1beta1", "SveltosCluster", "default", "c")
        .unwrap();
    hear(&place);
    place
        .deploy(async |bus| {
            // A tombstone that was there before proves nothing: what comes now is read.
            kit::write(bus, [wanted("q", vec![config_map("default", "b", "1")])]).await;
            kit::until(|| place.text("default", "b").is_some()).await;
            kit::write(bus, [row("q", Body::Tombstone)]).await;
            kit::until(|| place.text("default", "b").is_none()).await;
            assert_eq!(finalizers().as_array().unwrap().len(), 2, "something is left");
            kit::write(bus, [row("p", Body::Tombstone)]).await;
            kit::until(|| finalizers() == json!(["example.com/other"])).await;
            assert_eq!((place.text("default", "a"), place.inventories()), (None, 0));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_restarts_when_what_its_pods_read_changes_and_not_when_it_is_seen_first() {
    let place = Stand::start().await;
    let put = |kind: &str, name: &str, text: &str| {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "default", "name": name}, "data": {"text": text}});
        place.fleet.apply("c", "test", object).unwrap();
    };
    let env = json!([{"configMapRef": {"name": "map"}}, {"secretRef": {"name": "secret"}}]);
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i", "envFrom": env}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "default", "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}});
    let objects = vec![config_map("default", "map", "1"), deployment];
    let mark = || {
        let web = place.fleet.get("c", "apps/v1", "Deployment", "default", "web")?;
        let annotations = &web["spec"]["template"]["metadata"]["annotations"];
        annotations["sluice.dev/reload"].as_str().map(str::to_owned)
    };
    let kept = || {
        let all = place.fleet.list("c", "v1", "ConfigMap", "").unwrap();
        let own = all.into_iter().find(|object| sluice_api::object::label(object, INVENTORY).is_some());
        own.map(|own| own["data"]["inventory"].as_str().unwrap_or_default().to_owned()).unwrap_or_default()
    };
    put("Secret", "secret", "c2VjcmV0");
    place
        .deploy(async |bus| {
            kit::write(bus, [wanted_as(cluster(), "p", objects, json!({"reloader": true}))]).await;
            is(bus, "p", State::Provisioned).await;
            kit::until(|| {
                kept().contains("ConfigMap default/map") && kept().contains("Secret default/secret")
            })
            .await;
            assert_eq!(mark(), None);
            put("ConfigMap", "map", "2");
            kit::until(|| mark().is_some()).await;
            let first = mark();
            put("Secret", "secret", "b3RoZXI=");
            kit::until(|| mark() != first).await;
        })
        .await;
    let before = mark();
    // What happens while nobody watches is seen by the next one.
    put("Secret", "secret", "bmV3");
    place.deploy(async |_| kit::until(|| mark() != before).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_of_a_kind_that_the_cluster_does_not_have_passes() {
    let place = Stand::start().await;
    let gone = json!({"name": "none", "featureID": "Resources", "group": "example.com", "version": "v1", "kind": "Thing"});
    place
        .deploy(async |bus| {
            let objects = vec![config_map("default", "a", "1")];
            kit::write(bus, [wanted_as(cluster(), "p", objects, json!({"validateHealths": [gone]}))]).await;
            is(bus, "p", State::Provisioned).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_owner_mends_what_was_changed_by_hand_and_asks_before_it_withdraws() {
    let place = Stand::start().await;
    place
        .deploy(async |bus| {
            let objects = |name: &str| vec![config_map("default", name, "1")];
            kit::write(bus, [wanted("p", objects("a")), wanted("left", objects("b"))]).await;
            is(bus, "p", State::Provisioned).await;
            is(bus, "left", State::Provisioned).await;
        })
        .await;
    place.fleet.delete("c", "v1", "ConfigMap", "default", "a").unwrap();
    let tasks = sluice_tasks::Tasks::default();
    let context = kit::context(&place.server, Role::Deployer(None), &tasks).await;
    kit::write(&context.bus, [row("left", Body::Tombstone)]).await;
    tasks.stop().cancel();
    place
        .deploy(async |bus| {
            // The tombstone was there before it: the renderer may want the profile again by now.
            is(bus, "left", State::Held).await;
            kit::until(|| place.text("default", "a").is_some()).await;
            assert_eq!(place.text("default", "b"), Some("1".into()));
            kit::write(bus, [row("left", Body::Tombstone)]).await;
            is_gone(bus, "left").await;
            assert_eq!(place.text("default", "b"), None);
        })
        .await;
}

/// A kubeconfig whose user runs a program that leaves a trace.
fn running(trace: &std::path::Path) -> Arc<str> {
    let exec = serde_json::json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "touch",
        "args": [trace.display().to_string()], "interactiveMode": "Never"});
    let kubeconfig = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"exec": exec}}]});
    kubeconfig.to_string().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registered_kubeconfig_runs_no_program() {
    let (place, folder) = (Stand::start().await, tempfile::tempdir().unwrap());
    let trace = folder.path().join("trace");
    let kubeconfig = Some(Ok(running(&trace)));
    place.feed.put(cluster(), Access::new(cluster(), kubeconfig, TRUST));
    place
        .deploy(async |bus| {
            let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1")])]).await;
            let told = kit::told(&mut problems, |row| row.object == "kubeconfig").await;
            let says = "the kubeconfig is refused: users[0].user.exec: it would run a program";
            assert!(told.error.starts_with(says) && !told.error.contains("touch"), "{told:?}");
            place.register(false);
            is(bus, "p", State::Provisioned).await;
        })
        .await;
    assert!(!trace.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_that_cannot_be_used_is_a_problem_until_it_can() {
    let place = Stand::start().await;
    let broken = Some(Ok(Arc::from("clusters: 1")));
    place.feed.put(cluster(), Access::new(cluster(), broken, TRUST));
    place
        .deploy(async |bus| {
            let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1")])]).await;
            let told = kit::told(&mut problems, |row| row.object == "kubeconfig").await;
            assert!(!told.error.is_empty() && told.stage == "deployer", "{told:?}");
            place.register(false);
            is(bus, "p", State::Provisioned).await;
            kit::told(&mut problems, |row| row.object == "kubeconfig" && row.error.is_empty()).await;
        })
        .await;
}

/// A registration as a user writes it, with this option, and how the stages know the cluster by it.
fn renewing(place: &Stand, option: Value) -> (Value, Access) {
    let object = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": "c"}, "spec": {"tokenRequestRenewalOption": option}});
    let renewal = Cluster::read(&Arc::new(object.clone())).unwrap().renewal;
    let kubeconfig = Some(Ok(Arc::from(place.fleet.kubeconfig(&["c"]))));
    let access = Access { renewal, ..Access::new(cluster(), kubeconfig, TRUST) };
    (object, access)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_due_is_renewed_and_the_registration_says_when() {
    let place = Stand::start().await;
    let option = json!({"renewTokenRequestInterval": "1h", "saNamespace": "default", "saName": "robot"});
    let (object, access) = renewing(&place, option);
    let data = json!({"kubeconfig": STANDARD.encode(place.fleet.kubeconfig(&["c"]))});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": data,
        "metadata": {"namespace": "default", "name": "c-sveltos-kubeconfig"}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    for object in sluice_api::crd::all().into_iter().chain([namespace.clone(), object, secret]) {
        place.fleet.apply("management", "test", object).unwrap();
    }
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "default", "name": "robot"}});
    for object in [namespace, account] {
        place.fleet.apply("c", "test", object).unwrap();
    }
    place.feed.put(cluster(), access);
    let version = "lib.projectsveltos.io/v1beta1";
    let said = || {
        let cluster = place.fleet.get("management", version, "SveltosCluster", "default", "c")?;
        cluster["status"]["lastReconciledTokenRequestAt"].as_str().map(str::to_owned)
    };
    place.deploy(async |_| kit::until(|| said().is_some()).await).await;
    let secret = place.fleet.get("management", "v1", "Secret", "default", "c-sveltos-kubeconfig").unwrap();
    let text = STANDARD.decode(secret["data"]["kubeconfig"].as_str().unwrap()).unwrap();
    let user = token_user(&String::from_utf8(text).unwrap()).unwrap();
    let account = Claims::of(&user.token.unwrap()).unwrap().account;
    assert_eq!(account, Some(("default".to_owned(), "robot".to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_cannot_be_read_is_a_problem_that_holds_up_nothing() {
    let place = Stand::start().await;
    let (_, access) = renewing(&place, json!({"renewTokenRequestInterval": "often"}));
    place.feed.put(cluster(), access);
    place
        .deploy(async |bus| {
            let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
            let told = kit::told(&mut problems, |row| row.object == "token of the kubeconfig").await;
            assert!(
                told.error.contains("spec.tokenRequestRenewalOption.renewTokenRequestInterval"),
                "{told:?}"
            );
            kit::write(bus, [wanted("p", vec![config_map("default", "a", "1")])]).await;
            is(bus, "p", State::Provisioned).await;
            place.register(false);
            kit::told(&mut problems, |row| row.object == told.object && row.error.is_empty()).await;
        })
        .await;
}

/// The Jobs of the cluster.
fn jobs(place: &Stand) -> Vec<Value> {
    place.fleet.list("c", "batch/v1", "Job", "").unwrap()
}

/// A row whose check of this list runs a Job.
fn with_job(list: &str, text: &str) -> Publish {
    let reference = json!({"kind": "ConfigMap", "namespace": "n", "name": "j"});
    let check = json!({"name": "smoke", "featureID": "Resources", "jobCheck": {"jobRef": reference}});
    let row = wanted_as(cluster(), "p", vec![config_map("default", "a", text)], json!({list: [check]}));
    let Body::Value(body) = &row.body else { return row };
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "new", "name": "smoke"}, "spec": {"template": template}});
    let desired = Desired { jobs: vec![Arc::new(job)], ..serde_json::from_slice(body).unwrap() };
    Publish { body: Body::value(serde_json::to_vec(&desired).unwrap()), ..row }
}

/// The cluster says how a Job has ended.
fn end(place: &Stand, job: &Value, condition: &str) {
    let status = json!({"conditions": [{"type": condition, "status": "True", "reason": "Tested"}]});
    let metadata = json!({"namespace": job["metadata"]["namespace"], "name": job["metadata"]["name"]});
    let ended = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": status});
    place.fleet.apply("c", "test", ended).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_run_once_and_goes_when_nobody_asks() {
    let place = Stand::start().await;
    place
        .deploy(async |bus| {
            kit::write(bus, [with_job("preDeployChecks", "1")]).await;
            kit::until(|| jobs(&place).len() == 1).await;
            let job = jobs(&place).remove(0);
            assert_eq!(
                (&job["metadata"]["namespace"], &job["spec"]["activeDeadlineSeconds"]),
                (&json!("new"), &json!(300))
            );
            assert_eq!(place.text("default", "a"), None);
            end(&place, &job, "Complete");
            is(bus, "p", State::Provisioned).await;
            kit::until(|| jobs(&place).is_empty()).await;
            assert_eq!(place.text("default", "a").as_deref(), Some("1"));
            kit::write(bus, [with_job("validateHealths", "2")]).await;
            kit::until(|| jobs(&place).len() == 1).await;
            end(&place, &jobs(&place)[0], "Failed");
            let said = is(bus, "p", State::Failed).await;
            assert!(
                said.errors[0].contains("has failed: Tested; `kubectl logs -n new job/smoke-"),
                "{said:?}"
            );
            kit::write(bus, [with_job("validateHealths", "3")]).await;
            // The former one goes, and another one comes.
            kit::until(|| {
                jobs(&place)
                    .iter()
                    .any(|job| job.get("status").is_none_or(|status| status.get("conditions").is_none()))
            })
            .await;
            kit::until(|| jobs(&place).len() == 1).await;
        })
        .await;
    // Another deployer finds what the former one has begun.
    let uid = jobs(&place)[0]["metadata"]["uid"].clone();
    place
        .deploy(async |bus| {
            kit::write(bus, [with_job("validateHealths", "3")]).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(
                jobs(&place).iter().map(|job| job["metadata"]["uid"].clone()).collect::<Vec<_>>(),
                [uid]
            );
            end(&place, &jobs(&place)[0], "Complete");
            is(bus, "p", State::Provisioned).await;
            kit::write(bus, [row("p", Body::Tombstone)]).await;
            is_gone(bus, "p").await;
            kit::until(|| jobs(&place).is_empty()).await;
        })
        .await;
}
