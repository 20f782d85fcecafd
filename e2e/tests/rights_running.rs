//! A right that is taken from a stage at work is missed by that stage: one of its problems names verb and resource, and what to do. Its log
//! does where it has no bus to say it on. `make rights` runs it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::model::{INVENTORY, MARK};
use sluice_api::yaml;
use sluice_e2e::control_plane::ControlPlane;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::installed::{Installation, Running};
use sluice_e2e::two_clusters::{TwoClusters, folder, registration};
use sluice_e2e::until::until;
use sluice_testbed::Programs;

const STAGES: [&str; 3] = ["agent", "renderer", "deployer"];
/// Tokens are renewed a minute after a cluster was registered.
const TIMEOUT: Duration = Duration::from_secs(75);
const LOOK: Duration = Duration::from_millis(200);
/// What a stage says beside the words of the API server.
const REMEDY: &str = "sluice install check --only rights";
/// Rights that are not missed, and why.
const NOT_MISSED: [(&str, &str, &[&str]); 3] = [
    // A list of a kind saves a deployer that begins from reading objects one by one where they are many; without it, it reads them.
    ("deployer", "list", &["eventsources", "sets"]),
    // Events about drift are for people: one that is refused is counted, and lost.
    ("deployer", "create", &["events"]),
    ("deployer", "patch", &["events"]),
];
/// Cluster API is not installed: its clusters are a kind all the same.
const CLUSTERS: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusters.cluster.x-k8s.io"},
    "spec": {"group": "cluster.x-k8s.io", "scope": "Namespaced",
        "names": {"kind": "Cluster", "listKind": "ClusterList", "plural": "clusters", "singular": "cluster"},
        "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}"#;

/// Clusters whose tokens are renewed one after another.
const RENEWED: [&str; 3] = ["renewed-1", "renewed-2", "renewed-3"];

/// One verb on one resource, as a role of a stage gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    stage: &'static str,
    role: &'static str,
    /// Where its rule is in the role.
    rule: usize,
    group: String,
    resource: String,
    verb: String,
    /// The one object; empty for all.
    name: String,
}

/// What lets a stage use a right.
enum Provoke {
    Restart(&'static str),
    Apply(Value),
    Delete(Value),
    /// An object in the managed cluster, which is an event.
    Event(Value),
    /// Somebody changes what the deployer notes of the management cluster.
    EditInventories,
}

struct Fixture {
    dir: tempfile::TempDir,
    _planes: [ControlPlane; 2],
    installation: Installation,
    fleet: Fleet,
    running: Running,
    /// Stage, kind of role, and the role as the chart gives it.
    roles: Vec<(&'static str, &'static str, Value)>,
    unmissed: BTreeSet<Right>,
    /// What was not as it should be.
    wrong: Vec<String>,
}

// === impl Right ===

impl Right {
    fn all_of(stage: &'static str, role: &'static str, object: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        let texts = |rule: &Value, field: &str| -> Vec<String> {
            let all = rule[field].as_array().into_iter().flatten();
            all.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        for (number, rule) in object["rules"].as_array().unwrap().iter().enumerate() {
            let (group, name) = (texts(rule, "apiGroups").concat(), texts(rule, "resourceNames").concat());
            for resource in texts(rule, "resources") {
                found.extend(texts(rule, "verbs").into_iter().map(|verb| Self {
                    stage,
                    role,
                    rule: number,
                    group: group.clone(),
                    resource: resource.clone(),
                    verb,
                    name: name.clone(),
                }));
            }
        }
        found
    }

    fn is(&self, stage: &str, verb: &str, resources: &[&str]) -> bool {
        self.stage == stage && self.verb == verb && resources.contains(&self.resource.as_str())
    }

    fn is_not_missed(&self) -> bool {
        NOT_MISSED.iter().any(|(stage, verb, resources)| self.is(stage, verb, resources))
    }

    /// Whether it gives what that one gives for one object.
    fn covers(&self, one: &Self) -> bool {
        let what =
            |right: &Self| (right.stage, right.group.clone(), right.resource.clone(), right.verb.clone());
        !one.name.is_empty() && what(self) == what(one)
    }

    fn is_at_home(&self) -> bool {
        self.role == "role"
    }

    /// As API servers and stages say that it is missing.
    fn words(&self) -> String {
        format!("cannot {} resource \"{}\"", self.verb, self.resource)
    }
}

// === impl Fixture ===

impl Fixture {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut clusters = TwoClusters::start(dir.path(), "running.yaml").await.unwrap();
        clusters.installation.apply(CLUSTERS).unwrap();
        // The same cluster, which no profile selects.
        let two = clusters.fleet.members["default/one"].clone();
        for name in ["two", "kept", "capi"].into_iter().chain(RENEWED) {
            clusters.fleet.members.insert(format!("default/{name}"), two.clone());
        }
        let TwoClusters { management, managed, installation, fleet } = clusters;
        // Their tokens are due a minute after they were registered.
        for name in RENEWED {
            fleet.apply("management", &registration(name, "")).await.unwrap();
        }
        for object in renewer() {
            fleet.apply("default/one", &object).await.unwrap();
        }
        let run = folder(dir.path(), "run").unwrap();
        let running = installation.start(&run, &run).await.unwrap();
        let roles = STAGES.into_iter().flat_map(|stage| {
            let read = |role| Some((stage, role, role_of(&installation, stage, role)?));
            ["clusterrole", "role"].into_iter().filter_map(read).collect::<Vec<_>>()
        });
        let roles: Vec<_> = roles.collect();
        let all = roles.iter().flat_map(|(stage, role, object)| Right::all_of(stage, role, object)).collect();
        Self {
            _planes: [management, managed],
            installation,
            fleet,
            running,
            roles,
            unmissed: all,
            wrong: Vec::new(),
            dir,
        }
    }

    /// The roles of stages without these rights.
    async fn give_all_but(&self, taken: &[Right]) {
        for (stage, kind, role) in &self.roles {
            let rules = role["rules"].as_array().unwrap();
            let mut left = Vec::new();
            for right in Right::all_of(stage, kind, role).into_iter().filter(|right| !taken.contains(right)) {
                let mut rule = rules[right.rule].clone();
                rule["resources"] = json!([right.resource]);
                rule["verbs"] = json!([right.verb]);
                left.push(rule);
            }
            let (name, patch) = (format!("sluice-{stage}"), json!({ "rules": left }).to_string());
            let arguments =
                ["patch", kind, &name, "--namespace", "projectsveltos", "--type", "merge", "--patch", &patch];
            self.installation.kubectl(&arguments).unwrap();
        }
    }

    /// The same, with those that give as much: who may read all Secrets may read each.
    fn with_covering(&self, taken: &[Right]) -> Vec<Right> {
        let rights = self.roles.iter().flat_map(|(stage, role, object)| Right::all_of(stage, role, object));
        let covers = |right: &Right| right.name.is_empty() && taken.iter().any(|one| right.covers(one));
        rights.filter(covers).chain(taken.iter().cloned()).collect()
    }

    /// Waits until the API server knows that these rights are given, or are not.
    async fn until_known(&self, rights: &[Right], given: bool) {
        for right in rights {
            let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
            // A right in the whole cluster is one in the namespace as well.
            let attributes = json!({"group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb,
                "namespace": if right.is_at_home() { "projectsveltos" } else { "" }, "name": right.name});
            let user = format!("system:serviceaccount:projectsveltos:sluice-{}", right.stage);
            let groups =
                ["system:serviceaccounts", "system:serviceaccounts:projectsveltos", "system:authenticated"];
            let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": user, "groups": groups, "resourceAttributes": attributes}});
            let file = self.dir.path().join("review.json");
            std::fs::write(&file, review.to_string()).unwrap();
            until(&format!("{right:?} is given: {given}"), TIMEOUT, async || {
                let arguments = [
                    "create",
                    "--filename",
                    file.to_str().unwrap(),
                    "--output",
                    "jsonpath={.status.allowed}",
                ];
                let answer = self.installation.kubectl(&arguments).unwrap();
                ((answer == "true") == given).then_some(())
            })
            .await;
        }
    }

    /// Takes away those rights, lets stages use them, and waits until each is named; gives them back, and waits until all is well.
    async fn miss(&mut self, what: &str, is_taken: impl Fn(&Right) -> bool, provoke: Vec<Provoke>) {
        let begun = Instant::now();
        let rights = self.roles.iter().flat_map(|(stage, role, object)| Right::all_of(stage, role, object));
        let taken: Vec<Right> = rights.filter(|right| is_taken(right)).collect();
        assert!(!taken.is_empty(), "{what}: no role has such a right");
        self.give_all_but(&self.with_covering(&taken)).await;
        self.until_known(&taken, false).await;
        let logged: Vec<usize> = STAGES.into_iter().map(|stage| self.log(stage).len()).collect();
        for one in provoke {
            self.provoke(one).await;
        }
        let mut waiting = taken.clone();
        let deadline = Instant::now() + TIMEOUT;
        while !waiting.is_empty() && Instant::now() < deadline {
            let problems = self.problems();
            let logs = STAGES.into_iter().zip(&logged);
            let logs: Vec<_> = logs.map(|(stage, from)| (stage, self.log(stage).split_off(*from))).collect();
            waiting.retain(|right| {
                let is_named = |text: &str| text.contains(&right.words()) && text.contains(REMEDY);
                let is_problem = problems.iter().any(|(stage, text)| stage == right.stage && is_named(text));
                // Without what it begins with, a stage has no problems: its log says why it waits.
                let is_logged = right.is_at_home()
                    && !right.name.is_empty()
                    && logs.iter().any(|(stage, log)| {
                        *stage == right.stage && log.lines().any(|line| is_named(&line.replace("\\\"", "\"")))
                    });
                !is_problem && !is_logged
            });
            tokio::time::sleep(LOOK).await;
        }
        if !waiting.is_empty() {
            let (problems, ends) = (self.problems(), self.running.log_ends());
            self.wrong.push(format!("{what}: not missed: {waiting:#?}\n{problems:#?}\n{ends}"));
        }
        self.unmissed.retain(|right| !taken.contains(right));
        let named = begun.elapsed();
        self.give_all_but(&[]).await;
        self.until_known(&taken, true).await;
        for stage in STAGES {
            // Who cannot begin ends, and is started again.
            if self.running.replica(stage).unwrap().process().ended().unwrap().is_some() {
                self.restart(stage);
            }
        }
        self.until_well(what, &taken).await;
        println!("{what}: {} rights, named after {named:?}, well after {:?}", taken.len(), begun.elapsed());
    }

    async fn until_well(&mut self, what: &str, taken: &[Right]) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let problems = self.problems();
            let is_of = |(stage, text): &&(String, String)| {
                taken.iter().any(|right| right.stage == stage.as_str() && text.contains(&right.words()))
            };
            let left: Vec<_> = problems.iter().filter(is_of).cloned().collect();
            let mut are_ready = true;
            for stage in STAGES {
                are_ready &= self.running.replica(stage).unwrap().is_ready().await;
            }
            if left.is_empty() && are_ready {
                return;
            }
            let ends = self.running.log_ends();
            if Instant::now() > deadline {
                return self.wrong.push(format!("{what}: not well again: {left:#?}\n{ends}"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn provoke(&mut self, what: Provoke) {
        match what {
            Provoke::Restart(stage) => self.restart(stage),
            Provoke::Apply(object) => self.fleet.apply("management", &object).await.unwrap(),
            Provoke::Delete(object) => self.fleet.delete("management", &object).await.unwrap(),
            Provoke::EditInventories => {
                let arguments = [
                    "annotate",
                    "configmaps",
                    "--namespace",
                    "projectsveltos",
                    "edited=yes",
                    "--selector",
                    INVENTORY,
                ];
                drop(self.installation.kubectl(&arguments).unwrap());
            }
            Provoke::Event(object) => self.fleet.apply("default/one", &object).await.unwrap(),
        }
    }

    fn restart(&mut self, stage: &'static str) {
        let (url, programs) = (self.running.url().to_owned(), Programs::beside_me().unwrap());
        // It may have ended by itself.
        self.running.replica(stage).unwrap().process().kill().ok();
        let run = self.dir.path().join("run");
        self.running.replace(self.installation.start_stage(&run, stage, &url, &[], &programs).unwrap());
    }

    fn log(&mut self, stage: &str) -> String {
        self.running.replica(stage).unwrap().process().log()
    }

    /// The open problems, each with the stage that has it.
    fn problems(&self) -> Vec<(String, String)> {
        let done = Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
            .args(["problems", "--output", "json", "--nats-url", self.running.url(), "--nats-nkey"])
            .arg(self.running.operator())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8(done.stdout).unwrap();
        let read = |line: &str| {
            let problem: Value = serde_json::from_str(line).unwrap();
            let text = |field: &str| problem[field].as_str().unwrap().to_owned();
            (text("stage"), text("error"))
        };
        text.lines().map(read).collect()
    }
}

fn role_of(installation: &Installation, stage: &str, kind: &str) -> Option<Value> {
    let name = format!("sluice-{stage}");
    let arguments =
        ["get", kind, &name, "--namespace", "projectsveltos", "--ignore-not-found", "--output", "json"];
    let text = installation.kubectl(&arguments).unwrap();
    (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

/// Everything of `rights/work.yaml`.
fn work() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights/work.yaml");
    yaml::documents(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// What users wrote, under other names: the statuses of what is there say all that there is to say.
fn once_more() -> Vec<Value> {
    let mut all = work();
    all.retain(|object| object["apiVersion"].as_str().unwrap().contains("projectsveltos.io"));
    for object in &mut all {
        object["metadata"]["name"] = format!("{}-2", object["metadata"]["name"].as_str().unwrap()).into();
    }
    all
}

/// The content with this name, of which something is another than before.
fn changed(kind: &str, name: &str, count: usize) -> Value {
    let found =
        work().into_iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let text = found.unwrap().to_string().replace("count: \\\"0\\\"", &format!("count: \\\"{count}\\\""));
    serde_json::from_str(&text).unwrap()
}

/// The account in the managed cluster whose tokens are asked for.
fn renewer() -> [Value; 2] {
    [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "renewer", "namespace": "default"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "renewer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "renewer", "namespace": "default"}]}),
    ]
}

/// The token of this cluster is to be renewed, as soon as a minute has gone since it was registered.
fn renew(name: &str) -> Provoke {
    let mut object = registration(name, "");
    object["spec"]["tokenRequestRenewalOption"] = json!({"renewTokenRequestInterval": "1m", "tokenDuration": "10m",
        "saNamespace": "default", "saName": "renewer"});
    Provoke::Apply(object)
}

fn event(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"watched": "yes"}}})
}

/// A cluster of Cluster API without the label that says that it has an agent.
fn capi_cluster() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": {"name": "capi", "namespace": "default"}, "spec": {}, "status": {"controlPlaneReady": true}})
}

/// A profile that misses its content, which the renderer tells in an Event.
fn incomplete(name: &str) -> Provoke {
    let reference = json!({"kind": "ConfigMap", "namespace": "default", "name": "nowhere"});
    Provoke::Apply(
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "policyRefs": [reference]}}),
    )
}

/// A profile that deploys an object to the management cluster.
fn local(name: &str, kind: &str, namespace: &str, deployed: &str) -> Vec<Provoke> {
    let selector = json!({"clusterSelector": {"matchLabels": {"env": "nowhere"}}});
    let spec = if kind == "Set" { selector } else { json!({"resourceSelectors": []}) };
    let mut object = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": kind, "metadata": {"name": deployed}, "spec": spec});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"a.yaml": object.to_string()}});
    let reference =
        json!({"kind": "ConfigMap", "namespace": "default", "name": name, "deploymentType": "Local"});
    let profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "policyRefs": [reference]}});
    vec![Provoke::Apply(content), Provoke::Apply(profile)]
}

fn delete_profile(name: &str) -> Provoke {
    Provoke::Delete(
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name}}),
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make rights"]
async fn every_right_that_is_taken_from_a_running_stage_is_missed_and_named() {
    use Provoke::{Apply, Delete, Event, Restart};
    let mut fixture = Fixture::start().await;
    let deployed = ["eventsources", "sets", "namespaces"];

    // What is made when the work begins.
    let begin = work().into_iter().map(Apply).chain([Event(event("first"))]);
    let begin = begin.chain(local("local-first", "Set", "default", "first")).collect();
    let is_made = |right: &Right| {
        right.verb == "create" && !deployed.contains(&right.resource.as_str()) && !right.is_not_missed()
    };
    fixture.miss("create", is_made, begin).await;
    let more = [
        local("local-source", "EventSource", "", "made"),
        local("local-set", "Set", "default", "made"),
        local("local-made", "Set", "made", "made"),
    ];
    let is_made = |right: &Right| right.is("deployer", "create", &deployed);
    fixture.miss("create what is deployed", is_made, more.into_iter().flatten().collect()).await;

    // What is written again when a stage begins anew, and when something changes.
    let is_written = |right: &Right| {
        let is_status = right.resource.ends_with("/status");
        let is_apart = right.is("renderer", "patch", &["configmaps", "secrets"])
            || right.is("deployer", "patch", &["namespaces", "secrets"]);
        right.verb == "patch" && !is_status && !is_apart && !right.is_not_missed()
    };
    // A label that says something else than its server does.
    let mut mislabelled = registration("one", "fv");
    mislabelled["metadata"]["labels"]["projectsveltos.io/k8s-version"] = "v0.0.0".into();
    let mut again = vec![Restart("renderer"), Restart("deployer"), Apply(mislabelled)];
    again.push(Apply(capi_cluster()));
    // One that is to be kept until its add-ons are withdrawn.
    let mut kept = registration("kept", "");
    kept["metadata"]["annotations"] = json!({"sluice.dev/withdraw-on-delete": "true"});
    again.push(Apply(kept));
    again.push(incomplete("incomplete-1"));
    again.extend(local("local-source", "EventSource", "", "changed"));
    again.extend(local("local-set", "Set", "default", "changed"));
    fixture.miss("patch", is_written, again).await;
    let is_written = |right: &Right| {
        right.is("renderer", "patch", &["configmaps", "secrets"])
            || right.is("deployer", "patch", &["namespaces"])
    };
    let mut others = vec![Apply(changed("ConfigMap", "content", 1)), Apply(changed("Secret", "content", 1))];
    others.extend(local("local-made", "Set", "made-later", "made"));
    fixture.miss("patch contents and a namespace", is_written, others).await;
    let is_status = |right: &Right| right.verb == "patch" && right.resource.ends_with("/status");
    let mut others = vec![Restart("renderer"), Restart("deployer"), Apply(registration("two", ""))];
    others.push(renew(RENEWED[0]));
    others.extend(once_more().into_iter().map(Apply));
    fixture.miss("patch statuses", is_status, others).await;

    // Tokens of clusters.
    for (verb, name) in [("patch", RENEWED[1]), ("get", RENEWED[2])] {
        let is_of_token = |right: &Right| right.is("deployer", verb, &["secrets"]) && right.name.is_empty();
        fixture.miss(&format!("{verb} kubeconfigs"), is_of_token, vec![renew(name)]).await;
    }

    // What is looked at before something is written.
    let is_read = |right: &Right| {
        right.is("renderer", "get", &["clusterprofiles"]) || right.is("deployer", "get", &deployed)
    };
    // What is new to a deployer is looked at where it is there already.
    let there = |kind: &str, metadata: Value, spec: Value| {
        Apply(
            json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}),
        )
    };
    let selector = json!({"clusterSelector": {"matchLabels": {"env": "nowhere"}}});
    let set = there("Set", json!({"name": "read", "namespace": "default"}), selector);
    let source = there("EventSource", json!({"name": "read"}), json!({"resourceSelectors": []}));
    let mut others = vec![Restart("renderer"), set, source];
    others.extend(local("local-source", "EventSource", "", "read"));
    others.extend(local("local-set", "Set", "default", "read"));
    fixture.miss("get", is_read, others).await;
    for name in ["sluice-random", MARK] {
        fixture.miss(name, |right| right.name == name, vec![Restart("renderer")]).await;
    }
    let begins = || STAGES.map(Restart).into();
    fixture.miss("keys", |right| right.name.starts_with("sluice-bus-"), begins()).await;

    // Inventories of what is deployed to the management cluster.
    let of_inventory = |verb: &'static str| move |right: &Right| right.is("deployer", verb, &["configmaps"]);
    let change = |name: &str| local("local-source", "EventSource", "", name);
    fixture.miss("update inventories", of_inventory("update"), change("updated")).await;
    // An inventory that somebody else has changed is read anew.
    let mut others = vec![Provoke::EditInventories];
    others.extend(change("again"));
    fixture.miss("get inventories", of_inventory("get"), others).await;
    fixture.miss("list inventories", of_inventory("list"), vec![Restart("deployer")]).await;
    fixture.miss("delete inventories", of_inventory("delete"), vec![delete_profile("local-first")]).await;

    // What stages follow. Those with a registration that cannot be listed do nothing else.
    fixture.miss("watch", |right| right.verb == "watch", begins()).await;
    let is_late = |right: &Right| {
        right.is("renderer", "list", &["services"])
            || right.is("deployer", "list", &["customresourcedefinitions"])
    };
    let is_first = |right: &Right| {
        let is_apart = right.is("deployer", "list", &["configmaps"]) || right.is_not_missed();
        right.verb == "list" && !is_late(right) && !is_apart
    };
    fixture.miss("list", is_first, begins()).await;
    fixture.miss("list what is named", is_late, vec![Restart("renderer"), Restart("deployer")]).await;

    // What goes with its cause.
    let is_withdrawn =
        |right: &Right| right.verb == "delete" && !right.is("deployer", "delete", &["configmaps"]);
    let kinds =
        ["EventTrigger", "EventBasedAddOn", "EventSource", "ClusterProfile", "Profile", "RoleRequest"];
    let all = work().into_iter().chain(once_more());
    let work = all.filter(|object| kinds.iter().any(|kind| object["kind"] == *kind));
    let mut end: Vec<Provoke> = work.map(Delete).collect();
    let others = ["incomplete-1", "local-source", "local-set", "local-made"];
    end.extend(others.map(delete_profile));
    fixture.miss("delete", is_withdrawn, end).await;

    assert!(fixture.wrong.is_empty(), "{}", fixture.wrong.join("\n\n"));
    fixture.unmissed.retain(|right| !right.is_not_missed());
    assert!(fixture.unmissed.is_empty(), "never taken away: {:#?}", fixture.unmissed);
}
