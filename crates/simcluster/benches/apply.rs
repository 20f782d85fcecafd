//! What one server-side apply costs, over a real connection: `cargo bench -p sluice-simcluster`.
//!
//! One client sends one request after the other, so the figures hold client, kernel and server.
//! The last lines are the same without the connection.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};
use sluice_simcluster::{FleetConfig, SimFleet};

const ROUNDS: usize = 5_000;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let fleet = runtime.block_on(SimFleet::start(FleetConfig::default()))?;
    let mut connection = BufReader::new(TcpStream::connect(fleet.addr())?);
    connection.get_ref().set_nodelay(true)?;
    measure("create over HTTP", |round| send(&mut connection, &format!("new-{round}"), round))?;
    measure("change over HTTP", |round| send(&mut connection, "one", round))?;
    measure("same again over HTTP", |_| send(&mut connection, "one", 0))?;
    measure("create in process", |round| apply(&fleet, &format!("more-{round}"), round))?;
    measure("change in process", |round| apply(&fleet, "two", round))?;
    measure("same again in process", |_| apply(&fleet, "two", 0))?;
    measure("parse and print the object", |round| {
        let text = service("three", round).to_string();
        black_box(serde_json::from_str::<Value>(&text)?);
        Ok(())
    })
}

fn measure(name: &str, mut action: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<()> {
    for round in 0..ROUNDS / 10 {
        action(round)?;
    }
    let (start, cpu) = (Instant::now(), cpu_seconds());
    for round in 0..ROUNDS {
        action(round)?;
    }
    let each = |seconds: f64| seconds * 1e6 / ROUNDS as f64;
    println!(
        "{name:30} {:8.1} us, {:8.1} us of CPU",
        each(start.elapsed().as_secs_f64()),
        each(cpu_seconds() - cpu)
    );
    Ok(())
}

/// CPU time of all threads, which other load on the machine does not stretch; 0 where unknown.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    times.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

fn apply(fleet: &SimFleet, name: &str, round: usize) -> anyhow::Result<()> {
    black_box(fleet.apply("management", "bench", service(name, round))?);
    Ok(())
}

fn send(connection: &mut BufReader<TcpStream>, name: &str, round: usize) -> anyhow::Result<()> {
    let body = service(name, round).to_string();
    let request = format!(
        "PATCH /clusters/management/api/v1/namespaces/default/services/{name}?fieldManager=bench&force=true HTTP/1.1\r\n\
         host: localhost\r\ncontent-type: application/apply-patch+yaml\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.get_mut().write_all(request.as_bytes())?;
    let (mut length, mut line) = (0, String::new());
    while connection.read_line(&mut line)? > 2 {
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    let mut answer = vec![0; length];
    connection.read_exact(&mut answer)?;
    anyhow::ensure!(answer.starts_with(b"{\"kind\":\"Service\""), "{}", String::from_utf8_lossy(&answer));
    Ok(())
}

/// About 3 KB, as objects of add-ons are.
fn service(name: &str, round: usize) -> Value {
    let annotations: serde_json::Map<String, Value> =
        (0..20).map(|index| (format!("example.com/note-{index}"), json!("x".repeat(80)))).collect();
    let ports: Vec<Value> = (0..6)
        .map(|index| json!({"name": format!("p{index}"), "port": 8000 + index, "targetPort": 9000}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name, "round": round.to_string()}, "annotations": annotations},
        "spec": {"selector": {"app": name}, "ports": ports},
    })
}
