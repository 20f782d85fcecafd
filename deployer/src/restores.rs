//! Clusters that were restored from a backup. What was deployed since then is not there, and nothing changes that would say so: how new each
//! cluster is is asked about once a minute.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use sluice_api::ClusterRef;
use sluice_runtime::ClusterFeed;
use sluice_tasks::End;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api::Site;
use crate::sites::Sites;

/// Pause between two rounds.
const EVERY: Duration = Duration::from_secs(60);
/// Clusters that are asked at the same time: where a thousand are away, a round takes a minute and a half.
const AT_ONCE: usize = 64;

/// Asks the clusters of this process, one round after the other. One that went back is made known anew, as if its kubeconfig led to another
/// server from now on: its shard reads its inventories, and deploys what lacks.
pub(crate) async fn follow(
    sites: Sites,
    management: Option<Arc<Site>>,
    feed: ClusterFeed,
    renewed: Arc<watch::Sender<u64>>,
    stop: CancellationToken,
) -> End {
    while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        if stop.run_until_cancelled(round(&sites, &feed)).await.is_none() {
            break;
        }
        if let Some(management) = &management
            && management.is_back().await
        {
            tracing::warn!("the management cluster went back; what is deployed to it is compared anew");
            renewed.send_modify(|number| *number += 1);
        }
    }
    End::Done
}

async fn round(sites: &Sites, feed: &ClusterFeed) {
    let asked = stream::iter(sites.all()).for_each_concurrent(AT_ONCE, |(cluster, site)| async move {
        if site.is_back().await {
            tell(sites, feed, &cluster);
        }
    });
    asked.await;
}

fn tell(sites: &Sites, feed: &ClusterFeed, cluster: &ClusterRef) {
    tracing::warn!(%cluster, "the cluster went back, as after a restore; what is deployed to it is compared anew");
    sites.forget(cluster);
    feed.repeat(cluster);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_kube::Trust;
    use sluice_kube::fake_api::FakeApi;
    use sluice_runtime::Access;

    use super::*;

    #[tokio::test]
    async fn a_cluster_that_went_back_is_made_known_anew() {
        drop(sluice_runtime::install_defaults());
        let server = FakeApi::start(|request| {
            let version = (9 - request.number.min(1)).to_string();
            let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": []});
            (200, list.to_string())
        });
        let (sites, feed) = (Sites::default(), ClusterFeed::new());
        let (cluster, trust) = (ClusterRef::sveltos("default", "c"), Trust::Registered { proxies: false });
        let kubeconfig: Arc<str> = server.kubeconfig().into();
        let access = Access::new(cluster.clone(), Some(Ok(kubeconfig.clone())), trust);
        feed.put(cluster.clone(), access);
        let mut told = feed.subscribe();
        drop(told.try_recv());
        let first = sites.get(&cluster, &kubeconfig, trust).await.unwrap();
        round(&sites, &feed).await;
        assert!(told.try_recv().is_err(), "it was asked for the first time");
        round(&sites, &feed).await;
        assert_eq!(told.try_recv().unwrap().cluster, cluster);
        let second = sites.get(&cluster, &kubeconfig, trust).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second), "the shard takes it for another server");
        round(&sites, &feed).await;
        assert!(told.try_recv().is_err(), "it is told once");
    }
}
