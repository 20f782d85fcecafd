//! What a tenant may not see makes no event, on API servers that deny it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::real;
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::until::until_so;
use sluice_e2e::up::Up;
use sluice_testbed::Programs;

const CLUSTER: &str = "default/cluster-1";
/// How long something may take that is to happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn labelled(mut object: Value, tenant: &str) -> Value {
    object["metadata"]["labels"] = json!({
        "projectsveltos.io/serviceaccount-name": "watcher",
        "projectsveltos.io/serviceaccount-namespace": tenant,
    });
    object
}

/// What makes a ConfigMap `<tenant>-<service>` of each Service that the tenant sees.
fn add_on(tenant: &str) -> Vec<Value> {
    let source = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": tenant},
        "spec": {"collectResources": true, "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service",
            "labelFilters": [{"key": "watched", "operation": "Has"}]}]}});
    let trigger = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": tenant},
        "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": tenant, "oneForEvent": true,
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": tenant}]}});
    let policy = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {tenant}-{{{{ .Resource.metadata.name }}}}\n  namespace: default\n"
    );
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": tenant, "namespace": "default", "annotations": {"projectsveltos.io/instantiate": "ok"}},
        "data": {"a.yaml": policy}});
    vec![labelled(source, tenant), trigger, content]
}

/// What lets a tenant see all Services of the cluster.
fn rights(tenant: &str) -> Vec<Value> {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: NAME}\nrules:\n- {apiGroups: [\"\"], resources: [services], verbs: [list, watch]}\n";
    let name = format!("{tenant}-sees");
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"a.yaml": role.replace("NAME", &name)}});
    let request = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "RoleRequest", "metadata": {"name": tenant},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "serviceAccountName": "watcher",
            "serviceAccountNamespace": tenant, "roleRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}});
    vec![content, request]
}

fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default", "labels": {"watched": ""}},
        "spec": {"clusterIP": "None"}})
}

async fn has(fleet: &Fleet, name: &str) -> bool {
    let gvk = Gvk::new("", "v1", "ConfigMap");
    let key = ObjectKey { gvk, namespace: "default".into(), name: name.into() };
    fleet.at(CLUSTER).unwrap().get(&key).await.unwrap().is_some()
}

async fn wait(what: &str, up: &Up, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = until_so(what, PATIENCE, async || Ok(is_so().await)).await;
    waited.unwrap_or_else(|error| panic!("{error}\n{}", up.log_end()));
}

/// What the command line says.
fn sluice(up: &Up, kubeconfig: &Path, arguments: &[&str]) -> String {
    let program = Programs::beside_me().unwrap().find("sluice").unwrap();
    let mut command = Command::new(program);
    command.args(arguments).args(["--nats-url", up.nats_url()]).env("KUBECONFIG", kubeconfig);
    let output = command.output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{said}{wrong}")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd and kube-apiserver: make e2e"]
async fn a_tenant_sees_what_its_account_may_list_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (planes, fleet) = real::fleet(dir.path(), 1).await.unwrap();
    let kubeconfig = dir.path().join("management.kubeconfig");
    std::fs::write(&kubeconfig, planes[0].kubeconfig()).unwrap();
    let up = Up::start(dir.path(), &real::up(&kubeconfig, &dir.path().join("no-charts"))).await.unwrap();
    let cluster = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
        "metadata": {"name": "cluster-1", "namespace": "default", "labels": {"env": "fv"}}});
    let manifests = [vec![cluster], rights("team-a"), add_on("team-a"), add_on("team-b")];
    for object in manifests.into_iter().flatten() {
        fleet.apply(MANAGEMENT, &object).await.unwrap();
    }
    fleet.apply(CLUSTER, &service("web")).await.unwrap();
    wait("who may see it has its add-on", &up, async || has(&fleet, "team-a-web").await).await;
    let problem = "it is watched as ServiceAccount projectsveltos/team-b--watcher: allow it `list` and `watch` of services in API group \"\", with a RoleRequest";
    wait("who may not is told what to allow", &up, async || {
        sluice(&up, &kubeconfig, &["problems"]).contains(problem)
    })
    .await;
    assert!(!has(&fleet, "team-b-web").await);
    assert!(!sluice(&up, &kubeconfig, &["problems"]).contains("team-a--watcher"));

    for object in rights("team-b") {
        fleet.apply(MANAGEMENT, &object).await.unwrap();
    }
    wait("who may see it now has its add-on", &up, async || has(&fleet, "team-b-web").await).await;
    wait("the problem ends", &up, async || !sluice(&up, &kubeconfig, &["problems"]).contains(problem)).await;
    // Rights are asked for when a watch begins: what was an event stays one while the account may not look.
    fleet.delete(MANAGEMENT, &rights("team-b")[1]).await.unwrap();
    fleet.apply(CLUSTER, &service("shop")).await.unwrap();
    wait("the other one goes on", &up, async || has(&fleet, "team-a-shop").await).await;
    assert!(has(&fleet, "team-b-web").await);
}
