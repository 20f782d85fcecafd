//! `sluice seed`: makes a management cluster ready: CRDs, registered clusters with their kubeconfigs, examples.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, PatchParams};
use kube::config::{Kubeconfig, NamedContext};
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_api::{Gvk, ObjectKey, object, yaml};
use sluice_dryrun::Sources;
use sluice_kube::{Raw, management_client, resource_of};

use crate::print::say;

/// The context of the management cluster; all others are managed clusters.
pub(crate) const MANAGEMENT: &str = "management";

/// Field manager of everything that is seeded.
const MANAGER: &str = "sluice-seed";

/// The examples, so that the binary needs no files.
const EXAMPLES: [(&str, &str); 20] = [
    (
        "cross-cluster-services/event-source.yaml",
        include_str!("../../examples/cross-cluster-services/event-source.yaml"),
    ),
    (
        "cross-cluster-services/event-trigger.yaml",
        include_str!("../../examples/cross-cluster-services/event-trigger.yaml"),
    ),
    ("staged-rollout/banner.yaml", include_str!("../../examples/staged-rollout/banner.yaml")),
    ("drift/proxy.yaml", include_str!("../../examples/drift/proxy.yaml")),
    ("health-gate/database.yaml", include_str!("../../examples/health-gate/database.yaml")),
    ("health-gate/shop.yaml", include_str!("../../examples/health-gate/shop.yaml")),
    ("http-routes/event-source.yaml", include_str!("../../examples/http-routes/event-source.yaml")),
    ("http-routes/event-trigger.yaml", include_str!("../../examples/http-routes/event-trigger.yaml")),
    (
        "ingress-for-https/event-source.yaml",
        include_str!("../../examples/ingress-for-https/event-source.yaml"),
    ),
    (
        "ingress-for-https/event-trigger.yaml",
        include_str!("../../examples/ingress-for-https/event-trigger.yaml"),
    ),
    ("namespace-quota/event-source.yaml", include_str!("../../examples/namespace-quota/event-source.yaml")),
    ("namespace-quota/event-trigger.yaml", include_str!("../../examples/namespace-quota/event-trigger.yaml")),
    (
        "job-on-cloud-event/event-source.yaml",
        include_str!("../../examples/job-on-cloud-event/event-source.yaml"),
    ),
    (
        "job-on-cloud-event/event-trigger.yaml",
        include_str!("../../examples/job-on-cloud-event/event-trigger.yaml"),
    ),
    ("network-policy/cluster.yaml", include_str!("../../examples/network-policy/cluster.yaml")),
    ("network-policy/event-source.yaml", include_str!("../../examples/network-policy/event-source.yaml")),
    (
        "network-policy/event-based-add-on.yaml",
        include_str!("../../examples/network-policy/event-based-add-on.yaml"),
    ),
    ("secret-on-demand/event-source.yaml", include_str!("../../examples/secret-on-demand/event-source.yaml")),
    (
        "secret-on-demand/event-trigger.yaml",
        include_str!("../../examples/secret-on-demand/event-trigger.yaml"),
    ),
    ("secret-on-demand/login.yaml", include_str!("../../examples/secret-on-demand/login.yaml")),
];

/// What only `sluice up` loads: it serves the charts of these.
const EXAMPLES_WITH_CHARTS: [(&str, &str); 2] = [
    (
        "admission-policies/cluster-profile.yaml",
        include_str!("../../examples/admission-policies/cluster-profile.yaml"),
    ),
    ("admission-policies/policies.yaml", include_str!("../../examples/admission-policies/policies.yaml")),
];

/// The repository of the examples' chart.
const REPOSITORY: &str = "https://charts.example.com/policies";
/// The files of that chart.
const CHART: [(&str, &str); 7] = [
    ("Chart.yaml", include_str!("../../examples/admission-policies/sources/admission/Chart.yaml")),
    ("values.yaml", include_str!("../../examples/admission-policies/sources/admission/values.yaml")),
    (
        "values.schema.json",
        include_str!("../../examples/admission-policies/sources/admission/values.schema.json"),
    ),
    (
        "crds/admissionrules.yaml",
        include_str!("../../examples/admission-policies/sources/admission/crds/admissionrules.yaml"),
    ),
    (
        "templates/_names.tpl",
        include_str!("../../examples/admission-policies/sources/admission/templates/_names.tpl"),
    ),
    (
        "templates/rights.yaml",
        include_str!("../../examples/admission-policies/sources/admission/templates/rights.yaml"),
    ),
    (
        "templates/settings.yaml",
        include_str!("../../examples/admission-policies/sources/admission/templates/settings.yaml"),
    ),
];

/// Which examples are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Examples {
    None,
    /// Those that need no chart.
    Plain,
    All,
}

/// Arguments of `sluice seed`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice seed --kubeconfig management.yaml --no-examples
  sluice seed --kubeconfig management.yaml --clusters-kubeconfig clusters.yaml")]
pub(crate) struct Args {
    /// Kubeconfig of the management cluster.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Kubeconfig with a context for each managed cluster; by default the other contexts of --kubeconfig.
    #[arg(long)]
    clusters_kubeconfig: Option<PathBuf>,

    /// Load no examples.
    #[arg(long)]
    no_examples: bool,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let client = management_client(self.kubeconfig.as_deref()).await?;
        let path = self.clusters_kubeconfig.or(self.kubeconfig);
        let clusters = path.map(|path| managed(&path)).transpose()?.unwrap_or_default();
        let examples = if self.no_examples { Examples::None } else { Examples::Plain };
        seed(&client, &clusters, examples).await?;
        say!("seeded {} clusters", clusters.len());
        Ok(())
    }
}

/// A managed cluster: its name, and a kubeconfig for it alone.
pub(crate) type Managed = (String, String);

/// The contexts of a kubeconfig, each as a kubeconfig of its own.
fn managed(path: &Path) -> anyhow::Result<Vec<Managed>> {
    let file =
        Kubeconfig::read_from(path).with_context(|| format!("--clusters-kubeconfig {}", path.display()))?;
    let managed = file.contexts.iter().filter(|context| context.name != MANAGEMENT);
    let alone = |context: &NamedContext| {
        let (cluster, user) =
            context.context.as_ref().map(|c| (c.cluster.clone(), c.user.clone())).unwrap_or_default();
        let config = Kubeconfig {
            current_context: Some(context.name.clone()),
            contexts: vec![context.clone()],
            clusters: file.clusters.iter().filter(|named| named.name == cluster).cloned().collect(),
            auth_infos: file
                .auth_infos
                .iter()
                .filter(|named| Some(&named.name) == user.as_ref())
                .cloned()
                .collect(),
            ..Kubeconfig::default()
        };
        // JSON is YAML.
        Ok((context.name.clone(), serde_json::to_string(&config)?))
    };
    managed.map(alone).collect()
}

/// Makes everything; what is there already stays as it is or is brought up to date.
pub(crate) async fn seed(client: &Client, clusters: &[Managed], examples: Examples) -> anyhow::Result<()> {
    for crd in sluice_api::crd::all() {
        apply(client, &crd).await?;
    }
    served(client).await?;
    apply(client, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).await?;
    for (name, kubeconfig) in clusters {
        for object in registration(name, kubeconfig, examples != Examples::None) {
            apply(client, &object).await?;
        }
    }
    let known: BTreeSet<&String> = clusters.iter().map(|(name, _)| name).collect();
    let plain = EXAMPLES.iter().filter(|_| examples != Examples::None);
    let with_charts = EXAMPLES_WITH_CHARTS.iter().filter(|_| examples == Examples::All);
    for (file, text) in plain.chain(with_charts) {
        for object in yaml::documents(text).map_err(|error| anyhow::anyhow!("examples/{file}: {error}"))? {
            let cluster = object::text(&object, &["kind"]) == "SveltosCluster";
            if !cluster || !known.contains(&object::name(&object).to_owned()) {
                apply(client, &object).await?;
            }
        }
    }
    Ok(())
}

/// Adds the charts of the examples.
pub(crate) fn add_charts(sources: &mut Sources) -> anyhow::Result<()> {
    let files = CHART.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    sources.add(REPOSITORY, &files.collect()).map_err(anyhow::Error::msg)
}

fn registration(name: &str, kubeconfig: &str, examples: bool) -> [Value; 2] {
    let labels = if examples { json!({"env": "fv"}) } else { json!({}) };
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": format!("{name}-sveltos-kubeconfig"), "namespace": "default"},
        "data": {"kubeconfig": STANDARD.encode(kubeconfig)},
    });
    let cluster = json!({
        "apiVersion": "lib.projectsveltos.io/v1beta1",
        "kind": "SveltosCluster",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {},
    });
    [secret, cluster]
}

/// Waits until the new kinds are served.
async fn served(client: &Client) -> anyhow::Result<()> {
    let kinds = sluice_api::crd::all();
    let text = |crd: &Value, path: &[&str]| object::text(crd, path).to_owned();
    for crd in &kinds {
        let gvk = Gvk::new(text(crd, &["spec", "group"]), "v1beta1", text(crd, &["spec", "names", "kind"]));
        let mut tries = 0;
        // A new group is in the list of groups a moment before its kinds can be asked for.
        while !matches!(resource_of(client, &gvk).await, Ok(Some(_))) {
            tries += 1;
            anyhow::ensure!(
                tries < 300,
                "{gvk} is not served 30 s after its CustomResourceDefinition was applied"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

pub(crate) async fn apply(client: &Client, object: &Value) -> anyhow::Result<()> {
    let key = ObjectKey::of(object).context("a seeded object has no kind or name")?;
    let Some((resource, namespaced)) = resource_of(client, &key.gvk).await? else {
        anyhow::bail!("the management cluster has no kind {}", key.gvk)
    };
    let api: Api<Raw> = if namespaced {
        let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
        Api::namespaced_with(client.clone(), namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    let mut body = object.clone();
    if !namespaced && let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    let params = PatchParams::apply(MANAGER).force();
    sluice_kube::apply(&api, &key.name, &params, &body).await.with_context(|| format!("apply {key}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_chart_of_the_examples_is_whole() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/admission-policies/sources");
        let mut sources = Sources::default();
        add_charts(&mut sources).unwrap();
        assert_eq!(sources, Sources::read(&folder).unwrap());
    }
}
