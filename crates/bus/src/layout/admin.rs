//! What an operator asks of a bus, and changes in it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{CreateStreamErrorKind, UpdateStreamError};
use async_nats::jetstream::stream::{Config, Info};
use async_nats::jetstream::{Context, ErrorCode};
use serde::Serialize;
use serde_json::{Value, json};
use sluice_protocol::Table;
use sluice_tasks::Tasks;

use crate::bus::Bus;
use crate::connection::{Connection, jetstream};
use crate::error::BusError;
use crate::layout::streams::Streams;
use crate::layout::{self, BusOptions, check_version};
use crate::shard::look;

/// How long one server may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(6);
/// How long it takes at most until another node answers for all: each question that meets the election takes some seconds.
const ELECTION: Duration = Duration::from_secs(20);
/// Pause before it is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// Pause between two looks at a stream that gets more replicas.
const LOOK: Duration = Duration::from_millis(200);
/// How long it may take.
const SCALING: Duration = Duration::from_secs(120);
const NOT_LAID_OUT: &str = "the bus has not been laid out; start a renderer, which makes its streams";

/// A bus as its operator sees it.
#[derive(Clone, Debug, Serialize)]
pub struct BusReport {
    /// The servers that were named.
    pub servers: Vec<ServerReport>,
    /// The level of the server's JetStream interface, 0 when it says none.
    pub api_level: u64,
    /// The streams, by name.
    pub streams: Vec<StreamReport>,
    /// Bytes of streams on disk, and how many the account may have where that has a limit.
    pub store: (u64, Option<u64>),
    /// Whether what Secrets hold is sealed; unknown before the bus has been laid out.
    pub sealed: Option<bool>,
    /// For each stage, who owns how many of its shards.
    pub owners: BTreeMap<String, BTreeMap<String, usize>>,
    /// What is not as it should be, and the remedy.
    pub problems: Vec<String>,
}

/// One server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// The address it is asked at.
    pub url: String,
    /// Its name; empty when it does not answer.
    pub name: String,
    /// As it says itself, `2.15.1` for example; empty when it does not answer.
    pub version: String,
    /// Bytes of the largest message that it takes.
    pub max_payload: usize,
    /// Whether it asks who connects.
    pub authenticates: bool,
    /// Whether the connection is encrypted, or has to be.
    pub encrypts: bool,
}

// === impl ServerReport ===

impl ServerReport {
    /// One that does not answer.
    fn silent(url: String) -> Self {
        let (name, version) = (String::new(), String::new());
        Self { url, name, version, max_payload: 0, authenticates: false, encrypts: false }
    }
}

/// One stream.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// As the server lists it: `CHANGES-07`, `STATUS`, `KV_interest`.
    pub name: String,
    /// The server that leads it, when it has a leader.
    pub leader: Option<String>,
    /// How many replicas it should have.
    pub replicas: usize,
    /// How many of them have everything.
    pub current: usize,
    /// Operations that the replica furthest behind lacks.
    pub lag: u64,
    /// Rows that it holds.
    pub rows: u64,
    /// Bytes that it holds, before compression.
    pub bytes: u64,
}

/// Looks at a bus, which must have been laid out.
///
/// # Errors
/// When no server answers.
pub async fn check(options: &BusOptions) -> Result<BusReport, BusError> {
    let mut problems = Vec::new();
    let mut servers = Vec::new();
    for connection in options.connection.to_each() {
        servers.push(server(&connection, &mut problems).await);
    }
    // A client goes on for ever until it has a server.
    if servers.iter().all(|server| server.name.is_empty()) {
        return Err(BusError::Unsuitable(problems.join("; ")));
    }
    let js = jetstream(options.connection.client("sluice-bus").await?);
    let account: Value =
        patiently(async || js.request("INFO", &()).await.map_err(BusError::request("ask about JetStream")))
            .await?;
    let api_level = account.pointer("/api/level").and_then(Value::as_u64).unwrap_or(0);
    let store = (account["storage"].as_u64().unwrap_or(0), limit(&account));
    let streams = patiently(async || Streams::ask(&js).await).await?;
    let sealed =
        setting(&js, &streams, layout::SEALED).await?.map(|number| number == layout::seal_setting(true));
    let layout = asked_for(&js, &streams, options, &mut problems).await?;
    let reports = layout.configs().iter().map(|wanted| stream(&streams, wanted, &mut problems)).collect();
    // Connecting makes what is missing, which a look must not.
    let owners = if problems.is_empty() { owners(options).await? } else { BTreeMap::new() };
    Ok(BusReport { servers, api_level, streams: reports, store, sealed, owners, problems })
}

/// Bytes that the account may have on disk.
fn limit(account: &Value) -> Option<u64> {
    account.pointer("/limits/max_storage").and_then(Value::as_u64)
}

/// Asks again while there is no answer. A node that answers for all, or leads a stream, may have died or stepped down just
/// now: another one is elected.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, BusError>) -> Result<T, BusError> {
    let asked = Instant::now();
    loop {
        match ask().await {
            Err(BusError::Request { .. }) if asked.elapsed() < ELECTION => {
                tokio::time::sleep(ASK_AGAIN).await;
            }
            answer => return answer,
        }
    }
}

/// A setting of the whole bus; nothing before the bus has been laid out.
async fn setting(js: &Context, streams: &Streams, what: &str) -> Result<Option<u64>, BusError> {
    // A bucket that is not there does not answer either.
    if !streams.has(&format!("KV_{}", layout::CONFIG)) {
        return Ok(None);
    }
    patiently(async || layout::stored(js, what).await).await
}

async fn server(connection: &Connection, problems: &mut Vec<String>) -> ServerReport {
    let url = connection.url.clone();
    match tokio::time::timeout(PATIENCE, connection.client("sluice-bus")).await {
        Ok(Ok(client)) => {
            let info = client.server_info();
            if let Err(error) = check_version(&info.version) {
                problems.push(format!("server {url}: {error}"));
            }
            ServerReport {
                encrypts: info.tls_required || url.starts_with("tls://"),
                url,
                name: info.server_name,
                version: info.version,
                max_payload: info.max_payload,
                authenticates: info.auth_required,
            }
        }
        Ok(Err(error)) => {
            problems.push(error.to_string());
            ServerReport::silent(url)
        }
        Err(_) => {
            problems.push(format!("server {url} does not answer; start it, or leave it out of --nats-url"));
            ServerReport::silent(url)
        }
    }
}

/// The layout that the bus was made with.
async fn asked_for(
    js: &Context,
    streams: &Streams,
    options: &BusOptions,
    problems: &mut Vec<String>,
) -> Result<BusOptions, BusError> {
    let shards = setting(js, streams, layout::SHARDS).await;
    let replicas = setting(js, streams, layout::REPLICAS).await;
    match (shards, replicas) {
        (Ok(Some(shards)), Ok(Some(replicas))) => Ok(BusOptions {
            shards: u16::try_from(shards).unwrap_or(u16::MAX),
            replicas: usize::try_from(replicas).unwrap_or(1),
            ..options.clone()
        }),
        (Err(error @ BusError::Request { .. }), _) | (_, Err(error @ BusError::Request { .. })) => {
            problems.push(error.to_string());
            Ok(options.clone())
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
        _ => {
            problems.push(NOT_LAID_OUT.to_owned());
            Ok(options.clone())
        }
    }
}

fn stream(streams: &Streams, wanted: &Config, problems: &mut Vec<String>) -> StreamReport {
    let name = wanted.name.clone();
    let Some(info) = streams.found.get(&name) else {
        problems.push(if streams.has(&name) {
            format!(
                "stream {name} has no leader; most of its replicas are away: start the servers that have them"
            )
        } else {
            format!("stream {name} is missing; a running renderer makes it again")
        });
        return StreamReport {
            name,
            leader: None,
            replicas: wanted.num_replicas,
            current: 0,
            lag: 0,
            rows: 0,
            bytes: 0,
        };
    };
    if let Some(field) = layout::difference(&info.config, wanted) {
        problems
            .push(format!("stream {name} has another {field} than it needs; delete it, it is made again"));
    }
    if wanted.allow_atomic_publish && !info.config.allow_atomic_publish {
        problems.push(format!("stream {name} does not take atomic batches; a stage that starts mends it"));
    }
    let (current, lag) = copies(info);
    if info.config.num_replicas != wanted.num_replicas {
        problems.push(format!(
            "stream {name} has {} replicas and should have {}; run sluice bus scale --replicas {}",
            info.config.num_replicas, wanted.num_replicas, wanted.num_replicas
        ));
    } else if current < wanted.num_replicas {
        problems.push(format!("stream {name}: {current} of {} replicas are current", wanted.num_replicas));
    }
    StreamReport {
        name,
        leader: info.cluster.as_ref().and_then(|cluster| cluster.leader.clone()),
        replicas: info.config.num_replicas,
        current,
        lag,
        rows: info.state.messages,
        bytes: info.state.bytes,
    }
}

/// How many replicas have everything, and how far the last one is behind.
fn copies(info: &Info) -> (usize, u64) {
    let Some(cluster) = &info.cluster else { return (1, 0) };
    let current = cluster.replicas.iter().filter(|peer| peer.current && !peer.offline).count();
    let lag = cluster.replicas.iter().filter_map(|peer| peer.lag).max().unwrap_or(0);
    (current + usize::from(cluster.leader.is_some()), lag)
}

async fn owners(options: &BusOptions) -> Result<BTreeMap<String, BTreeMap<String, usize>>, BusError> {
    // One look: what the bus does by itself goes on for as long as it is needed, and nothing depends on it.
    let bus = Bus::connect(options, &Tasks::default()).await?;
    let mut owners = BTreeMap::new();
    let stages = [
        ("agent", Table::Changes),
        ("matcher", Table::Reports),
        ("renderer", Table::Desired),
        ("deployer", Table::Status),
    ];
    for (stage, table) in stages {
        let held: &mut BTreeMap<String, usize> = owners.entry(stage.to_owned()).or_default();
        for owner in Box::pin(look::owners(&bus, table)).await? {
            *held.entry(owner.member).or_default() += 1;
        }
    }
    Ok(owners)
}

/// Gives every stream another number of replicas, one after the other, while everything works on; `tell` hears of each.
///
/// # Errors
/// When the bus has too few servers, or a stream does not get its replicas in time. Trying again goes on.
pub async fn scale(
    connection: &Connection,
    replicas: usize,
    mut tell: impl FnMut(&str),
) -> Result<usize, BusError> {
    let js = connection.jetstream("sluice-bus").await?;
    let options = BusOptions {
        connection: connection.clone(),
        name: "sluice-bus".to_owned(),
        shards: 1,
        replicas,
        tombstone_ttl: Duration::from_secs(1),
        keys: crate::seal::BusKeys::default(),
    };
    let streams = patiently(async || Streams::ask(&js).await).await?;
    let Some(shards) = setting(&js, &streams, layout::SHARDS).await? else {
        return Err(BusError::Unsuitable(NOT_LAID_OUT.to_owned()));
    };
    let options = BusOptions { shards: u16::try_from(shards).unwrap_or(u16::MAX), ..options };
    let mut changed = 0;
    for name in options.stream_names() {
        if scale_one(&js, &name, replicas).await? {
            tell(&name);
            changed += 1;
        }
    }
    let stored = js.publish(layout::setting(layout::REPLICAS), replicas.to_string().into()).await;
    let named = "write the number of replicas";
    stored.map_err(BusError::request(named))?.await.map_err(BusError::request(named))?;
    // The last: a stream that gets another leader takes nothing for a moment.
    spread_leaders(&js).await;
    Ok(changed)
}

/// Whether the server will not give a stream so many replicas, however often it is asked.
fn is_too_many(error: &UpdateStreamError) -> bool {
    let never = [ErrorCode::CLUSTER_NO_PEERS, ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED];
    matches!(error.kind(), CreateStreamErrorKind::JetStream(error) if never.contains(&error.error_code()))
}

/// A stream that gets more replicas keeps its leader: without this one server would lead all of them.
async fn spread_leaders(js: &Context) {
    let Ok(streams) = Streams::ask(js).await else { return };
    let mut led: BTreeMap<String, Vec<&Info>> = BTreeMap::new();
    for info in streams.found.values() {
        let Some(cluster) = &info.cluster else { continue };
        for peer in &cluster.replicas {
            led.entry(peer.name.clone()).or_default();
        }
        if let Some(leader) = &cluster.leader {
            led.entry(leader.clone()).or_default().push(info);
        }
    }
    let share = streams.found.len().div_ceil(led.len().max(1));
    let mut moving: Vec<&Info> =
        led.values_mut().flat_map(|infos| infos.split_off(infos.len().min(share))).collect();
    for (server, infos) in &led {
        for info in moving.split_off(moving.len().saturating_sub(share - infos.len())) {
            let stream = &info.config.name;
            let subject = format!("STREAM.LEADER.STEPDOWN.{stream}");
            let moved: Result<Value, _> =
                js.request(subject, &json!({"placement": {"preferred": server}})).await;
            if let Err(error) = moved {
                tracing::info!(%error, stream, server, "the stream keeps its leader");
            }
        }
    }
}

/// Whether the stream was changed; waits until all of its replicas have everything.
async fn scale_one(js: &Context, name: &str, replicas: usize) -> Result<bool, BusError> {
    let (deadline, mut changed) = (tokio::time::Instant::now() + SCALING, false);
    loop {
        let found = js.get_stream(name).await;
        let why = match found.as_ref().map(|stream| stream.cached_info()) {
            Ok(info) if info.config.num_replicas == replicas => {
                let (current, lag) = copies(info);
                if current == replicas {
                    return Ok(changed);
                }
                format!("{current} of {replicas} replicas are current, the last lacks {lag} operations")
            }
            Ok(info) => {
                let config = Config { num_replicas: replicas, ..info.config.clone() };
                match js.update_stream(config).await {
                    Ok(_) => {
                        changed = true;
                        "it was just told".to_owned()
                    }
                    Err(error) if is_too_many(&error) => {
                        return Err(BusError::Unsuitable(format!(
                            "stream {name}: {error}; {replicas} replicas need as many servers with JetStream"
                        )));
                    }
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        if tokio::time::Instant::now() > deadline {
            let source = why.into();
            return Err(BusError::Request { what: format!("scale stream {name}"), source });
        }
        tokio::time::sleep(LOOK).await;
    }
}
