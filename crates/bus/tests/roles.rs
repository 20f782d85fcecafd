//! The bus as each role uses it, with the rights that are printed for it.
#![allow(clippy::unwrap_used)]

mod server;

use std::time::Duration;

use server::Server;
use sluice_api::ClusterRef;
use sluice_bus::{
    Alone, Bus, BusKeys, BusOptions, Connection, Credentials, InterestWriter, Journal, KeyFiles, Membership,
    OwnAgents, Problems, ReadSpec, Seed, accounts, interest_feed, interest_feed_of, journal, look,
    problem_feed, read,
};
use sluice_protocol::interest::Interest;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{About, JournalEntry, Problem, Revision, Role, Sequence, Shard, Subject, Table};
use sluice_tasks::Tasks;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(8);

fn first() -> ClusterRef {
    ClusterRef::sveltos("default", "cluster-1")
}

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, Box::pin(work)).await;
    done.unwrap_or_else(|_| panic!("{what}: not done in {PATIENCE:?}"))
}

async fn connected(options: BusOptions) -> Bus {
    let tasks = Tasks::default();
    let connecting = Box::pin(Bus::connect(&options, &tasks));
    within(&format!("{} connects", options.name), connecting).await.unwrap()
}

/// What each role reads, from end to end.
fn loads(role: &Role) -> Vec<ReadSpec> {
    let all = |table: Table| ReadSpec::all(table.stream(Shard::FIRST));
    let own = |table: Table, filters: Vec<String>| {
        ReadSpec::some(
            table.stream(Shard::FIRST),
            filters.iter().map(|filter| filter.replace("{}", "00")).collect(),
        )
    };
    match role {
        Role::Agent(Some(cluster)) => vec![own(Table::Changes, own_rows::agent(cluster))],
        Role::Agent(None) => vec![own(Table::Changes, own_rows::agent(&first()))],
        Role::Matcher => vec![all(Table::Changes), own(Table::Reports, own_rows::matcher(Shard::FIRST))],
        Role::Renderer => {
            vec![
                all(Table::Reports),
                all(Table::Status),
                own(Table::Desired, own_rows::renderer(Shard::FIRST)),
            ]
        }
        // The mark tells it that it has read all.
        Role::Deployer(Some(cluster)) => {
            vec![
                own(Table::Status, own_rows::deployer_of(cluster)),
                ReadSpec::of_cluster(cluster, Shard::FIRST),
            ]
        }
        Role::Deployer(None) => {
            vec![all(Table::Desired), own(Table::Status, own_rows::deployer(Shard::FIRST))]
        }
        Role::Inspect => [Table::Changes, Table::Reports, Table::Desired, Table::Status].map(all).to_vec(),
        Role::People | Role::Operator => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_finds_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let file = |role: &Role| dir.path().join(role.to_string().replace(['/', ':'], "_"));
    let alone = Alone { cluster: first(), pulls: true };
    let config = accounts(&[alone], 2, |role| {
        let seed = Seed::new();
        std::fs::write(file(role), seed.secret()).unwrap();
        seed.public_key()
    });
    let server = Server::start(&config);
    let options = |role: Role| BusOptions {
        connection: Connection {
            // Who is in one cluster has one key.
            credentials: Credentials::Nkey(match role.only() {
                Some(cluster) => file(&Role::Agent(Some(cluster.clone()))),
                None => file(&role),
            }),
            role: role.clone(),
            ..Connection::plain(server.url())
        },
        name: role.to_string(),
        shards: 2,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(60),
        keys: BusKeys::at(KeyFiles::new(dir.path().join("keys"))),
    };
    let stop = CancellationToken::new();
    let renderer = connected(options(Role::Renderer)).await;
    within(
        "interest",
        InterestWriter::new(&renderer).write(
            &first(),
            &Interest { revision: Revision::new(7), sources: vec![], ..Interest::default() },
        ),
    )
    .await
    .unwrap();
    let people = connected(options(Role::People)).await;
    assert!(!people.shows_tables() && renderer.shows_tables());
    let mut lines = within("journal", journal(&people)).await.unwrap();
    let problems = problem_feed(&people, stop.clone());
    within("problems of people", problems.synced()).await;
    let inspect = connected(options(Role::Inspect)).await;
    let mut heard = within("journal of inspect", journal(&inspect)).await.unwrap();
    within("problems of inspect", problem_feed(&inspect, stop.clone()).synced()).await;
    for load in loads(&Role::Inspect) {
        within(&load.stream, look(&inspect, &load)).await.unwrap();
    }
    let stages = [
        Role::Agent(Some(first())),
        Role::Agent(None),
        Role::Matcher,
        Role::Renderer,
        Role::Deployer(None),
        Role::Deployer(Some(first())),
    ];
    for role in stages {
        let bus = connected(options(role.clone())).await;
        let membership = Membership::join(&bus, &role.group(), "a", stop.clone()).unwrap();
        let held = async {
            while !membership.lease("0").is_held() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within(&format!("{role}: lease"), held).await;
        if role == Role::Agent(None) {
            // The agent of one cluster lives, in an account of its own.
            let own_agents = OwnAgents::listen(&bus);
            let heard = async {
                while !own_agents.clusters().contains(&first()) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            within("the cluster's own agent", heard).await;
        }
        let mut loads = loads(&role);
        if role.only().is_some() || role == Role::Agent(None) {
            // Own rows end at the fence row, which is the last one of them.
            let js = options(role.clone()).connection.jetstream("fence").await.unwrap();
            let table = if let Role::Agent(_) = role { Table::Changes } else { Table::Status };
            let fence = Subject::fence(table, 0, &first().to_string()).to_string();
            let sent = js.publish(fence.clone(), "".into()).await.unwrap();
            let sequence = within(&format!("{role}: fence"), sent.into_future()).await.unwrap().sequence;
            loads[0].until = vec![(fence, Sequence::new(sequence))];
        }
        for load in loads {
            let what = format!("{role} reads {}", load.stream);
            let mut reader = within(&what, read(&bus, &load)).await.unwrap();
            within(&what, reader.all()).await.unwrap();
        }
        if role != Role::Deployer(None) {
            let feed = match &role {
                Role::Agent(Some(cluster)) | Role::Deployer(Some(cluster)) => {
                    interest_feed_of(&bus, cluster, stop.clone())
                }
                _ => interest_feed(&bus, stop.clone()),
            };
            within(&format!("{role}: interest"), feed.synced()).await;
            assert_eq!(feed.values().len(), 1, "{role}");
        }
        let source = Problems::start(&bus).source();
        source.report(Problem::open(role.name(), first(), About::Shard(role.to_string()), "broken"));
        Journal::start(&bus).record(JournalEntry::new(role.name(), "tried", first(), &role, 0, 0));
        let line = within(&format!("{role}: journal"), lines.recv()).await.unwrap();
        assert_eq!(line.object, role.to_string());
        assert_eq!(within(&format!("{role}: journal of inspect"), heard.recv()).await.unwrap(), line);
        let told = async {
            while !problems.values().iter().any(|row| row.object == format!("shard {role}")) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within(&format!("{role}: problem"), told).await;
        drop(source);
    }
    // Whoever reads Secrets has been able to say with which key.
    let js = options(Role::Operator).connection.jetstream("recipients").await.unwrap();
    let bucket = js.get_stream("KV_sluice").await.unwrap();
    for stage in ["matcher", "renderer", "deployer", "inspect"] {
        let subject = format!("$KV.sluice.recipients.{stage}");
        let said = async {
            while bucket.direct_get_last_for_subject(subject.as_str()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within(&subject, said).await;
    }
    stop.cancel();
}
