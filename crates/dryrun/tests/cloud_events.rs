//! CloudEvents in the folder of a cluster.
#![allow(clippy::unwrap_used)]

use sluice_dryrun::{Input, Output, build_at};

const MANAGEMENT: &str = "
apiVersion: lib.projectsveltos.io/v1beta1
kind: SveltosCluster
metadata: {name: c, namespace: default, labels: {env: fv}}
spec: {}
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventSource
metadata: {name: orders}
spec:
  messagingMatchCriteria:
  - subject: ^orders
    cloudEventType: ^shop
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {name: orders}
spec:
  sourceClusterSelector: {matchLabels: {env: fv}}
  eventSourceName: orders
  oneForEvent: true
  cloudEventAction: '{{ if eq .CloudEvent.type \"shop.closed\" }}Delete{{ else }}Create{{ end }}'
  policyRefs: [{kind: ConfigMap, namespace: default, name: order}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: order, namespace: default, annotations: {projectsveltos.io/instantiate: ok}}
data:
  a: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: '{{ .CloudEvent.subject }}'}
    data: {id: '{{ .CloudEvent.id }}', items: '{{ .CloudEvent.data.items }}'}
";

fn event(subject: &str, id: u32, kind: &str, channel: &str) -> String {
    format!(
        "specversion: '1.0'\nid: '{id}'\nsource: /shop\nsubject: {subject}\ntype: {kind}\nnatssubject: {channel}\ndata: {{items: 3}}\n---\n"
    )
}

fn read(place: &str, text: &str) -> Result<Input, String> {
    let dir = tempfile::tempdir().unwrap();
    let cluster = dir.path().join("clusters/default/c");
    std::fs::create_dir_all(&cluster).unwrap();
    std::fs::write(dir.path().join("management.yaml"), MANAGEMENT).unwrap();
    std::fs::write(dir.path().join(place), text).unwrap();
    Input::read(dir.path()).map_err(|error| error.to_string())
}

fn built(events: &[String]) -> Output {
    build_at(&read("clusters/default/c/events.yaml", &events.concat()).unwrap(), 0)
}

fn data(output: &Output) -> Vec<String> {
    output.clusters["default/c"].iter().map(|object| object["data"].to_string()).collect()
}

#[test]
fn the_last_event_of_each_source_and_subject_that_is_selected_counts() {
    let output = built(&[
        event("a", 1, "shop.opened", "orders.eu"),
        event("b", 2, "shop.opened", "orders"),
        event("a", 3, "shop.changed", "orders.us"),
        event("a", 4, "else", "orders"),
        event("a", 5, "shop.opened", "others"),
    ]);
    assert!(output.problems.is_empty(), "{:?}", output.problems);
    assert_eq!(data(&output), [r#"{"id":"3","items":"3"}"#, r#"{"id":"2","items":"3"}"#]);
}

#[test]
fn an_event_that_deletes_is_the_end_until_another_one_comes() {
    let closed = [event("a", 1, "shop.opened", "orders"), event("a", 2, "shop.closed", "orders")];
    assert!(data(&built(&closed)).is_empty());
    let again = [closed.to_vec(), vec![event("a", 3, "shop.opened", "orders")]].concat();
    assert_eq!(data(&built(&again)).len(), 1);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let lacking = event("a", 1, "shop.opened", "orders").replace("id:", "ident:");
    let error = read("clusters/default/c/events.yaml", &lacking).unwrap_err();
    assert!(error.contains("document 1 (CloudEvent): id: is required"), "{error}");
    let wild = event("a", 1, "shop.opened", "orders.*");
    let error = read("clusters/default/c/events.yaml", &wild).unwrap_err();
    assert!(error.contains("natssubject: \"orders.*\" is no subject"), "{error}");
    let error = read("events.yaml", &event("a", 1, "shop.opened", "orders")).unwrap_err();
    assert!(error.contains("put it below clusters/"), "{error}");
}
