//! The clusters that can be reached, shared by all shards of a process.

use std::sync::Arc;

use dashmap::DashMap;
use sluice_api::ClusterRef;
use sluice_kube::client_of_kubeconfig;

use crate::api::Site;

/// Sites by cluster, with the kubeconfig each was made of. Cheap to clone. Values are copied out: an entry is never held
/// while something is awaited, or another one is taken.
#[derive(Clone, Default)]
pub(crate) struct Sites(Arc<DashMap<ClusterRef, KnownSite>>);

/// A kubeconfig and the site that was made of it.
type KnownSite = (Arc<str>, Arc<Site>);

impl Sites {
    /// The site of a cluster, made anew when its kubeconfig has changed.
    pub(crate) async fn get(&self, cluster: &ClusterRef, kubeconfig: &Arc<str>) -> Result<Arc<Site>, String> {
        let known = self.0.get(cluster).map(|known| known.clone());
        if let Some((made_of, site)) = known
            && made_of == *kubeconfig
        {
            return Ok(site);
        }
        let site = Site::new(client_of_kubeconfig(kubeconfig).await?);
        self.0.insert(cluster.clone(), (kubeconfig.clone(), site.clone()));
        Ok(site)
    }
}
