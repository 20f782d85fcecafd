//! Add-ons as the watches of the clusters report them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use sluice_testbed::{Connection, KubeContext};

const POLICIES: &str = "/apis/networking.k8s.io/v1/networkpolicies?watch=true&timeoutSeconds=86400";
/// Pause before a watch that ended restarts.
const AGAIN: Duration = Duration::from_millis(100);

/// A NetworkPolicy appeared.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// `front-<phase>-<number>`: says which event it is for.
    pub name: String,
    /// When the watch said so.
    pub at: Instant,
    /// Number of the cluster among those that are watched.
    pub cluster: usize,
}

/// One watch for each cluster.
#[derive(Debug)]
pub struct Arrivals {
    receiver: mpsc::UnboundedReceiver<Arrival>,
    /// Dropped with the receiver, and every watch with it.
    _watches: JoinSet<()>,
}

/// As much of an event as is needed; the rest is skipped without being stored.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    object: Object<'a>,
}

#[derive(Default, Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

// === impl Arrivals ===

impl Arrivals {
    /// Watches the NetworkPolicies of all these clusters.
    pub fn watch(targets: &[Arc<KubeContext>]) -> Self {
        // Unbounded: the receiver only notes times, and nothing may hold a watch up.
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut watches = JoinSet::new();
        for (cluster, target) in targets.iter().enumerate() {
            #[expect(
                clippy::disallowed_methods,
                reason = "an arrival that is not seen fails the measurement"
            )]
            watches.spawn(follow(cluster, target.clone(), sender.clone()));
        }
        Self { receiver, _watches: watches }
    }

    /// The next arrival; `None` at the deadline.
    pub async fn next(&mut self, deadline: Instant) -> Option<Arrival> {
        tokio::time::timeout_at(deadline.into(), self.receiver.recv()).await.ok().flatten()
    }
}

async fn follow(cluster: usize, target: Arc<KubeContext>, sender: mpsc::UnboundedSender<Arrival>) {
    while !sender.is_closed() {
        if let Err(error) = watch(cluster, &target, &sender).await {
            tracing::warn!(cluster = target.name, %error, "the watch restarts");
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn watch(
    cluster: usize,
    target: &KubeContext,
    sender: &mpsc::UnboundedSender<Arrival>,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(&target.authority).await?;
    let path = format!("{}{POLICIES}", target.prefix);
    let response = connection.send(Method::GET, &path, &target.token, "", Bytes::new()).await?;
    anyhow::ensure!(response.status().is_success(), "answer {}", response.status());
    let mut body = response.into_body();
    let mut buffer = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let at = Instant::now();
        buffer.extend_from_slice(&data);
        let mut rest = buffer.as_slice();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, more) = rest.split_at(end);
            rest = more.get(1..).unwrap_or_default();
            if let Some(name) = added(line)
                && sender.send(Arrival { name, at, cluster }).is_err()
            {
                return Ok(());
            }
        }
        let done = buffer.len() - rest.len();
        buffer.drain(..done);
    }
    Ok(())
}

/// The name of the object that an event says appeared.
fn added(line: &[u8]) -> Option<String> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    (line.kind == "ADDED").then(|| line.object.metadata.name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_objects_arrive() {
        let event = |kind: &str| {
            format!(
                r#"{{"type":"{kind}","object":{{"kind":"NetworkPolicy","metadata":{{"uid":"u","name":"front-a"}}}}}}"#
            )
        };
        assert_eq!(added(event("ADDED").as_bytes()).as_deref(), Some("front-a"));
        assert_eq!(added(event("MODIFIED").as_bytes()), None);
        assert_eq!(added(b"{\"type\":\"ADDED\""), None);
    }
}
