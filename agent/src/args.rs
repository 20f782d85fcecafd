//! Arguments of `sluice-agent`.

use std::path::PathBuf;
use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_kube::{Trust, management_client};
use sluice_protocol::Role;
use sluice_runtime::{
    Access, AccessArgs, ClusterFeed, CommonArgs, Context, LogArgs, LogFormat, OnboardArgs, access_feed_of,
    stop_on_signals,
};

/// Streams the changes of managed clusters onto the bus.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-agent", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    onboarding: OnboardArgs,

    /// Kubeconfig of the management cluster, where registrations and kubeconfigs are.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Watch only this cluster, `namespace/name`; without it all registered clusters are shared by all agents.
    #[arg(long)]
    cluster: Option<String>,

    /// This process runs in the cluster itself, and watches it with the account of its pod. Needs --cluster.
    #[arg(long, requires = "cluster", conflicts_with = "cluster_kubeconfig")]
    in_cluster: bool,

    /// Kubeconfig of the cluster itself; then nothing of the management cluster is needed. It may name programs and files, as no
    /// registered one may. Needs --cluster.
    #[arg(long, requires = "cluster")]
    cluster_kubeconfig: Option<PathBuf>,
}

impl Args {
    /// How logs are to be written.
    pub fn log_format(&self) -> LogFormat {
        self.logs.log_format
    }

    /// Runs until a signal.
    ///
    /// # Errors
    /// When arguments or the bus cannot be used.
    pub async fn run(self) -> anyhow::Result<()> {
        let only = self.cluster.as_deref().map(only).transpose()?;
        let tasks = stop_on_signals();
        let context = Context::start(Role::Agent(only.clone()), &self.common, &tasks).await?;
        let feed = match (self.own_kubeconfig()?, &only) {
            (Some(text), Some(cluster)) => own_cluster(cluster, &text),
            _ => {
                let client = management_client(self.kubeconfig.as_deref()).await?;
                access_feed_of(&context, &client, self.access.accepted(self.onboarding), only.as_ref())
            }
        };
        crate::run(context, feed, only).await
    }

    /// How to reach the cluster beside which this agent runs.
    fn own_kubeconfig(&self) -> anyhow::Result<Option<String>> {
        if self.in_cluster {
            let host = std::env::var("KUBERNETES_SERVICE_HOST");
            let port = std::env::var("KUBERNETES_SERVICE_PORT");
            let (Ok(host), Ok(port)) = (host, port) else {
                anyhow::bail!("--in-cluster: this process runs in no pod; name --cluster-kubeconfig instead")
            };
            return Ok(Some(of_pod(&host, &port)));
        }
        let Some(path) = &self.cluster_kubeconfig else { return Ok(None) };
        let text = std::fs::read_to_string(path);
        text.map(Some).map_err(|error| anyhow::anyhow!("--cluster-kubeconfig {}: {error}", path.display()))
    }
}

/// A kubeconfig of the account of this pod. Its token is read anew from its file when it changes.
fn of_pod(host: &str, port: &str) -> String {
    const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    // An address of IPv6 is in brackets.
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: pod\ncontexts: [{{name: pod, context: {{cluster: pod, user: pod}}}}]\n\
         clusters: [{{name: pod, cluster: {{server: \"https://{host}:{port}\", certificate-authority: {ACCOUNT}/ca.crt}}}}]\n\
         users: [{{name: pod, user: {{tokenFile: {ACCOUNT}/token}}}}]\n"
    )
}

fn only(text: &str) -> anyhow::Result<ClusterRef> {
    let parts = text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) =
        parts.ok_or_else(|| anyhow::anyhow!("--cluster {text:?}: write namespace/name"))?;
    Ok(ClusterRef::sveltos(namespace, name))
}

fn own_cluster(cluster: &ClusterRef, kubeconfig: &str) -> ClusterFeed {
    let feed = ClusterFeed::new();
    feed.put(
        cluster.clone(),
        Access {
            cluster: cluster.clone(),
            kubeconfig: Some(Ok(Arc::from(kubeconfig))),
            trust: Trust::Own,
            paused: false,
            checks: None,
            renewal: None,
            farewell: None,
        },
    );
    feed.set_synced();
    feed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_cluster_is_named_by_namespace_and_name() {
        assert_eq!(only("default/c").unwrap(), ClusterRef::sveltos("default", "c"));
        for text in ["c", "/c", "default/", ""] {
            let error = only(text).unwrap_err().to_string();
            assert_eq!(error, format!("--cluster {text:?}: write namespace/name"));
        }
    }

    #[test]
    fn a_kubeconfig_of_the_cluster_itself_needs_its_name() {
        let parse = |arguments: &[&str]| Args::try_parse_from(["agent"].iter().chain(arguments));
        let error = parse(&["--cluster-kubeconfig", "k"]).unwrap_err().to_string();
        assert!(error.contains("--cluster <CLUSTER>"), "{error}");
        assert!(parse(&["--cluster-kubeconfig", "k", "--cluster", "default/c"]).is_ok());
    }

    #[test]
    fn in_a_pod_the_account_of_the_pod_counts() {
        let parse = |arguments: &[&str]| Args::try_parse_from(["agent"].iter().chain(arguments));
        assert!(parse(&["--in-cluster"]).unwrap_err().to_string().contains("--cluster <CLUSTER>"));
        let both = ["--in-cluster", "--cluster-kubeconfig", "k", "--cluster", "default/c"];
        assert!(parse(&both).unwrap_err().to_string().contains("cannot be used with"));
        for (host, server) in [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")] {
            let text = of_pod(host, "443");
            let config = sluice_api::yaml::documents(&text).unwrap().remove(0);
            assert_eq!(config["clusters"][0]["cluster"]["server"], server);
            assert!(config["users"][0]["user"]["tokenFile"].as_str().unwrap().ends_with("/token"));
        }
    }

    #[test]
    fn the_agent_of_one_cluster_knows_it_at_once() {
        let cluster = ClusterRef::sveltos("default", "c");
        let feed = own_cluster(&cluster, "clusters: []");
        assert!(feed.is_synced());
        let access = feed.get(&cluster).unwrap();
        assert_eq!((access.kubeconfig, access.paused), (Some(Ok(Arc::from("clusters: []"))), false));
        assert_eq!(feed.keys(), [cluster]);
    }
}
