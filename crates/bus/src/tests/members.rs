//! What replicas of a stage hear of each other over real servers.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use sluice_protocol::{Role, subject};

use super::*;
use crate::kit::until;
use crate::membership::own_agents::OwnAgents;
use crate::membership::roll_call::roll_call;

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("fleet", "edge-1")
}

#[tokio::test]
async fn an_agent_of_one_cluster_is_heard_by_those_that_serve_all() {
    let server = Server::start();
    let bus = bus(&server).await;
    let all = OwnAgents::listen(&bus);
    assert!(all.clusters().is_empty());
    let (stop, own) = (CancellationToken::new(), Role::Agent(Some(cluster())));
    let agent = Membership::join(&bus, &own.group(), "own", stop.clone()).unwrap();
    until(|| all.clusters() == [cluster()].into()).await;
    // Deployers are told apart from agents.
    let deployers = OwnAgents::listen_to_deployers(&bus, Duration::from_secs(60));
    let group = Role::Deployer(Some(cluster())).group();
    let deployer = Membership::join(&bus, &group, "own", stop.clone()).unwrap();
    until(|| deployers.clusters() == [cluster()].into()).await;
    stop.cancel();
    agent.left().await;
    deployer.left().await;
}

#[tokio::test]
async fn who_claims_a_shard_ends_the_lease_of_the_other_who_has_it() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stop = CancellationToken::new();
    let names = ["a", "b"];
    let [a, b] = names.map(|name| Membership::join(&bus, "matcher", name, stop.clone()).unwrap());
    until(|| a.live() == 2 && b.live() == 2 && a.lease("0").is_held() && b.lease("0").is_held()).await;
    let (of_a, beside) = (a.lease("0"), a.lease("1"));
    b.lease("0").claimed();
    until(|| !of_a.is_current()).await;
    assert!(beside.is_held(), "only that shard");
    assert!(a.lease("0").is_held(), "a new lease of it can be had");
    stop.cancel();
}

#[tokio::test]
async fn who_is_asked_who_lives_says_so() {
    let server = Server::start();
    let bus = bus(&server).await;
    let client = bus.js.client();
    // Says nothing unless it is asked.
    let mut asked = client.subscribe(subject::ROLL_CALL).await.unwrap();
    let answers = async {
        asked.next().await.unwrap();
        let word = format!("beat 1 1 0 @{}", crate::codec::ROW_FORMAT);
        client.publish(subject::members_subject("matcher", Some("silent")), word.into()).await.unwrap();
    };
    let silent = BTreeSet::from(["silent".to_owned()]);
    let (heard, ()) = tokio::join!(roll_call(&bus, |heard| !heard.is_empty()), answers);
    assert_eq!(heard.unwrap(), [("matcher".to_owned(), silent)].into());
    let stop = CancellationToken::new();
    let matcher = Membership::join(&bus, "matcher", "a", stop.clone()).unwrap();
    until(|| matcher.live() == 1).await;
    let heard = roll_call(&bus, |heard| heard.len() > 1).await.unwrap();
    assert_eq!(
        heard["matcher"],
        ["a".to_owned()].into(),
        "who does not answer is waited for, and not made up"
    );
    stop.cancel();
}

#[tokio::test]
async fn words_of_others_that_make_no_sense_are_not_heard() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stop = CancellationToken::new();
    let membership = member(&bus, &stop).await;
    let client = bus.js.client();
    let said = |name: &str, word: &str| {
        let subject = sluice_protocol::subject::members_subject("stage", Some(name));
        client.publish(subject, word.to_owned().into())
    };
    for word in ["", "beat", "dance 1 1 0", "beat 1 1 0 @x"] {
        said("nonsense", word).await.unwrap();
    }
    said("sense", &format!("beat 1 1 0 @{}", crate::codec::ROW_FORMAT)).await.unwrap();
    until(|| membership.live() == 2).await;
    let keys: Vec<String> = (0..64).map(|key| key.to_string()).collect();
    let owned = || keys.iter().filter(|key| membership.owns(key)).count();
    assert!(owned() < keys.len(), "they are shared with the other");
    // One that writes rows which this version cannot read owns all of them.
    said("sense", "beat 1 2 0 @9").await.unwrap();
    until(|| owned() == 0).await;
    said("sense", "leave 1 3 0 @9").await.unwrap();
    until(|| owned() == keys.len()).await;
    stop.cancel();
}

#[tokio::test]
async fn a_server_that_does_not_answer_ends_a_lease_and_its_return_begins_another_one() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stop = CancellationToken::new();
    let membership = member(&bus, &stop).await;
    let lease = membership.lease("0");
    let signal = |name: &str| {
        let id = server.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    until(|| !lease.is_held()).await;
    assert!(lease.is_current(), "nobody has said yet that it is another one");
    signal("-CONT");
    until(|| membership.lease("0").is_held()).await;
    assert!(!lease.is_held() && !lease.is_current());
    stop.cancel();
}
