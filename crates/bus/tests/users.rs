//! What each user of the printed configuration may do, and what it may not, against a real nats-server.
#![allow(clippy::unwrap_used)]

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::{Client, HeaderMap};
use futures::StreamExt as _;
use futures::future::join_all;
use serde_json::{Value, json};
use server::Server;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, BusOptions, Connection, Credentials, ReadSpec, Rights, Seed, accounts, look};
use sluice_protocol::{Capabilities, Incarnation, Role};
use sluice_tasks::Tasks;

/// An answer that has not come by now will not.
const PATIENCE: Duration = Duration::from_millis(1500);
const SHARDS: u16 = 2;
const FIRST: &str = "sveltos:default/cluster-1";
const SECOND: &str = "sveltos:default/cluster-2";

/// A server with the printed configuration, and a key for everybody.
struct Fixture {
    server: Server,
    operator: Client,
    _bus: Bus,
}

impl Fixture {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path(), &["cluster-1", "cluster-2"]);
        let server = Server::start_in(dir, &config);
        let connection = connection(&server, Role::Operator);
        let options = BusOptions {
            connection: connection.clone(),
            name: "test".into(),
            shards: SHARDS,
            replicas: 1,
            tombstone_ttl: Duration::from_secs(60),
            keys: sluice_bus::BusKeys::default(),
        };
        let bus = Bus::connect(&options, &Tasks::default()).await.unwrap();
        let fixture = Self { operator: connection.client("operator").await.unwrap(), server, _bus: bus };
        for subject in [
            format!("changes.00.{FIRST}.-.x"),
            format!("changes.00.{SECOND}.-.x"),
            "reports.00.x".into(),
            "desired.00.x".into(),
            "status.00.x".into(),
            "$KV.interest.sveltos.default.cluster-1".into(),
            "$KV.interest.sveltos.default.cluster-2".into(),
            format!("$KV.content.changes.{FIRST}.0"),
            format!("$KV.content.changes.{SECOND}.0"),
            format!("$KV.content.capabilities.{FIRST}.0"),
            "$KV.content.reports.0".into(),
            "$KV.content.desired.0".into(),
            "$KV.content.status.0".into(),
        ] {
            let body = format!("secret of {subject}");
            let ack = fixture.operator.request(subject, body.into()).await.unwrap();
            assert!(String::from_utf8_lossy(&ack.payload).contains("\"seq\""), "{ack:?}");
        }
        fixture
    }

    async fn client(&self, role: Role) -> Client {
        connection(&self.server, role).client("test").await.unwrap()
    }

    /// Everything that all streams hold.
    async fn rows(&self) -> BTreeMap<String, Value> {
        let names = self.ask("$JS.API.STREAM.NAMES", &json!({})).await;
        let mut rows = BTreeMap::new();
        for name in names["streams"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let info =
                self.ask(&format!("$JS.API.STREAM.INFO.{name}"), &json!({ "subjects_filter": ">" })).await;
            let state = &info["state"];
            rows.insert(name.to_owned(), json!([state["subjects"], state["last_seq"], state["num_deleted"]]));
        }
        rows
    }

    async fn ask(&self, subject: &str, body: &Value) -> Value {
        let answer = self.operator.request(subject.to_owned(), body.to_string().into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }
}

/// The printed configuration, with keys as they are in the folder.
fn config(dir: &std::path::Path, clusters: &[&str]) -> String {
    let clusters: Vec<_> = clusters.iter().map(|name| ClusterRef::sveltos("default", *name).into()).collect();
    accounts(&clusters, SHARDS, |role| {
        let file = file(dir, role);
        let known = std::fs::read_to_string(&file).ok().and_then(|text| Seed::read(&text));
        let seed = known.unwrap_or_else(Seed::new);
        std::fs::write(file, seed.secret()).unwrap();
        seed.public_key()
    })
}

fn file(dir: &std::path::Path, role: &Role) -> PathBuf {
    dir.join(role.to_string().replace(['/', ':'], "_"))
}

fn connection(server: &Server, role: Role) -> Connection {
    let credentials = Credentials::Nkey(file(server.dir.path(), &role));
    Connection { credentials, role, ..Connection::plain(server.url()) }
}

fn agent_of(name: &str) -> Role {
    Role::Agent(Some(ClusterRef::sveltos("default", name)))
}

/// Everybody but the operator, each with its letter in [`requests`].
fn everybody() -> [(char, Role); 7] {
    [
        ('1', agent_of("cluster-1")),
        ('a', Role::Agent(None)),
        ('m', Role::Matcher),
        ('r', Role::Renderer),
        ('d', Role::Deployer(None)),
        ('p', Role::People),
        ('i', Role::Inspect),
    ]
}

/// What can be asked of the server, or be written into a table, and the letters of who may.
fn requests() -> Vec<(String, Value, &'static str)> {
    let none = || json!({});
    let last = |subject: &str| json!({ "last_by_subj": subject });
    let api = |rest: &str| format!("$JS.API.{rest}");
    let interest = |cluster: u8| format!("$KV.interest.sveltos.default.cluster-{cluster}");
    let row = |cluster: &str| format!("changes.00.{cluster}.-.x");
    let body = |home: &str| api(&format!("DIRECT.GET.KV_content.$KV.content.{home}.0"));
    vec![
        // Rows.
        (format!("changes.00.{FIRST}.-.y"), none(), "1a"),
        (format!("changes.01.{FIRST}.~owner"), none(), "1a"),
        (format!("changes.00.{SECOND}.-.y"), none(), "a"),
        ("changes.00.~owner.00".into(), none(), "a"),
        ("reports.00.y".into(), none(), "m"),
        ("desired.00.y".into(), none(), "r"),
        ("status.00.y".into(), none(), "d"),
        (interest(1), none(), "ar"),
        (interest(2), none(), "ar"),
        ("$KV.sluice.y".into(), none(), "r"),
        ("$KV.sluice.epoch.CHANGES-01".into(), none(), "ar"),
        (format!("$KV.sluice.lost.CHANGES-01.{FIRST}"), none(), "1r"),
        (format!("$KV.sluice.lost.CHANGES-01.{SECOND}"), none(), "r"),
        ("$KV.sluice.epoch.REPORTS-01".into(), none(), "mr"),
        ("$KV.sluice.epoch.DESIRED-01".into(), none(), "r"),
        ("$KV.sluice.epoch.STATUS".into(), none(), "dr"),
        (format!("$KV.problems.agent.{FIRST}.y"), none(), "1a"),
        (format!("$KV.problems.agent.{SECOND}.y"), none(), "a"),
        (format!("$KV.problems.matcher.{FIRST}.y"), none(), "m"),
        ("$KV.problems.matcher.-.y".into(), none(), "m"),
        ("$KV.problems.renderer.-.y".into(), none(), "r"),
        ("$KV.problems.deployer.-.y".into(), none(), "d"),
        (format!("$KV.content.changes.{FIRST}.1"), none(), "1a"),
        (format!("$KV.content.changes.{SECOND}.1"), none(), "a"),
        (format!("$KV.content.capabilities.{FIRST}.1"), none(), "1a"),
        (format!("$KV.content.capabilities.{SECOND}.1"), none(), "a"),
        ("$KV.content.reports.1".into(), none(), "m"),
        ("$KV.content.desired.1".into(), none(), "r"),
        ("$KV.content.status.1".into(), none(), "d"),
        ("$KV.content.1".into(), none(), ""),
        // Streams.
        (api("INFO"), none(), "1amrdpi"),
        (api("STREAM.NAMES"), none(), "1amrdpi"),
        (api("STREAM.LIST"), none(), "1amrdpi"),
        // Its answer lists the subjects of all clusters for who asks for them.
        (api("STREAM.INFO.CHANGES-00"), none(), "amrdpi"),
        (api("STREAM.INFO.KV_content"), json!({ "subjects_filter": ">" }), "amrdpi"),
        (api("STREAM.CREATE.OTHER"), none(), "r"),
        (api("STREAM.UPDATE.CHANGES-00"), none(), "r"),
        (api("STREAM.DELETE.CHANGES-00"), none(), ""),
        (api("STREAM.PURGE.CHANGES-00"), none(), ""),
        (api("STREAM.MSG.DELETE.CHANGES-00"), json!({ "seq": 1 }), ""),
        (api("STREAM.SNAPSHOT.CHANGES-00"), json!({ "deliver_subject": "_INBOX.agent.x" }), ""),
        (api("STREAM.LEADER.STEPDOWN.CHANGES-00"), none(), ""),
        // Reading without saying what.
        (api("STREAM.MSG.GET.CHANGES-00"), last(&row(SECOND)), "ami"),
        (api("STREAM.MSG.GET.REPORTS-01"), last("reports.00.x"), "mri"),
        (api("STREAM.MSG.GET.DESIRED-00"), last("desired.00.x"), "rdi"),
        (api("STREAM.MSG.GET.STATUS"), last("status.00.x"), "rdi"),
        (api("STREAM.MSG.GET.KV_interest"), last(&interest(2)), "amrp"),
        (api("STREAM.MSG.GET.KV_problems"), last("$KV.problems.x"), "rpi"),
        (api("STREAM.MSG.GET.KV_content"), last("$KV.content.desired.0"), ""),
        (api("DIRECT.GET.KV_content"), last("$KV.content.desired.0"), ""),
        (api("DIRECT.GET.KV_content"), json!({ "multi_last": [">"] }), ""),
        (api("CONSUMER.CREATE.KV_content.n"), none(), ""),
        (api("CONSUMER.CREATE.KV_content.n.$KV.content.desired.*"), none(), ""),
        (api("DIRECT.GET.CHANGES-00"), last(&row(SECOND)), "ami"),
        (api("DIRECT.GET.CHANGES-00"), json!({ "multi_last": [">"] }), "ami"),
        (api("DIRECT.GET.DESIRED-00"), last("desired.00.x"), "rdi"),
        (api("CONSUMER.CREATE.CHANGES-00"), none(), ""),
        (api("CONSUMER.DURABLE.CREATE.CHANGES-00.n"), none(), ""),
        (api("CONSUMER.CREATE.CHANGES-00.n"), none(), "ami"),
        (api("CONSUMER.CREATE.REPORTS-00.n"), none(), "mri"),
        (api("CONSUMER.CREATE.DESIRED-00.n"), none(), "rdi"),
        (api("CONSUMER.CREATE.STATUS.n"), none(), "rdi"),
        (api("CONSUMER.CREATE.KV_problems.n"), none(), "rpi"),
        (api("CONSUMER.CREATE.KV_sluice.n"), none(), "1amrdpi"),
        (api("CONSUMER.NAMES.CHANGES-00"), none(), ""),
        (api("CONSUMER.LIST.CHANGES-00"), none(), ""),
        // Reading what the subject says.
        (api(&format!("CONSUMER.CREATE.CHANGES-00.n.changes.00.{FIRST}.>")), none(), "1ami"),
        (api(&format!("CONSUMER.CREATE.CHANGES-00.n.changes.00.{SECOND}.>")), none(), "ami"),
        (api("CONSUMER.CREATE.CHANGES-00.n.changes.00.*.>"), none(), "ami"),
        (api("CONSUMER.CREATE.CHANGES-00.n.changes.>"), none(), "ami"),
        (api("CONSUMER.CREATE.CHANGES-00.n.>"), none(), "ami"),
        (api(&format!("CONSUMER.CREATE.CHANGES-00.n.{}", Capabilities::rows().1)), none(), "amri"),
        (api(&format!("CONSUMER.CREATE.KV_interest.n.{}", interest(1))), none(), "1amrp"),
        (api(&format!("CONSUMER.CREATE.KV_interest.n.{}", interest(2))), none(), "amrp"),
        (api("CONSUMER.CREATE.KV_interest.n.$KV.interest.>"), none(), "amrp"),
        (api(&format!("DIRECT.GET.CHANGES-00.{}", row(FIRST))), none(), "1ami"),
        (api(&format!("DIRECT.GET.CHANGES-00.{}", row(SECOND))), none(), "ami"),
        (api(&format!("DIRECT.GET.KV_interest.{}", interest(1))), none(), "1amrp"),
        (api(&format!("DIRECT.GET.KV_interest.{}", interest(2))), none(), "amrp"),
        (body(&format!("changes.{FIRST}")), none(), "1ami"),
        (body(&format!("changes.{SECOND}")), none(), "ami"),
        (body(&format!("capabilities.{FIRST}")), none(), "1ari"),
        (body("reports"), none(), "mri"),
        (body("desired"), none(), "rdi"),
        (body("status"), none(), "rdi"),
        (api("DIRECT.GET.KV_sluice.$KV.sluice.shards"), none(), "1amrdpi"),
        (api("DIRECT.GET.DESIRED-00.desired.00.x"), none(), "rdi"),
    ]
}

/// Whether somebody may ask this, or write it: the server answers what it takes, if only with an error.
async fn is_answered(client: &Client, subject: &str, body: String) -> bool {
    let asked = client.request(subject.to_owned(), body.into());
    matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_user_may_do_what_it_needs_and_nothing_else() {
    let fixture = Fixture::start().await;
    let mut wrong = Vec::new();
    for (letter, role) in everybody() {
        let client = fixture.client(role.clone()).await;
        let tries = requests().into_iter().map(async |(subject, body, who)| {
            let answered = is_answered(&client, &subject, body.to_string()).await;
            (answered != who.contains(letter))
                .then(|| format!("{role}: {subject} {body}: answered {answered}"))
        });
        wrong.extend(join_all(tries).await.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A subject that the pattern matches: what a writer or reader of this kind names.
fn example(pattern: &str) -> String {
    let token = |token: &str| match token {
        "*" => "x".to_owned(),
        ">" => "x.y".to_owned(),
        token => token.to_owned(),
    };
    pattern.split('.').map(token).collect::<Vec<_>>().join(".")
}

/// What anybody may do is tried by everybody; the server lets through what is on the own list, and nothing else. Two clusters
/// have one list with their own names in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_on_the_list_of_others_is_refused() {
    let fixture = Fixture::start().await;
    let rights = |role: &Role| Rights::of(role, SHARDS).unwrap();
    let roles = everybody().map(|(_, role)| role).into_iter().chain([agent_of("cluster-2")]);
    let roles: Vec<Role> = roles.collect();
    // What is said to oneself is heard by nobody else: nobody would tell.
    let silent =
        |pattern: &&String| !["_INBOX.", "members.", "journal."].iter().any(|own| pattern.starts_with(own));
    let all: BTreeSet<String> = roles
        .iter()
        .flat_map(|role| rights(role).publish)
        .filter(|pattern| silent(&pattern) && !pattern.starts_with("$JS.API.CONSUMER.MSG.NEXT"))
        .map(|pattern| example(&pattern))
        .collect();
    assert!(all.len() > 60, "{all:?}");
    let mut wrong = Vec::new();
    for role in &roles {
        let (client, own) = (fixture.client(role.clone()).await, rights(role));
        let tries = all.iter().map(async |subject| {
            let may = own.may_publish(subject);
            let answered = is_answered(&client, subject, "{}".to_owned()).await;
            (answered && !may).then(|| format!("{role}: {subject}"))
        });
        wrong.extend(join_all(tries).await.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_hears_what_is_meant_for_others() {
    let fixture = Fixture::start().await;
    let said = [
        ("_INBOX.renderer.x.y".to_owned(), "r"),
        ("_INBOX.people.x".to_owned(), ""),
        ("_INBOX.agent.x".to_owned(), "a"),
        ("_INBOX.operator.x".to_owned(), ""),
        (format!("changes.00.{FIRST}.-.z"), ""),
        ("desired.00.z".to_owned(), ""),
        ("$KV.interest.sveltos.default.cluster-2".to_owned(), ""),
        ("$KV.content.desired.2".to_owned(), ""),
        ("$JS.API.STREAM.INFO.STATUS".to_owned(), ""),
        ("$JS.API.STREAM.LIST".to_owned(), ""),
        ("journal.matcher.matched".to_owned(), "pi"),
        ("members.matcher.x".to_owned(), "mad"),
        ("members.renderer.x".to_owned(), "rad"),
        ("members.agent.x".to_owned(), "ad"),
        (format!("members.agent-{SECOND}.x"), "ad"),
        ("$JS.EVENT.ADVISORY.STREAM.CREATED.X".to_owned(), "1amrdpi"),
    ];
    let mut hearing = Vec::new();
    for (letter, role) in everybody() {
        let client = fixture.client(role.clone()).await;
        for (subject, who) in &said {
            let heard = client.subscribe(subject.clone()).await.unwrap();
            hearing.push((format!("{role}: {subject}"), who.contains(letter), heard));
        }
        let all = client.subscribe(">").await.unwrap();
        hearing.push((format!("{role}: >"), false, all));
        client.flush().await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for (subject, _) in &said {
        fixture.operator.publish(subject.clone(), "{}".into()).await.unwrap();
    }
    fixture.operator.flush().await.unwrap();
    let heard = hearing.into_iter().map(async |(who, may, mut messages)| {
        let heard = matches!(tokio::time::timeout(PATIENCE, messages.next()).await, Ok(Some(_)));
        (heard != may).then(|| format!("{who}: heard {heard}"))
    });
    let wrong: Vec<String> = join_all(heard).await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whoever asks the server says where the answer goes, and the server does not check that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_cannot_be_sent_where_its_asker_may_not_write() {
    let fixture = Fixture::start().await;
    let before = fixture.rows().await;
    let mut heard = fixture.operator.subscribe("members.>").await.unwrap();
    for (role, stream, row) in [
        (agent_of("cluster-1"), "CHANGES-00", format!("changes.00.{FIRST}.-.x")),
        (Role::People, "KV_interest", "$KV.interest.sveltos.default.cluster-1".to_owned()),
        (Role::Inspect, "CHANGES-00", format!("changes.00.{FIRST}.-.x")),
    ] {
        let client = fixture.client(role).await;
        let consumer = json!({ "stream_name": stream, "config": {
            "name": "evil", "filter_subject": row, "ack_policy": "none", "deliver_subject": "desired.00.evil" } });
        let pull = json!({ "stream_name": stream, "config": {
            "name": "evil-pull", "filter_subject": row, "ack_policy": "none" } });
        for target in [
            "desired.00.evil",
            "$KV.interest.sveltos.default.cluster-2",
            "members.renderer.evil",
            "$JS.API.STREAM.DELETE.STATUS",
        ] {
            let asked = [
                ("$JS.API.INFO".to_owned(), json!({})),
                (format!("$JS.API.DIRECT.GET.{stream}.{row}"), json!({})),
                (format!("$JS.API.CONSUMER.CREATE.{stream}.evil.{row}"), consumer.clone()),
                (format!("$JS.API.CONSUMER.CREATE.{stream}.evil-pull.{row}"), pull.clone()),
                (format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.evil-pull"), json!({ "batch": 5 })),
            ];
            for (subject, body) in asked {
                let body = body.to_string().into();
                client.publish_with_reply(subject, target.to_owned(), body).await.unwrap();
                client.flush().await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    let heard = tokio::time::timeout(PATIENCE, heard.next()).await;
    assert!(heard.is_err(), "{heard:?}");
    assert_eq!(fixture.rows().await, before);
}

/// A consumer's own words must not widen what its subject allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_one_cluster_gets_no_row_of_another() {
    let fixture = Fixture::start().await;
    let client = fixture.client(agent_of("cluster-1")).await;
    let (own, other) = (format!("changes.00.{FIRST}.>"), format!("changes.00.{SECOND}.>"));
    let filters = [
        json!({ "filter_subject": other }),
        json!({ "filter_subjects": [other] }),
        json!({ "filter_subject": own, "filter_subjects": [own, other] }),
        json!({}),
    ];
    for (index, filter) in filters.into_iter().enumerate() {
        let mut config = json!({ "name": format!("n{index}"), "ack_policy": "none" });
        config.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let subject = format!("$JS.API.CONSUMER.CREATE.CHANGES-00.n{index}.{own}");
        let body = json!({ "stream_name": "CHANGES-00", "config": config });
        let answer = client.request(subject, body.to_string().into()).await.unwrap();
        assert!(String::from_utf8_lossy(&answer.payload).contains("\"error\""), "{answer:?}");
    }
    let own = format!("$JS.API.DIRECT.GET.CHANGES-00.changes.00.{FIRST}.-.x");
    for body in [
        json!({ "multi_last": [">"], "batch": 10 }),
        json!({ "next_by_subj": ">", "seq": 1, "batch": 10 }),
        json!({ "last_by_subj": format!("changes.00.{SECOND}.-.x") }),
    ] {
        let reply = client.new_inbox();
        let mut answers = client.subscribe(reply.clone()).await.unwrap();
        client.publish_with_reply(own.clone(), reply, body.to_string().into()).await.unwrap();
        while let Ok(Some(answer)) = tokio::time::timeout(PATIENCE / 4, answers.next()).await {
            assert!(!format!("{answer:?}").contains("cluster-2"), "{answer:?}");
        }
    }
}

/// Reading and writing as the stages do, also across the border of an account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_read_and_writers_write_with_the_rights_they_have() {
    let fixture = Fixture::start().await;
    for (role, stream, filter) in [
        (agent_of("cluster-1"), "CHANGES-00", format!("changes.00.{FIRST}.>")),
        (agent_of("cluster-1"), "KV_interest", "$KV.interest.sveltos.default.cluster-1".to_owned()),
        (Role::Agent(None), "CHANGES-00", format!("changes.00.{FIRST}.>")),
        (Role::Matcher, "CHANGES-00", String::new()),
        (Role::Renderer, "REPORTS-00", String::new()),
        (Role::Deployer(None), "DESIRED-00", String::new()),
        (Role::People, "KV_interest", String::new()),
    ] {
        let js = async_nats::jetstream::new(fixture.client(role.clone()).await);
        let config = pull::Config {
            name: Some(format!("reader-{role}").replace(['.', '/'], "-")),
            ack_policy: AckPolicy::None,
            filter_subject: filter,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = js.create_consumer_on_stream(config, stream).await.unwrap();
        let expected = consumer.cached_info().num_pending;
        assert!(expected > 0, "{role}");
        let heartbeat = Duration::from_millis(400);
        let messages = consumer.stream().max_messages_per_batch(5).heartbeat(heartbeat);
        let mut messages = messages.expires(Duration::from_secs(1)).messages().await.unwrap();
        for sequence in 1..=expected {
            let next = tokio::time::timeout(PATIENCE, messages.next()).await;
            let message =
                next.unwrap_or_else(|_| panic!("{role}: no row {sequence} of {stream}")).unwrap().unwrap();
            assert_eq!(message.info().unwrap().consumer_sequence, sequence, "{role}");
            assert!(message.payload.starts_with(b"secret of "), "{role}");
        }
        // Past the end of the first request, with the server's heartbeats.
        let more = tokio::time::timeout(Duration::from_millis(2500), messages.next()).await;
        assert!(more.is_err(), "{role}: {more:?}");
        js.delete_consumer_from_stream(&consumer.cached_info().name, stream).await.unwrap();
    }
    an_agent_writes_under_its_fence(&fixture).await;
}

/// Who may not read every row of a stream cannot ask it where it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renderer_reads_what_clusters_can_do_to_the_estimated_end() {
    let fixture = Fixture::start().await;
    let options = BusOptions {
        connection: connection(&fixture.server, Role::Renderer),
        name: "renderer".into(),
        shards: SHARDS,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    let tasks = Tasks::default();
    let bus = Bus::connect(&options, &tasks).await.unwrap();
    let (stream, filter) = Capabilities::rows();
    let spec = |estimated| ReadSpec { estimated, ..ReadSpec::some(stream.clone(), vec![filter.clone()]) };
    let (estimated, asked) = (spec(true), spec(false));
    let read = tokio::time::timeout(PATIENCE, look(&bus, &estimated)).await;
    assert!(matches!(read, Ok(Ok(_))), "{read:?}");
    let read = tokio::time::timeout(PATIENCE, look(&bus, &asked)).await;
    assert!(!matches!(read, Ok(Ok(_))), "{read:?}");
}

/// Who may not be told the subjects of a stream finds its end, its life, and large bodies of its own all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_of_one_cluster_reads_what_is_asked_of_it_to_the_end() {
    let fixture = Fixture::start().await;
    let options = BusOptions {
        connection: connection(&fixture.server, agent_of("cluster-1")),
        name: "agent".into(),
        shards: SHARDS,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    let tasks = Tasks::default();
    let bus = Bus::connect(&options, &tasks).await.unwrap();
    assert!(bus.incarnation("CHANGES-00") > Incarnation::NONE);
    let of = |cluster: u8| format!("$KV.interest.sveltos.default.cluster-{cluster}");
    let own = ReadSpec::some("KV_interest".into(), vec![of(1)]);
    let read = tokio::time::timeout(PATIENCE, look(&bus, &own)).await;
    assert!(matches!(read, Ok(Ok(_))), "{read:?}");
    let other = ReadSpec::some("KV_interest".into(), vec![of(2)]);
    let read = tokio::time::timeout(PATIENCE, look(&bus, &other)).await;
    assert!(!matches!(read, Ok(Ok(_))), "{read:?}");
}

async fn an_agent_writes_under_its_fence(fixture: &Fixture) {
    let js = async_nats::jetstream::new(fixture.client(agent_of("cluster-1")).await);
    let fence = format!("changes.00.{FIRST}.~owner");
    let last = js.publish(fence.clone(), "".into()).await.unwrap().await.unwrap().sequence;
    let row = format!("changes.00.{FIRST}.-.y");
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", last.to_string());
    headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", fence);
    let sent = js.publish_with_headers(row.clone(), headers.clone(), "body".into()).await.unwrap();
    sent.await.unwrap();
    let stream = js.get_stream_no_info("CHANGES-00").await.unwrap();
    let stored = stream.direct_get_last_for_subject(&row).await.unwrap();
    let kept = |name: &str| stored.headers.get(name).is_some();
    assert!(stored.payload == "body" && kept("Nats-Expected-Last-Subject-Sequence"));
    assert!(!kept("Nats-Request-Info"), "the server stores who wrote through an import: {stored:?}");
    headers.insert("Nats-Expected-Last-Subject-Sequence", "7");
    assert!(js.publish_with_headers(row, headers, "body".into()).await.unwrap().await.is_err());
    // What it tells people arrives.
    for (who, reader) in
        [("operator", fixture.operator.clone()), ("people", fixture.client(Role::People).await)]
    {
        let mut journal = reader.subscribe("journal.>").await.unwrap();
        reader.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        // Only of its own cluster.
        for of in [SECOND, FIRST] {
            js.client().publish(format!("journal.agent.{of}.changed"), "line".into()).await.unwrap();
        }
        let line = tokio::time::timeout(PATIENCE, journal.next()).await.expect(who);
        assert_eq!(line.unwrap().subject.as_str(), format!("journal.agent.{FIRST}.changed"));
    }
}

/// Replacing a whole bucket by one entry is a right that comes with writing an entry, unless the stream forbids it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_entry_does_not_replace_a_bucket() {
    let fixture = Fixture::start().await;
    let before = fixture.rows().await;
    let js = async_nats::jetstream::new(fixture.client(agent_of("cluster-1")).await);
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Rollup", "all");
    let sent =
        js.publish_with_headers(format!("$KV.content.changes.{FIRST}.9"), headers, "".into()).await.unwrap();
    assert!(sent.await.is_err());
    assert_eq!(fixture.rows().await, before);
}

/// Clusters come and go while everybody else works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_adds_one_cluster_and_ends_the_rights_of_another() {
    let fixture = Fixture::start().await;
    let [first, second] =
        [fixture.client(agent_of("cluster-1")).await, fixture.client(agent_of("cluster-2")).await];
    let row = |cluster: u8| format!("changes.00.sveltos:default/cluster-{cluster}.-.y");
    let may = async |client: &Client, cluster| is_answered(client, &row(cluster), String::new()).await;
    assert!(may(&first, 1).await && may(&second, 2).await);
    let changed = config(fixture.server.dir.path(), &["cluster-1", "cluster-3"]);
    fixture.server.reload(&changed);
    let third = tokio::time::timeout(4 * PATIENCE, fixture.client(agent_of("cluster-3"))).await.unwrap();
    // The server opens the imports of an account that is new to it with the next reload only.
    fixture.server.reload(&changed);
    tokio::time::sleep(PATIENCE).await;
    assert!(may(&third, 3).await && !may(&third, 1).await);
    assert!(may(&first, 1).await && !may(&second, 2).await);
}
