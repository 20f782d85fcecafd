//! Running `sluice` as people do.
#![allow(clippy::unwrap_used, dead_code)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

pub mod repository;

/// Exit code, standard output and standard error of a command in a folder.
pub fn sluice(command: &str, arguments: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let Output { status, stdout, stderr } =
        sluice.arg(command).args(arguments).current_dir(dir).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A process that ends with the value, and the lines that it prints.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM, so that it stops what it has started.
        let stopped = self.stop().and_then(|_| self.child.wait());
        assert!(stopped.is_ok(), "it did not end");
    }
}

impl Running {
    pub fn start(arguments: &[&str], dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.args(arguments).current_dir(dir).env("RUST_LOG", "off").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn stop(&self) -> std::io::Result<ExitStatus> {
        Command::new("kill").arg(self.child.id().to_string()).status()
    }

    /// Ends it, and returns what it has printed besides the lines that were read.
    pub fn rest(mut self) -> String {
        self.stop().unwrap();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest
    }

    /// The next line with this word in it.
    pub fn line(&mut self, word: &str) -> String {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended without {word:?}");
        }
        line
    }
}

/// What a line of `name=value` says.
pub fn value(line: &str, name: &str) -> String {
    let found = line.split_whitespace().find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.unwrap().to_owned()
}

/// A client of one of the clusters.
pub async fn client(kubeconfig: &str, context: &str) -> Client {
    let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    Client::try_from(config).unwrap()
}
