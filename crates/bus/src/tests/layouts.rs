//! Who lays a bus out, what of it is fixed from then on, and what its operator is told.

use futures::StreamExt as _;
use sluice_protocol::{Epoch, Shard};
use sluice_tasks::End;

use super::*;
use crate::layout::admin::{check, scale};
use crate::layout::audit::{Teller, read_epochs, tell};
use crate::layout::setting;
use crate::layout::wipe::wipe;

async fn connect(options: &BusOptions) -> Result<Bus, String> {
    Bus::connect(options, &Tasks::default()).await.map_err(|error| error.to_string())
}

/// Writes a setting over what is there, as an operator may.
async fn set(bus: &Bus, what: &str, value: &str) {
    bus.js.publish(setting(what), value.to_owned().into()).await.unwrap().await.unwrap();
}

/// The streams that there are.
async fn names(server: &Server) -> Vec<String> {
    let js = Connection::plain(server.url()).jetstream("test").await.unwrap();
    js.stream_names().map(Result::unwrap).collect().await
}

#[tokio::test]
async fn a_bus_has_as_many_shards_as_who_made_it_wanted() {
    let server = Server::start();
    assert_eq!(bus(&server).await.shards(), 2);
    let other = connect(&BusOptions { shards: 5, ..options(&server) }).await.unwrap();
    assert_eq!((other.shards(), other.incarnations_of(Table::Desired).len()), (2, 2));
    assert!(!names(&server).await.contains(&"DESIRED-02".to_owned()));
}

#[tokio::test]
async fn of_two_that_lay_out_a_bus_at_once_one_says_how_it_is() {
    let server = Server::start();
    let [few, many] = [2, 5].map(|shards| BusOptions { shards, ..options(&server) });
    let (one, other) = tokio::join!(connect(&few), connect(&many));
    assert_eq!(one.unwrap().shards(), other.unwrap().shards());
}

#[tokio::test]
async fn a_setting_that_is_no_number_is_named_with_the_remedy() {
    let server = Server::start();
    let bus = bus(&server).await;
    for damaged in ["many", "0", "-1", ""] {
        set(&bus, "shards", damaged).await;
        let error = connect(&options(&server)).await.unwrap_err();
        assert!(error.contains(&format!("shards is {damaged:?}, not a number; delete the key")), "{error}");
    }
}

#[tokio::test]
async fn more_shards_than_there_can_be_are_refused() {
    let server = Server::start();
    set(&bus(&server).await, "shards", "70000").await;
    let error = connect(&options(&server)).await.unwrap_err();
    assert!(error.contains("70000 shards are too many"), "{error}");
}

#[tokio::test]
async fn a_stream_of_a_former_version_gets_what_it_lacks_and_keeps_its_rows() {
    let server = Server::start();
    let first = bus(&server).await;
    let sequence = claim(&first, &fence("00")).await;
    put(&first, &row("x", Some("1")), &fence("00"), sequence).await.unwrap();
    let config = async |name: &str| first.js.get_stream(name).await.unwrap().cached_info().config.clone();
    let mut old = config("DESIRED-00").await;
    old.allow_atomic_publish = false;
    first.js.update_stream(old).await.unwrap();
    let mut old = config("KV_problems").await;
    (old.max_age, old.subject_delete_marker_ttl) = (Duration::ZERO, None);
    first.js.update_stream(old).await.unwrap();
    let second = bus(&server).await;
    assert!(config("DESIRED-00").await.allow_atomic_publish);
    assert_eq!(config("KV_problems").await.max_age, crate::layout::PROBLEM_AGE);
    assert_eq!(rows(&second).await.len(), 1);
}

#[tokio::test]
async fn an_operator_sees_a_bus_that_is_as_it_should_be() {
    let server = Server::start();
    let bus = bus(&server).await;
    let _sequence = claim(&bus, &fence("00")).await;
    let report = check(&options(&server)).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(report.owners["renderer"], [("test".to_owned(), 1)].into());
    assert!(report.owners["deployer"].is_empty());
    let row = report.streams.iter().find(|stream| stream.name == "DESIRED-00").unwrap();
    assert_eq!((row.replicas, row.current, row.lag, row.rows), (1, 1, 0, 1));
}

#[tokio::test]
async fn a_look_at_a_bus_makes_nothing() {
    let server = Server::start();
    let report = check(&options(&server)).await.unwrap();
    assert!(report.problems.iter().any(|problem| problem.contains("has not been laid out")));
    let error = scale(&Connection::plain(server.url()), 1, |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("start a renderer"), "{error}");
    assert_eq!(names(&server).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_stream_that_is_missing_is_named_with_the_remedy() {
    let server = Server::start();
    bus(&server).await.js.delete_stream("REPORTS-01").await.unwrap();
    let report = check(&options(&server)).await.unwrap();
    assert_eq!(report.problems, ["stream REPORTS-01 is missing; a running renderer makes it again"]);
}

#[tokio::test]
async fn a_wipe_takes_what_begins_so_and_nothing_else() {
    let server = Server::start();
    let before = { bus(&server).await.js.stream_names().map(Result::unwrap).collect::<Vec<_>>().await };
    let connection = Connection::plain(server.url());
    assert_eq!(wipe(&connection, "REPORTS-").await.unwrap(), 2);
    assert_eq!(wipe(&connection, "reports").await.unwrap(), 0, "the name as it is");
    let left = names(&server).await;
    assert!(
        left.len() == before.len() - 2 && !left.iter().any(|name| name.starts_with("REPORTS")),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_loss_that_two_tell_of_makes_one_epoch_and_the_next_loss_another() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let (none, first) = (Epoch::FIRST, Epoch::FIRST.next());
    for (known, epoch) in [(none, first), (none, first), (first, first.next())] {
        let told = tell(bus.js.clone(), stream.clone(), known, Teller::Stage).await;
        assert_eq!(told, End::Done);
        let epochs = read_epochs(&bus.js, &[stream.clone(), "REPORTS-00".to_owned()]).await.unwrap();
        assert_eq!(epochs, [(stream.clone(), epoch)].into());
    }
}

#[tokio::test]
async fn whatever_somebody_writes_as_an_epoch_the_next_loss_makes_another_one() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let epoch = async || {
        let epochs = read_epochs(&bus.js, std::slice::from_ref(&stream)).await.unwrap();
        epochs[&stream]
    };
    for written in ["x", "4294967295", "4294967296", "99999999999999999999"] {
        set(&bus, "epoch.DESIRED-00", written).await;
        for _ in 0..2 {
            let before = epoch().await;
            tell(bus.js.clone(), stream.clone(), before, Teller::Stage).await;
            let after = epoch().await;
            assert!(after != before && after > Epoch::FIRST, "{written}: {before} and then {after}");
        }
    }
}
