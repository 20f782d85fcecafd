//! The clusters that can be reached, shared by all shards of a process.

use std::sync::Arc;

use dashmap::DashMap;
use sluice_api::ClusterRef;
use sluice_kube::{Connection, Trust};

use crate::api::Site;

/// Sites by cluster, with the kubeconfig each was made of. Cheap to clone. Values are copied out: an entry is never held
/// while something is awaited, or another one is taken.
#[derive(Clone, Default)]
pub(crate) struct Sites(Arc<DashMap<ClusterRef, KnownSite>>);

/// A kubeconfig and the site that was made of it.
#[derive(Clone)]
struct KnownSite {
    made_of: Arc<str>,
    connection: Arc<Connection>,
    site: Arc<Site>,
}

impl Sites {
    /// The site of a cluster, made anew when its kubeconfig has changed by more than a token of its account.
    pub(crate) async fn get(
        &self,
        cluster: &ClusterRef,
        kubeconfig: &Arc<str>,
        trust: Trust,
    ) -> Result<Arc<Site>, String> {
        let known = self.0.get(cluster).map(|known| known.clone());
        if let Some(known) = known {
            if known.made_of == *kubeconfig {
                return Ok(known.site);
            }
            if known.connection.renew(kubeconfig, trust) {
                let site = known.site.clone();
                self.0.insert(cluster.clone(), KnownSite { made_of: kubeconfig.clone(), ..known });
                return Ok(site);
            }
        }
        let connection = Arc::new(Connection::open(kubeconfig, trust).await?);
        let site = Site::new(connection.client());
        let known = KnownSite { made_of: kubeconfig.clone(), connection, site: site.clone() };
        self.0.insert(cluster.clone(), known);
        Ok(site)
    }

    /// All that are known.
    pub(crate) fn all(&self) -> Vec<(ClusterRef, Arc<Site>)> {
        self.0.iter().map(|known| (known.key().clone(), known.value().site.clone())).collect()
    }

    /// Forgets a cluster that is no longer registered, or is to be known anew.
    pub(crate) fn forget(&self, cluster: &ClusterRef) {
        self.0.remove(cluster);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TRUST: Trust = Trust::Registered { proxies: false };

    /// A kubeconfig of a server that nobody is at home in.
    fn kubeconfig(port: u16) -> Arc<str> {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: c, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}]\n\
             users: [{{name: u, user: {{}}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n"
        );
        text.into()
    }

    #[tokio::test]
    async fn shards_share_a_site_until_its_kubeconfig_is_another_one() {
        drop(sluice_runtime::install_defaults());
        let (sites, cluster) = (Sites::default(), ClusterRef::sveltos("default", "c"));
        let first = sites.get(&cluster, &kubeconfig(1), TRUST).await.unwrap();
        let same = sites.clone().get(&cluster, &kubeconfig(1), TRUST).await.unwrap();
        assert!(Arc::ptr_eq(&first, &same), "what it has looked up of the cluster is kept");
        let other = sites.get(&cluster, &kubeconfig(2), TRUST).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &other), "it may be another server");
        let neighbour = sites.get(&ClusterRef::sveltos("default", "d"), &kubeconfig(2), TRUST).await.unwrap();
        assert!(!Arc::ptr_eq(&other, &neighbour));
    }

    #[tokio::test]
    async fn a_newer_token_of_the_same_account_is_no_other_server() {
        drop(sluice_runtime::install_defaults());
        // Claims `{"sub": "system:serviceaccount:a:b", "kubernetes.io/serviceaccount/service-account.uid": "u"}`.
        let claims = "eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIiwia3ViZXJuZXRlcy5pby9zZXJ2aWNlYWNjb3VudC9zZXJ2aWNlLWFjY291bnQudWlkIjoidSJ9";
        let with = |seal: &str| -> Arc<str> {
            sluice_kube::with_token(&kubeconfig(1), &format!("e30.{claims}.{seal}")).unwrap().into()
        };
        let (sites, cluster) = (Sites::default(), ClusterRef::sveltos("default", "c"));
        let first = sites.get(&cluster, &with("a"), TRUST).await.unwrap();
        let same = sites.get(&cluster, &with("b"), TRUST).await.unwrap();
        assert!(Arc::ptr_eq(&first, &same), "what it has looked up of the cluster is kept");
        let same = sites.get(&cluster, &with("b"), TRUST).await.unwrap();
        assert!(Arc::ptr_eq(&first, &same));
        let other = sites.get(&cluster, &kubeconfig(1), TRUST).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_read_replaces_nothing() {
        drop(sluice_runtime::install_defaults());
        let (sites, cluster) = (Sites::default(), ClusterRef::sveltos("default", "c"));
        let first = sites.get(&cluster, &kubeconfig(1), TRUST).await.unwrap();
        assert!(sites.get(&cluster, &Arc::from("clusters: 1"), TRUST).await.is_err());
        let same = sites.get(&cluster, &kubeconfig(1), TRUST).await.unwrap();
        assert!(Arc::ptr_eq(&first, &same));
    }
}
