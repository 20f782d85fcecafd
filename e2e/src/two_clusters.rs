//! A management cluster in which the chart is installed, and a managed one, both real.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cluster_client::ClusterClient;
use crate::control_plane::{ControlPlane, assets};
use crate::fleet::{Fleet, Member};
use crate::installed::Installation;
use crate::scenario::MANAGEMENT;

/// Both clusters. Nothing of Sluice runs yet: [`Installation::start`] starts it.
pub struct TwoClusters {
    /// The cluster in which the chart is installed.
    pub management: ControlPlane,
    /// The cluster that is managed, registered as `default/one` with the label `env: fv`.
    pub managed: ControlPlane,
    /// What is installed.
    pub installation: Installation,
    /// Clients of both.
    pub fleet: Fleet,
}

impl TwoClusters {
    /// Begins with both clusters, in `dir`. `values` is a file of `e2e/rights`.
    ///
    /// # Errors
    /// What does not come up, or cannot be installed.
    pub async fn start(dir: &Path, values: &str) -> anyhow::Result<Self> {
        let assets = assets()?;
        let management = ControlPlane::start(&assets, &folder(dir, "management")?).await?;
        let managed = ControlPlane::start(&assets, &folder(dir, "managed")?).await?;
        let values = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights").join(values);
        let admin = management.kubeconfig();
        let installation = Installation::install(dir, management.server_url(), &admin, &values)?;
        let client = ClusterClient::connect(&managed.kubeconfig()).await?;
        let one = Member { client, kubeconfig: managed.kubeconfig() };
        let fleet = Fleet {
            management: ClusterClient::connect(&admin).await?,
            members: [("default/one".to_owned(), one)].into(),
            nats: String::new(),
            operator: None,
        };
        fleet.apply(MANAGEMENT, &registration("one", "fv")).await?;
        Ok(Self { management, managed, installation, fleet })
    }
}

/// A registration in namespace `default`, with the label `env`.
pub fn registration(name: &str, env: &str) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"name": name, "namespace": "default", "labels": {"env": env}}, "spec": {}})
}

/// A folder, made where there is none.
///
/// # Errors
/// When it cannot be made.
pub fn folder(dir: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = dir.join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
