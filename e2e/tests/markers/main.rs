//! Everything that is secret is marked, and nothing that Sluice tells anybody holds a mark: logs, the journal, traces, metrics,
//! what streams of the bus keep on their disks, statuses and Events, answers of Inspect, and arguments of processes.
//!
//! What is deployed must hold what it is made of, and so must Secrets: these are not searched.
#![allow(clippy::unwrap_used)]

mod cases;
mod outputs;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use sluice_api::{Gvk, ObjectKey, object};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::up::Up;

use cases::{Case, End, cases};
use outputs::{Collector, Outputs};

/// How long it may take until everything has come to its end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(500);
/// Time for what is written later than a problem: statuses and reports.
const LATER: Duration = Duration::from_secs(8);

/// Streams of which everything is searched: all that there are, since the bus is sealed.
const STREAMS: &[&str] = &[
    "KV_problems",
    "KV_interest",
    "KV_sluice",
    "KV_content",
    "JOURNAL",
    "STATUS",
    "CHANGES-00",
    "CHANGES-01",
    "CHANGES-02",
    "CHANGES-03",
    "REPORTS-00",
    "REPORTS-01",
    "REPORTS-02",
    "REPORTS-03",
    "DESIRED-00",
    "DESIRED-01",
    "DESIRED-02",
    "DESIRED-03",
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_told_holds_what_a_secret_holds() {
    let dir = tempfile::tempdir().unwrap();
    cases::write_charts(&dir.path().join("sources"));
    let collector = Collector::start();
    let arguments = [
        "--clusters=3".to_owned(),
        "--no-examples".into(),
        "--shards=4".into(),
        format!("--sources={}", dir.path().join("sources").display()),
        format!("--otlp-endpoint=http://{}", collector.address()),
        "--otlp-share=1".into(),
    ];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    let cases = cases();
    for name in ["cluster-1", "cluster-2"] {
        fleet.apply("management", &cases::cluster(name)).await.unwrap();
    }
    for case in &cases {
        for (place, object) in &case.objects {
            fleet.apply(place, object).await.unwrap();
        }
    }
    let outputs = Outputs::new(&up, dir.path());
    settle(&up, &fleet, &outputs, &cases).await;
    let mut told = outputs.told(STREAMS, &fleet).await;
    told.push(collector.received());
    assert_told(&told);
    let leaks: Vec<String> = cases.iter().flat_map(|case| case.leaks(&told)).collect();
    assert!(leaks.is_empty(), "{}\n{}", leaks.join("\n"), up.log_end());
}

/// Waits until each case has come to its end.
async fn settle(up: &Up, fleet: &Fleet, outputs: &Outputs<'_>, cases: &[Case]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let problems = outputs.ask(&["problems", "-o", "json"]).await;
        let mut missing = BTreeSet::new();
        for case in cases {
            let is_there = match &case.end {
                End::Problem(about) => problems.contains(about),
                End::Sent => true,
                End::Deployed(name) => holds(fleet, name, &case.marker).await,
            };
            if !is_there {
                missing.insert(case.name);
            }
        }
        if missing.is_empty() {
            return tokio::time::sleep(LATER).await;
        }
        assert!(Instant::now() < deadline, "{missing:?} do not end: {problems}\n{}", up.log_end());
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether the ConfigMap of this name has come to the cluster with the mark.
async fn holds(fleet: &Fleet, name: &str, marker: &str) -> bool {
    let key =
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "default".into(), name: name.into() };
    let found = fleet.at("default/cluster-1").unwrap().get(&key).await.unwrap();
    found.is_some_and(|found| object::text(&found, &["data", "secret"]).contains(marker))
}

/// A search that sees nothing finds nothing: each output tells something.
fn assert_told(told: &[(String, String)]) {
    for (place, words) in [
        ("journal lines", "cluster-1"),
        ("traces", "sveltos"),
        ("metrics", "sluice_"),
        ("stream KV_problems", "content-yaml"),
        ("stream JOURNAL", "cluster-1"),
        ("stream STATUS", "cluster-1"),
        ("management ClusterProfile", "content-yaml"),
        ("management SveltosCluster", "kubeconfig-exec"),
        ("management ClusterSummary", "cluster-1"),
        ("answer problems", "content-yaml"),
        ("answer shards", "renderer"),
        ("answer show addons", "content"),
        ("answer explain --cluster default/cluster-1 profile", "content"),
        ("answer explain --cluster default/cluster-1 event", "judged-raises"),
        ("answer explain --cluster default/cluster-1 object", "content"),
        ("answer trace", "content"),
        ("answer diff", "name: content-templated"),
        ("arguments", "sluice"),
    ] {
        let found: Vec<_> = told.iter().filter(|(name, _)| name.starts_with(place)).collect();
        let tells = found.iter().any(|(_, text)| text.contains(words));
        assert!(tells, "{place} does not tell {words:?}: {:.20000}", format!("{found:?}"));
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
