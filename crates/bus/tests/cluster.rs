//! The files in `deploy/nats` as three real servers with TLS and users.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures::StreamExt as _;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, BusOptions, Connection, Credentials, Seed, Tls, variable};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

/// Three servers have found each other, and have chosen who leads what, by then.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let others =
        [Role::Operator, Role::Renderer, Role::Matcher, Role::Deployer, Role::Agent(None), Role::People];
    others.into_iter().chain(agents).collect()
}

fn seed_file(dir: &Path, role: &Role) -> std::path::PathBuf {
    dir.join(variable(role))
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
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
    let ports: Vec<[u16; 3]> = (0..3).map(|_| [free_port(), free_port(), free_port()]).collect();
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
    };
    let _bus = tokio::time::timeout(PATIENCE, Bus::connect(&options, &Tasks::default()))
        .await
        .expect("a bus")
        .unwrap();
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
        let consumer = reads.create_consumer_on_stream(config, "CHANGES-00").await.unwrap();
        let heartbeat = Duration::from_secs(2);
        let mut messages =
            consumer.stream().heartbeat(heartbeat).expires(Duration::from_secs(10)).messages().await.unwrap();
        let message = tokio::time::timeout(PATIENCE, messages.next()).await.unwrap().unwrap().unwrap();
        assert_eq!(message.subject.as_str(), row);
    }
}
