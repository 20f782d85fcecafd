//! `sluice send`: CloudEvents to a cluster.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use sluice_api::cloud_event::{CloudEvent, MAX_BYTES};
use sluice_api::model::EventSource;
use sluice_api::{ClusterRef, yaml};
use sluice_bus::{Bus, interest_feed_of, send_cloud_event};
use sluice_protocol::Role;
use sluice_protocol::subject::is_channel;
use sluice_runtime::stop_on_signals;
use tokio_util::sync::CancellationToken;

use crate::print::say;
use crate::reach::{Reach, cluster};

/// How long the bus may take to say what a cluster waits for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `sluice send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice send --cluster default/cluster-1 --subject orders.created event.yaml
  echo '{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"/shop\",\"type\":\"created\"}' > event.json
  sluice send --cluster default/cluster-1 event.json")]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,
    /// The cluster in which they happen, `namespace/name`.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = cluster)]
    cluster: ClusterRef,
    /// Subject of the messages, which `messagingMatchCriteria.subject` looks at; by default what the event says in
    /// `natssubject`, or `events`.
    #[arg(long)]
    subject: Option<String>,
    /// CloudEvents, as YAML or JSON documents; `-` reads standard input.
    file: PathBuf,
}

/// What is to be sent, and where.
#[derive(Debug, PartialEq)]
struct Outgoing {
    channel: String,
    /// Who sends it again sends the same.
    identity: String,
    body: Vec<u8>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let text = read(&self.file)?;
        let events = events(&text, self.subject.as_deref());
        let events = events.map_err(anyhow::Error::msg).with_context(|| self.file.display().to_string())?;
        let tasks = stop_on_signals();
        let bus = self.reach.bus(Role::Operator, &tasks).await?;
        for Outgoing { channel, identity, body } in &events {
            send_cloud_event(&bus, &self.cluster, channel, (identity, body.clone())).await?;
            say!("sent {identity} to {} on {channel}", self.cluster.path());
        }
        if !is_awaited(&bus, &self.cluster, tasks.stop().clone()).await {
            eprintln!(
                "sluice send: {} is not registered, or no trigger waits there for CloudEvents; what was sent waits for a week",
                self.cluster.path()
            );
        }
        Ok(())
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file).with_context(|| file.display().to_string());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input")?;
    Ok(text)
}

/// The events in a text.
fn events(text: &str, subject: Option<&str>) -> Result<Vec<Outgoing>, String> {
    let documents = yaml::documents(text).map_err(|error| error.to_string())?;
    if documents.is_empty() {
        return Err("there is no CloudEvent in it".to_owned());
    }
    let outgoing = |(index, document): (usize, serde_json::Value)| {
        outgoing(document, subject).map_err(|error| format!("document {}: {error}", index + 1))
    };
    documents.into_iter().enumerate().map(outgoing).collect()
}

fn outgoing(document: serde_json::Value, subject: Option<&str>) -> Result<Outgoing, String> {
    let event = CloudEvent::read(document)?;
    let channel = subject.map_or_else(|| event.channel(), Ok)?.to_owned();
    if !is_channel(&channel) {
        return Err(format!(
            "--subject: {channel:?} is no subject of a message; write one, as orders.created"
        ));
    }
    event.key(&channel)?;
    let identity = format!("{} {}", event.source, event.object["id"].as_str().unwrap_or_default());
    let body = event.object.to_string().into_bytes();
    if body.len() > MAX_BYTES {
        return Err(format!("it has {} bytes; an event may have {MAX_BYTES}", body.len()));
    }
    Ok(Outgoing { channel, identity, body })
}

/// Whether an EventSource of a trigger on the cluster has criteria; also where nobody says it in time.
async fn is_awaited(bus: &Bus, cluster: &ClusterRef, stop: CancellationToken) -> bool {
    let feed = interest_feed_of(bus, cluster, stop);
    if tokio::time::timeout(PATIENCE, feed.synced()).await.is_err() {
        return true;
    }
    let sources = feed.get(cluster).map(|(_, row)| row.sources).unwrap_or_default();
    let asks = |manifest: &serde_json::Value| {
        EventSource::read(manifest).is_ok_and(|source| !source.criteria.is_empty())
    };
    sources.iter().any(|source| asks(&source.manifest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "specversion: '1.0'\nid: '1'\nsource: /shop\ntype: created\n";

    #[test]
    fn events_are_sent_as_they_are_where_they_or_the_arguments_say() {
        let text = format!("{EVENT}---\n{EVENT}natssubject: orders\n");
        let sent = events(&text, None).unwrap();
        let channels: Vec<_> = sent.iter().map(|sent| &*sent.channel).collect();
        assert_eq!((channels, &*sent[0].identity), (vec!["events", "orders"], "/shop 1"));
        let body: serde_json::Value = serde_json::from_slice(&sent[0].body).unwrap();
        assert_eq!(
            body,
            serde_json::json!({"specversion": "1.0", "id": "1", "source": "/shop", "type": "created"})
        );
        let sent = events(&text, Some("a.b")).unwrap();
        assert!(sent.iter().all(|sent| sent.channel == "a.b"));
    }

    #[test]
    fn what_cannot_be_sent_is_said_with_its_document_and_attribute() {
        let error = |text: &str, subject| events(text, subject).unwrap_err();
        let second = format!("{EVENT}---\n{}", EVENT.replace("type", "kind"));
        assert_eq!(error(&second, None), "document 2: type: is required and must not be empty");
        assert!(error(EVENT, Some("a.>")).contains("--subject: \"a.>\" is no subject"));
        assert!(error("", None).contains("no CloudEvent"));
        assert!(error(&format!("{EVENT}data: {}", "x".repeat(MAX_BYTES)), None).contains("may have 1048576"));
    }
}
