//! Events of well clusters beside some that do not answer, are slow, or ask to be left alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use sluice_testbed::{Connection, KubeContext};

use super::events::Phase;
use super::{Lab, apply, manifests};
use crate::fleet::Repository;

/// Objects that go to every cluster, also to the ill ones.
const OBJECTS: usize = 10;

/// What is wrong with each: one does not answer, one takes two seconds for each answer, and one refuses each call for five.
fn faults() -> [Value; 3] {
    [
        json!({"unreachable": true}),
        json!({"latencyMs": 2000}),
        json!({"reject429": 1.0, "retryAfterSeconds": 5}),
    ]
}

/// Nothing is wrong any more.
fn none() -> Value {
    json!({"unreachable": false, "latencyMs": 0, "reject429": 0.0})
}

impl Lab {
    /// Sends the same events to the well ones twice: before, and while there is work for the ill ones. At the end all have all of it.
    ///
    /// # Errors
    /// Where there are too few clusters, something cannot be written, or does not come.
    pub async fn beside_ill(&mut self, rate: u32, length: Duration) -> anyhow::Result<[Phase; 2]> {
        let faults = faults();
        if self.targets.len() <= faults.len() {
            bail!("there are {} clusters, too few for some to be ill", self.targets.len());
        }
        let all = self.targets.clone();
        let (ill, well) = all.split_at(faults.len());
        self.targets = well.to_vec();
        let before = self.paced("well", rate, length).await?;
        for (target, fault) in ill.iter().zip(&faults) {
            set(target, fault).await?;
        }
        let (repository, due) = (Repository::serve().await?, Instant::now());
        apply(&self.management, [manifests::charted("ill", repository.url(), OBJECTS)]).await?;
        let beside = self.paced("beside", rate, length).await?;
        for target in ill {
            set(target, &none()).await?;
        }
        self.targets = all;
        self.all_there("front-ill-", OBJECTS, due).await?;
        Ok([before, beside])
    }
}

/// Changes what is wrong with a simulated cluster.
async fn set(target: &Arc<KubeContext>, faults: &Value) -> anyhow::Result<()> {
    let path = format!("/_sim{}/faults", target.prefix);
    let mut connection = Connection::open(&target.authority).await?;
    let body = Bytes::from(faults.to_string());
    let answer = connection.call(Method::PUT, &path, &target.token, "application/json", body).await?;
    answer.success().with_context(|| format!("cannot make {} ill", target.name))?;
    Ok(())
}
