//! Clients: for the management cluster, and for the cluster of a kubeconfig.

use std::fmt::Display;
use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::http::client_of;
use crate::registered;

/// A client for the management cluster: a kubeconfig file, or the one of the environment, or in-cluster.
///
/// # Errors
/// When the file cannot be read or names nothing that can be used.
pub async fn management_client(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)
                .map_err(|error| anyhow::anyhow!("--kubeconfig {}: {error}", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.map_err(|error| {
            anyhow::anyhow!("no --kubeconfig, KUBECONFIG or in-cluster configuration can be used: {error}")
        })?,
    };
    Ok(client_of(without_needless_tls(config))?)
}

/// Plain HTTP needs no certificates: a container without any must reach the simulated clusters.
pub(crate) fn without_needless_tls(mut config: Config) -> Config {
    if config.cluster_url.scheme_str() == Some("http") {
        config.root_cert.get_or_insert_default();
    }
    config
}

/// Whose word a kubeconfig is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// That of the admin who started this process: it may name programs and files.
    Own,
    /// That of whoever may register a cluster: what is written in it counts alone.
    Registered {
        /// Whether it may name a proxy.
        proxies: bool,
    },
    /// That of this process, which has made it of a registration: [`identity_kubeconfig`](crate::identity_kubeconfig).
    Identity,
}

/// A client for the cluster of a kubeconfig.
///
/// # Errors
/// What is wrong with the kubeconfig. Of a registered one without any value in it.
pub async fn client_of_kubeconfig(text: &str, trust: Trust) -> Result<Client, String> {
    let said = |error: &dyn Display| {
        match trust {
        Trust::Own => format!("the kubeconfig cannot be used: {error}"),
        Trust::Registered { .. } | Trust::Identity => {
            "the kubeconfig cannot be used: check its server, and whether its certificates and keys are base64 of PEM".to_owned()
        }
    }
    };
    let file = match trust {
        Trust::Own => {
            Kubeconfig::from_yaml(text).map_err(|error| format!("the kubeconfig cannot be read: {error}"))?
        }
        Trust::Registered { proxies } => registered::read(text, proxies)?,
        Trust::Identity => registered::read(text, false)?,
    };
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| said(&error))?;
    config.connect_timeout = Some(std::time::Duration::from_secs(5));
    client_of(without_needless_tls(config)).map_err(|error| said(&error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kubeconfig(server: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: \"{server}\"}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
        )
    }

    #[tokio::test]
    async fn a_server_without_tls_needs_no_certificates() {
        for trust in [Trust::Own, Trust::Registered { proxies: false }] {
            assert!(client_of_kubeconfig(&kubeconfig("http://127.0.0.1:9"), trust).await.is_ok());
        }
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_kubeconfig_is_said() {
        let error = |text: String| async move {
            client_of_kubeconfig(&text, Trust::Own).await.map(drop).unwrap_err()
        };
        assert!(error("]".into()).await.contains("cannot be read"));
        assert!(error(String::new()).await.contains("cannot be used"));
        let nowhere =
            kubeconfig("http://127.0.0.1:9").replace("current-context: c", "current-context: other");
        assert!(error(nowhere).await.contains("cannot be used"));
        let file = Path::new("/nowhere/kubeconfig");
        let error = management_client(Some(file)).await.map(drop).unwrap_err();
        assert!(error.to_string().starts_with("--kubeconfig /nowhere/kubeconfig"), "{error}");
    }
}
