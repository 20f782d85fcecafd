#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_api::Gvk;
use sluice_kube::fake_api::FakeApi;

use super::*;

const NOT_FOUND: &str =
    r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}"#;
const GROUPS: &str = r#"{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}"#;

type Said = (u16, &'static str);

/// What comes of a deletion when the server gives these answers, and then fails.
async fn delete(answers: Vec<Said>) -> Outcome {
    let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary");
    let key = ObjectKey { gvk, namespace: "default".into(), name: "s".into() };
    drop(crate::install_defaults());
    let server = FakeApi::start(move |request| {
        let (status, body) = answers.get(request.number).copied().unwrap_or((500, ""));
        (status, body.to_owned())
    });
    Outcome::of(write(&server.client(), "test", &key, &PendingWrite::Gone, false).await, &key)
}

#[tokio::test]
async fn what_the_server_says_is_absent_need_not_be_deleted() {
    assert!(matches!(delete(vec![(404, NOT_FOUND)]).await, Outcome::Written));
}

#[tokio::test]
async fn the_404_of_a_proxy_deletes_nothing() {
    let proxy = (404, "<html>no upstream</html>");
    assert!(!matches!(delete(vec![proxy, proxy, proxy]).await, Outcome::Written));
}

#[tokio::test]
async fn there_is_no_object_of_a_kind_that_discovery_does_not_know() {
    let unknown = (404, "404 page not found");
    assert!(matches!(delete(vec![unknown, unknown, (200, GROUPS)]).await, Outcome::Written));
}

/// What the server is asked when this is written; it answers everything with this status, and the object.
async fn asked(
    name: &str,
    pending: PendingWrite,
    status: u16,
) -> (Outcome, Vec<sluice_kube::fake_api::Request>) {
    drop(crate::install_defaults());
    let server = FakeApi::start(move |request| match status {
        200 => (200, if request.body.is_empty() { "{}".to_owned() } else { request.body.clone() }),
        code => (
            code,
            format!(
                r#"{{"kind": "Status", "status": "Failure", "message": "no", "reason": "x", "code": {code}}}"#
            ),
        ),
    });
    let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary");
    let key = ObjectKey { gvk, namespace: "default".into(), name: name.into() };
    let outcome = Outcome::of(write(&server.client(), "test", &key, &pending, false).await, &key);
    (outcome, server.requests())
}

fn object(text: &str) -> PendingWrite {
    PendingWrite::of(serde_json::from_str(text).unwrap())
}

#[tokio::test]
async fn an_objects_status_is_written_after_it_by_itself() {
    let pending = object(
        r#"{"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterSummary", "metadata": {"name": "s"}, "spec": {"a": 1}, "status": {"b": 2}}"#,
    );
    let (outcome, requests) = asked("s", pending, 200).await;
    assert!(matches!(outcome, Outcome::Written), "{outcome:?}");
    let paths: Vec<_> = requests.iter().map(|request| request.path.split('?').next().unwrap()).collect();
    let path = "/apis/config.projectsveltos.io/v1beta1/namespaces/default/clustersummaries/s";
    assert_eq!(paths, [path, &format!("{path}/status")]);
    let bodies: Vec<Value> =
        requests.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    assert_eq!((bodies[0].get("status"), &bodies[0]["spec"]), (None, &json!({"a": 1})));
    assert_eq!((bodies[1].get("spec"), &bodies[1]["status"]), (None, &json!({"b": 2})));
    assert!(requests.iter().all(|request| request.path.contains("fieldManager=test")));
}

#[tokio::test]
async fn a_status_that_says_nothing_is_left_out_as_a_whole() {
    let (_, requests) = asked("s", PendingWrite::Status("{}".into(), None), 200).await;
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(
        body,
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterSummary", "metadata": {"name": "s"}})
    );
    assert_eq!(requests.len(), 1, "the object itself is somebody else's");
}

/// What the server is asked where a ClusterProfile with these labels is there, and what comes of it.
async fn asked_of_a_profile(labels: &'static str, pending: PendingWrite) -> (Outcome, Vec<(String, bool)>) {
    drop(crate::install_defaults());
    let server = FakeApi::start(move |request| {
        if request.body.contains("\"resourceVersion\":\"1\"") {
            return (
                409,
                r#"{"kind": "Status", "status": "Failure", "message": "no", "code": 409}"#.to_owned(),
            );
        }
        let there = format!(
            r#"{{"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {{"name": "p", "uid": "u1", "labels": {labels}}}}}"#
        );
        (200, there)
    });
    let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterProfile");
    let key = ObjectKey { gvk, namespace: String::new(), name: "p".into() };
    let outcome = Outcome::of(write(&server.client(), "test", &key, &pending, false).await, &key);
    let asked =
        server.requests().into_iter().map(|request| (request.method, request.body.contains("\"u1\"")));
    (outcome, asked.collect())
}

#[tokio::test]
async fn a_profile_that_a_user_wrote_is_neither_written_over_nor_deleted() {
    let made = || {
        object(
            r#"{"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"}}"#,
        )
    };
    let of = |asked: Vec<(String, bool)>| asked.into_iter().map(|(method, _)| method).collect::<Vec<_>>();
    let own = r#"{"eventtrigger.lib.projectsveltos.io/clustername": "c"}"#;
    let (outcome, asked) = asked_of_a_profile("{}", made()).await;
    assert!(matches!(outcome, Outcome::Failed), "the renderer will hear of it: {outcome:?}");
    assert_eq!(of(asked), ["PATCH", "GET"]);
    let (outcome, asked) = asked_of_a_profile(own, made()).await;
    assert!(matches!(outcome, Outcome::Written), "{outcome:?}");
    assert_eq!(of(asked), ["PATCH", "GET", "PATCH"]);
    let (outcome, asked) = asked_of_a_profile("{}", PendingWrite::Gone).await;
    assert!(matches!(outcome, Outcome::Written), "{outcome:?}");
    assert_eq!(of(asked), ["GET"]);
    let (_, asked) = asked_of_a_profile(own, PendingWrite::Gone).await;
    assert_eq!(asked, [("GET".to_owned(), false), ("DELETE".to_owned(), true)], "that one and no later one");
}

#[tokio::test]
async fn what_the_server_refuses_waits_and_what_it_cannot_do_now_is_tried_again() {
    let minimal = || object(r#"{"metadata": {"name": "s"}}"#);
    let (refused, _) = asked("s", minimal(), 403).await;
    assert!(matches!(&refused, Outcome::Refused(why) if why.contains("allow it to the user")), "{refused:?}");
    let (conflict, _) = asked("s", minimal(), 409).await;
    assert!(matches!(conflict, Outcome::Failed), "{conflict:?}");
    let (broken, requests) = asked("s", PendingWrite::Object("{".into(), None), 200).await;
    assert!(matches!(broken, Outcome::Failed) && requests.is_empty(), "{broken:?}");
}

#[tokio::test]
async fn the_projector_writes_the_newest_wish_once_and_tells_what_is_refused() {
    use crate::kit::{self, Server};
    let (bus, tasks) = (Server::start(), sluice_tasks::Tasks::default());
    let context = kit::context(&bus, sluice_protocol::Role::Renderer, &tasks).await;
    let mut problems =
        sluice_bus::problem_feed(&context.bus, tokio_util::sync::CancellationToken::new()).subscribe();
    let server = FakeApi::start(|request| match request.path.contains("refused") {
        true => (
            403,
            r#"{"kind": "Status", "status": "Failure", "message": "forbidden", "code": 403}"#.to_owned(),
        ),
        false => (200, request.body.clone()),
    });
    let projector = Projector::start(&context, server.client(), "test");
    let key = |name: &str| ObjectKey {
        gvk: Gvk::new("", "v1", "ConfigMap"),
        namespace: "default".into(),
        name: name.into(),
    };
    let map = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": text}});
    for text in ["1", "2", "3"] {
        projector.project(key("x"), Some(map(text)));
    }
    projector.project(key("refused"), Some(map("1")));
    let told = kit::told(&mut problems, |row| row.object == "projections of kind ConfigMap").await;
    assert!(told.error.contains("refused cannot be written: forbidden"), "{told:?}");
    let written = || -> Vec<String> {
        let of_x = |request: &sluice_kube::fake_api::Request| request.path.contains("configmaps/x");
        let text = |request: sluice_kube::fake_api::Request| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            body["data"]["a"].as_str().unwrap().to_owned()
        };
        server.requests().into_iter().filter(of_x).map(text).collect()
    };
    kit::until(|| written().last().map(String::as_str) == Some("3")).await;
    let before = written().len();
    projector.project(key("x"), Some(map("3")));
    projector.project(key("y"), Some(map("1")));
    kit::until(|| server.requests().iter().any(|request| request.path.contains("configmaps/y"))).await;
    assert_eq!(written().len(), before, "it is so already");
    tasks.stop().cancel();
}
