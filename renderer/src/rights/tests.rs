#![allow(clippy::unwrap_used)]

use sluice_api::{Gvk, ServiceAccount};
use sluice_kube::fake_api::FakeApi;

use super::*;

fn question(kind: &str, name: &str) -> Question {
    let account = ServiceAccount { namespace: "team-a".into(), name: "deployer".into() };
    let gvk = if kind == "Thing" { Gvk::new("example.com", "v1", kind) } else { Gvk::new("", "v1", kind) };
    Question { account, object: ObjectKey { gvk, namespace: "n".into(), name: name.into() } }
}

fn answer(allowed: bool) -> (u16, String) {
    (201, json!({"status": {"allowed": allowed}}).to_string())
}

async fn told(receiver: &mut mpsc::UnboundedReceiver<ExternalInput>) -> (Question, Right) {
    match receiver.recv().await.unwrap() {
        ExternalInput::Right(question, right) => (question, right),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_review_answers_all_shards_and_says_whose_right_it_is() {
    let server = FakeApi::start(|_| answer(false));
    let tasks = Tasks::default();
    let rights = Rights::start(server.client(), &tasks);
    let ((first, mut one), (second, mut two)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let (first, second) = (rights.inquirer(0, first), rights.inquirer(1, second));
    first.ask(question("Secret", "s"));
    assert_eq!(told(&mut one).await, (question("Secret", "s"), Right::Denied));
    second.ask(question("Secret", "s"));
    assert_eq!(told(&mut two).await.1, Right::Denied);
    let requests = server.requests();
    assert_eq!((requests.len(), requests[0].path.as_str()), (1, REVIEWS));
    let review: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(review["spec"]["user"], "system:serviceaccount:team-a:deployer");
    assert_eq!(review["spec"]["groups"][1], "system:serviceaccounts:team-a");
    let attributes = json!({"verb": "get", "group": "", "version": "v1", "resource": "secrets", "namespace": "n", "name": "s"});
    assert_eq!(review["spec"]["resourceAttributes"], attributes);
    first.unask(&question("Secret", "s"));
    assert_eq!(lock(&rights.asked).len(), 1, "the other shard still asks");
    drop(second);
    assert!(lock(&rights.asked).is_empty());
}

#[test]
fn it_is_asked_again_and_an_answer_that_cannot_be_had_anew_stays() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (asked, now) = (question("ConfigMap", "c"), Instant::now());
    let mut one = Asked { readers: HashMap::from([(0, sender)]), known: None, due: now };
    let away = || Right::Unavailable("503".into());
    let mut told = |right: Right| {
        one.set(&asked, right, now);
        let told = receiver.try_recv().ok().map(|input| match input {
            ExternalInput::Right(_, right) => right,
            other => panic!("{other:?}"),
        });
        (told, one.due - now)
    };
    assert_eq!(told(away()), (Some(away()), RETRY));
    assert_eq!(told(Right::Granted), (Some(Right::Granted), AGAIN));
    assert_eq!(told(Right::Granted), (None, AGAIN));
    assert_eq!(told(away()), (None, RETRY));
    assert_eq!(told(Right::Denied), (Some(Right::Denied), RETRY));
    assert_eq!(told(away()), (None, RETRY));
}

#[tokio::test]
async fn kinds_are_called_as_the_cluster_calls_them() {
    let resources = json!({"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources":
        [{"name": "thingies", "kind": "Thing", "namespaced": false, "singularName": "", "verbs": []}]});
    let server = FakeApi::start(move |request| match request.path.as_str() {
        REVIEWS => answer(true),
        _ => (200, resources.to_string()),
    });
    let right = ask(&server.client(), &question("Thing", "t")).await;
    let requests = server.requests();
    let review: Value = serde_json::from_str(&requests[1].body).unwrap();
    let attributes = &review["spec"]["resourceAttributes"];
    assert_eq!(
        (right, &attributes["resource"], attributes.get("namespace")),
        (Right::Granted, &json!("thingies"), None)
    );
}
