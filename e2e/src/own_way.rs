//! A cluster of a pipeline of processes that is registered anew, to be reached in a way of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_testbed::{Inside, KubeContext, Launch, PULLER, Replica, Stack, manifests};

use crate::fleet::Fleet;
use crate::scenario::MANAGEMENT;

/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);
/// Lines of each log that are shown where something is waited for in vain.
const LINES: usize = 12;

/// Waits until this is so.
///
/// # Panics
/// When it is not so within a minute; with the ends of all logs, also of processes that do not belong to the stack.
pub async fn wait(what: &str, stack: &Stack, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "in vain: {what}\n{}", logs(stack.dir()));
        tokio::time::sleep(LOOK).await;
    }
}

/// The ends of all logs in a folder.
fn logs(dir: &Path) -> String {
    let mut all = String::new();
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "log")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let lines: Vec<&str> = text.lines().collect();
            all.push_str(&format!("{}:\n", path.display()));
            lines[lines.len().saturating_sub(LINES)..]
                .iter()
                .for_each(|line| all.push_str(&format!("{line}\n")));
        }
    }
    all
}

/// A registration that the pipeline's profiles select.
pub fn registration(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": spec,
        "metadata": {"name": name, "namespace": "default", "labels": {manifests::CLUSTER_LABEL: "true"}}})
}

/// How many add-ons a cluster has.
///
/// # Panics
/// When it does not answer.
pub async fn addons(fleet: &Fleet, cluster: &str) -> usize {
    let policy = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
    let found = fleet.members[cluster].client.list(&policy).await;
    found.unwrap_or_else(|error| panic!("{cluster}: {error:#}")).len()
}

/// Takes the kubeconfig and the registration of the only cluster away, and applies what users write. Its name, and how it is reached.
///
/// # Errors
/// What the management cluster says.
pub async fn unregistered(stack: &Stack, fleet: &Fleet) -> anyhow::Result<(String, KubeContext)> {
    let is_managed = |context: &&KubeContext| context.name != MANAGEMENT;
    let context = stack.clusters().iter().find(is_managed).cloned();
    let (Some(context), Some(cluster)) = (context, fleet.members.keys().next().cloned()) else {
        anyhow::bail!("there is no managed cluster");
    };
    let (namespace, name) = cluster.split_once('/').unwrap_or(("default", &cluster));
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-sveltos-kubeconfig"), "namespace": namespace}});
    fleet.delete(MANAGEMENT, &secret).await?;
    fleet.delete(MANAGEMENT, &registration(name, &json!({}))).await?;
    for (_, object) in manifests::management() {
        fleet.apply(MANAGEMENT, &object).await?;
    }
    Ok((cluster, context))
}

/// Agent and deployer of the cluster that pulls, as one process: it has nothing of the management cluster.
///
/// # Errors
/// When it cannot be started, or the bus has no users.
pub fn inside_together(
    stack: &Stack,
    number: usize,
    kubeconfig: &Path,
    place: Option<Inside>,
) -> anyhow::Result<Replica> {
    started(stack, ("deployer", number), kubeconfig, (place, &["--with-agent"]))
}

/// One of them alone.
///
/// # Errors
/// When it cannot be started, or the bus has no users.
pub fn inside(
    stack: &Stack,
    stage: &'static str,
    number: usize,
    kubeconfig: &Path,
) -> anyhow::Result<Replica> {
    started(stack, (stage, number), kubeconfig, (None, &[]))
}

fn started(
    stack: &Stack,
    (stage, number): (&'static str, usize),
    kubeconfig: &Path,
    (place, more): (Option<Inside>, &[&str]),
) -> anyhow::Result<Replica> {
    let name = format!("inside-{stage}-{number}");
    let mut arguments = vec![
        format!("--nats-url={}", stack.nats_url()),
        format!("--name={name}"),
        format!("--cluster=default/{PULLER}"),
        format!("--cluster-kubeconfig={}", kubeconfig.display()),
        format!("--bus-keys={}", stack.dir().join("keys-inside").display()),
        "--stream-replicas=3".to_owned(),
    ];
    let security = stack.security().context("a cluster that pulls needs users of the bus")?;
    arguments.extend(security.arguments(&format!("agent.sveltos.default_{PULLER}")));
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    let program = stack.programs().find(&format!("sluice-{stage}"))?;
    Replica::start(stage, Launch { place, ..Launch::new(&name, program, arguments, stack.dir()) })
}

/// A kubeconfig for one cluster alone.
pub fn kubeconfig_of(context: &KubeContext) -> String {
    let server = format!("http://{}{}", context.authority, context.prefix);
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": context.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]});
    text.to_string()
}
