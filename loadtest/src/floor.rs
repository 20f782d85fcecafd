//! The limit of one idle event: its rows one after another over the bus, then the API calls of one apply, and no work in between.
//!
//! ```text
//!  row of changes ─► row of reports ─► row of desired ─► inventory created ─► object applied
//!  └── streams like the pipeline's, on a bus of their own ──┘ └── one of the clusters of the pipeline ──┘
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http::Method;
use serde_json::{Value, json};
use sluice_bus::{Bus, Relay};
use sluice_tasks::Tasks;
use sluice_testbed::{BusServer, Connection, KubeContext};

use crate::bus_path::{ROW, options, patient};

/// Where deployers keep inventories.
const NAMESPACE: &str = "projectsveltos";
/// Tries that are not counted: connections are made and code is loaded.
const WARM: u32 = 3;

/// What was measured of it.
#[derive(Debug)]
pub struct Floor {
    /// Of rows and calls together.
    pub whole: Times,
    /// Of the three rows.
    pub rows: Times,
    /// Of the two calls.
    pub calls: Times,
}

/// Times by how often they were seen, in microseconds.
#[derive(Debug)]
pub struct Times(Histogram<u64>);

// === impl Times ===

impl Times {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(Histogram::new(3)?))
    }

    fn note(&mut self, took: Duration) -> anyhow::Result<()> {
        Ok(self.0.record(u64::try_from(took.as_micros())?)?)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// What this part of them does not exceed, in milliseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        self.0.value_at_quantile(part) as f64 / 1000.0
    }
}

/// Measures so many tries on a bus of its own, with its data in `dir`, and on one cluster.
///
/// # Errors
/// When the bus cannot be started, or a row or a call fails.
pub async fn floor(
    dir: &Path,
    nodes: usize,
    cluster: &KubeContext,
    (tries, pause): (u32, Duration),
) -> anyhow::Result<Floor> {
    let server = BusServer::start(dir, nodes, None).await?;
    let mut relay = patient(&server, nodes, async || {
        let (options, tasks) = (options(&server, nodes), Tasks::default());
        let connect = async || Bus::connect(&options, &tasks).await;
        // Each stage is a process with a connection of its own.
        Relay::open(&[connect().await?, connect().await?, connect().await?, connect().await?]).await
    })
    .await?;
    let (mut api, body) = (Connection::open(&cluster.authority).await?, Bytes::from(vec![b'x'; ROW]));
    let mut floor = Floor { whole: Times::new()?, rows: Times::new()?, calls: Times::new()? };
    for number in 0..WARM + tries {
        tokio::time::sleep(pause).await;
        let calls = calls(cluster, number);
        let began = Instant::now();
        relay.pass(number.into(), &body).await?;
        let rows = began.elapsed();
        for (method, path, content_type, body) in calls {
            let answer = api.call(method, &path, &cluster.token, content_type, body).await?;
            answer.success().with_context(|| format!("the floor, {path}"))?;
        }
        let whole = began.elapsed();
        if number >= WARM {
            floor.whole.note(whole)?;
            floor.rows.note(rows)?;
            floor.calls.note(whole.saturating_sub(rows))?;
        }
    }
    Ok(floor)
}

type Call = (Method, String, &'static str, Bytes);

/// What a deployer asks of a cluster for a profile with one new object: its inventory is created, then the object is applied.
/// Both are of about the size that they have in the phases with events, and none of the two is what a stage or a watch of the load
/// looks for.
fn calls(cluster: &KubeContext, number: u32) -> [Call; 2] {
    let (name, prefix) = (format!("floor-{number}"), &cluster.prefix);
    let bytes = |object: &Value| Bytes::from(object.to_string());
    let create = format!("{prefix}/api/v1/namespaces/{NAMESPACE}/configmaps?fieldManager=sluice");
    let apply = format!(
        "{prefix}/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/{name}?fieldManager=sluice&force=true"
    );
    [
        (Method::POST, create, "application/json", bytes(&inventory(&name))),
        (Method::PATCH, apply, "application/apply-patch+yaml", bytes(&policy(&name))),
    ]
}

fn inventory(name: &str) -> Value {
    let object = json!({"gvk": {"group": "networking.k8s.io", "version": "v1", "kind": "NetworkPolicy"},
        "namespace": "default", "name": name});
    let kept = json!({
        "profile": name,
        "owner_kind": "ClusterProfile",
        "cause": {"trigger": "load-each", "cluster": "default/cluster-1", "resource": object},
        "leave": false,
        "renewed": 0,
        "objects": [object],
        "stay": [],
    });
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": {"sluice.projectsveltos.io/profile": name}},
        "data": {"inventory": kept.to_string()},
    })
}

fn policy(name: &str) -> Value {
    let mark = |what: &str| format!("projectsveltos.io/{what}");
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": name,
            "namespace": "default",
            // Creates what is absent, and nothing else.
            "resourceVersion": "1",
            "annotations": {
                mark("hash"): format!("sha256:{}", "0".repeat(64)),
                mark("owner-kind"): "ClusterProfile",
                mark("owner-name"): name,
                mark("owner-tier"): "100",
                mark("reference-kind"): "ConfigMap",
                mark("reference-name"): name,
                mark("reference-namespace"): "projectsveltos",
            },
        },
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "MyApp"}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "internal"}}}], "ports": [{"port": 80}]}],
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_calls_are_those_of_one_new_object() {
        let cluster = KubeContext {
            name: "a".into(),
            authority: "h:1".into(),
            prefix: "/clusters/a".into(),
            token: "t".into(),
        };
        let [create, apply] = calls(&cluster, 7);
        assert_eq!((create.0, apply.0), (Method::POST, Method::PATCH));
        assert!(create.1.starts_with("/clusters/a/api/v1/namespaces/projectsveltos/configmaps?"));
        assert!(apply.1.contains("/networkpolicies/floor-7?"));
        let object: Value = serde_json::from_slice(&apply.3).unwrap();
        assert_eq!(object["metadata"]["resourceVersion"], "1");
    }

    #[test]
    fn times_are_told_in_milliseconds() {
        let mut times = Times::new().unwrap();
        for micros in [1000, 2000, 9000] {
            times.note(Duration::from_micros(micros)).unwrap();
        }
        assert!((times.quantile(0.5) - 2.0).abs() < 0.01 && times.count() == 3);
    }
}
