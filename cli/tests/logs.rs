//! Logs of processes that run for long.
#![allow(clippy::unwrap_used)]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

mod common;

use common::sluice;

/// A process that ends with the value.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        assert!(self.0.kill().and_then(|()| self.0.wait()).is_ok(), "it cannot be ended");
    }
}

/// A server that has much to complain about: neither bus nor management cluster are there.
fn serve(more: &[&str], stderr: Stdio) -> (Serving, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args([
        "inspect",
        "--listen=127.0.0.1:0",
        "--nats-url=nats://127.0.0.1:9",
        "--kubeconfig=/nowhere",
    ]);
    let mut child =
        command.args(more).env("RUST_LOG", "debug").stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.split("inspect=").nth(1).unwrap_or_else(|| panic!("{line}")).trim().to_owned();
    (Serving(child), url)
}

#[test]
fn a_process_whose_log_cannot_be_written_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (mut child, url) = serve(&[], full.into());
    // By then it has logged more than once that it cannot reach the bus.
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        let (code, _, says) = sluice("shards", &["--server", &url], dir.path());
        assert_eq!(code, Some(1));
        assert!(says.contains("the bus has not been reached yet"), "{says}");
        assert_eq!(child.0.try_wait().unwrap(), None, "it ended");
    }
}

#[test]
fn logs_are_json_where_that_is_asked_for() {
    let (mut child, _) = serve(&["--log-format=json"], Stdio::piped());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    for field in ["time", "level", "target", "message"] {
        assert!(line[field].is_string(), "{field}: {line}");
    }
}
