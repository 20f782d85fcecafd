//! Replicated streams: three servers, and what a publisher and a reader of them meet.

use std::collections::BTreeSet;

use sluice_protocol::Shard;

use super::*;
use crate::layout::admin::{check, scale};

/// Three servers that know each other.
struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    fn start() -> Self {
        // Each port is held until the last is known: the system gives one that was let go again.
        let free: Vec<_> = (0..6).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let free: Vec<u16> = free.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        let (ports, _) = free.as_chunks::<2>();
        let routes: Vec<String> =
            ports.iter().map(|[_, route]| format!("\"nats://127.0.0.1:{route}\"")).collect();
        let start = |(index, [port, route]): (usize, &[u16; 2])| {
            let dir = tempfile::tempdir().unwrap();
            let text = format!(
                "server_name: \"n{index}\"\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {:?} }}\ncluster {{ name: \"c\", listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                dir.path().join("store"),
                routes.join(", ")
            );
            let file = dir.path().join("nats.conf");
            std::fs::write(&file, text).unwrap();
            let child = spawn(&["-c".into(), file.display().to_string()]);
            Server { child, dir, url: format!("nats://127.0.0.1:{port}") }
        };
        Self { servers: ports.iter().enumerate().map(start).collect() }
    }

    fn options(&self) -> BusOptions {
        let urls: Vec<&str> = self.servers.iter().map(|server| server.url.as_str()).collect();
        let connection = Connection::plain(urls.join(","));
        let ttl = Duration::from_secs(60);
        BusOptions {
            connection,
            name: "test".into(),
            shards: 2,
            replicas: 3,
            tombstone_ttl: ttl,
            keys: BusKeys::default(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replicated_bus_is_laid_out_by_all_at_once_and_takes_groups() {
    let cluster = Cluster::start();
    // Eight processes, while the servers still elect.
    let options = cluster.options();
    let tasks = Tasks::default();
    let connecting = (0..8).map(|_| Bus::connect(&options, &tasks));
    let mut buses: Vec<Bus> =
        futures::future::join_all(connecting).await.into_iter().map(Result::unwrap).collect();
    let bus = buses.pop().unwrap();
    assert!(bus.is_replicated(&Table::Desired.stream(Shard::FIRST)));
    same_as_in_memory(&bus).await;

    let fence = fence("00");
    let Claimed::At(first) = claim_as(&bus, &fence, "a", 1, None).await else { panic!() };
    let many: Vec<Publish> = (0..1000).map(|row| self::row(&format!("p{row}"), Some("1"))).collect();
    let sent = send(&bus, &many, &fence, first).await;
    assert_eq!(sent.answer, Some(PublishOutcome::Stored(first.after_more(1000))));
    let added = rows(&bus).await.into_iter().filter(|(profile, ..)| profile.starts_with('p')).count();
    assert_eq!(added, 1000);

    // A second conditional message while one is in process is held, and nothing of it is stored.
    // Many leave at once, so that they arrive while the first is being replicated.
    let late = [row("late", Some("1"))];
    let mut held = false;
    for _ in 0..20 {
        let sent = futures::future::join_all((0..50).map(|_| send(&bus, &late, &fence, first))).await;
        for sent in &sent {
            assert!(
                matches!(sent.answer, Some(PublishOutcome::Stored(_) | PublishOutcome::NotStored(_))),
                "{sent:?}"
            );
            held |= sent.answer.as_ref().is_some_and(PublishOutcome::is_in_process);
        }
    }
    assert!(held, "the server takes one conditional message at a time");

    // A renewed fence refuses what was sent under the former one, however late it comes.
    let Claimed::At(second) = claim_as(&bus, &fence, "a", 2, Some(first)).await else { panic!() };
    assert_eq!(claim_as(&bus, &fence, "a", 2, Some(first)).await, Claimed::At(second), "the same claim");
    assert_eq!(send(&bus, &many, &fence, first).await.answer, Some(PublishOutcome::Replaced(second)));
    assert_eq!(put(&bus, &row("p1", Some("2")), &fence, second).await, Some(second.next()));

    // Another owner takes the fence from the first, and is known by name.
    let Claimed::At(third) = claim_as(&bus, &fence, "bb", 1, None).await else { panic!() };
    assert!(third > second);
    let refused = claim_as(&bus, &fence, "a", 3, Some(second)).await;
    assert_eq!(refused, Claimed::Refused(Stop::Deposed, Some("bb".into())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_goes_on_where_it_was_when_its_consumer_is_gone() {
    let cluster = Cluster::start();
    let bus = Bus::connect(&cluster.options(), &Tasks::default()).await.unwrap();
    let fence = fence("00");
    let Claimed::At(sequence) = claim_as(&bus, &fence, "a", 1, None).await else { panic!() };
    let spec = ReadSpec::some(Table::Desired.stream(Shard::FIRST), vec!["desired.00.*.*.*".into()]);
    let mut reader = read(&bus, &spec).await.unwrap();
    let (mut seen, mut rows) = (BTreeSet::new(), 0);
    for round in 0..4 {
        for number in 0..50 {
            let name = format!("p{round}-{number}");
            put(&bus, &row(&name, Some("1")), &fence, sequence).await.unwrap();
        }
        while seen.len() < (round + 1) * 50 {
            match reader.next().await.unwrap() {
                ReadEvent::Row(row, _) => {
                    rows += 1;
                    seen.insert(row.sequence);
                }
                ReadEvent::CaughtUp(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let stream = bus.js.get_stream(&spec.stream).await.unwrap();
        let names: Vec<String> = futures::TryStreamExt::try_collect(stream.consumer_names()).await.unwrap();
        assert_eq!((names.len(), bus.consumers()), (1, 1), "the former one was deleted");
        stream.delete_consumer(&names[0]).await.unwrap();
    }
    assert_eq!(rows, 200, "nothing comes twice");
    drop(reader);
    assert_eq!(bus.consumers(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_bus_gets_more_replicas_and_its_operator_sees_what_is_wrong() {
    let mut cluster = Cluster::start();
    let options = BusOptions { replicas: 1, ..cluster.options() };
    let bus = Bus::connect(&options, &Tasks::default()).await.unwrap();
    let fence = fence("00");
    let sequence = claim(&bus, &fence).await;
    put(&bus, &row("x", Some("1")), &fence, sequence).await.unwrap();
    let report = check(&options).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.servers.len(), report.owners["renderer"]["test"]), (3, 1));
    assert!(report.api_level > 0 && report.servers.iter().all(|server| server.version.starts_with("2.")));

    let mut changed = Vec::new();
    let count = scale(&options.connection, 3, |stream| changed.push(stream.to_owned())).await.unwrap();
    assert_eq!((count, changed.len()), (13, 13), "{changed:?}");
    assert_eq!(scale(&options.connection, 3, |_| {}).await.unwrap(), 0, "it is so already");
    // What was written is there, and the same fence holds.
    put(&bus, &row("y", Some("1")), &fence, sequence).await.unwrap();
    assert_eq!(rows(&bus).await.len(), 2);
    let mut led = std::collections::BTreeMap::<String, usize>::new();
    for stream in check(&options).await.unwrap().streams {
        assert_eq!((stream.replicas, stream.current), (3, 3), "{stream:?}");
        *led.entry(stream.leader.unwrap()).or_default() += 1;
    }
    assert!(led.len() == 3 && led.values().all(|&streams| streams <= 6), "leaders are spread: {led:?}");

    let gone = cluster.servers.pop().unwrap();
    let url = gone.url.clone();
    drop(gone);
    let report = check(&options).await.unwrap();
    assert!(report.problems.iter().any(|problem| problem.contains(&url)), "{:?}", report.problems);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_do_not_answer_for_a_moment_are_asked_for_again() {
    let mut cluster = Cluster::start();
    let mut options = BusOptions { replicas: 1, ..cluster.options() };
    let bus = Bus::connect(&options, &Tasks::default()).await.unwrap();
    let settings = bus.js.get_stream("KV_sluice").await.unwrap();
    let leader = settings.cached_info().cluster.as_ref().unwrap().leader.clone().unwrap();
    let leader = leader.strip_prefix('n').unwrap().parse::<usize>().unwrap();
    let others: Vec<&str> =
        (0..3).filter(|&index| index != leader).map(|index| cluster.servers[index].url.as_str()).collect();
    options.connection = Connection::plain(others.join(","));

    // The node with the only copy of the settings is away while they are asked for.
    cluster.servers[leader].child.kill().unwrap();
    cluster.servers[leader].child.wait().unwrap();
    let back = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let file = cluster.servers[leader].dir.path().join("nats.conf");
        cluster.servers[leader].child = spawn(&["-c".into(), file.display().to_string()]);
    };
    let (scaled, report, ()) = tokio::join!(scale(&options.connection, 1, |_| {}), check(&options), back);
    assert_eq!(scaled.unwrap(), 0, "it is so already");
    let problems = report.unwrap().problems;
    assert!(problems.iter().all(|problem| !problem.contains("laid out")), "{problems:?}");
}

#[tokio::test]
async fn more_replicas_than_servers_are_refused_with_the_remedy() {
    let server = Server::start();
    let bus = bus(&server).await;
    let error = scale(&options(&server).connection, 3, |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("as many servers"), "{error}");
    assert!(!bus.is_replicated(&Table::Desired.stream(Shard::FIRST)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_to_one_server_stays_with_it() {
    let mut cluster = Cluster::start();
    let connection = cluster.options().connection;
    let first = connection.to_each().remove(0);
    let (moving, staying) = (first.client("moving").await.unwrap(), first.staying("staying").await.unwrap());
    // The servers have told of each other.
    let knows_all = || moving.server_info().connect_urls.len() >= 2;
    while !knows_all() {
        moving.force_reconnect().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.servers[0].child.kill().unwrap();
    while moving.server_info().server_name == "n0" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(staying.server_info().server_name, "n0");
    assert!(tokio::time::timeout(Duration::from_secs(2), staying.flush()).await.is_err(), "there is nobody");
    assert_eq!(staying.server_info().server_name, "n0");
}
