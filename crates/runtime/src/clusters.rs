//! The registered clusters and how to reach them: registrations and kubeconfig Secrets of the management
//! cluster.

use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use kube::runtime::watcher;
use sluice_api::ClusterRef;
use sluice_bus::Feed;
use sluice_kube::{Trust, watch};
use sluice_tasks::{End, Kept, Tasks};

mod registrations;

use registrations::{RegistrationKind, Registrations};

/// How to reach a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which cluster.
    pub cluster: ClusterRef,
    /// Its kubeconfig, or why there is none. `None` when the cluster is not registered any more.
    pub kubeconfig: Option<Result<Arc<str>, String>>,
    /// Whose word that is.
    pub trust: Trust,
    /// Whether its user asked to leave it alone (`spec.paused`): nothing is written to it, what happens in it is followed.
    pub paused: bool,
}

/// Access by cluster.
pub type ClusterFeed = Feed<ClusterRef, Access>;

/// Follows registrations and Secrets until the process stops. `proxies` is whether kubeconfigs may name a proxy.
pub fn access_feed(client: &Client, tasks: &Tasks, proxies: bool) -> ClusterFeed {
    let registrations = Registrations::allowing(proxies);
    let (feed, state) = (ClusterFeed::new(), Arc::new(Mutex::new(registrations)));
    for kind in RegistrationKind::ALL {
        let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), tasks.stop().clone());
        tasks.keep(Kept::Registrations, move || {
            let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), stop.clone());
            async move {
                let config = watcher::Config::default();
                watch(client, kind.gvk(), String::new(), config, |event| {
                    state.lock().unwrap_or_else(PoisonError::into_inner).take(kind, event, &feed);
                    !stop.is_cancelled()
                })
                .await;
                End::Early
            }
        });
    }
    feed
}
