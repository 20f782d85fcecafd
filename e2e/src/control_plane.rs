//! A real control plane for tests: etcd and kube-apiserver on free ports of the loopback address.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::contract::Server;

/// How long a control plane may take to become ready on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(90);

/// The token of the administrator.
const TOKEN: &str = "contract-admin";

/// A running etcd and kube-apiserver; both end when this is dropped.
#[derive(Debug)]
pub struct ControlPlane {
    server: String,
    assets: PathBuf,
    dir: PathBuf,
    /// Arguments of etcd, and of the API server.
    arguments: [Vec<String>; 2],
    processes: Vec<Process>,
}

/// A child process that ends with its handle.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about a failure here.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts a control plane from the binaries in `assets`, with its data and logs in `dir`.
    pub async fn start(assets: &Path, dir: &Path) -> anyhow::Result<Self> {
        let [client, peer, secure] = free_ports()?;
        let etcd = format!("http://127.0.0.1:{client}");
        let arguments = [etcd_arguments(dir, &etcd, peer), apiserver_arguments(dir, &etcd, secure)];
        let (assets, dir, processes) = (assets.to_owned(), dir.to_owned(), Vec::new());
        let server = format!("https://127.0.0.1:{secure}");
        let mut plane = Self { server, assets, dir, arguments, processes };
        std::fs::write(plane.dir.join("tokens.csv"), format!("{TOKEN},admin,1,system:masters\n"))?;
        plane.run().await?;
        Ok(plane)
    }

    async fn run(&mut self) -> anyhow::Result<()> {
        for (name, arguments) in ["etcd", "kube-apiserver"].into_iter().zip(self.arguments.clone()) {
            self.spawn(name, &arguments)?;
        }
        self.wait_until_ready().await
    }

    /// Copies what etcd holds to a folder that is not there yet. The control plane is away meanwhile.
    ///
    /// # Errors
    /// What cannot be copied, or does not come up again.
    pub async fn back_up(&mut self, to: &Path) -> anyhow::Result<()> {
        self.processes.clear();
        copy(&self.dir.join("etcd"), to)?;
        self.run().await
    }

    /// Puts what was copied in the place of what etcd holds.
    ///
    /// # Errors
    /// What cannot be copied, or does not come up again.
    pub async fn restore(&mut self, from: &Path) -> anyhow::Result<()> {
        self.processes.clear();
        std::fs::remove_dir_all(self.dir.join("etcd"))?;
        copy(from, &self.dir.join("etcd"))?;
        self.run().await
    }

    /// URL of the API server.
    pub fn server_url(&self) -> &str {
        &self.server
    }

    /// Bearer token of an administrator.
    pub fn token(&self) -> &str {
        TOKEN
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> String {
        let server = &self.server;
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: real\n\
             clusters:\n- name: real\n  cluster: {{server: \"{server}\", insecure-skip-tls-verify: true}}\n\
             users:\n- name: real\n  user: {{token: \"{TOKEN}\"}}\n\
             contexts:\n- name: real\n  context: {{cluster: real, user: real}}\n"
        )
    }

    fn spawn(&mut self, name: &str, arguments: &[String]) -> anyhow::Result<()> {
        let program = self.assets.join(name);
        let log = File::options().create(true).append(true).open(self.dir.join(format!("{name}.log")))?;
        let child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}; is it built for this machine?", program.display()))?;
        self.processes.push(Process(child));
        Ok(())
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let server = Server::connect(&self.kubeconfig()).await?;
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if server.is_ready().await {
                return Ok(());
            }
            for process in &mut self.processes {
                if let Some(status) = process.0.try_wait()? {
                    bail!("a process of the control plane ended with {status}: {}", log_ends(&self.dir));
                }
            }
            if Instant::now() > deadline {
                bail!("the control plane is not ready after {START_TIMEOUT:?}: {}", log_ends(&self.dir));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The folder with `etcd` and `kube-apiserver`, named by `KUBEBUILDER_ASSETS`.
///
/// # Errors
/// When it is not set or holds no kube-apiserver.
pub fn assets() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from).context(
        "KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver; `make e2e` builds them and sets it",
    )?;
    if !folder.join("kube-apiserver").exists() {
        bail!("KUBEBUILDER_ASSETS names {}, which holds no kube-apiserver", folder.display());
    }
    Ok(folder)
}

fn etcd_arguments(dir: &Path, client: &str, peer: u16) -> Vec<String> {
    let peer = format!("http://127.0.0.1:{peer}");
    vec![
        "--unsafe-no-fsync".into(),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

fn apiserver_arguments(dir: &Path, etcd: &str, port: u16) -> Vec<String> {
    let certificates = dir.join("certificates");
    // The server makes this key itself, before it reads the flags that name it.
    let key = certificates.join("apiserver.key");
    vec![
        format!("--etcd-servers={etcd}"),
        format!("--cert-dir={}", certificates.display()),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".into(),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--token-auth-file={}", dir.join("tokens.csv").display()),
        "--authorization-mode=RBAC".into(),
        "--disable-admission-plugins=ServiceAccount".into(),
    ]
}

/// Ports that are free now, held together so that they differ.
fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let listeners = (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn log_ends(dir: &Path) -> String {
    let end = |name: &str| {
        let text = std::fs::read_to_string(dir.join(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        format!("\n{name}:\n{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
    };
    format!("{}{}", end("etcd.log"), end("kube-apiserver.log"))
}
