#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_bus::kit::{Server, write};
use sluice_kube::fake_api::FakeApi;

use super::*;
use crate::kit::{answer, connect, rows, service};

fn on(clusters: &[&str]) -> Value {
    let named = |name: &&str| json!({"kind": "SveltosCluster", "namespace": "fleet", "name": name});
    json!({"matchingClusters": clusters.iter().map(named).collect::<Vec<_>>()})
}

/// Kind and path of what is used, by whom, and on how many clusters.
fn shown(users: &[Value]) -> Vec<String> {
    let mut uses = Uses::default();
    users.iter().for_each(|user| uses.add_user(user));
    let line = |usage: Usage| {
        let path = path(&usage.kind, &usage.namespace, &usage.name);
        format!("{path} by {} on {}", usage.used_by.join(","), usage.clusters.join(","))
    };
    uses.all().into_iter().map(line).collect()
}

#[test]
fn everything_that_a_spec_names_is_used_by_it() {
    let spec = json!({
        "policyRefs": [{"kind": "ConfigMap", "namespace": "n", "name": "c"}],
        "patchesFrom": [{"kind": "Secret", "namespace": "n", "name": "p"}],
        "helmCharts": [{"valuesFrom": [{"kind": "ConfigMap", "namespace": "n", "name": "v"}],
            "registryCredentialsConfig": {"credentials": {"namespace": "n", "name": "login"}}}],
        "templateResourceRefs": [{"resource": {"apiVersion": "v1", "kind": "Service", "namespace": "n", "name": "s"}}],
        "secretGenerator": [{"namespace": "n", "name": "g", "nameFormat": "{{ .x }}"}]});
    let trigger =
        json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": spec, "status": on(&["a"])});
    let expected =
        ["ConfigMap/n/c", "ConfigMap/n/v", "Secret/n/g", "Secret/n/login", "Secret/n/p", "Service/n/s"]
            .map(|used| format!("{used} by EventTrigger/t on fleet/a"));
    let lines = shown(&[trigger]);
    assert!(lines.contains(&"EventTrigger/t by  on fleet/a".to_owned()), "{lines:?}");
    let others: Vec<_> = lines.into_iter().filter(|line| !line.starts_with("EventTrigger")).collect();
    assert_eq!(others, expected);
}

#[test]
fn without_a_namespace_that_of_each_cluster_is_meant_or_that_of_the_profile() {
    let user = |kind: &str, metadata: Value, status: Value| json!({"kind": kind, "metadata": metadata, "spec": {"policyRefs": [{"kind": "Secret", "name": "s"}]}, "status": status});
    let everywhere = user("ClusterProfile", json!({"name": "p"}), on(&["a", "b"]));
    assert_eq!(shown(&[everywhere])[1], "Secret/fleet/s by ClusterProfile/p on fleet/a,fleet/b");
    let of_tenant = user("Profile", json!({"name": "p", "namespace": "t"}), on(&["a"]));
    assert_eq!(shown(&[of_tenant])[1], "Secret/t/s by Profile/t/p on fleet/a");
    let nowhere = user("ClusterProfile", json!({"name": "p"}), json!({}));
    assert_eq!(shown(&[nowhere])[1], "Secret/s by ClusterProfile/p on ");
}

#[test]
fn what_nobody_uses_is_answered_with_what_somebody_does() {
    let usage = |name: &str| Usage {
        kind: "Secret".into(),
        namespace: "n".into(),
        name: name.into(),
        ..Usage::default()
    };
    let all = || vec![usage("login"), usage("tls")];
    let choose = |kind: Option<&str>, name: Option<&str>| {
        let filter = UsageFilter {
            kind: kind.map(str::to_owned),
            namespace: Some("n".into()),
            name: name.map(str::to_owned),
        };
        filter.choose(all()).map(|found| found.len()).map_err(|error| error.to_string())
    };
    assert_eq!(choose(Some("Secret"), Some("tls")), Ok(1));
    assert_eq!(
        choose(None, Some("logi")),
        Err("nothing called logi in namespace n is used; there is login, tls".to_owned())
    );
    assert_eq!(
        choose(Some("secret"), None),
        Err("nothing of kind secret is used; there is Secret".to_owned())
    );
}

#[tokio::test]
async fn while_one_is_away_the_other_tells_what_is_used() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    write(&bus, rows(Some(service()))).await;
    let api = FakeApi::start(answer);
    let (away, filter) =
        (|| "of a test".to_owned(), UsageFilter { kind: Some("ConfigMap".into()), ..UsageFilter::default() });
    let content = |by: &str, cluster: &str| Usage {
        kind: "ConfigMap".into(),
        namespace: "default".into(),
        name: "content".into(),
        clusters: vec![cluster.into()],
        used_by: vec![by.into()],
    };
    let written = Inspector::new(Err(away()), Ok(api.client())).usage(&filter).await.unwrap();
    assert_eq!(written, Listed { found: vec![content("EventTrigger/t", "default/a")], missing: Vec::new() });
    let rendered = Inspector::new(Ok(bus), Err(away())).usage(&filter).await.unwrap();
    assert_eq!(rendered.found, [content("ClusterProfile/p", "default/b")]);
    assert!(rendered.missing[0].contains("of a test"), "{:?}", rendered.missing);
}
