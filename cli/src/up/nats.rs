//! The bus: one `nats-server` or a cluster of three, as child processes.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};

/// Tries to get ports that nobody else takes in between.
const TRIES: usize = 5;
/// More than one node has this many: two stop as soon as one of them is away.
const CLUSTER: usize = 3;

/// All nodes; killed when dropped.
pub(super) struct Servers {
    nodes: Vec<Node>,
}

/// One server.
struct Node {
    child: Child,
    place: ServerFiles,
    port: u16,
}

/// The files of a server.
#[derive(Clone)]
struct ServerFiles {
    dir: PathBuf,
    name: String,
}

/// Where a server listens on the loopback interface: for clients, and for the other servers.
#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    route: u16,
}

/// The number of nodes that an argument says.
pub(super) fn nodes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(nodes) if nodes == 1 || nodes == CLUSTER => Ok(nodes),
        _ => Err(format!("a bus has 1 node or {CLUSTER}: two stop as soon as one of them is away")),
    }
}

// === impl Servers ===

impl Servers {
    /// Starts so many on free ports of the loopback interface, with their data in `dir`.
    pub(super) async fn start(dir: &Path, nodes: usize) -> anyhow::Result<Self> {
        stop_leftovers(dir);
        let places = places(dir, nodes);
        for _ in 0..TRIES {
            let ports: Vec<Ports> = places.iter().map(|_| Ports::free()).collect::<anyhow::Result<_>>()?;
            let routes: Vec<u16> = ports.iter().map(|ports| ports.route).collect();
            let mut servers = Self { nodes: Vec::new() };
            for (place, &ports) in places.iter().zip(&ports) {
                servers.nodes.push(place.start(ports, &routes)?);
            }
            if servers.answer().await {
                return Ok(servers);
            }
            servers.stop().await;
        }
        let logs: Vec<String> = places.iter().map(|place| place.file("log").display().to_string()).collect();
        anyhow::bail!("nats-server does not come up; see {}", logs.join(", "))
    }

    /// Where they serve, separated by commas.
    pub(super) fn url(&self) -> String {
        let urls = self.nodes.iter().map(|node| format!("nats://127.0.0.1:{}", node.port));
        urls.collect::<Vec<_>>().join(",")
    }

    /// Stops all and waits until they have written everything.
    pub(super) async fn stop(mut self) {
        for node in &self.nodes {
            if let Some(pid) = node.child.id() {
                signal(pid, "TERM");
            }
        }
        for node in &mut self.nodes {
            if tokio::time::timeout(Duration::from_secs(5), node.child.wait()).await.is_err() {
                tracing::warn!(node = node.place.name, "nats-server did not stop in time and is killed");
            }
            if let Err(error) = std::fs::remove_file(node.place.file("pid")) {
                tracing::debug!(%error, "the pid file stays");
            }
        }
    }

    async fn answer(&mut self) -> bool {
        for node in &mut self.nodes {
            if !node.answers().await {
                return false;
            }
        }
        true
    }
}

// === impl Node ===

impl Node {
    async fn answers(&mut self) -> bool {
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return false;
            }
            if tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

// === impl ServerFiles ===

impl ServerFiles {
    fn start(&self, ports: Ports, routes: &[u16]) -> anyhow::Result<Node> {
        let program = std::env::var_os("SLUICE_NATS_SERVER")
            .map_or_else(|| PathBuf::from("nats-server"), PathBuf::from);
        let config = self.file("conf");
        std::fs::write(&config, self.configuration(ports, routes))?;
        let log = std::fs::File::create(self.file("log"))?;
        let child = Command::new(&program)
            .arg("-c")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            // Ctrl-C reaches the whole group; the bus must outlive the stages.
            .process_group(0)
            .spawn()
            .with_context(|| {
                format!(
                    "{} cannot be started; install nats-server 2.12 or newer, or set SLUICE_NATS_SERVER",
                    program.display()
                )
            })?;
        std::fs::write(self.file("pid"), child.id().unwrap_or(0).to_string())?;
        Ok(Node { child, place: self.clone(), port: ports.client })
    }

    fn configuration(&self, ports: Ports, routes: &[u16]) -> String {
        let (store, name) = (self.dir.join(&self.name), &self.name);
        let one = format!(
            "server_name: \"{name}\"\nlisten: \"127.0.0.1:{}\"\nmax_payload: 8MB\njetstream {{\n  store_dir: {:?}\n  \
            max_memory_store: 256MB\n  max_file_store: 20GB\n  sync_interval: \"2m\"\n}}\n",
            ports.client,
            store.to_string_lossy()
        );
        if routes.len() == 1 {
            return one;
        }
        let routes: Vec<String> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        format!(
            "{one}cluster {{\n  name: sluice\n  listen: \"127.0.0.1:{}\"\n  routes: [{}]\n}}\n",
            ports.route,
            routes.join(", ")
        )
    }

    fn file(&self, end: &str) -> PathBuf {
        self.dir.join(format!("{}.{end}", self.name))
    }

    /// A server that a killed run left behind would share the data with the new one.
    fn stop_leftover(&self) {
        let read = std::fs::read_to_string(self.file("pid")).ok();
        let Some(pid) = read.and_then(|text| text.trim().parse::<u32>().ok()) else { return };
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&command).contains(&*self.file("conf").to_string_lossy()) {
            signal(pid, "KILL");
            std::thread::yield_now();
        }
    }
}

// === impl Ports ===

impl Ports {
    fn free() -> anyhow::Result<Self> {
        let listeners = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [client, route] = listeners.map(|listener| listener.local_addr().map(|address| address.port()));
        Ok(Self { client: client?, route: route? })
    }
}

/// Kills what a former run left behind, whatever number of nodes it had.
pub(super) fn stop_leftovers(dir: &Path) {
    for place in [1, CLUSTER].into_iter().flat_map(|nodes| places(dir, nodes)) {
        place.stop_leftover();
    }
}

/// A server that is alone and one of several have data of their own each.
fn places(dir: &Path, nodes: usize) -> Vec<ServerFiles> {
    let name = |number| if nodes == 1 { "nats".to_owned() } else { format!("nats-{number}") };
    (1..=nodes).map(|number| ServerFiles { dir: dir.to_path_buf(), name: name(number) }).collect()
}

fn signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    if let Err(error) = sent {
        tracing::warn!(%error, pid, "nats-server cannot be signalled");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_bus_has_one_node_or_three() {
        assert_eq!((nodes("1"), nodes("3")), (Ok(1), Ok(3)));
        assert!(["0", "2", "4", "x"].iter().all(|text| nodes(text).unwrap_err().contains("1 node or 3")));
    }

    #[test]
    fn nodes_know_each_other_and_share_no_data() {
        let (dir, ports) = (Path::new("/data"), Ports { client: 1, route: 2 });
        let all: Vec<String> =
            places(dir, 3).iter().map(|place| place.configuration(ports, &[2, 3, 4])).collect();
        assert!(all.iter().all(|text| text.contains("127.0.0.1:4\"") && text.contains("routes")));
        assert!(all[0].contains("\"/data/nats-1\"") && all[2].contains("\"/data/nats-3\""));
        let alone = places(dir, 1)[0].configuration(ports, &[2]);
        assert!(alone.contains("\"/data/nats\"") && !alone.contains("cluster"));
    }
}
