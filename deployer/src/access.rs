//! Which clusters a shard can reach, and how.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_api::model::Guards;
use sluice_deployer_core::ExternalInput;
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{About, Problem, Shard};
use sluice_runtime::{Access, Reporter};
use sluice_tasks::End;
use tokio::sync::{mpsc, watch};

use crate::api::Site;
use crate::shard::Shared;

// D-1040: a paused cluster is left alone.
/// Tells the core which clusters can be reached, and the shell how.
pub(crate) async fn follow(
    shared: Shared,
    shard: Shard,
    sender: mpsc::UnboundedSender<ExternalInput>,
    sites: mpsc::UnboundedSender<(ClusterRef, Option<Arc<Site>>)>,
    reporter: Reporter,
) -> End {
    let mut accesses = shared.feed.subscribe();
    // The management cluster needs no registration, and nobody can pause it. Who is in a cluster does not reach it.
    let mut renewed = shared.outside.as_ref().map(|outside| outside.renewed.clone());
    renewed.iter_mut().for_each(watch::Receiver::mark_changed);
    let (told, leaving) = (HashMap::new(), HashSet::new());
    let mut teller = Teller { shared, shard, sender, sites, reporter, told, leaving };
    let mut listed = false;
    loop {
        let goes_on = tokio::select! {
            biased;
            () = changed(&mut renewed) => teller.management(),
            access = next(&mut accesses, &mut listed, &teller.sender) => match access {
                Some(access) => teller.access(access).await,
                None => return End::Early,
            },
        };
        if !goes_on {
            return End::Done;
        }
    }
}

/// Tells core and shell. What it answers is whether they still listen.
struct Teller {
    shared: Shared,
    shard: Shard,
    sender: mpsc::UnboundedSender<ExternalInput>,
    sites: mpsc::UnboundedSender<(ClusterRef, Option<Arc<Site>>)>,
    reporter: Reporter,
    /// What was told last of each cluster that can be reached: how, and what is asked of it.
    told: HashMap<ClusterRef, (Arc<Site>, Guards)>,
    /// Clusters that were told to leave.
    leaving: HashSet<ClusterRef>,
}

// === impl Teller ===

impl Teller {
    fn is_here(&self, cluster: &ClusterRef) -> bool {
        cluster_shard(cluster, self.shared.context.bus.shards()) == self.shard
    }

    fn tell(&self, cluster: ClusterRef, site: Option<Arc<Site>>, input: ExternalInput) -> bool {
        self.sites.send((cluster, site)).is_ok() && self.sender.send(input).is_ok()
    }

    fn management(&self) -> bool {
        let management = ClusterRef::management();
        let site = self.shared.outside.as_ref().map(|outside| outside.management.clone());
        !self.is_here(&management)
            || self.tell(management.clone(), site, ExternalInput::Reachable(management, None))
    }

    /// Whether a cluster leaves, which is told once.
    fn leaves(&mut self, cluster: &ClusterRef, is_leaving: bool) -> bool {
        if !is_leaving {
            self.leaving.remove(cluster);
            return true;
        }
        let is_news = self.leaving.insert(cluster.clone());
        !is_news || self.sender.send(ExternalInput::Leaving(cluster.clone())).is_ok()
    }

    async fn access(&mut self, access: Access) -> bool {
        let Access { cluster, kubeconfig, trust, paused, pulls, checks, farewell, .. } = access;
        // One that pulls is left to its own deployer.
        if !self.is_here(&cluster) || pulls && self.shared.outside.is_some() {
            return true;
        }
        let is_registered = kubeconfig.is_some();
        if !self.leaves(&cluster, is_registered && farewell.is_some_and(|said| said.is_leaving())) {
            return false;
        }
        let site = match kubeconfig {
            None => {
                self.shared.sites.forget(&cluster);
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            Some(Ok(text)) => self.shared.sites.get(&cluster, &text, trust).await.map(Some),
        };
        let error = site.as_ref().err().cloned();
        self.reporter.problem(match error {
            Some(error) => Problem::open("deployer", &cluster, About::Kubeconfig, error),
            None => Problem::resolved("deployer", &cluster, About::Kubeconfig),
        });
        let site = site.ok().flatten().filter(|_| !paused);
        // The same way once more is no news; another one may lead to another server.
        let is_told =
            |(known, asked): &(Arc<Site>, Guards), site| Arc::ptr_eq(known, site) && *asked == checks;
        let input = match &site {
            Some(site) if self.told.get(&cluster).is_some_and(|told| is_told(told, site)) => return true,
            Some(site) => {
                self.told.insert(cluster.clone(), (site.clone(), checks.clone()));
                ExternalInput::Reachable(cluster.clone(), checks)
            }
            None => {
                self.told.remove(&cluster);
                let input =
                    if is_registered { ExternalInput::Unreachable } else { ExternalInput::Unregistered };
                input(cluster.clone())
            }
        };
        self.tell(cluster, site, input)
    }
}

/// Waits until the management cluster is another one.
async fn changed(renewed: &mut Option<watch::Receiver<u64>>) {
    if let Some(renewed) = renewed
        && renewed.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// The next registration that is another one. When all that were there have been told, the core hears of it: the feed is in step
/// with the management cluster before a shard begins.
async fn next(
    accesses: &mut mpsc::UnboundedReceiver<Access>,
    listed: &mut bool,
    sender: &mpsc::UnboundedSender<ExternalInput>,
) -> Option<Access> {
    if !*listed {
        if let Ok(access) = accesses.try_recv() {
            return Some(access);
        }
        *listed = true;
        sender.send(ExternalInput::Listed).ok()?;
    }
    accesses.recv().await
}
