//! Everything that is told to anybody.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sluice_api::{Gvk, object};
use sluice_e2e::cluster_client::ClusterClient;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::up::Up;
use sluice_testbed::Programs;
use tokio::process::Command;

use super::write;

/// Kinds of the management cluster that Sluice writes or writes into.
const TOLD: [(&str, &str); 13] = [
    ("v1", "Event"),
    ("v1", "ConfigMap"),
    ("lib.projectsveltos.io/v1beta1", "SveltosCluster"),
    ("lib.projectsveltos.io/v1beta1", "EventSource"),
    ("lib.projectsveltos.io/v1beta1", "EventTrigger"),
    ("lib.projectsveltos.io/v1beta1", "EventReport"),
    ("lib.projectsveltos.io/v1beta1", "ClusterSet"),
    ("lib.projectsveltos.io/v1beta1", "RoleRequest"),
    ("config.projectsveltos.io/v1beta1", "ClusterProfile"),
    ("config.projectsveltos.io/v1beta1", "Profile"),
    ("config.projectsveltos.io/v1beta1", "ClusterSummary"),
    ("config.projectsveltos.io/v1beta1", "ClusterConfiguration"),
    ("config.projectsveltos.io/v1beta1", "ClusterReport"),
];

/// What Inspect is asked.
const QUESTIONS: [&str; 16] = [
    "problems -o json",
    "shards -o json",
    "show addons -o json",
    "show triggers -o json",
    "show profiles -o json",
    "show clusters -o json",
    "show resources -o json",
    "show usage -o json",
    "explain --cluster default/cluster-1 profile content -o json",
    "explain --cluster default/cluster-1 profile content-yaml -o json",
    "explain --cluster default/cluster-1 trigger event -o json",
    "explain --cluster default/cluster-1 trigger judged-raises -o json",
    "explain --cluster default/cluster-1 event Secret/event-event -n default -o json",
    "explain --cluster default/cluster-1 event Secret/event-judged-raises -n default -o json",
    "explain --cluster default/cluster-1 object ConfigMap/content -n default -o json",
    "trace --cluster default/cluster-1 ConfigMap/content -n default -o json",
];

/// Where outputs are.
pub struct Outputs<'a> {
    up: &'a Up,
    dir: &'a Path,
    token: PathBuf,
}

// === impl Outputs ===

impl<'a> Outputs<'a> {
    pub fn new(up: &'a Up, dir: &'a Path) -> Self {
        let token = dir.join("token");
        write(&token, &super::cases::marker("token"));
        Self { up, dir, token }
    }

    /// What Inspect answers, and what is printed beside it.
    pub async fn ask(&self, question: &[&str]) -> String {
        let said = Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
            .args(question)
            .args(["--server", self.up.inspect_url(), "--token-file"])
            .arg(&self.token)
            .output()
            .await
            .unwrap();
        format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
    }

    /// All of it, by where it is.
    pub async fn told(&self, streams: &[&str], fleet: &Fleet) -> Vec<(String, String)> {
        let mut told = vec![
            ("journal lines".to_owned(), self.up.output()),
            ("arguments".to_owned(), arguments(self.up.pid())),
            ("metrics".to_owned(), get(self.up.admin_url(), "/metrics")),
        ];
        let is_log = |path: &str| [".log", ".out"].iter().any(|end| path.ends_with(end));
        let logs = files(self.dir, 0).into_iter().filter(|(path, _)| is_log(path));
        told.extend(logs.map(|(path, text)| (format!("logs {path}"), text)));
        for stream in streams {
            let found = files(&self.dir.join("up"), 12)
                .into_iter()
                .filter(|(path, _)| path.contains(&format!("/{stream}/")));
            told.extend(found.map(|(path, text)| (format!("stream {stream} {path}"), text)));
        }
        for question in QUESTIONS {
            let words: Vec<&str> = question.split(' ').collect();
            told.push((format!("answer {question}"), self.ask(&words).await));
        }
        told.push(("answer diff".to_owned(), self.difference().await));
        told.extend(objects("management", &fleet.management).await);
        told.extend(objects("cluster-1", fleet.at("default/cluster-1").unwrap()).await);
        told
    }

    /// What would change if a profile deployed what a Secret holds, and what it reads of another one.
    async fn difference(&self) -> String {
        let folder = self.dir.join("meant");
        let meant = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: meant}\nspec:\n  \
            clusterSelector: {matchLabels: {env: fv}}\n  \
            templateResourceRefs: [{resource: {apiVersion: v1, kind: Secret, namespace: default, name: read-resource}, identifier: S}]\n  \
            policyRefs:\n  - {kind: Secret, namespace: default, name: held-content-templated}\n  - {kind: ConfigMap, namespace: default, name: meant}\n---\n\
            apiVersion: v1\nkind: ConfigMap\nmetadata: {name: meant, namespace: default, annotations: {projectsveltos.io/template: ok}}\n\
            data: {k: \"{apiVersion: v1, kind: ConfigMap, metadata: {name: meant, namespace: default}, data: {p: '{{ (getResource \\\"S\\\").data.p }}'}}\"}\n";
        write(&folder.join("meant.yaml"), meant);
        self.ask(&["diff", folder.to_str().unwrap()]).await
    }
}

/// The objects of a cluster that tell something. ConfigMaps in `default` are content, and what is deployed.
async fn objects(place: &str, client: &ClusterClient) -> Vec<(String, String)> {
    let mut told = Vec::new();
    for (version, kind) in TOLD {
        let found = client.list(&Gvk::parse(version, kind)).await.unwrap();
        let is_content =
            |found: &serde_json::Value| kind == "ConfigMap" && object::namespace(found) == "default";
        let found = found.iter().filter(|found| !is_content(found));
        told.extend(
            found.map(|found| (format!("{place} {kind} {}", object::name(found)), found.to_string())),
        );
    }
    told
}

/// Files of a folder and of those in it, down to so many levels.
fn files(folder: &Path, levels: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            if levels > 0 {
                found.extend(files(&path, levels - 1));
            }
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

/// The arguments of a process and of everything that it has started.
fn arguments(root: u32) -> String {
    let (mut known, mut all) = (vec![root.to_string()], String::new());
    let read =
        |id: &str, file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
    let entries = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<u32> = entries.filter_map(|name| name.parse().ok()).collect();
    ids.sort_unstable();
    for id in ids.iter().map(ToString::to_string) {
        let parent =
            read(&id, "stat").rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1).map(str::to_owned));
        if id == root.to_string() || parent.is_some_and(|parent| known.contains(&parent)) {
            all += &read(&id, "cmdline").replace('\0', " ");
            all.push('\n');
            known.push(id);
        }
    }
    all
}

/// What a server answers without TLS.
fn get(url: &str, path: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Takes what is sent to a collector of traces, and answers nothing: who sends connects again and sends more.
pub struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

// === impl Collector ===

impl Collector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
        let all = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let all = all.clone();
                std::thread::spawn(move || receive(stream, &all));
            }
        });
        Self { address, received }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn received(&self) -> (String, String) {
        ("traces".to_owned(), String::from_utf8_lossy(&self.received.lock().unwrap()).into_owned())
    }
}

fn receive(mut stream: TcpStream, all: &Mutex<Vec<u8>>) {
    let mut bytes = vec![0; 64 << 10];
    // A server of HTTP/2 says its settings first: it has none.
    let greeted = stream.write_all(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00");
    while let (Ok(()), Ok(read @ 1..)) = (&greeted, stream.read(&mut bytes)) {
        all.lock().unwrap().extend(&bytes[..read]);
    }
}
