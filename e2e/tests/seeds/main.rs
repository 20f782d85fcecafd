//! Every manifest and table of the documents is claimed by a scenario, stands in it as it is printed, and comes of it:
//! `e2e/seeds/README.md`.
//!
//! ```text
//! e2e/seeds/*.md ──► blocks ──┐
//!                             ├─► are they in the files that scenarios name? do these lead to what is printed?
//! seed.json ───────► claims ──┘
//! ```
#![allow(clippy::unwrap_used)]

mod blocks;
mod live;
mod printed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sluice_api::object;
use sluice_e2e::scenario::{MANAGEMENT, Scenario, State};
use sluice_testbed::Programs;

use blocks::{Claim, blocks, claims};

/// How many blocks each document has.
const BLOCKS: [(&str, usize); 5] = [("000", 6), ("001", 19), ("002", 7), ("003", 4), ("004", 18)];

#[test]
fn the_documents_are_complete() {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let blocks = blocks();
    for number in blocks.keys() {
        *counted.entry(number.split('/').next().unwrap()).or_default() += 1;
    }
    assert_eq!(counted, BTreeMap::from(BLOCKS));
}

#[test]
fn every_block_is_claimed_by_a_scenario() {
    let claimed: BTreeSet<String> = claims().into_iter().map(|claim| claim.block).collect();
    let unclaimed: Vec<String> = blocks().into_keys().filter(|number| !claimed.contains(number)).collect();
    assert_eq!(unclaimed, [] as [String; 0], "claim them in the seed.json of a scenario");
}

#[test]
fn what_a_scenario_claims_is_in_its_files_as_printed() {
    let blocks = blocks();
    let wrong: Vec<String> = claims().iter().filter_map(|claim| claim.complaint(&blocks)).collect();
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn a_claim_that_does_not_hold_is_noticed() {
    let blocks = blocks();
    let claim = Claim {
        scenario: "seed-001-01".into(),
        block: "001/01".into(),
        file: "input/event-source.yaml".into(),
        ..Claim::default()
    };
    assert_eq!(claim.complaint(&blocks), None);
    let about = |change: &dyn Fn(&mut Claim)| {
        let mut claim = claim.clone();
        change(&mut claim);
        claim.complaint(&blocks).unwrap()
    };
    assert!(about(&|claim| claim.block = "001/99".into()).contains("there is no such block"));
    assert!(about(&|claim| claim.block = "001/02".into()).contains("is not in input/event-source.yaml"));
    assert!(about(&|claim| claim.file = "README.md".into()).contains("must be below input/"));
    assert!(about(&|claim| claim.after = Some(1)).contains("must be below printed/"));
    let repairs = vec![("nowhere".to_owned(), String::new())];
    assert!(about(&move |claim| claim.repairs.clone_from(&repairs)).contains("has no \"nowhere\""));
}

#[test]
fn what_the_documents_print_is_made() {
    let made: Vec<Claim> = claims().into_iter().filter(Claim::is_manifest_that_is_made).collect();
    assert!(made.len() >= 9, "{made:?}");
    let wrong: Vec<String> = made.iter().flat_map(printed::complaints).collect();
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn everything_that_is_printed_is_claimed() {
    for scenario in Scenario::names().unwrap() {
        let claimed: BTreeSet<PathBuf> = claims()
            .into_iter()
            .filter(|claim| claim.scenario == scenario && claim.after.is_some())
            .map(|claim| PathBuf::from(claim.file))
            .collect();
        let there: BTreeSet<PathBuf> = files(&Scenario::folder().join(&scenario), Path::new("printed"));
        assert_eq!(there, claimed, "{scenario}");
    }
}

/// The files of a folder, by their paths from `root`; none where it does not exist.
fn files(root: &Path, folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return BTreeSet::new() };
    entries.map(|entry| folder.join(entry.unwrap().file_name())).collect()
}

/// The folders of events that the documents describe: `sluice eval` says of each file what its name promises.
#[test]
fn harnesses_say_what_their_files_promise() {
    let sluice = Programs::beside_me().unwrap().find("sluice").unwrap();
    let mut judged = BTreeSet::new();
    for scenario in Scenario::names().unwrap() {
        let folder = Scenario::folder().join(&scenario);
        if !folder.join("harness").is_dir() {
            continue;
        }
        let eval = |of: &Path| {
            let out = Command::new(&sluice).arg("eval").arg("harness").current_dir(of).output().unwrap();
            (out.status.code(), String::from_utf8(out.stdout).unwrap())
        };
        let (code, said) = eval(&folder);
        assert_eq!(code, Some(0), "{scenario}: {said}");
        assert!(!said.is_empty() && said.lines().all(|line| line.starts_with("ok ")), "{scenario}: {said}");
        // With what matches and what does not in each other's place nothing is right.
        let (code, said) = eval(swapped(&folder.join("harness")).path());
        assert_eq!(code, Some(1), "{scenario}: {said}");
        assert!(
            said.contains("matching.yaml: ") && said.contains("non-matching.yaml: "),
            "{scenario}: {said}"
        );
        judged.insert(scenario);
    }
    let documents: BTreeSet<&str> = judged.iter().map(|scenario| &scenario[.."seed-001".len()]).collect();
    assert_eq!(documents, BTreeSet::from(["seed-001", "seed-004"]), "both describe them");
}

/// A copy of a harness whose objects stand in for each other.
fn swapped(harness: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let mut rest = vec![PathBuf::from("harness")];
    while let Some(folder) = rest.pop() {
        std::fs::create_dir_all(copy.path().join(&folder)).unwrap();
        for path in files(harness.parent().unwrap(), &folder) {
            if harness.parent().unwrap().join(&path).is_dir() {
                rest.push(path);
                continue;
            }
            let name = match path.file_name().unwrap().to_str().unwrap() {
                "matching.yaml" => "non-matching.yaml",
                "non-matching.yaml" => "matching.yaml",
                other => other,
            };
            let from = harness.parent().unwrap().join(&path);
            std::fs::copy(from, copy.path().join(folder.join(name))).unwrap();
        }
    }
    copy
}

/// Content annotated `instantiate` becomes an object of its own, which the profile names; other content the profile names itself.
#[test]
fn content_is_an_object_of_its_own_where_it_is_instantiated() {
    let mut state = Scenario::load("seed-000-01").unwrap().states().unwrap().remove(1);
    let (named, made) = content(&state);
    assert!(named.starts_with("projectsveltos/sveltos-"), "{named}");
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(format!("{}/{}", object::namespace(&made[0]), object::name(&made[0])), named);
    let text = object::text(&made[0], &["data", "networkpolicy.yaml"]);
    assert!(text.contains("name: front-web") && !text.contains("{{"), "{text}");
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n";
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "network-policy", "namespace": "default"},
        "data": {"plain.yaml": plain}});
    state.apply(MANAGEMENT, plain).unwrap();
    assert_eq!(content(&state), ("default/network-policy".to_owned(), Vec::new()));
}

/// The content that the only profile names, and the ConfigMaps that are made.
fn content(state: &State) -> (String, Vec<Value>) {
    let built = state.build().unwrap();
    assert_eq!(built.problems, [] as [Value; 0]);
    let of_kind = |kind: &str| -> Vec<Value> {
        built.management.iter().filter(|object| object["kind"] == *kind).cloned().collect()
    };
    let profiles = of_kind("ClusterProfile");
    assert_eq!(profiles.len(), 1, "{profiles:?}");
    let reference = &profiles[0]["spec"]["policyRefs"][0];
    let named = ["namespace", "name"].map(|field| object::text(reference, &[field]));
    (named.join("/"), of_kind("ConfigMap"))
}

/// What the documents' admission policies add to which kinds, the objects of the scenario have.
#[test]
fn tenants_carry_the_labels_that_the_policies_add() {
    let mut looked_at = Vec::new();
    for scenario in Scenario::names().unwrap().into_iter().filter(|name| name.starts_with("seed-")) {
        let start = Scenario::load(&scenario).unwrap().start;
        let objects: Vec<&Value> = start.at(MANAGEMENT).collect();
        for policy in objects.iter().filter(|object| object["kind"] == "ClusterPolicy") {
            let (kinds, labels) = policy_of(policy);
            for kind in &kinds {
                let of_it: Vec<&&Value> = objects.iter().filter(|object| object["kind"] == **kind).collect();
                assert!(!of_it.is_empty(), "{scenario} has no {kind}");
                let has = |object: &&Value| labels.iter().all(|label| object::label(object, label).is_some());
                assert!(of_it.into_iter().all(has), "{scenario}: a {kind} has not all of {labels:?}");
            }
            looked_at.push((scenario.clone(), kinds.len(), labels.len()));
        }
    }
    assert_eq!(looked_at, [("seed-001-03".to_owned(), 2, 1), ("seed-004-03".to_owned(), 2, 2)]);
}

/// The kinds that a policy is for, and the labels that it adds: `+(…)` is one that is added where there is none.
fn policy_of(policy: &Value) -> (Vec<String>, Vec<String>) {
    let rule = &policy["spec"]["rules"][0];
    let resources = [&rule["match"]["resources"], &rule["match"]["all"][0]["resources"]];
    let kinds = resources.iter().filter_map(|resources| resources["kinds"].as_array()).flatten();
    let labels = rule["mutate"]["patchStrategicMerge"]["metadata"]["labels"].as_object().unwrap().keys();
    let plain = |label: &String| label.trim_start_matches("+(").trim_end_matches(')').to_owned();
    (kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect(), labels.map(plain).collect())
}
