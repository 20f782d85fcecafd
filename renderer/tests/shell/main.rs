//! The renderer on a real bus and a simulated management cluster: from what users write and matchers report to rows.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::model::{NAMESPACE, Onboarding};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, object};
use sluice_bus::{Bus, ReadSpec, interest_feed, look, problem_feed};
use sluice_kube::client_of_kubeconfig;
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::rows::{Cause, Desired, ReportMeta, State, Status};
use sluice_protocol::{Body, Capabilities, Meta, Publish, Revision, Role, Row, Shard, Subject, Table, View};
use sluice_renderer::{ChartSettings, Settings};
use sluice_runtime::Context;
use sluice_runtime::kit::{self, Server};
use sluice_simcluster::{FleetConfig, SimFleet};
use tokio_util::sync::CancellationToken;

mod charts;
mod log;
mod onboarding;

const MANAGEMENT: &str = "management";
const LIB: &str = "lib.projectsveltos.io/v1beta1";
const CONFIG: &str = "config.projectsveltos.io/v1beta1";

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

/// A bus, and a management cluster with everything that users write.
struct Stand {
    server: Server,
    fleet: SimFleet,
    onboarding: Onboarding,
}

impl Stand {
    async fn start() -> Self {
        log::watch(charts::SECRETS);
        let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
        let place = Self { server: Server::start(), fleet, onboarding: Onboarding::default() };
        sluice_api::crd::all().into_iter().for_each(|crd| place.put(crd));
        place.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        place.put(json!({"apiVersion": LIB, "kind": "SveltosCluster",
            "metadata": {"namespace": "default", "name": "c", "labels": {"env": "fv"}}, "spec": {}}));
        place.put(json!({"apiVersion": LIB, "kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"collectResources": true, "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]}}));
        place.put(trigger("content"));
        place.put(content("content", "1"));
        place
    }

    fn put(&self, object: Value) {
        self.fleet.apply(MANAGEMENT, "user", object).unwrap();
    }

    fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        self.fleet.get(MANAGEMENT, api_version, kind, "", name)
    }

    /// All rows and problems of the bus, and all objects of the management cluster but that Secret.
    async fn everything_but(&self, bus: &Bus, secret: &str) -> String {
        let mut seen = String::new();
        for table in [Table::Changes, Table::Desired] {
            for stored in look(bus, &ReadSpec::all(table.stream(Shard::FIRST))).await.unwrap() {
                let row = stored.row;
                seen += &format!("{} {:?} {}\n", row.subject, row.head, String::from_utf8_lossy(&row.body));
            }
        }
        let problems = problem_feed(bus, CancellationToken::new());
        problems.synced().await;
        problems.values().iter().for_each(|problem| seen += &format!("{problem:?}\n"));
        let kinds = [
            ("v1", "Secret"),
            ("v1", "ConfigMap"),
            (CONFIG, "ClusterProfile"),
            (CONFIG, "ClusterSummary"),
            (LIB, "EventTrigger"),
        ];
        for (api_version, kind) in kinds {
            for object in self.fleet.list(MANAGEMENT, api_version, kind, "").unwrap() {
                if (kind, object::name(&object)) != ("Secret", secret) {
                    seen += &format!("{object}\n");
                }
            }
        }
        seen
    }

    /// Runs a renderer until `script` has ended.
    async fn render(&self, script: impl AsyncFnOnce(&Bus)) {
        self.render_with(ChartSettings::default(), script).await;
    }

    /// Runs one that fetches charts in this way.
    async fn render_with(&self, charts: ChartSettings, script: impl AsyncFnOnce(&Bus)) {
        let client = client_of_kubeconfig(&self.fleet.kubeconfig(&[MANAGEMENT]), sluice_kube::Trust::Own)
            .await
            .unwrap();
        let settings = Settings {
            charts,
            guards_history: true,
            auto_deploys: true,
            withdraw_guard: None,
            onboarding: self.onboarding.clone(),
        };
        let renderer = async |context| Box::pin(sluice_renderer::run(context, client, settings)).await;
        let script = async |context: &Context| script(&context.bus).await;
        Box::pin(kit::with_stage(&self.server, Role::Renderer, renderer, script)).await;
    }
}

fn trigger(content: &str) -> Value {
    json!({"apiVersion": LIB, "kind": "EventTrigger", "metadata": {"name": "t"}, "spec": {
        "sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s", "oneForEvent": true,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": content}]}})
}

fn content(name: &str, mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: default}}\ndata: {{of: \"{{{{ .Resource.metadata.name }}}}\", mark: \"{mark}\"}}\n"
    );
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name,
        "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"a.yaml": text}})
}

/// The interest row of the cluster, once it is as wanted.
async fn interest(bus: &Bus, wanted: impl Fn(&Interest) -> bool) -> Interest {
    let mut rows = interest_feed(bus, CancellationToken::new()).subscribe();
    kit::told(&mut rows, |(of, row)| *of == cluster() && wanted(row)).await.1
}

/// The matcher reports a Service, or its end.
async fn report(bus: &Bus, name: &str, revision: Revision, gone: bool) {
    let gvk = Gvk::new("", "v1", "Service");
    let key = ObjectKey { gvk, namespace: "default".into(), name: name.into() };
    let subject = Subject::Report {
        shard: Shard::FIRST,
        cluster: cluster(),
        source: "s".into(),
        origin: Shard::FIRST,
        object: key,
    };
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name}});
    let body = if gone { Body::Tombstone } else { Body::value(service.to_string().into_bytes()) };
    let mut view = View::default();
    view.note(&cluster().to_string(), revision);
    let meta = Meta::Report(ReportMeta { selectors: vec![0], ..ReportMeta::default() });
    kit::write(bus, [Publish::new(subject, body, 5).view(view).meta(meta)]).await;
}

/// The matcher says that it has reported everything.
async fn complete(bus: &Bus, revision: Revision) {
    let subject = Subject::Complete {
        table: Table::Reports,
        shard: Shard::FIRST,
        cluster: cluster(),
        origin: Some(Shard::FIRST),
    };
    let said = Complete::of_all(bus.incarnation(&Table::Reports.stream(Shard::FIRST)), revision);
    kit::write(bus, [Publish::new(subject, Body::value([]), 0).meta(Meta::Complete(said))]).await;
}

/// Waits for a row for the cluster.
async fn desired(bus: &Bus, wanted: impl Fn(&Row) -> bool) -> Row {
    let is_it = |row: &Row| matches!(row.subject, Subject::Desired { .. }) && wanted(row);
    kit::row(bus, &Table::Desired.stream(Shard::FIRST), is_it).await
}

/// What the row deploys: of which Service, and the mark of its template.
fn deploys(row: &Row) -> Option<(String, String)> {
    let desired: Desired = serde_json::from_slice(&row.body).ok()?;
    let made = desired.policies.first()?.objects.first()?;
    Some((object::text(made, &["data", "of"]).to_owned(), object::text(made, &["data", "mark"]).to_owned()))
}

fn is(of: &str, mark: &str) -> impl Fn(&Row) -> bool {
    move |row| deploys(row) == Some((of.to_owned(), mark.to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_becomes_a_row_and_is_shown_in_the_management_cluster() {
    let place = Stand::start().await;
    place
        .render(async |bus| {
            let wanted = interest(bus, |row| row.source("s").is_some()).await;
            report(bus, "web", wanted.revision, false).await;
            let row = desired(bus, is("web", "1")).await;
            let Subject::Desired { profile, origin, .. } = &row.subject else { panic!("{row:?}") };
            assert_eq!((*origin, row.head.time), (Shard::FIRST, 5));
            assert!(matches!(row.head.meta.cause(), Some(Cause::Event(event)) if event.cluster == cluster()));
            kit::until(|| place.get(CONFIG, "ClusterProfile", &profile.name).is_some()).await;
            // An edited template reaches what was made of it.
            place.put(content("content", "2"));
            desired(bus, is("web", "2")).await;
            report(bus, "web", wanted.revision, true).await;
            desired(bus, |row| row.head.tombstone).await;
            kit::until(|| place.get(CONFIG, "ClusterProfile", &profile.name).is_none()).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_that_all_its_rows_are_there_when_it_knows_every_event() {
    let place = Stand::start().await;
    place
        .render(async |bus| {
            let wanted = interest(bus, |row| row.source("s").is_some()).await;
            report(bus, "web", wanted.revision, false).await;
            complete(bus, wanted.revision).await;
            let said = |row: &Row| matches!(row.subject, Subject::AllDesired { origin: Shard::FIRST, .. });
            let said = kit::row(bus, &Table::Desired.stream(Shard::FIRST), said).await;
            let made = desired(bus, is("web", "1")).await;
            assert!(made.sequence < said.sequence, "its rows come before that");
            let life = bus.incarnation(&Table::Desired.stream(Shard::FIRST));
            assert_eq!(said.head.meta.complete().map(|complete| complete.incarnation), Some(life));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_trigger_is_in_its_status_until_it_is_mended() {
    let place = Stand::start().await;
    place.put(trigger("missing"));
    place
        .render(async |bus| {
            let wanted = interest(bus, |row| row.source("s").is_some()).await;
            report(bus, "web", wanted.revision, false).await;
            let message = || {
                let found = place.get(LIB, "EventTrigger", "t")?;
                let message = found["status"]["clusterInfo"][0]["failureMessage"].as_str()?;
                Some(message.to_owned())
            };
            let told =
                || message().is_some_and(|text| text.contains("ConfigMap default/missing does not exist"));
            kit::until(told).await;
            place.put(content("missing", "here"));
            desired(bus, is("web", "here")).await;
            kit::until(|| message().is_none()).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trigger_says_on_which_clusters_it_is_and_what_became_of_it_there() {
    let place = Stand::start().await;
    place
        .render(async |bus| {
            let wanted = interest(bus, |row| row.source("s").is_some()).await;
            report(bus, "web", wanted.revision, false).await;
            let row = desired(bus, is("web", "1")).await;
            let status = || place.get(LIB, "EventTrigger", "t").map(|found| found["status"].clone());
            let says = |state: &str, ready: &str| {
                let status = status().unwrap_or_default();
                status["clusterInfo"][0]["status"] == state && status["conditions"][0]["status"] == ready
            };
            let Subject::Desired { profile, .. } = row.subject else { panic!("{row:?}") };
            let meta = row.head.meta;
            let told = async |state: State, errors: Vec<String>| {
                let profile = profile.clone();
                let subject = Subject::Status {
                    shard: Shard::FIRST,
                    cluster: cluster(),
                    origin: Shard::FIRST,
                    profile,
                };
                let body = serde_json::to_vec(&Status::new(state, errors)).unwrap();
                kit::write(bus, [Publish::new(subject, Body::value(body), 1).meta(meta.clone())]).await;
            };
            told(State::Failed, vec!["it is refused".into()]).await;
            kit::until(|| says("Failed", "False")).await;
            told(State::Provisioned, Vec::new()).await;
            kit::until(|| says("Provisioned", "True")).await;
            let status = status().unwrap();
            assert_eq!(status["matchingClusters"][0]["name"], "c");
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_agent_has_spoken_has_labels_for_selectors_beside_its_own() {
    let place = Stand::start().await;
    place
        .render(async |bus| {
            let capabilities = Capabilities { version: "v1.33.4+x".into(), ..Capabilities::default() };
            let body = Body::value(serde_json::to_vec(&capabilities).unwrap());
            kit::write(bus, [Publish::new(Capabilities::subject(&cluster()), body, 1)]).await;
            let label = |name: &str| {
                let found = place.fleet.get(MANAGEMENT, LIB, "SveltosCluster", "default", "c").unwrap();
                found["metadata"]["labels"][name].as_str().map(str::to_owned)
            };
            kit::until(|| label("projectsveltos.io/k8s-version").is_some()).await;
            assert_eq!(label("projectsveltos.io/k8s-version").unwrap(), "v1.33.4");
            assert_eq!(
                (label("sveltos-agent").unwrap(), label("env").unwrap()),
                ("present".into(), "fv".into())
            );
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_owner_withdraws_what_lost_its_cause_only_when_the_set_is_complete() {
    let place = Stand::start().await;
    let mut revision = Revision::NONE;
    place
        .render(async |bus| {
            revision = interest(bus, |row| row.source("s").is_some()).await.revision;
            report(bus, "stays", revision, false).await;
            report(bus, "goes", revision, false).await;
            desired(bus, is("stays", "1")).await;
            desired(bus, is("goes", "1")).await;
        })
        .await;
    place.fleet.delete(MANAGEMENT, LIB, "EventTrigger", "", "t").unwrap();
    place.put(trigger("content"));
    place
        .render(async |bus| {
            report(bus, "goes", revision, true).await;
            complete(bus, revision).await;
            desired(bus, |row| row.head.tombstone).await;
            desired(bus, is("stays", "1")).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_holds_and_nobody_wants_is_withdrawn() {
    let place = Stand::start().await;
    place
        .render(async |bus| {
            let id = ProfileId::cluster("old");
            let cause = Cause::Profile(id.clone());
            let subject = Subject::Status {
                shard: Shard::FIRST,
                cluster: cluster(),
                origin: Shard::FIRST,
                profile: id,
            };
            let held = Status::new(State::Held, Vec::new());
            let body = Body::value(serde_json::to_vec(&held).unwrap());
            kit::write(bus, [Publish::new(subject, body, 1).meta(Meta::of_cause(&cause))]).await;
            let gone = |row: &Row| {
                matches!(&row.subject, Subject::Desired { profile, .. } if profile.name == "old")
                    && row.head.tombstone
            };
            kit::row(bus, &Table::Desired.stream(Shard::FIRST), gone).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_templates_read_is_watched_and_its_changes_arrive() {
    let place = Stand::start().await;
    let mut reading = trigger("content");
    reading["spec"]["templateResourceRefs"] = json!([{"identifier": "upstream", "resource":
        {"apiVersion": "v1", "kind": "Service", "namespace": "default", "name": "{{ .Resource.metadata.name }}"}}]);
    place.put(reading);
    let mut shown = content("content", "{{ .MgmtResources.upstream.metadata.labels.size }}");
    shown["metadata"]["name"] = "content".into();
    place.put(shown);
    let upstream = |size: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "web", "labels": {"size": size}},
            "spec": {"ports": [{"port": 80}]}})
    };
    place.put(upstream("small"));
    place
        .render(async |bus| {
            let wanted = interest(bus, |row| row.source("s").is_some()).await;
            report(bus, "web", wanted.revision, false).await;
            desired(bus, is("web", "small")).await;
            place.put(upstream("large"));
            desired(bus, is("web", "large")).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_set_says_what_it_selects_and_what_is_wrong_with_it() {
    let place = Stand::start().await;
    let set = |selector: Value| json!({"apiVersion": LIB, "kind": "ClusterSet", "metadata": {"name": "s"}, "spec": {"clusterSelector": selector}});
    let good = json!({"matchLabels": {"env": "fv"}});
    place.put(set(good.clone()));
    let said = || {
        let set = place.get(LIB, "ClusterSet", "s")?;
        let status = object::at(&set, &["status"])?;
        let text =
            object::at(status, &["conditions"]).map(|list| object::text(&list[0], &["message"]).to_owned());
        Some((status["selectedClusterRefs"][0]["name"] == "c", text.unwrap_or_default()))
    };
    place
        .render(async |_| {
            let well = Some((true, "no problem is known".to_owned()));
            kit::until(|| said() == well).await;
            place.put(set("a b".into()));
            kit::until(|| {
                said().is_some_and(|(keeps, text)| keeps && text.starts_with("spec.clusterSelector: "))
            })
            .await;
            place.put(set(good));
            kit::until(|| said() == well).await;
        })
        .await;
}
