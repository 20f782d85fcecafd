//! The binary: start, kubeconfig, control over HTTP, stop.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

struct Binary {
    child: Child,
    addr: String,
    kubeconfig: Value,
}

impl Binary {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kubeconfig");
        let mut child = Command::new(env!("CARGO_BIN_EXE_sluice-simcluster"))
            .args(["--clusters", "2", "--kubeconfig-out"])
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().strip_prefix("ready addr=").unwrap().to_owned();
        let kubeconfig = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        Self { child, addr, kubeconfig }
    }

    /// Status code and body; 0 when the connection is closed without an answer.
    fn call(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (code, body.to_owned())
    }

    fn faults(&self, knobs: Value) -> u16 {
        self.call("PUT", "/_sim/clusters/cluster-1/faults", "", &knobs.to_string()).0
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const NAMESPACES: &str = "/clusters/cluster-1/api/v1/namespaces";

#[test]
fn each_cluster_has_a_context() {
    let binary = Binary::start();
    let contexts = binary.kubeconfig["contexts"].as_array().unwrap();
    let names: Vec<&str> = contexts.iter().map(|context| context["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["management", "cluster-1", "cluster-2"]);
    assert_eq!(binary.kubeconfig["current-context"], "management");
    let server = binary.kubeconfig["clusters"][1]["cluster"]["server"].as_str().unwrap();
    assert_eq!(server, format!("http://{}/clusters/cluster-1", binary.addr));
}

#[test]
fn the_token_of_another_cluster_is_refused() {
    let binary = Binary::start();
    let token =
        |index: usize| binary.kubeconfig["users"][index]["user"]["token"].as_str().unwrap().to_owned();
    let with =
        |token: &str| binary.call("GET", NAMESPACES, &format!("authorization: Bearer {token}\r\n"), "").0;
    assert_eq!(with(&token(1)), 200);
    assert_eq!(with(&token(0)), 401);
    assert_eq!(binary.call("GET", "/clusters/nowhere/version", "", "").0, 404);
}

#[test]
fn faults_are_set_over_http() {
    let binary = Binary::start();
    let get = || binary.call("GET", NAMESPACES, "", "").0;
    assert_eq!((binary.faults(json!({"reject429": 1.0, "retryAfterSeconds": 3})), get()), (200, 429));
    assert_eq!(
        (binary.faults(json!({"reject429": 0.0, "errorRate": 1.0, "errorCode": 503})), get()),
        (200, 503)
    );
    assert_eq!((binary.faults(json!({"errorRate": 0.0, "expireToken": true})), get()), (200, 401));
    assert_eq!((binary.faults(json!({"expireToken": false, "unreachable": true})), get()), (200, 0));
    assert_eq!(
        (binary.faults(json!({"unreachable": false, "cutWatches": true, "seed": 7})), get()),
        (200, 200)
    );
    assert_eq!(binary.faults(json!({"reject429": "often"})), 400);
    let write = |name: &str| {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string();
        let path = format!("{NAMESPACES}/default/configmaps");
        binary.call("POST", &path, "content-type: application/json\r\n", &body).0
    };
    assert_eq!((binary.faults(json!({"writesLeft": 2})), write("a"), get()), (200, 201, 200));
    let shown = binary.call("GET", "/_sim/clusters/cluster-1/faults", "", "").1;
    assert!(shown.contains("\"writesLeft\":1"), "{shown}");
    assert_eq!((binary.faults(json!({"writesLeft": null})), write("b"), write("c")), (200, 201, 201));
    assert_eq!(binary.faults(json!({"unknown": 1})), 400);
    assert_eq!(binary.call("GET", "/clusters/cluster-2/api/v1/namespaces", "", "").0, 200);
}

#[test]
fn clusters_are_added_and_removed_over_http() {
    let binary = Binary::start();
    assert_eq!(binary.call("PUT", "/_sim/clusters/extra", "", "").0, 200);
    assert_eq!(binary.call("PUT", "/_sim/clusters/extra", "", "").0, 400);
    assert_eq!(binary.call("GET", "/clusters/extra/version", "", "").0, 200);
    assert!(binary.call("GET", "/_sim/clusters", "", "").1.contains("\"extra\""));
    assert_eq!(binary.call("DELETE", "/_sim/clusters/extra", "", "").0, 200);
    assert_eq!(binary.call("GET", "/clusters/extra/version", "", "").0, 404);
}

#[test]
fn a_termination_signal_stops_it() {
    let mut binary = Binary::start();
    let id = binary.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(binary.child.wait().unwrap().success());
}

#[test]
fn nonsense_is_answered() {
    let binary = Binary::start();
    for (method, path, body) in [
        ("POST", "/clusters/cluster-1/api/v1/namespaces", "{"),
        ("POST", "/clusters/cluster-1/api/v1/namespaces", "[]"),
        ("POST", "/clusters/cluster-1/api/v1/namespaces", "{\"metadata\": 1}"),
        ("PATCH", "/clusters/cluster-1/api/v1/namespaces/default", "x"),
        ("GET", "/clusters/cluster-1/api/v1/namespaces?limit=x", ""),
        ("GET", "/clusters/cluster-1/api/v1/namespaces?continue=x", ""),
        ("GET", "/clusters/cluster-1/api/v1/namespaces?labelSelector=(((", ""),
        ("GET", "/clusters/cluster-1/%ff%fe", ""),
        ("PUT", "/_sim/clusters/cluster-1/faults", "[]"),
    ] {
        let (code, _) = binary.call(method, path, "", body);
        assert!((400..500).contains(&code), "{method} {path} {body}: {code}");
    }
}
