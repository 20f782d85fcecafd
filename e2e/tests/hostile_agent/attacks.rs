//! What somebody can try who has the credential of one cluster's agent.

use std::time::{Duration, Instant};

use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use serde_json::json;
use sluice_api::{ClusterRef, Digest, Gvk, ObjectKey};
use sluice_bus::{Connection, Credentials};
use sluice_e2e::survival::Installation;
use sluice_protocol::subject::{change_shard, cluster_token};
use sluice_protocol::{Role, Subject};

/// Its cluster, in the namespace `default`.
pub const NAME: &str = sluice_testbed::LONER;
const SHARDS: u16 = 16;
/// Messages between two looks at the clock.
const TOGETHER: u64 = 200;
/// A flood is so many messages a second.
const FLOOD: u64 = 2_000;

#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// It writes what others write: rows of other clusters and stages, bodies, problems, journal lines, interest.
    Others,
    /// Rows of its own that hold nonsense, other objects, views of the future, and completeness that nobody asked for.
    Nonsense,
    /// Rows that become 64 MiB each when they are unpacked.
    Bombs,
    /// Rows that name bodies which are not there, or others'.
    Bodies,
    /// Batches that it never ends.
    Batches,
    /// It says all the time that streams have lost rows.
    Losses,
    /// Good rows, and very many.
    Flood,
}

pub const ALL: &[Attack] = &[
    Attack::Others,
    Attack::Nonsense,
    Attack::Bombs,
    Attack::Bodies,
    Attack::Batches,
    Attack::Losses,
    Attack::Flood,
];

pub struct Hostile {
    client: Client,
    cluster: ClusterRef,
    bomb: Bytes,
}

impl Hostile {
    pub async fn connect(installation: &Installation) -> anyhow::Result<Self> {
        let stack = &installation.stack;
        let cluster = ClusterRef::sveltos("default", NAME);
        let role = Role::Agent(Some(cluster.clone()));
        let security = stack.security().ok_or_else(|| anyhow::anyhow!("the bus has no users"))?;
        let tls = sluice_bus::Tls {
            ca: Some(security.file("tls/ca.pem")),
            identity: Some((security.file("tls/client.pem"), security.file("tls/client-key.pem"))),
            ..sluice_bus::Tls::default()
        };
        let key = format!("nkeys/agent.sveltos.default_{NAME}.nk");
        let credentials = Credentials::Nkey(security.file(&key));
        let connection = Connection { credentials, tls, role, ..Connection::plain(stack.nats_url()) };
        let client = connection.client("hostile").await?;
        let mut bomb = vec![1];
        bomb.extend(zstd::bulk::compress(&vec![0; 64 << 20], 1)?);
        Ok(Self { client, cluster, bomb: bomb.into() })
    }

    /// Does it for so long; how many messages that were.
    pub async fn attack(&self, attack: Attack, long: Duration) -> anyhow::Result<u64> {
        let (begun, mut number) = (Instant::now(), 0);
        while begun.elapsed() < long {
            for _ in 0..TOGETHER {
                self.send(attack, number).await?;
                number += 1;
            }
            self.client.flush().await?;
            // As fast as somebody would who wants to stay: the bus serves whoever comes.
            let due = Duration::from_secs_f64(number as f64 / FLOOD as f64);
            tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
        }
        Ok(number)
    }

    async fn send(&self, attack: Attack, number: u64) -> anyhow::Result<()> {
        let named = format!("x-{}", number % 5_000);
        let own = self.row(&named);
        match attack {
            Attack::Others => {
                let subjects = self.others();
                let subject = &subjects[usize::try_from(number)? % subjects.len()];
                self.publish(subject, HeaderMap::new(), b"\0{}".as_slice().into()).await
            }
            Attack::Nonsense => self.nonsense(&own, number).await,
            Attack::Bombs => {
                let headers = head(&[("Sluice-Digest", &Digest::of(&[named.as_bytes()]).to_string())]);
                self.publish(&own, headers, self.bomb.clone()).await
            }
            Attack::Bodies => {
                let digest = Digest::of(&[&number.to_le_bytes()]).to_string();
                let token = cluster_token(&self.cluster);
                if number.is_multiple_of(3) {
                    let body = format!("$KV.content.changes.{token}.{digest}");
                    self.publish(&body, HeaderMap::new(), self.bomb.clone()).await?;
                }
                let headers = head(&[("Sluice-Digest", &digest), ("Sluice-Content", &digest)]);
                self.publish(&own, headers, Bytes::new()).await
            }
            Attack::Batches => {
                let id = format!("never-{number}");
                let headers = head(&[("Nats-Batch-Id", &id), ("Nats-Batch-Sequence", "1")]);
                self.publish(&own, headers, b"\0{}".as_slice().into()).await
            }
            Attack::Losses => {
                let (stream, token) = (number % u64::from(SHARDS), cluster_token(&self.cluster));
                let subject = format!("$KV.sluice.lost.CHANGES-{stream:02}.{token}");
                self.publish(&subject, HeaderMap::new(), "1".into()).await
            }
            Attack::Flood => {
                let body = self.service(&named, number);
                let headers = head(&[("Sluice-Digest", &Digest::of(&[body.as_bytes()]).to_string())]);
                self.publish(&own, headers, format!("\0{body}").into()).await
            }
        }
    }

    async fn publish(&self, subject: &str, headers: HeaderMap, body: Bytes) -> anyhow::Result<()> {
        Ok(self.client.publish_with_headers(subject.to_owned(), headers, body).await?)
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: name.into() }
    }

    fn row(&self, name: &str) -> String {
        let object = Self::key(name);
        let shard = change_shard(&self.cluster, &object, SHARDS);
        Subject::Change { shard, cluster: self.cluster.clone(), viewer: String::new(), object }.to_string()
    }

    fn service(&self, name: &str, port: u64) -> String {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "labels": {"sveltos": "fv"}},
            "spec": {"selector": {"app": name}, "ports": [{"port": port}]},
        })
        .to_string()
    }

    async fn nonsense(&self, own: &str, number: u64) -> anyhow::Result<()> {
        let future = format!("{}={}", self.cluster, u64::MAX);
        let other = format!("sveltos:default/cluster-1={} {future}", u64::MAX);
        let bodies = [
            b"\0{".to_vec(),
            b"\x02nobody knows this form".to_vec(),
            format!("\0{}", self.service("another", 1)).into_bytes(),
            format!("\0{}", "[".repeat(20_000)).into_bytes(),
            format!(
                "\0{}",
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "\u{0}/../x"}})
            )
            .into_bytes(),
            vec![0xff; 30_000],
        ];
        let body = bodies[usize::try_from(number)? % bodies.len()].clone();
        let headers = head(&[
            ("Sluice-View", if number.is_multiple_of(2) { &future } else { &other }),
            (
                "Sluice-Meta",
                r#"{"complete":{"incarnation":18446744073709551615,"revision":18446744073709551615}}"#,
            ),
            ("Sluice-Time", "9223372036854775807"),
            ("Sluice-Digest", "not a digest"),
        ]);
        self.publish(own, headers.clone(), body.into()).await?;
        let shard = number % u64::from(SHARDS);
        let complete = format!("changes.{shard:02}.{}.~complete", cluster_token(&self.cluster));
        self.publish(&complete, headers, Bytes::new()).await
    }

    /// Subjects of others.
    fn others(&self) -> Vec<String> {
        let victim = ClusterRef::sveltos("default", "cluster-1");
        let token = cluster_token(&victim);
        let object = Self::key("steady-0");
        let shard = change_shard(&victim, &object, SHARDS);
        let row = Subject::Change { shard, cluster: victim, viewer: String::new(), object };
        vec![
            row.to_string(),
            format!("changes.{shard:02}.{token}.~owner"),
            format!("changes.{shard:02}.{token}.~complete"),
            "reports.00.x".to_owned(),
            "desired.00.~owner.00".to_owned(),
            "status.x".to_owned(),
            format!("$KV.problems.agent.{token}.x"),
            "$KV.problems.renderer.-.x".to_owned(),
            "$KV.interest.sveltos.default.cluster-1".to_owned(),
            format!("$KV.content.changes.{token}.x"),
            "$KV.content.desired.x".to_owned(),
            "$KV.sluice.epoch.CHANGES-00".to_owned(),
            "$KV.sluice.shards".to_owned(),
            "journal.renderer.rendered".to_owned(),
            "members.matcher.x".to_owned(),
            "$JS.API.STREAM.DELETE.CHANGES-00".to_owned(),
            "$JS.API.STREAM.PURGE.DESIRED-00".to_owned(),
        ]
    }
}

fn head(values: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    values.iter().for_each(|(name, value)| headers.insert(*name, *value));
    headers
}
