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

async fn told(receiver: &mut mpsc::UnboundedReceiver<ExternalInput>) -> (Question, Right, u64) {
    match receiver.recv().await.unwrap() {
        ExternalInput::Right(question, right, asked) => (question, right, asked),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_review_answers_all_shards_and_says_whose_right_it_is() {
    let server = FakeApi::start(|_| answer(false));
    let tasks = Tasks::default();
    let rights = Rights::start(server.client(), &tasks);
    let ((first, mut one), (second, mut two)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let (first, second) = (rights.inquirer(Shard::FIRST, first), rights.inquirer(Shard::new(1), second));
    first.ask(question("Secret", "s"), 3);
    second.ask(question("Secret", "s"), 4);
    assert_eq!(told(&mut one).await, (question("Secret", "s"), Right::Denied, 3));
    assert_eq!(told(&mut two).await, (question("Secret", "s"), Right::Denied, 4));
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

#[tokio::test]
async fn what_is_asked_anew_is_answered_anew() {
    let server = FakeApi::start(|_| answer(true));
    let tasks = Tasks::default();
    let rights = Rights::start(server.client(), &tasks);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let shard = rights.inquirer(Shard::FIRST, sender);
    for number in [1, 2, 3] {
        shard.ask(question("Secret", "s"), number);
        assert_eq!(told(&mut receiver).await, (question("Secret", "s"), Right::Granted, number));
    }
    assert_eq!(server.requests().len(), 3, "no answer of before");
}

fn reader(asked: u64) -> (Reader, mpsc::UnboundedReceiver<ExternalInput>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Reader { sender, asked, told: None }, receiver)
}

fn heard(receiver: &mut mpsc::UnboundedReceiver<ExternalInput>) -> Option<(Right, u64)> {
    receiver.try_recv().ok().map(|input| match input {
        ExternalInput::Right(_, right, asked) => (right, asked),
        other => panic!("{other:?}"),
    })
}

#[test]
fn it_is_asked_again_and_an_answer_that_cannot_be_had_anew_stays() {
    let (asked, now) = (question("ConfigMap", "c"), Instant::now());
    let (reader, mut receiver) = reader(1);
    let mut one = Asked { readers: HashMap::from([(Shard::FIRST, reader)]), due: now };
    let away = || Right::Unavailable("503".into());
    let mut told = |right: Right| {
        let numbers = one.numbers();
        one.set(&asked, &numbers, &right, now);
        (heard(&mut receiver).map(|(right, _)| right), one.due - now)
    };
    assert_eq!(told(away()), (Some(away()), RETRY));
    assert_eq!(told(Right::Granted), (Some(Right::Granted), AGAIN));
    assert_eq!(told(Right::Granted), (None, AGAIN));
    assert_eq!(told(away()), (None, RETRY));
    assert_eq!(told(Right::Denied), (Some(Right::Denied), RETRY));
    assert_eq!(told(away()), (None, RETRY));
}

#[test]
fn questions_that_come_while_an_answer_is_on_its_way_are_one_more() {
    let (asked, now) = (question("ConfigMap", "c"), Instant::now());
    let ((first, mut one), (second, mut two)) = (reader(1), reader(1));
    let mut all = Asked { readers: HashMap::from([(Shard::FIRST, first)]), due: now };
    let numbers = all.numbers();
    // Another shard begins, and the first asks anew, again and again.
    all.readers.insert(Shard::new(1), second);
    for number in 2..100 {
        all.readers.get_mut(&Shard::FIRST).unwrap().asked = number;
    }
    all.set(&asked, &numbers, &Right::Granted, now);
    assert_eq!(
        (heard(&mut one), heard(&mut two)),
        (Some((Right::Granted, 1)), None),
        "nobody else was meant"
    );
    assert_eq!(all.due, now, "at once");
    let numbers = all.numbers();
    all.set(&asked, &numbers, &Right::Unavailable("503".into()), now);
    let away = |number| Some((Right::Unavailable("503".into()), number));
    assert_eq!((heard(&mut one), heard(&mut two)), (away(99), away(1)), "what was known was of before");
    let numbers = all.numbers();
    all.set(&asked, &numbers, &Right::Granted, now);
    assert_eq!(heard(&mut one), Some((Right::Granted, 99)));
    assert_eq!(all.due, now + AGAIN);
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
