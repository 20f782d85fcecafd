//! The files in `deploy/nats` as three real servers with TLS and users.
#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::AckPolicy;
use async_nats::jetstream::consumer::pull::{self, MessagesErrorKind};
use async_nats::jetstream::stream::ConsumerErrorKind;
use futures::StreamExt as _;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, BusOptions, Connection, Credentials, Seed, Tls, variable};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

/// Three servers have found each other, and have chosen who leads what, by then.
const PATIENCE: Duration = Duration::from_secs(60);
const HEARTBEAT: Duration = Duration::from_secs(2);

struct Servers(Vec<Child>);

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let ended = child.kill().and_then(|()| child.wait());
            assert!(ended.is_ok(), "nats-server did not end");
        }
    }
}

fn everybody() -> Vec<Role> {
    let agents = ["cluster-1", "cluster-2", "cluster-3"]
        .map(|name| Role::Agent(Some(ClusterRef::sveltos("default", name))));
    Role::OF_ALL_CLUSTERS.into_iter().chain(agents).collect()
}

fn seed_file(dir: &Path, role: &Role) -> std::path::PathBuf {
    dir.join(variable(role))
}

/// Ports that nobody uses, all different: each is held until the last is known.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// Starts three servers with the files as they are, but for places and ports; their addresses.
fn servers(dir: &Path) -> (Servers, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let certificates = dir.join("tls");
    assert!(
        Command::new(root.join("scripts/dev-certificates.sh")).arg(&certificates).status().unwrap().success()
    );
    std::fs::copy(root.join("deploy/nats/accounts.conf"), dir.join("accounts.conf")).unwrap();
    let config = std::fs::read_to_string(root.join("deploy/nats/cluster.conf")).unwrap();
    let config = config.replace("/etc/nats/tls", &certificates.display().to_string());
    let keys: Vec<(String, String)> = everybody()
        .iter()
        .map(|role| {
            let seed = Seed::new();
            std::fs::write(seed_file(dir, role), seed.secret()).unwrap();
            (variable(role), seed.public_key())
        })
        .collect();
    let free = free_ports(9);
    let (ports, _) = free.as_chunks::<3>();
    let routes: Vec<String> =
        ports.iter().map(|[_, route, _]| format!("\"nats://127.0.0.1:{route}\"")).collect();
    let start = |(index, [client, route, http]): (usize, &[u16; 3])| {
        let name = format!("nats-{index}");
        let text = config
            .replace("0.0.0.0:4222", &format!("127.0.0.1:{client}"))
            .replace("0.0.0.0:6222", &format!("127.0.0.1:{route}"))
            .replace("127.0.0.1:8222", &format!("127.0.0.1:{http}"))
            .replace("\"/data\"", &format!("\"{}\"", dir.join(&name).display()));
        let file = dir.join(format!("{name}.conf"));
        std::fs::write(&file, text).unwrap();
        let program = std::env::var("SLUICE_NATS_SERVER").unwrap_or_else(|_| "nats-server".into());
        Command::new(program)
            .arg("-c")
            .arg(file)
            .arg("--log")
            .arg(dir.join(format!("{name}.log")))
            .env("SLUICE_SERVER", name)
            .env("SLUICE_ROUTES", format!("[{}]", routes.join(", ")))
            .envs(keys.clone())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server 2.12 or newer must be on PATH; `make test` puts it there")
    };
    let running = ports.iter().enumerate().map(start).collect();
    let urls: Vec<String> = ports.iter().map(|[client, ..]| format!("tls://127.0.0.1:{client}")).collect();
    (Servers(running), urls.join(","))
}

/// What the servers wrote last: says why they are no bus.
fn logs(dir: &Path) -> String {
    let of = |index| {
        let text = std::fs::read_to_string(dir.join(format!("nats-{index}.log"))).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("\nnats-{index}:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"))
    };
    (0..3).map(of).collect()
}

/// The subject of the first message that a new consumer is given. Its servers may still elect who leads it.
async fn first_subject(reads: &Context, config: &pull::Config) -> String {
    loop {
        let consumer = match reads.create_consumer_on_stream(config.clone(), "CHANGES-00").await {
            Ok(consumer) => consumer,
            Err(error) if error.kind() == ConsumerErrorKind::TimedOut => continue,
            Err(error) => panic!("{error}"),
        };
        let stream = consumer.stream().heartbeat(HEARTBEAT).expires(HEARTBEAT * 5);
        match stream.messages().await.unwrap().next().await {
            Some(Ok(message)) => return message.subject.to_string(),
            Some(Err(error)) if error.kind() == MessagesErrorKind::NoResponders => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_are_a_bus_with_tls_and_users() {
    let dir = tempfile::tempdir().unwrap();
    let (_servers, url) = servers(dir.path());
    let certificate = |name: &str| dir.path().join("tls").join(name);
    let connection = |role: Role| Connection {
        url: url.clone(),
        credentials: Credentials::Nkey(seed_file(dir.path(), &role)),
        tls: Tls {
            ca: Some(certificate("ca.pem")),
            identity: Some((certificate("client.pem"), certificate("client-key.pem"))),
            first: false,
        },
        role,
    };
    let options = BusOptions {
        connection: connection(Role::Operator),
        name: "test".into(),
        shards: 1,
        replicas: 3,
        tombstone_ttl: Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    let connected = tokio::time::timeout(PATIENCE, Bus::connect(&options, &Tasks::default())).await;
    let _bus = connected.unwrap_or_else(|_| panic!("no bus; the servers: {}", logs(dir.path()))).unwrap();
    for role in everybody().into_iter().filter(|role| matches!(role, Role::Agent(_))) {
        let clients = [
            connection(role.clone()).client("a").await.unwrap(),
            connection(role.clone()).client("b").await.unwrap(),
        ];
        let [writes, reads] = clients.map(async_nats::jetstream::new);
        let cluster = match &role {
            Role::Agent(Some(cluster)) => cluster.to_string(),
            _ => "sveltos:default/other".to_owned(),
        };
        let row = format!("changes.00.{cluster}.-.x");
        writes.publish(row.clone(), "body".into()).await.unwrap().await.unwrap();
        let config = pull::Config {
            name: Some(format!("reader-{}", cluster.replace('/', "-"))),
            ack_policy: AckPolicy::None,
            filter_subject: format!("changes.00.{cluster}.>"),
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let subject =
            tokio::time::timeout(PATIENCE, first_subject(&reads, &config)).await.expect("a message");
        assert_eq!(subject, row);
    }
}
