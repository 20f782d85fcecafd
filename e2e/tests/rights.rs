//! The rights that the chart gives are those that stages need: each is asked for by `sluice install check`, and each that is taken away is missed.
//! `make rights` runs them, on a real API server.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sluice_e2e::control_plane::{ControlPlane, assets};
use sluice_e2e::installed::Installation;
use sluice_testbed::Programs;

struct Fixture {
    dir: tempfile::TempDir,
    _plane: ControlPlane,
    installation: Installation,
}

impl Fixture {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let plane = ControlPlane::start(&assets().unwrap(), dir.path()).await.unwrap();
        let values = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights/least.yaml");
        let installation =
            Installation::install(dir.path(), plane.server_url(), &plane.kubeconfig(), &values).unwrap();
        Self { dir, _plane: plane, installation }
    }

    /// What `sluice install check` finds about rights: the check, its level, and what it says.
    fn rights(&self) -> Vec<(String, String, String)> {
        let done = Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
            .args(["install", "check", "--only", "rights", "--output", "json", "--kubeconfig"])
            .arg(self.dir.path().join("admin.kubeconfig"))
            .output()
            .unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let read = |line: &str| {
            let finding: Value = serde_json::from_str(line).unwrap();
            let text = |field: &str| finding[field].as_str().unwrap().to_owned();
            (text("check"), text("level"), text("says"))
        };
        let all: Vec<_> = text.lines().map(read).collect();
        assert!(all.len() >= 40, "{} checks: {text} {}", all.len(), String::from_utf8_lossy(&done.stderr));
        all
    }

    fn set(&self, kind: &str, stage: &str, rules: &Value) {
        let patch = json!({ "rules": rules }).to_string();
        let name = format!("sluice-{stage}");
        let arguments =
            ["patch", kind, &name, "--namespace", "projectsveltos", "--type", "merge", "--patch", &patch];
        self.installation.kubectl(&arguments).unwrap();
    }

    fn roles(&self, stage: &str) -> Vec<(&'static str, Value)> {
        let read = |kind: &'static str| {
            let arguments = [
                "get",
                kind,
                &format!("sluice-{stage}"),
                "--namespace",
                "projectsveltos",
                "--ignore-not-found",
                "--output",
                "json",
            ];
            // Not every stage has a role of its own in the namespace.
            let text = self.installation.kubectl(&arguments).unwrap();
            (!text.is_empty()).then(|| (kind, serde_json::from_str(&text).unwrap()))
        };
        ["clusterrole", "role"].into_iter().filter_map(read).collect()
    }
}

/// Every verb on every resource of a role: where it is in it, and its name.
fn rights_of(role: &Value) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (number, rule) in role["rules"].as_array().unwrap().iter().enumerate() {
        for resource in rule["resources"].as_array().unwrap() {
            for verb in rule["verbs"].as_array().unwrap() {
                found.push((
                    number,
                    resource.as_str().unwrap().to_owned(),
                    verb.as_str().unwrap().to_owned(),
                ));
            }
        }
    }
    found
}

/// The rules of a role without one verb on one resource.
fn without(role: &Value, number: usize, resource: &str, verb: &str) -> Value {
    let mut rules = role["rules"].as_array().unwrap().clone();
    let rule = rules.remove(number);
    let but = |field: &str, name: &str| -> Vec<Value> {
        rule[field].as_array().unwrap().iter().filter(|one| *one != name).cloned().collect()
    };
    let parts = [
        (json!(but("resources", resource)), rule["verbs"].clone()),
        (json!([resource]), json!(but("verbs", verb))),
    ];
    for (resources, verbs) in
        parts.into_iter().filter(|(resources, verbs)| *resources != json!([]) && *verbs != json!([]))
    {
        let mut part = rule.clone();
        part["resources"] = resources;
        part["verbs"] = verbs;
        rules.push(part);
    }
    json!(rules)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make rights"]
async fn every_right_of_a_stage_is_asked_for_and_its_absence_is_named() {
    let fixture = Fixture::start().await;
    let wrong: Vec<_> = fixture.rights().into_iter().filter(|(_, level, _)| level != "ok").collect();
    assert!(wrong.is_empty(), "the chart does not give what is needed: {wrong:?}");
    let mut unmissed = BTreeSet::new();
    for stage in ["agent", "renderer", "deployer", "inspect"] {
        for (kind, role) in fixture.roles(stage) {
            for (number, resource, verb) in rights_of(&role) {
                fixture.set(kind, stage, &without(&role, number, &resource, &verb));
                let missed = fixture.rights().into_iter().any(|(check, level, says)| {
                    level == "error" && check == format!("rights.{stage}.{resource}") && says.contains(&verb)
                });
                if !missed {
                    unmissed.insert(format!("{stage} {kind} {resource} {verb}"));
                }
                fixture.set(kind, stage, &role["rules"]);
            }
        }
    }
    assert!(unmissed.is_empty(), "rights that nobody asks for: {unmissed:#?}");
}
