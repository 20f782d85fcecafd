//! Every method, over a real bus.
#![allow(clippy::unwrap_used)]

use sluice_bus::{InterestWriter, Journal, Problems};
use sluice_dryrun::Sources;
use sluice_inspect::kit::cluster;
use sluice_inspect::{
    AddonFilter, EventsFilter, InspectError, JournalFilter, ProblemFilter, Question, ResourceFilter, Target,
    UsageFilter, Verdict,
};
use sluice_proto::inspect::v1 as proto;
use sluice_protocol::interest::Interest;
use sluice_protocol::{About, JournalEntry, Problem, Revision};
use tonic::Code;

mod common;

use common::{PATIENCE, client, made, raw, settings, start};

#[tokio::test]
async fn a_trace_names_every_hop() {
    let fixture = start(settings()).await;
    let traces = client(fixture.address).await.trace(&made()).await.unwrap();
    assert_eq!((traces.len(), traces[0].profile.as_str()), (1, "ClusterProfile p"));
    let hops: Vec<_> = traces[0].hops.iter().map(|hop| (&*hop.stage, hop.cause_at)).collect();
    assert_eq!(hops, [("agent", 5), ("matcher", 5), ("renderer", 5), ("deployer", 5)]);
    assert!(traces[0].hops.iter().all(|hop| hop.at > 1_600_000_000_000_000));
    assert_eq!(traces[0].hops[3].says, "Failed: no room");
}

#[tokio::test]
async fn of_what_nobody_deploys_it_is_said_what_is_deployed() {
    let fixture = start(settings()).await;
    let wrong = Target { name: "mad".into(), ..made() };
    let error = client(fixture.address).await.trace(&wrong).await.unwrap_err();
    let InspectError::NotFound(says) = error else { panic!("{error:?}") };
    assert!(says.ends_with("there is ConfigMap made"), "{says}");
    let nowhere = Target { cluster: cluster("c"), ..made() };
    let error = client(fixture.address).await.trace(&nowhere).await.unwrap_err();
    assert_eq!(
        error,
        InspectError::NotFound("no agent tells of a cluster default/c; there is default/a".into())
    );
}

#[tokio::test]
async fn an_explanation_says_what_became_of_it() {
    let fixture = start(settings()).await;
    let explained = client(fixture.address).await.explain(&Question::Object(made())).await.unwrap();
    assert_eq!((explained.verdict, explained.missing.len()), (Verdict::No, 0));
    let last = explained.steps.last().unwrap();
    assert_eq!((&*last.about, last.says.as_str()), ("deployed", "ClusterProfile p failed: no room"));
}

#[tokio::test]
async fn of_an_event_it_is_said_who_looks_at_it_and_what_follows() {
    let fixture = start(settings()).await;
    let target = |kind: &str, name: &str| {
        let (cluster, kind, name) = (cluster("a"), kind.to_owned(), name.to_owned());
        Question::Event(Target { cluster, kind, namespace: "shop".into(), name })
    };
    let client = client(fixture.address).await;
    let explained = client.explain(&target("svc", "web")).await.unwrap();
    let steps: Vec<_> =
        explained.steps.iter().map(|step| (&*step.about, step.verdict, &*step.says)).collect();
    let elsewhere = "EventTrigger t listens to EventSource s, and not to default/a: spec.sourceClusterSelector: env=none is wanted, \
                     and the label env is \"fv\"";
    let expected = [
        ("cluster", Verdict::Yes, "default/a is registered"),
        ("object", Verdict::Yes, "Service shop/web is there"),
        ("event", Verdict::Yes, "EventSource s: Service shop/web is an event"),
        ("trigger", Verdict::No, elsewhere),
    ];
    assert_eq!((explained.verdict, steps), (Verdict::No, expected.to_vec()));
    let of_pods = client.explain(&target("Pod", "web")).await.unwrap();
    let last = of_pods.steps.last().unwrap();
    let says = "no EventSource looks at objects of kind Pod; of those that they look at there is Service";
    assert_eq!((of_pods.verdict, &*last.about, &*last.says), (Verdict::No, "source", says));
}

#[tokio::test]
async fn problems_are_listed() {
    let fixture = start(settings()).await;
    let problems = Problems::start(&fixture.bus);
    let source = problems.source();
    source.report(Problem::open(
        "renderer",
        "",
        About::Trigger(sluice_api::TriggerId::new("EventTrigger", "t")),
        "spec.x: is wrong",
    ));
    let client = client(fixture.address).await;
    let listed = async {
        loop {
            let listed = client.problems(&ProblemFilter::default()).await.unwrap();
            if !listed.found.is_empty() {
                return listed;
            }
        }
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await.unwrap();
    assert_eq!((listed.found[0].error.as_str(), listed.found[0].attempts), ("spec.x: is wrong", 1));
    let of_matcher = ProblemFilter { stage: Some("matcher".into()), cluster: None };
    assert!(client.problems(&of_matcher).await.unwrap().found.is_empty());
    let nowhere = ProblemFilter { stage: Some("matcher".into()), cluster: Some(cluster("aa")) };
    let error = client.problems(&nowhere).await.unwrap_err();
    assert_eq!(
        error,
        InspectError::NotFound("no agent tells of a cluster default/aa; there is default/a".into())
    );
}

#[tokio::test]
async fn what_happens_is_told_as_it_happens() {
    let fixture = start(settings()).await;
    let filter = JournalFilter { cluster: Some(cluster("a")), ..JournalFilter::default() };
    let mut lines = client(fixture.address).await.journal(&filter).await.unwrap();
    let journal = Journal::start(&fixture.bus);
    let line =
        |cluster: &str| JournalEntry::new("matcher", "matched", cluster, "Service shop/web", 3_500, 1_000);
    journal.record(line("sveltos:default/b"));
    journal.record(line("sveltos:default/a"));
    let told = tokio::time::timeout(PATIENCE, lines.next()).await.unwrap().unwrap();
    assert_eq!(told, [line("sveltos:default/a")]);
}

#[tokio::test]
async fn add_ons_clusters_triggers_profiles_and_shards_are_listed() {
    let fixture = start(settings()).await;
    let client = client(fixture.address).await;
    let addons = client.addons(&AddonFilter::default()).await.unwrap().found;
    let names: Vec<_> =
        addons.iter().map(|addon| (addon.resource_type.as_str(), addon.name.as_str())).collect();
    assert_eq!(names, [(":ConfigMap", "made"), ("helm chart", "web")]);
    let charts = AddonFilter { charts: Some(true), ..AddonFilter::default() };
    assert_eq!(client.addons(&charts).await.unwrap().found, [addons[1].clone()]);
    let clusters = client.clusters(None).await.unwrap().found;
    let clusters: Vec<_> = clusters.iter().map(|line| (line.name.as_str(), line.of.as_str())).collect();
    assert_eq!(clusters, [("a", "v1.33.0"), ("b", "v1.33.0")]);
    assert!(client.clusters(Some("other")).await.is_ok());
    let triggers = client.triggers().await.unwrap().found;
    let triggers: Vec<_> = triggers.iter().map(|line| (&*line.name, &*line.of, line.clusters)).collect();
    assert_eq!(triggers, [("t", "s", 1)]);
    let of_shop = client.profiles(Some("shop")).await.unwrap().found;
    let of_shop: Vec<_> = of_shop.iter().map(|line| (&*line.kind, &*line.name)).collect();
    assert_eq!(of_shop, [("Profile", "q")]);
    assert_eq!(client.profiles(None).await.unwrap().found.len(), 2);
    let shards = client.shards(Some("matcher")).await.unwrap();
    assert_eq!((shards.len(), &*shards[0].stage, shards[0].replica.as_str()), (1, "matcher", "test"));
}

#[tokio::test]
async fn events_usage_and_objects_are_listed() {
    let fixture = start(settings()).await;
    let client = client(fixture.address).await;
    let interest =
        Interest::next(None, vec![("s".to_owned(), serde_json::json!({}).into())], Revision::new(7)).unwrap();
    InterestWriter::new(&fixture.bus).write(&cluster("a"), &interest).await.unwrap();
    let of_a = EventsFilter { cluster: Some(cluster("a")), event_source: Some("s".into()) };
    let events = client.events(&of_a).await.unwrap().found;
    assert_eq!((events.len(), events[0].objects, events[0].complete.as_str()), (1, 1, "no"));
    let unknown = EventsFilter { event_source: Some("t".into()), ..of_a };
    assert!(matches!(client.events(&unknown).await.unwrap_err(), InspectError::NotFound(_)));
    let of_content = UsageFilter { name: Some("content".into()), ..UsageFilter::default() };
    let usage = client.usage(&of_content).await.unwrap().found;
    assert_eq!(
        (usage.len(), &*usage[0].used_by, &*usage[0].clusters),
        (1, &["EventTrigger/t".to_owned()][..], &["default/a".to_owned()][..])
    );
    let whole = ResourceFilter { group: Some(String::new()), full: true, ..ResourceFilter::default() };
    let objects = client.resources(&whole).await.unwrap().found;
    let short: Vec<_> = objects.iter().map(|one| (&*one.gvk, &*one.name, one.object.is_some())).collect();
    assert_eq!(short, [("v1/Service", "web", true)]);
    assert_eq!(
        client.resources(&ResourceFilter { full: false, ..whole }).await.unwrap().found[0].object,
        None
    );
}

const PROFILE: &str = "
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {name: web}
spec:
  clusterSelector: {matchLabels: {env: fv}}
  policyRefs: [{kind: ConfigMap, namespace: default, name: content}]
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: default, name: content}
data:
  it.yaml: |
    apiVersion: v1
    kind: Secret
    metadata: {namespace: default, name: credentials}
    stringData: {password: hunter2}
";

#[tokio::test]
async fn a_difference_says_what_would_change_where_and_no_value_of_a_secret() {
    let fixture = start(settings()).await;
    let client = client(fixture.address).await;
    let none = Sources::default();
    let files = || vec![("profile.yaml".to_owned(), PROFILE.to_owned())];
    let found = client.diff(files(), &none, None).await.unwrap();
    let places: Vec<_> =
        found.changes.iter().map(|change| (change.cluster.as_str(), change.object.as_str())).collect();
    let secret = "Secret default/credentials";
    assert_eq!(places, [("default/a", secret), ("default/b", secret)], "{found:?}");
    assert!(
        found.changes[0].diff.contains("(masked)") && !format!("{found:?}").contains("hunter2"),
        "{found:?}"
    );
    assert_eq!(client.diff(files(), &none, Some(&cluster("b"))).await.unwrap().changes, found.changes[1..]);
    let error = client.diff(files(), &none, Some(&cluster("bb"))).await.unwrap_err();
    assert_eq!(
        error,
        InspectError::NotFound("there is no cluster default/bb; there is default/b, default/a".into())
    );
}

const CHART: &str = "
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {name: web}
spec:
  clusterSelector: {matchLabels: {env: fv}}
  helmCharts:
  - {repositoryURL: https://charts.example, repositoryName: r, chartName: r/web, chartVersion: 1.0.0, releaseName: site, releaseNamespace: web}
";

#[tokio::test]
async fn a_chart_that_comes_with_the_manifests_is_rendered() {
    let fixture = start(settings()).await;
    let client = client(fixture.address).await;
    let files = [
        ("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("web/templates/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-a-chart}\n"),
    ];
    let files =
        files.map(|(name, text)| (name.trim_start_matches("web/").to_owned(), text.as_bytes().to_vec()));
    let mut charts = Sources::default();
    charts.add("https://charts.example", &files.into()).unwrap();
    let manifests = || vec![("chart.yaml".to_owned(), CHART.to_owned())];
    let found = client.diff(manifests(), &charts, Some(&cluster("a"))).await.unwrap();
    assert!(found.changes.iter().any(|change| change.object.ends_with("/of-a-chart")), "{found:?}");
    let without = client.diff(manifests(), &Sources::default(), Some(&cluster("a"))).await.unwrap();
    assert!(without.problems[0].error.contains("nothing is fetched here"), "{without:?}");
}

#[tokio::test]
async fn a_question_that_cannot_be_understood_is_refused_with_its_field() {
    let fixture = start(settings()).await;
    let mut raw = raw(fixture.address).await;
    let object = proto::Object { kind: "ConfigMap".into(), namespace: String::new(), name: "made".into() };
    let trace = proto::TraceRequest { cluster: "b".into(), object: Some(object) };
    let refused = raw.trace(trace).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("cluster: \"b\" is none; write namespace/name"), "{refused}");
    let file =
        proto::File { name: "a.yaml".into(), content: "kind: ConfigMap\nmetadata: {name: x}\n".into() };
    let diff = proto::DiffRequest { files: vec![file], ..Default::default() };
    let refused = raw.diff(diff).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(refused.message(), "files: a.yaml: document 1: apiVersion is missing or no text");
}
