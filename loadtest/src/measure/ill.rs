//! Events of well clusters beside some that do not answer, are slow, or ask to be left alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use sluice_testbed::{Connection, KubeContext};

use super::events::Phase;
use super::meter::settled;
use super::{Lab, apply, manifests};
use crate::fleet::Repository;

/// Objects that go to every cluster, also to the ill ones.
const OBJECTS: usize = 10;
/// How often it is looked whether they have them.
const LOOK: Duration = Duration::from_millis(200);

/// What is wrong with each: one does not answer, one takes five seconds for each answer, and one refuses each call for five.
fn faults() -> [Value; 3] {
    [
        json!({"unreachable": true}),
        json!({"latencyMs": 5000}),
        json!({"reject429": 1.0, "retryAfterSeconds": 5}),
    ]
}

/// Nothing is wrong any more.
fn none() -> Value {
    json!({"unreachable": false, "latencyMs": 0, "reject429": 0.0})
}

impl Lab {
    /// Sends the same events to the well ones twice: before, and while there is work for the ill ones. Each time the well ones have
    /// got a chart just before, and everything is at rest again: only the ill ones are the difference. At the end all have all of it.
    ///
    /// # Errors
    /// Where there are too few clusters, something cannot be written, or does not come.
    pub async fn beside_ill(
        &mut self,
        rate: u32,
        length: Duration,
        settle: Duration,
    ) -> anyhow::Result<[Phase; 2]> {
        let faults = faults();
        if self.targets.len() <= faults.len() {
            bail!("there are {} clusters, too few for some to be ill", self.targets.len());
        }
        let all = self.targets.clone();
        let (ill, well) = all.split_at(faults.len());
        self.targets = well.to_vec();
        let repository = Repository::serve().await?;
        self.well_have("before", repository.url(), settle).await?;
        let before = self.paced("well", rate, length).await?;
        for (target, fault) in ill.iter().zip(&faults) {
            set(target, fault).await?;
        }
        self.well_have("ill", repository.url(), settle).await?;
        let beside = self.paced("beside", rate, length).await?;
        for target in ill {
            set(target, &none()).await?;
        }
        for target in ill {
            self.until_held(target, "front-ill-").await?;
        }
        self.targets = all;
        Ok([before, beside])
    }

    /// Deploys a chart to everybody, and waits until the well ones have it and nothing is left to do for them.
    async fn well_have(&mut self, name: &str, repository: &str, settle: Duration) -> anyhow::Result<()> {
        let due = Instant::now();
        apply(&self.management, [manifests::charted(name, repository, OBJECTS)]).await?;
        self.all_there(&format!("front-{name}-"), OBJECTS, due).await?;
        settled(&self.stack, settle).await;
        Ok(())
    }

    /// Waits until a cluster holds all objects whose names begin so. Some came amid the events, so they are listed.
    async fn until_held(&self, target: &KubeContext, prefix: &str) -> anyhow::Result<()> {
        let path = format!("{}/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", target.prefix);
        let deadline = Instant::now() + self.patience;
        loop {
            let answer =
                Connection::open(&target.authority).await?.get(&path, &target.token).await?.success()?;
            let list: Value = serde_json::from_slice(&answer.body)?;
            let names = list["items"].as_array().into_iter().flatten().map(|one| &one["metadata"]["name"]);
            let held = names.filter(|name| name.as_str().unwrap_or_default().starts_with(prefix)).count();
            if held == OBJECTS {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{held} of {OBJECTS} objects {prefix}… are in {}", target.name);
            }
            tokio::time::sleep(LOOK).await;
        }
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
