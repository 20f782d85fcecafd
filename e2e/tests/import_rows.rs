//! A fleet made of the rows of `docs/compatibility.md`: what each of its scenarios has deployed is given to Sveltos (`sluice import --undo`),
//! and is taken over on an empty bus (`--apply`). Nothing of it has a new uid, generation or content, and the rest of the scenario goes
//! on as if nothing had been. A few of them in every run, and all by `make over`, which takes five minutes.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::{Gvk, ObjectKey, object};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::scenario::{MANAGEMENT, Player, Scenario};
use sluice_e2e::taken_over::{FORMER, Place, contents, import, managers};
use sluice_testbed::{Options, STAGES, Stack};

/// An EventReport says what Sluice knows at most so much later. Those of Sveltos do so before it is stopped.
const REPORTED: Duration = Duration::from_secs(6);
/// For so long nothing may change.
const STAYS: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);
/// Scenarios that are played at the same time: they wait more than they compute.
const AT_ONCE: usize = 3;

/// The scenarios that the rows of the document name.
fn shown() -> Vec<Scenario> {
    let document =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compatibility.md"))
            .unwrap();
    let (_, rows) = document.split_once("## Field by field").unwrap();
    let names = Scenario::names().unwrap().into_iter().filter(|name| rows.contains(&format!("`{name}`")));
    let all = names.map(|name| Scenario::load(&name).unwrap());
    all.filter(comes_over).collect()
}

/// One of each kind of owner and of place.
const FEW: [&str; 5] = [
    "tr-local-profile",
    "tr-profile-in-its-namespace",
    "tr-role-request",
    "tr-tier-changes",
    "h-clusters-come-and-go",
];

/// What cannot be of Sveltos, and why.
const NOT_OF_SVELTOS: [(&str, &str); 1] = [(
    "tr-two-kinds-of-one-name",
    "there, two kinds of one name share a profile, of which nothing says which it is",
)];

/// What Sveltos has of it and leaves: its CloudEvents stay where they were sent, and charts without a record of Helm's stay nobody's
/// (`import.rs` takes a release of Helm's over).
fn comes_over(scenario: &Scenario) -> bool {
    let sends = scenario.start.places().any(|place| scenario.start.at(place).any(CloudEvent::is_meant));
    let is_of_sveltos = !NOT_OF_SVELTOS.iter().any(|(name, _)| *name == scenario.name);
    is_of_sveltos && !sends && !Scenario::sources(&scenario.name).exists()
}

/// After which step most is deployed, the first of these.
fn fullest(scenario: &Scenario) -> usize {
    let held =
        scenario.expected.iter().map(|expected| expected.clusters.values().map(Vec::len).sum::<usize>());
    held.enumerate().max_by_key(|(step, held)| (*held, std::cmp::Reverse(*step))).map_or(0, |(step, _)| step)
}

/// Everything that is deployed.
async fn deployed(fleet: &Fleet, kinds: &[Gvk]) -> Vec<Place> {
    let mut places = Vec::new();
    for place in fleet.members.keys().map(String::as_str).chain([MANAGEMENT]) {
        let held = fleet.at(place).unwrap().deployed(kinds).await.unwrap();
        places.extend(held.iter().filter_map(ObjectKey::of).map(|key| (place.to_owned(), key)));
    }
    places
}

async fn stop(stack: &mut Stack) {
    for name in stack.replicas().keys().cloned().collect::<Vec<_>>() {
        assert!(stack.stop_replica(&name).await.unwrap().success(), "{name}");
    }
}

/// As before the first start: an empty bus, and nothing that an earlier one has left in the management cluster.
async fn forget(stack: &mut Stack, fleet: &Fleet) {
    stack.bus_mut().kill(0).unwrap();
    stack.bus().wipe_store(0).unwrap();
    stack.bus_mut().start_node(0).await.unwrap();
    for found in fleet.management.list(&Gvk::new("", "v1", "ConfigMap")).await.unwrap() {
        if object::namespace(&found) == "projectsveltos" && object::name(&found).starts_with("sluice") {
            fleet.management.delete(&found).await.unwrap();
        }
    }
}

fn logs(stack: &Stack) -> String {
    stack.replicas().values().map(sluice_testbed::Replica::log_end).collect::<Vec<_>>().join("\n")
}

/// How many objects came over.
async fn comes_over_unchanged(scenario: &Scenario) -> usize {
    let (dir, name) = (tempfile::tempdir().unwrap(), &scenario.name);
    let mut stack = Stack::start(dir.path(), Options::default()).await.unwrap();
    let mut fleet =
        Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig()).unwrap()).await.unwrap();
    fleet.nats = stack.nats_url();
    let (player, fullest) = (Player::new(scenario, &fleet), fullest(scenario));
    let played = player.play_on(0..=fullest).await;
    assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), logs(&stack));
    tokio::time::sleep(REPORTED).await;
    stop(&mut stack).await;

    let places = deployed(player.fleet(), &scenario.kinds()).await;
    let before = contents(player.fleet(), &places).await.unwrap();
    let (code, said) = import(&stack.kubeconfig(), &["--undo"]).unwrap();
    assert_eq!(code, 0, "{name}: {said}");
    for place in &places {
        let managed = managers(player.fleet(), place).await.unwrap();
        assert!(managed.contains(&format!("{FORMER} Apply")), "{name}: {place:?} {managed:?}");
    }
    forget(&mut stack, &fleet).await;
    let (code, said) = import(&stack.kubeconfig(), &["--apply"]).unwrap();
    assert_eq!(code, 0, "{name}: {said}");
    for stage in STAGES {
        stack.start_replica(stage, 1).unwrap();
    }
    stack.wait_until_ready().await.unwrap();
    stays(&player, &places, &before, &stack).await;

    let played = player.play_on(fullest + 1..=scenario.steps.len()).await;
    assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), logs(&stack));
    places.len()
}

async fn stays(player: &Player<'_>, places: &[Place], before: &[Value], stack: &Stack) {
    let quiet = Instant::now();
    while quiet.elapsed() < STAYS {
        let now = contents(player.fleet(), places).await;
        assert_eq!(now.unwrap(), before, "{}", logs(stack));
        tokio::time::sleep(LOOK).await;
    }
}

async fn all_come_over(scenarios: &[Scenario]) {
    let all = futures::stream::iter(scenarios).map(|scenario| async move {
        let objects = comes_over_unchanged(scenario).await;
        println!("{}: {objects} objects", scenario.name);
        objects
    });
    let objects: usize = all.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await.into_iter().sum();
    println!("{} scenarios, {objects} objects", scenarios.len());
    assert!(objects > scenarios.len(), "{objects} objects of {} scenarios", scenarios.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_few_rows_of_the_compatibility_page_show_comes_over_unchanged() {
    let few: Vec<_> = shown().into_iter().filter(|one| FEW.contains(&one.name.as_str())).collect();
    assert_eq!(few.len(), FEW.len(), "the page names all of them");
    all_come_over(&few).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "slow: make over"]
async fn what_a_row_of_the_compatibility_page_shows_comes_over_unchanged() {
    let only = std::env::var("SLUICE_SCENARIO").unwrap_or_default();
    let all: Vec<_> = shown().into_iter().filter(|one| one.name.contains(&only)).collect();
    all_come_over(&all).await;
}
