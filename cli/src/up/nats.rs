//! A `nats-server` as a child process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};

/// Tries to get a port that nobody else takes in between.
const TRIES: usize = 5;
/// Says which process it is.
const PID_FILE: &str = "nats.pid";

/// The server; killed when dropped.
pub(super) struct Server {
    child: Child,
    port: u16,
    pid_file: PathBuf,
}

impl Server {
    /// Starts it on a free port of the loopback interface, with its data in `dir`.
    pub(super) async fn start(dir: &Path) -> anyhow::Result<Self> {
        let program = std::env::var_os("SLUICE_NATS_SERVER")
            .map_or_else(|| PathBuf::from("nats-server"), PathBuf::from);
        let pid_file = dir.join(PID_FILE);
        stop_leftover(dir);
        for _ in 0..TRIES {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let config = dir.join("nats.conf");
            std::fs::write(&config, configuration(port, dir))?;
            let log = std::fs::File::create(dir.join("nats.log"))?;
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
            let mut server = Self { child, port, pid_file: pid_file.clone() };
            std::fs::write(&pid_file, server.child.id().unwrap_or(0).to_string())?;
            if server.answers().await {
                return Ok(server);
            }
        }
        anyhow::bail!("nats-server does not come up; see {}", dir.join("nats.log").display())
    }

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

    /// Where it serves.
    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stops it and waits until it has written everything.
    pub(super) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            signal(pid, "TERM");
        }
        if tokio::time::timeout(Duration::from_secs(5), self.child.wait()).await.is_err() {
            tracing::warn!("nats-server did not stop in time and is killed");
        }
        if let Err(error) = std::fs::remove_file(&self.pid_file) {
            tracing::debug!(%error, "the pid file stays");
        }
    }
}

/// A server that a killed run left behind would share the data with the new one.
pub(super) fn stop_leftover(dir: &Path) {
    let pid_file = dir.join(PID_FILE);
    let Some(pid) = std::fs::read_to_string(pid_file).ok().and_then(|text| text.trim().parse::<u32>().ok())
    else {
        return;
    };
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if String::from_utf8_lossy(&command).contains(&*dir.join("nats.conf").to_string_lossy()) {
        signal(pid, "KILL");
        std::thread::yield_now();
    }
}

fn signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    if let Err(error) = sent {
        tracing::warn!(%error, pid, "nats-server cannot be signalled");
    }
}

fn configuration(port: u16, dir: &Path) -> String {
    let store = dir.join("nats");
    format!(
        "listen: \"127.0.0.1:{port}\"\nmax_payload: 8MB\njetstream {{\n  store_dir: {:?}\n  max_memory_store: 256MB\n  max_file_store: 20GB\n}}\n",
        store.to_string_lossy()
    )
}
