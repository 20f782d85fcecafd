//! Outages of everything that Sluice consists of, under a steady load: how long until events flow again.

use std::time::{Duration, Instant};

use super::Lab;
use super::deaths::Deaths;
use sluice_testbed::{STAGES, Stack};

/// Copies of the bus are current again after so long at most.
const HEALING: Duration = Duration::from_secs(300);
/// After this the replicas that came back have their share.
const SHARING: Duration = Duration::from_secs(10);

/// What goes away at once, and comes back.
#[derive(Clone, Copy, Debug)]
enum Outage {
    /// One replica of a stage; it comes back at the end.
    Replica(&'static str),
    /// All replicas of all stages, which are started again at once.
    Stages,
    /// The node of the bus that leads most streams; it comes back at the end.
    Node,
    /// All stages and all nodes of the bus, which are started again at once.
    Everything,
}

impl Lab {
    /// Each kind of outage once that is wanted by its name. Events flow for as long as `watched` after each.
    ///
    /// # Errors
    /// When something does not come back, or Services cannot be created.
    pub async fn outages(
        &mut self,
        watched: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Vec<Deaths>> {
        let replicas = STAGES.into_iter().map(Outage::Replica);
        let outages = replicas.chain([Outage::Stages, Outage::Node, Outage::Everything]);
        let mut all = Vec::new();
        for outage in outages.filter(|outage| wanted(&outage.name())) {
            self.stack.bus().wait_until_healthy(HEALING).await?;
            self.stack.wait_until_ready().await?;
            tokio::time::sleep(SHARING).await;
            let mut deaths = Deaths::new(outage.what());
            let name = format!("outage{}", all.len());
            let fault = async |stack: &mut Stack| outage.happen(stack, watched).await;
            Box::pin(self.death(&mut deaths, (&name, watched), fault)).await?;
            all.push(deaths);
        }
        Ok(all)
    }
}

// === impl Outage ===

impl Outage {
    /// What `--only` calls it.
    fn name(self) -> String {
        match self {
            Self::Replica(stage) => format!("outage-{stage}"),
            Self::Stages => "outage-stages".to_owned(),
            Self::Node => "outage-node".to_owned(),
            Self::Everything => "outage-everything".to_owned(),
        }
    }

    fn what(self) -> String {
        match self {
            Self::Replica(stage) => format!("a replica of the {stage}"),
            Self::Stages => "all stages".to_owned(),
            Self::Node => "a node of the bus".to_owned(),
            Self::Everything => "everything".to_owned(),
        }
    }

    /// Lets it happen; when it did.
    async fn happen(self, stack: &mut Stack, watched: Duration) -> anyhow::Result<Instant> {
        let at = Instant::now();
        match self {
            Self::Replica(stage) => {
                stack.kill_replica(&format!("{stage}-2"))?;
                tokio::time::sleep(watched).await;
                stack.start_replica(stage, 2)?;
            }
            Self::Stages => {
                let killed = kill_stages(stack)?;
                start(stack, &killed)?;
            }
            Self::Node => {
                let node = stack.bus().busiest().await?;
                stack.bus_mut().kill(node)?;
                tokio::time::sleep(watched).await;
                stack.bus_mut().start_node(node).await?;
            }
            Self::Everything => {
                let (killed, nodes) = (kill_stages(stack)?, stack.bus().nodes());
                (0..nodes).try_for_each(|node| stack.bus_mut().kill(node))?;
                for node in 0..nodes {
                    stack.bus_mut().start_node(node).await?;
                }
                start(stack, &killed)?;
            }
        }
        Ok(at)
    }
}

/// Kills every replica; which there were.
fn kill_stages(stack: &mut Stack) -> anyhow::Result<Vec<(&'static str, String)>> {
    let all: Vec<_> =
        stack.replicas().iter().map(|(name, replica)| (replica.stage(), name.clone())).collect();
    all.iter().try_for_each(|(_, name)| stack.kill_replica(name))?;
    Ok(all)
}

fn start(stack: &mut Stack, replicas: &[(&'static str, String)]) -> anyhow::Result<()> {
    for (stage, name) in replicas {
        let number = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(1);
        stack.start_replica(stage, number)?;
    }
    Ok(())
}
