//! Real API servers, and a `sluice up` beside them.

use std::path::Path;

use crate::cluster_client::ClusterClient;
use crate::control_plane::{ControlPlane, assets};
use crate::fleet::{Fleet, Member};
use crate::scenario::MANAGEMENT;

/// One API server for the management cluster and one for each of so many managed clusters; they end with the first part.
///
/// # Errors
/// What does not start.
pub async fn fleet(dir: &Path, clusters: usize) -> anyhow::Result<(Vec<ControlPlane>, Fleet)> {
    let assets = assets()?;
    let mut planes = Vec::new();
    let names = (1..=clusters).map(|number| format!("cluster-{number}"));
    for name in std::iter::once(MANAGEMENT.to_owned()).chain(names) {
        let folder = dir.join(format!("plane-{name}"));
        std::fs::create_dir_all(&folder)?;
        planes.push(ControlPlane::start(&assets, &folder).await?);
    }
    let management = ClusterClient::connect(&planes[0].kubeconfig()).await?;
    let mut fleet = Fleet { management, members: Default::default(), nats: String::new(), operator: None };
    for (number, plane) in planes.iter().enumerate().skip(1) {
        let kubeconfig = plane.kubeconfig();
        let client = ClusterClient::connect(&kubeconfig).await?;
        fleet.members.insert(format!("default/cluster-{number}"), Member { client, kubeconfig });
    }
    Ok((planes, fleet))
}

/// The arguments of a `sluice up` for the management cluster of this kubeconfig; charts are served from a folder, which need not be
/// there.
pub fn up(kubeconfig: &Path, charts: &Path) -> [String; 4] {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let sources = format!("--sources={}", charts.display());
    [kubeconfig, "--clusters=0".into(), "--no-examples".into(), sources]
}
