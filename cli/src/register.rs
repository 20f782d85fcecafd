//! `sluice register` and `sluice deregister cluster`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, DeleteParams};
use kube::config::Kubeconfig;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_api::model::LIB_GROUP;
use sluice_api::{ClusterRef, Gvk};
use sluice_kube::{Raw, Trust, client_of_kubeconfig, resource_of};

use crate::print::say;
use crate::reach;
use crate::seed::apply;

mod identity;
mod pull;

/// The key of a kubeconfig in its Secret.
const KEY: &str = "kubeconfig";
/// On Secrets that registering made: deregistering takes only these away.
const MARK: &str = "sluice.dev/registered";
/// How long a cluster may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which registration.
#[derive(Debug, clap::Args)]
struct Registration {
    /// Namespace of the registration.
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Name of the registration.
    #[arg(long)]
    cluster: String,
    /// Kubeconfig of the management cluster.
    #[arg(long, env = "KUBECONFIG")]
    management_kubeconfig: Option<PathBuf>,
}

/// Arguments of `sluice register`.
#[derive(Debug, clap::Args)]
pub(crate) struct Register {
    #[command(subcommand)]
    what: RegisterWhat,
}

#[derive(Debug, clap::Subcommand)]
enum RegisterWhat {
    /// A cluster: a SveltosCluster, and a Secret with its kubeconfig.
    Cluster(RegisterCluster),
    /// Print a SveltosCluster that is reached with the identity that AWS gives to agents and deployers, and what else it needs.
    Eks(identity::Eks),
    /// The same with the identity that Google Cloud gives.
    Gke(identity::Gke),
    /// The same with the identity that Azure gives.
    Aks(identity::Aks),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice register cluster --cluster shop --kubeconfig shop.yaml --labels env=fv,tier=gold
  sluice register cluster --namespace eu --cluster shop --kubeconfig all.yaml --context shop-eu
  sluice register cluster --cluster till --pull --nats-url tls://bus.example:4222 --nats-ca ca.crt --images registry.example/sluice > till.yaml

Certificates and tokens that the kubeconfig takes from files go into the Secret. Registering a cluster once more replaces its
kubeconfig and its labels. A cluster that pulls has no kubeconfig here: what is printed is applied to it, and needs the bus alone.")]
struct RegisterCluster {
    #[command(flatten)]
    registration: Registration,
    /// Kubeconfig of the cluster.
    #[arg(long, required_unless_present = "pull", conflicts_with = "pull")]
    kubeconfig: Option<PathBuf>,
    /// Which of its contexts; by default the current one.
    #[arg(long, conflicts_with = "pull")]
    context: Option<String>,
    #[command(flatten)]
    pull: pull::Pull,
    /// Labels by which the cluster is selected: key=value, separated by commas.
    #[arg(long, value_delimiter = ',')]
    labels: Vec<String>,
}

/// Arguments of `sluice deregister`.
#[derive(Debug, clap::Args)]
pub(crate) struct Deregister {
    #[command(subcommand)]
    what: DeregisterWhat,
}

#[derive(Debug, clap::Subcommand)]
enum DeregisterWhat {
    /// A cluster. What is deployed there stays.
    Cluster(DeregisterCluster),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice deregister cluster --cluster shop
  sluice deregister cluster --namespace eu --cluster shop --management-kubeconfig management.yaml")]
struct DeregisterCluster {
    #[command(flatten)]
    registration: Registration,
}

// === impl Registration ===

impl Registration {
    /// The management cluster.
    async fn client(&self) -> anyhow::Result<Client> {
        reach::client(self.management_kubeconfig.as_deref()).await
    }
}

// === impl Register ===

impl Register {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.what {
            RegisterWhat::Cluster(args) => args.run().await,
            RegisterWhat::Eks(args) => args.run(),
            RegisterWhat::Gke(args) => args.run(),
            RegisterWhat::Aks(args) => args.run(),
        }
    }
}

impl RegisterCluster {
    async fn run(self) -> anyhow::Result<()> {
        let labels = labels(&self.labels)?;
        let Some(kubeconfig) = &self.kubeconfig else {
            return self.pull.run(&self.registration, &labels).await;
        };
        let text = alone(kubeconfig, self.context.as_deref())?;
        let client = self.registration.client().await?;
        let cluster = ClusterRef::sveltos(&*self.registration.namespace, &*self.registration.cluster);
        for object in registration(&cluster, &text, &labels) {
            apply(&client, &object).await?;
        }
        say!("{} is registered", cluster.path());
        match tokio::time::timeout(PATIENCE, version(&text)).await {
            Ok(Ok(version)) => say!("it runs Kubernetes {version}"),
            Ok(Err(error)) => eprintln!("sluice: from here it cannot be reached: {error:#}"),
            Err(_) => eprintln!("sluice: from here it does not answer"),
        }
        Ok(())
    }
}

impl Deregister {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let DeregisterWhat::Cluster(args) = self.what;
        args.run().await
    }
}

impl DeregisterCluster {
    async fn run(self) -> anyhow::Result<()> {
        let client = self.registration.client().await?;
        let Registration { namespace, cluster: name, .. } = &self.registration;
        let clusters = api(&client, &Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster"), namespace).await?;
        match clusters.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                bail!("{namespace}/{name} is not registered; `sluice status` counts those that are")
            }
            done => drop(done.context("deleting the SveltosCluster")?),
        }
        let secrets = api(&client, &Gvk::new("", "v1", "Secret"), namespace).await?;
        let secret = secret_name(name);
        let found = secrets.get_opt(&secret).await.context("reading the Secret of its kubeconfig")?;
        let made_here = found.is_some_and(|secret| secret.labels().contains_key(MARK));
        if made_here {
            secrets
                .delete(&secret, &DeleteParams::default())
                .await
                .context("deleting the Secret of its kubeconfig")?;
        }
        say!("{namespace}/{name} is deregistered; what is deployed there stays");
        Ok(())
    }
}

/// The objects of a kind in a namespace of the management cluster.
async fn api(client: &Client, gvk: &Gvk, namespace: &str) -> anyhow::Result<Api<Raw>> {
    let known = resource_of(client, gvk).await.context("asking the management cluster what it knows")?;
    let (resource, _) = known.with_context(|| {
        format!("the management cluster has no {}: `sluice seed` installs the definitions", gvk.kind)
    })?;
    Ok(Api::namespaced_with(client.clone(), namespace, &resource))
}

async fn version(kubeconfig: &str) -> anyhow::Result<String> {
    let client = client_of_kubeconfig(kubeconfig, Trust::Registered { proxies: true })
        .await
        .map_err(anyhow::Error::msg)?;
    Ok(client.apiserver_version().await?.git_version)
}

fn secret_name(cluster: &str) -> String {
    format!("{cluster}-sveltos-kubeconfig")
}

fn registration(cluster: &ClusterRef, kubeconfig: &str, labels: &BTreeMap<String, String>) -> [Value; 2] {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret_name(&cluster.name), "namespace": cluster.namespace, "labels": {MARK: "true"}},
        "data": {KEY: STANDARD.encode(kubeconfig)},
    });
    let registered = json!({
        "apiVersion": format!("{LIB_GROUP}/v1beta1"),
        "kind": "SveltosCluster",
        "metadata": {"name": cluster.name, "namespace": cluster.namespace, "labels": labels},
        "spec": {},
    });
    [secret, registered]
}

/// Labels as they are written on the command line.
fn labels(texts: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        let (key, value) =
            text.split_once('=').with_context(|| format!("--labels {text}: write key=value"))?;
        ensure!(
            sluice_api::names::is_label_key(key),
            "--labels {text}: {key:?} is not a label key; write it as [prefix/]name"
        );
        ensure!(
            sluice_api::names::is_label_value(value),
            "--labels {text}: {value:?} is not a label value; use at most 63 letters, digits, '-', '_', '.'"
        );
        found.insert(key.to_owned(), value.to_owned());
    }
    Ok(found)
}

/// One context of a kubeconfig as a kubeconfig of its own, with what it takes from files in it. JSON is YAML.
fn alone(path: &Path, context: Option<&str>) -> anyhow::Result<String> {
    let file = Kubeconfig::read_from(path).with_context(|| format!("--kubeconfig {}", path.display()))?;
    let wanted = context.or(file.current_context.as_deref()).with_context(|| {
        format!("--kubeconfig {}: it has no current context; choose one by --context", path.display())
    })?;
    let chosen = file.contexts.iter().find(|named| named.name == wanted).with_context(|| {
        let names: Vec<_> = file.contexts.iter().map(|named| named.name.as_str()).collect();
        format!("--context {wanted}: {} has {}", path.display(), names.join(", "))
    })?;
    let inner = chosen.context.clone().unwrap_or_default();
    let mut clusters: Vec<_> =
        file.clusters.iter().filter(|named| named.name == inner.cluster).cloned().collect();
    let mut users: Vec<_> =
        file.auth_infos.iter().filter(|named| Some(&named.name) == inner.user.as_ref()).cloned().collect();
    ensure!(!clusters.is_empty(), "context {wanted}: there is no cluster {}", inner.cluster);
    for cluster in clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        inline(&mut cluster.certificate_authority, &mut cluster.certificate_authority_data)?;
    }
    for user in users.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        ensure!(
            user.exec.is_none() && user.auth_provider.is_none(),
            "context {wanted}: its user runs a program to log in, which stages cannot; use a token or a certificate"
        );
        inline(&mut user.client_certificate, &mut user.client_certificate_data)?;
        let mut key = None;
        inline(&mut user.client_key, &mut key)?;
        user.client_key_data = key.map(Into::into).or(user.client_key_data.take());
        if let Some(file) = user.token_file.take() {
            let token = std::fs::read_to_string(&file).with_context(|| format!("tokenFile {file}"))?;
            user.token = Some(token.trim().to_owned().into());
        }
    }
    let config = Kubeconfig {
        current_context: Some(chosen.name.clone()),
        contexts: vec![chosen.clone()],
        clusters,
        auth_infos: users,
        ..Kubeconfig::default()
    };
    Ok(serde_json::to_string(&config)?)
}

/// Takes what a file holds into the kubeconfig itself. The paths are those that reading it has made whole.
fn inline(file: &mut Option<String>, data: &mut Option<String>) -> anyhow::Result<()> {
    if let Some(path) = file.take() {
        let bytes = std::fs::read(&path).with_context(|| format!("the kubeconfig names {path}"))?;
        *data = Some(STANDARD.encode(bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    const CONFIG: &str = "
apiVersion: v1
kind: Config
current-context: a
contexts:
- {name: a, context: {cluster: one, user: file}}
- {name: b, context: {cluster: two, user: program}}
- {name: c, context: {cluster: none, user: file}}
clusters:
- {name: one, cluster: {server: 'https://one.example', certificate-authority: ca.crt}}
- {name: two, cluster: {server: 'https://two.example'}}
users:
- {name: file, user: {tokenFile: token}}
- {name: program, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}}
";

    #[test]
    fn one_context_becomes_a_kubeconfig_that_needs_no_file() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "ca.crt", "CA");
        let token = write(dir.path(), "token", "secret\n");
        let config = CONFIG.replace("tokenFile: token", &format!("tokenFile: {}", token.display()));
        let path = write(dir.path(), "config", &config);
        let text = alone(&path, None).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["clusters"].as_array().unwrap().len(), 1);
        assert_eq!(value["clusters"][0]["cluster"]["certificate-authority-data"], STANDARD.encode("CA"));
        assert!(value["clusters"][0]["cluster"]["certificate-authority"].is_null());
        assert_eq!(value["users"][0]["user"]["token"], "secret");
        assert_eq!(value["current-context"], "a");
    }

    #[test]
    fn what_stages_could_not_use_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "config", CONFIG);
        let error = |context| format!("{:#}", alone(&path, Some(context)).unwrap_err());
        assert!(error("b").contains("use a token or a certificate"), "{}", error("b"));
        assert!(error("c").contains("there is no cluster none"), "{}", error("c"));
        assert!(error("d").ends_with("has a, b, c"), "{}", error("d"));
        assert!(error("a").contains("ca.crt"), "{}", error("a"));
    }

    #[test]
    fn labels_are_checked_before_anything_is_written() {
        let read = |text: &str| labels(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            read("env=fv,tier=").unwrap(),
            [("env".into(), "fv".into()), ("tier".into(), String::new())].into()
        );
        assert!(read("").unwrap().is_empty());
        for wrong in ["env", "a b=c", "env=a b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_registration_is_a_secret_and_a_cluster_with_labels() {
        let labels = [("env".to_owned(), "fv".to_owned())].into();
        let [secret, cluster] = registration(&ClusterRef::sveltos("eu", "shop"), "x", &labels);
        assert_eq!(
            (&secret["metadata"]["name"], &secret["data"]["kubeconfig"]),
            (&json!("shop-sveltos-kubeconfig"), &json!("eA=="))
        );
        assert_eq!(
            (&cluster["metadata"]["namespace"], &cluster["metadata"]["labels"]),
            (&json!("eu"), &json!({"env": "fv"}))
        );
    }
}
