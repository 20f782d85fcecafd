//! A real nats-server with a configuration of the test's own.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server, its folder and its port; it ends with the value.
pub struct Server {
    child: Child,
    pub dir: tempfile::TempDir,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        assert!(ended.is_ok(), "nats-server did not end");
    }
}

impl Server {
    /// A server with this configuration, besides where it listens and keeps its streams.
    pub fn start(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::start_in(dir, config)
    }

    /// The same with files that are there already.
    pub fn start_in(dir: tempfile::TempDir, config: &str) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { child: run(dir.path(), port, config), dir, port }
    }

    /// Another one in its place, with another configuration.
    pub fn restart(&mut self, config: &str) {
        self.child.kill().and_then(|()| self.child.wait()).unwrap();
        self.child = run(self.dir.path(), self.port, config);
    }

    /// The same one with another configuration, without an end.
    pub fn reload(&self, config: &str) {
        write(self.dir.path(), self.port, config);
        let told = Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status();
        assert!(told.unwrap().success());
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

fn write(dir: &Path, port: u16, config: &str) -> PathBuf {
    let file = dir.join("nats.conf");
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\n{config}",
        dir.join("data").display()
    );
    std::fs::write(&file, text).unwrap();
    file
}

fn run(dir: &Path, port: u16, config: &str) -> Child {
    let file = write(dir, port, config);
    let program = std::env::var("SLUICE_NATS_SERVER").unwrap_or_else(|_| "nats-server".into());
    Command::new(program)
        .arg("-c")
        .arg(file)
        .arg("--log")
        .arg(dir.join("log"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nats-server 2.12 or newer must be on PATH; `make test` puts it there")
}
