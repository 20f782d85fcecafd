//! Sealed rows on a real server: who reads them, what a dump of the bus shows, and keys that change.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Body, Core, Incarnation, JournalEntry, Publish, Row, Sequence, Shard, Step, View};
use sluice_tasks::Tasks;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::connection::Connection;
use crate::kit::{Server, Stored, dump, until, with_words, write};
use crate::membership::Membership;
use crate::seal::keys::KeyFiles;
use crate::seal::rotate::{Rotation, retire, rotate};
use crate::shard::observer::{Effects, Observer, Span};
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};
use crate::shard::runner::drive;
use crate::shard::shard_spec::{Outputs, ShardSpec};

const MARKER: &str = "hunter2-in-clear";
const PATIENCE: Duration = Duration::from_secs(60);

fn options(server: &Server, role: Role, keys: Option<&Path>) -> BusOptions {
    BusOptions {
        connection: Connection { role, ..Connection::plain(server.url()) },
        name: "test".into(),
        shards: 1,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(60),
        keys: keys.map_or_else(BusKeys::default, |folder| BusKeys::at(KeyFiles::new(folder))),
    }
}

async fn bus(server: &Server, role: Role, keys: &Path) -> Bus {
    Bus::connect(&options(server, role, Some(keys)), &Tasks::default()).await.unwrap()
}

/// Once writers know the key that this stage reads with.
async fn known(bus: &Bus, stage: &str) {
    let shared = bus.sealing.0.clone().unwrap();
    until(|| shared.feed.get(&stage.to_owned()).is_some_and(|(_, entries)| newest(&entries).is_some())).await;
}

fn desired(profile: &str, body: &str) -> Publish {
    let profile = ProfileId::cluster(profile);
    let subject = Subject::Desired {
        shard: Shard::FIRST,
        cluster: ClusterRef::sveltos("a", "b"),
        origin: Shard::FIRST,
        profile,
    };
    Publish::new(subject, Body::value(body.as_bytes()), 1)
}

fn secret(profile: &str, body: &str) -> Publish {
    desired(profile, body).secret(true)
}

fn with_marker(dump: &[Stored]) -> Vec<&str> {
    with_words(dump, MARKER)
}

/// What a bus reads of the table: the body, or why it cannot be read.
async fn seen(bus: &Bus) -> BTreeMap<String, Result<String, String>> {
    let spec = ReadSpec::some("DESIRED-00".into(), vec!["desired.00.*.*.*".into()]);
    let events = read(bus, &spec).await.unwrap().all().await.unwrap();
    let one = |event| match event {
        ReadEvent::Row(Row { subject: Subject::Desired { profile, .. }, body, .. }, _) => {
            Some((profile.name, Ok(String::from_utf8(body.to_vec()).unwrap())))
        }
        ReadEvent::Unreadable(Row { subject: Subject::Desired { profile, .. }, .. }, _, reason) => {
            Some((profile.name, Err(reason)))
        }
        _ => None,
    };
    events.into_iter().filter_map(one).collect()
}

#[tokio::test]
async fn a_secret_is_read_by_who_is_to_and_is_nowhere_on_the_bus_in_clear() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    known(&renderer, "deployer").await;
    let large = format!("{{\"is\":\"{}\"}}", MARKER.repeat(LARGE / MARKER.len() + 1));
    let small = format!("{{\"is\":\"{MARKER}\"}}");
    let rows =
        [secret("small", &small), secret("large", &large), secret("same", &large), desired("plain", "{}")];
    write(&renderer, rows).await;
    let all = dump(server.url()).await;
    assert_eq!(with_marker(&all), Vec::<&str>::new());
    assert_eq!(
        all.iter().filter(|stored| stored.subject.starts_with("$KV.content.")).count(),
        1,
        "equal content is there once"
    );
    let seen = seen(&deployer).await;
    for (profile, body) in
        [("small", &small), ("large", &large), ("same", &large), ("plain", &"{}".to_owned())]
    {
        assert_eq!(seen[profile].as_ref(), Ok(body), "{profile}");
    }
    // Who has the bus and not the key.
    let stranger = Bus::connect(&options(&server, Role::People, None), &Tasks::default()).await.unwrap();
    let seen = self::seen(&stranger).await;
    let reason = seen["small"].as_ref().unwrap_err();
    assert!(reason.contains("sealed for keys") && reason.contains("--bus-keys"), "{reason}");
    assert!(seen["large"].is_err() && seen["plain"].is_ok());
    // A bus that is not sealed shows it: the marker would be found.
    let clear = Server::start();
    let bus = Bus::connect(&options(&clear, Role::Renderer, None), &Tasks::default()).await.unwrap();
    write(&bus, [secret("small", &small), secret("large", &large)]).await;
    assert_eq!(with_marker(&dump(clear.url()).await).len(), 2);
}

#[tokio::test]
async fn a_sealed_row_that_is_moved_to_another_subject_or_digest_is_unreadable() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    known(&renderer, "deployer").await;
    let large = MARKER.repeat(LARGE / MARKER.len() + 1);
    write(&renderer, [secret("small", MARKER), secret("large", &large)]).await;
    let stream = renderer.js.get_stream("DESIRED-00").await.unwrap();
    for profile in ["small", "large"] {
        let message =
            stream.get_last_raw_message_by_subject(&secret(profile, "").subject.to_string()).await.unwrap();
        let moved = desired(&format!("moved-{profile}"), "").subject.to_string();
        let sent = renderer.js.publish_with_headers(moved, message.headers.clone(), message.payload.clone());
        sent.await.unwrap().await.unwrap();
        let mut headers = message.headers;
        headers.insert("Sluice-Digest", Digest::of(&[b"other"]).to_string());
        let other = desired(profile, "").subject.to_string();
        renderer.js.publish_with_headers(other, headers, message.payload).await.unwrap().await.unwrap();
    }
    let seen = seen(&deployer).await;
    assert_eq!(seen.len(), 4);
    for (profile, found) in seen {
        assert!(found.is_err_and(|reason| reason.contains("not what its writer sealed")), "{profile}");
    }
}

#[tokio::test]
async fn nothing_is_sent_before_its_reader_has_a_key() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let error =
        renderer.sealing.seal("f", (&secret("x", "").subject, &Head::default()), b"{}").err().unwrap();
    let error = format!("{error:?}");
    assert!(error.contains("no deployer") && error.contains("--bus-keys"), "{error}");
    let without = Bus::connect(&options(&server, Role::Deployer(None), None), &Tasks::default()).await;
    let error = without.err().unwrap().to_string();
    assert!(error.contains("sealed") && error.contains("--bus-keys"), "{error}");
    let _deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    known(&renderer, "deployer").await;
    write(&renderer, [secret("x", MARKER)]).await;
    assert!(with_marker(&dump(server.url()).await).is_empty());
}

/// Wants these rows to be there, once it has started.
struct Wants(Vec<Publish>, bool);

impl Core for Wants {
    type External = Publish;
    type Effect = ();

    fn found(&mut self, _: &Subject, _: &Head) {}

    fn view(&self) -> View {
        View::default()
    }

    fn external(&mut self, row: Publish, step: &mut Step<()>) {
        self.0.push(row.clone());
        if self.1 {
            step.publish(row);
        }
    }

    fn start(&mut self, step: &mut Step<()>) {
        self.1 = true;
        self.0.iter().for_each(|row| step.publish(row.clone()));
    }

    fn row(&mut self, _: &Row, _: &mut Step<()>) {}

    fn caught_up(&mut self, _: Sequence, _: &mut Step<()>) {}

    fn tick(&mut self, _: &mut Step<()>) {}
}

struct Nothing;

impl Effects<Wants> for Nothing {
    fn effect(&mut self, (): ()) {}
}

impl Observer for Nothing {
    fn malformed(&self, _: &str, _: &str) {}
    fn unreadable(&self, _: &str, _: &str) {}
    fn read(&self, _: u64) {}
    fn tell(&self, _: JournalEntry) {}
    fn behind(&self, _: Option<&str>) {}
    fn published(&self, _: usize) {}
    fn took(&self, _: Span, _: Duration) {}
    fn too_large(&self, _: &str, _: Option<&str>) {}
}

/// An owner that is begun again whenever it ends, as a supervisor does; how often it ended because of keys.
async fn own(
    bus: &Bus,
    rows: Vec<Publish>,
    news: &mut mpsc::UnboundedReceiver<Publish>,
    ended: &Mutex<usize>,
) {
    let stop = CancellationToken::new();
    let _ends = stop.clone().drop_guard();
    let membership = Membership::join(bus, "stage", "a", stop).unwrap();
    let (owner, filter) = (own_rows::shard_token(Shard::FIRST), "desired.{}.*.*.*".to_owned());
    let outputs = Outputs { table: Table::Desired, owner, own_rows: vec![filter], leaves: false };
    let (spec, mut wanted) = (ShardSpec { outputs, input: None }, rows);
    loop {
        let lease = membership.lease("0");
        while !lease.is_held() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let core = Wants(wanted.clone(), false);
        let (mut effects, observer) = (Nothing, Nothing);
        let mut driven = std::pin::pin!(drive(bus, &lease, &spec, core, receiver, &mut effects, &observer));
        let stopped = loop {
            tokio::select! {
                stopped = &mut driven => break stopped,
                Some(row) = news.recv() => {
                    wanted.push(row.clone());
                    sender.send(row).unwrap();
                }
            }
        };
        assert_eq!(stopped.map(|stop| stop.name()), Some("keys"));
        *ended.lock().unwrap() += 1;
    }
}

/// Waits until a bus reads all of these rows.
async fn reads(bus: &Bus, profiles: &[&str]) {
    let all = async {
        loop {
            let seen = seen(bus).await;
            if profiles.iter().all(|profile| seen.get(*profile).is_some_and(Result::is_ok)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("all rows can be read");
}

#[tokio::test]
async fn rows_from_before_during_and_after_a_rotation_are_read_and_the_former_key_goes() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    let operator = bus(&server, Role::Operator, keys.path()).await;
    known(&renderer, "deployer").await;
    let (store, ended) = (KeyFiles::new(keys.path()), Mutex::new(0));
    let (sender, mut news) = mpsc::unbounded_channel();
    let large = MARKER.repeat(LARGE / MARKER.len() + 1);
    let script = async {
        reads(&deployer, &["before", "large"]).await;
        let first = rotate(&operator, &store, "deployer", PATIENCE);
        let during = async {
            for number in 0..20 {
                sender.send(secret(&format!("during-{number}"), MARKER)).unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let (rotated, ()) = tokio::join!(first, during);
        let Rotation { key, gone, rows } = rotated.unwrap();
        assert_eq!((gone.len(), rows), (1, 0));
        assert_ne!(key, gone[0]);
        sender.send(secret("after", MARKER)).unwrap();
        let all: Vec<String> = (0..20).map(|number| format!("during-{number}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).chain(["before", "large", "after"]).collect();
        reads(&deployer, &all).await;
        // Somebody who begins now has the new key alone.
        reads(&bus(&server, Role::Deployer(None), keys.path()).await, &all).await;
        let nothing = retire(&operator, &store, "deployer", PATIENCE).await.unwrap();
        assert_eq!(nothing, Rotation { key, gone: Vec::new(), rows: 0 });
        assert!(with_marker(&dump(server.url()).await).is_empty());
    };
    let rows = vec![secret("before", MARKER), secret("large", &large), desired("plain", "{}")];
    tokio::select! {
        () = own(&renderer, rows, &mut news, &ended) => unreachable!("it goes on"),
        () = script => {}
    }
    assert!(*ended.lock().unwrap() >= 1, "what was sealed for the former key was sealed anew");
}

#[tokio::test]
async fn what_is_for_a_cluster_is_read_by_the_deployer_in_it_alone_also_what_was_there_before_it_came() {
    let (server, keys, own_keys) =
        (Server::start(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let outside = bus(&server, Role::Deployer(None), keys.path()).await;
    known(&renderer, "deployer").await;
    let ended = Mutex::new(0);
    let (sender, mut news) = mpsc::unbounded_channel();
    let large = MARKER.repeat(LARGE / MARKER.len() + 1);
    let elsewhere = || {
        let Publish { mut subject, .. } = secret("elsewhere", "");
        if let Subject::Desired { cluster, .. } = &mut subject {
            *cluster = ClusterRef::sveltos("a", "other");
        }
        Publish::new(subject, Body::value(MARKER.as_bytes()), 1).secret(true)
    };
    let script = async {
        reads(&outside, &["before", "large", "elsewhere"]).await;
        let of = ClusterRef::sveltos("a", "b");
        let inside = bus(&server, Role::Deployer(Some(of)), own_keys.path()).await;
        reads(&inside, &["before", "large"]).await;
        sender.send(secret("after", MARKER)).unwrap();
        reads(&inside, &["after"]).await;
        let (inside, outside) = (seen(&inside).await, seen(&outside).await);
        assert!(inside["elsewhere"].is_err() && outside["elsewhere"].is_ok());
        for profile in ["before", "large", "after"] {
            assert!(
                outside[profile].as_ref().is_err_and(|reason| reason.contains("sealed for keys")),
                "{profile}"
            );
        }
        assert!(with_marker(&dump(server.url()).await).is_empty());
    };
    let rows = vec![secret("before", MARKER), secret("large", &large), elsewhere()];
    tokio::select! {
        () = own(&renderer, rows, &mut news, &ended) => unreachable!("it goes on"),
        () = script => {}
    }
    assert_eq!(*ended.lock().unwrap(), 1, "what was sealed for others was sealed anew, once");
}

#[tokio::test]
async fn a_bus_whose_settings_are_lost_is_sealed_again_and_its_readers_are_known_again() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    let deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    known(&renderer, "deployer").await;
    let before = renderer.incarnation("KV_sluice");
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_sluice").await.unwrap();
    until(|| ![Incarnation::NONE, before].contains(&renderer.incarnation("KV_sluice"))).await;
    let said = async {
        while recipients::read(&renderer, "deployer").await.map_or(true, |(entries, _)| entries.is_empty()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, said).await.expect("the deployer says its key again");
    assert_eq!(crate::layout::stored(&renderer.js, crate::layout::SEALED).await.unwrap(), Some(2));
    known(&renderer, "deployer").await;
    write(&renderer, [secret("x", MARKER)]).await;
    assert_eq!(seen(&deployer).await["x"].as_deref(), Ok(MARKER));
    assert!(with_marker(&dump(server.url()).await).is_empty());
}

#[tokio::test]
async fn a_stage_whose_keys_are_lost_gets_another_one() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    drop(bus(&server, Role::Deployer(None), keys.path()).await);
    known(&renderer, "deployer").await;
    let operator = bus(&server, Role::Operator, keys.path()).await;
    let (store, ended) = (KeyFiles::new(keys.path()), Mutex::new(0));
    store.remove("deployer", "identity-1").await.unwrap();
    let (_sender, mut news) = mpsc::unbounded_channel();
    let script = async {
        until_rows(&renderer, 1).await;
        let Rotation { gone, rows, .. } = rotate(&operator, &store, "deployer", PATIENCE).await.unwrap();
        assert_eq!((gone, rows), (Vec::new(), 0));
        reads(&bus(&server, Role::Deployer(None), keys.path()).await, &["x"]).await;
    };
    tokio::select! {
        () = own(&renderer, vec![secret("x", MARKER)], &mut news, &ended) => unreachable!("it goes on"),
        () = script => {}
    }
}

#[tokio::test]
async fn a_key_that_comes_late_opens_what_could_not_be_read() {
    let (server, keys, behind) =
        (Server::start(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    drop(bus(&server, Role::Deployer(None), keys.path()).await);
    known(&renderer, "deployer").await;
    write(&renderer, [secret("x", MARKER)]).await;
    // Its folder is a copy, which has an older key: a new one is not there yet.
    let copy = KeyFiles::new(behind.path());
    copy.add("deployer", "identity-1", envelope::Identity::generate()).await.unwrap();
    let deployer = bus(&server, Role::Deployer(None), behind.path()).await;
    let spec = ReadSpec::all("DESIRED-00".into());
    let outputs = Outputs { table: Table::Status, owner: "00".into(), own_rows: Vec::new(), leaves: false };
    let mut watch = SealWatch::of(&deployer, &ShardSpec { outputs, input: Some(spec) }, Vec::new());
    assert!(seen(&deployer).await["x"].is_err());
    let kept = KeyFiles::new(keys.path()).load("deployer").await.unwrap();
    copy.add("deployer", "identity-2", kept["identity-1"].clone()).await.unwrap();
    tokio::time::timeout(PATIENCE, watch.ended()).await.expect("its shard reads again");
    assert_eq!(seen(&deployer).await["x"].as_deref(), Ok(MARKER));
}

#[tokio::test]
async fn equal_secrets_are_not_published_twice_by_a_successor() {
    let (server, keys) = (Server::start(), tempfile::tempdir().unwrap());
    let _deployer = bus(&server, Role::Deployer(None), keys.path()).await;
    let renderer = bus(&server, Role::Renderer, keys.path()).await;
    known(&renderer, "deployer").await;
    let rows = vec![secret("x", MARKER), secret("y", MARKER)];
    let ended = Mutex::new(0);
    let sequences = async |bus: &Bus| {
        let spec = ReadSpec::some("DESIRED-00".into(), vec!["desired.00.*.*.*".into()]);
        let events = read(bus, &spec).await.unwrap().all().await.unwrap();
        let sequence = |event| {
            if let ReadEvent::Row(row, _) | ReadEvent::Unreadable(row, ..) = event {
                row.sequence
            } else {
                Sequence::NONE
            }
        };
        events.into_iter().map(sequence).collect::<Vec<_>>()
    };
    let mut written = Vec::new();
    for owner in [renderer, bus(&server, Role::Renderer, keys.path()).await] {
        let (sender, mut news) = mpsc::unbounded_channel();
        let plain = desired("last", "{}").after_all();
        let script = async {
            // After it, everything that was wanted has been decided.
            sender
                .send(Publish { body: Body::value(format!("{}", written.len()).into_bytes()), ..plain })
                .unwrap();
            until_rows(&owner, 3).await;
            written.push(sequences(&owner).await[..2].to_vec());
        };
        tokio::select! {
            () = own(&owner, rows.clone(), &mut news, &ended) => unreachable!("it goes on"),
            () = script => {}
        }
    }
    assert_eq!(written[0], written[1]);
    assert_eq!(*ended.lock().unwrap(), 0);
}

async fn until_rows(bus: &Bus, count: usize) {
    let all = async {
        while seen(bus).await.len() < count {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("the rows are there");
}
