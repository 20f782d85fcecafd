//! `sluice register cluster --pull`: the registration of a cluster that nobody reaches from outside, and what goes into it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use serde_json::{Map, Value, json};
use sluice_api::model::{LIB_GROUP, NAMESPACE};
use sluice_api::{ClusterRef, object, yaml};
use sluice_bus::key_file;
use sluice_protocol::Role;
use sluice_runtime::{KeySecrets, secrets_of};

use super::Registration;
use crate::install::nkey_secret;
use crate::print::put;
use crate::seed::apply;

/// Where metrics and health are served.
const PORT: u16 = 9090;

/// What the account of agent and deployer may do in the cluster.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Access {
    /// Everything: for profiles of any content, and RoleRequests.
    Admin,
    /// What most profiles deploy; more by a ClusterRole with the label sluice.dev/apply.
    Apply,
}

/// Arguments for a cluster that pulls.
#[derive(Debug, clap::Args)]
pub(super) struct Pull {
    /// The cluster fetches its work by itself: print what is to be applied to it.
    #[arg(long, requires_all = ["nats_url", "images"])]
    pull: bool,
    /// With --pull: where the cluster reaches the bus.
    #[arg(long, requires = "pull", value_name = "URL,...")]
    nats_url: Option<String>,
    /// With --pull: file with the certificate authority of the bus.
    #[arg(long, requires = "pull", value_name = "FILE")]
    nats_ca: Option<PathBuf>,
    /// With --pull: registry and prefix of the images, as <images>-deployer.
    #[arg(long, requires = "pull", value_name = "PREFIX")]
    images: Option<String>,
    /// With --pull: its tag.
    #[arg(long, requires = "pull", default_value = env!("CARGO_PKG_VERSION"))]
    tag: String,
    /// With --pull: what its account may do in the cluster.
    #[arg(long, requires = "pull", value_enum, default_value = "admin")]
    access: Access,
    /// With --pull: namespace of the installation in the management cluster.
    #[arg(long, requires = "pull", default_value = NAMESPACE)]
    installation: String,
}

/// Everything that the manifest says.
struct Manifest<'a> {
    cluster: &'a ClusterRef,
    pull: &'a Pull,
    /// What is in the Secret, by file.
    files: BTreeMap<String, Vec<u8>>,
}

// === impl Pull ===

impl Pull {
    /// Registers the cluster, and prints what it needs.
    pub(super) async fn run(
        &self,
        registration: &Registration,
        labels: &BTreeMap<String, String>,
    ) -> anyhow::Result<()> {
        let client = registration.client().await?;
        let cluster = ClusterRef::sveltos(&*registration.namespace, &*registration.cluster);
        // First what may be missing: a registration alone would only wait.
        let files = self.files(&client, &cluster).await?;
        apply(&client, &registered(&cluster, labels)).await?;
        eprintln!("sluice: {} is registered; apply what is printed to it", cluster.path());
        put!("{}", Manifest { cluster: &cluster, pull: self, files }.text()?);
        Ok(())
    }

    /// Who the cluster is on the bus, and the keys of its agent and its deployer.
    async fn files(
        &self,
        client: &Client,
        cluster: &ClusterRef,
    ) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let agent = Role::Agent(Some(cluster.clone()));
        let name = nkey_secret(&agent);
        let found = secrets_of(client.clone(), &self.installation).get_opt(&name).await;
        let found = found.with_context(|| format!("reading Secret {}/{name}", self.installation))?;
        let seed = found.and_then(|found| STANDARD.decode(found.value["data"]["seed"].as_str()?).ok());
        let seed = seed.with_context(|| {
            format!(
                "{} has no account on the bus: there is no Secret {}/{name} with a seed; add it by `sluice install secrets --pull-cluster {}`, or bus.accounts.pulling of the chart",
                cluster.path(),
                self.installation,
                cluster.path()
            )
        })?;
        files.insert("seed".to_owned(), seed);
        if let Some(path) = &self.nats_ca {
            let text = std::fs::read(path).with_context(|| format!("--nats-ca {}", path.display()))?;
            files.insert("ca.crt".to_owned(), text);
        }
        let keys = KeySecrets::of(client.clone());
        for role in [agent, Role::Deployer(Some(cluster.clone()))] {
            for (name, key) in keys.all(&role).await.map_err(anyhow::Error::msg)? {
                files.insert(key_file(&role, &name), key);
            }
        }
        Ok(files)
    }
}

fn registered(cluster: &ClusterRef, labels: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": format!("{LIB_GROUP}/v1beta1"),
        "kind": "SveltosCluster",
        "metadata": {"name": cluster.name, "namespace": cluster.namespace, "labels": labels},
        "spec": {"pullMode": true},
    })
}

// === impl Manifest ===

impl Manifest<'_> {
    /// One document for each object, as JSON, which is YAML.
    fn text(&self) -> anyhow::Result<String> {
        let mut text =
            String::from("# Printed by `sluice register cluster --pull`. There are private keys in it.\n");
        for object in self.objects()? {
            text.push_str("---\n");
            text.push_str(&serde_json::to_string_pretty(&object)?);
            text.push('\n');
        }
        Ok(text)
    }

    fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let rights = match self.pull.access {
            Access::Admin => include_str!("../../../deploy/managed/admin.yaml"),
            Access::Apply => include_str!("../../../deploy/managed/apply.yaml"),
        };
        let mut objects = yaml::documents(rights)?;
        // Nobody needs a token of the account who is in the cluster.
        objects.retain(|object| object::text(object, &["kind"]) != "Secret");
        let data: Map<String, Value> =
            self.files.iter().map(|(name, bytes)| (name.clone(), STANDARD.encode(bytes).into())).collect();
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "sluice-pull", "namespace": NAMESPACE},
            "data": data,
        }));
        objects.push(self.deployment());
        Ok(objects)
    }

    fn deployment(&self) -> Value {
        let labels = json!({"app.kubernetes.io/name": "sluice", "app.kubernetes.io/component": "pull"});
        let secret = json!({"secretName": "sluice-pull", "defaultMode": 0o440});
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "sluice-pull", "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "replicas": 1,
                "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "serviceAccountName": "sluice",
                        "enableServiceLinks": false,
                        "terminationGracePeriodSeconds": 30,
                        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
                            "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [self.container()],
                        "volumes": [
                            {"name": "sluice", "secret": secret},
                            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
                        ],
                    },
                },
            },
        })
    }

    /// One process for both stages: what they have in common is most of their memory.
    fn container(&self) -> Value {
        let Pull { nats_url, images, tag, .. } = self.pull;
        let probe = |path: &str| json!({"path": path, "port": PORT});
        let pod = json!({"fieldRef": {"fieldPath": "metadata.name"}});
        let mut env = vec![
            json!({"name": "SLUICE_NAME", "valueFrom": pod}),
            json!({"name": "SLUICE_HTTP_ADDR", "value": format!("0.0.0.0:{PORT}")}),
            json!({"name": "SLUICE_LOG_FORMAT", "value": "json"}),
            json!({"name": "SLUICE_NATS_URL", "value": nats_url}),
            json!({"name": "SLUICE_NATS_NKEY", "value": "/etc/sluice/seed"}),
            json!({"name": "SLUICE_BUS_KEYS", "value": "/etc/sluice"}),
        ];
        if self.files.contains_key("ca.crt") {
            env.push(json!({"name": "SLUICE_NATS_CA", "value": "/etc/sluice/ca.crt"}));
        }
        json!({
            "name": "deployer",
            "image": format!("{}-deployer:{tag}", images.as_deref().unwrap_or_default()),
            "command": ["/usr/local/bin/sluice-deployer"],
            "args": [format!("--cluster={}", self.cluster.path()), "--in-cluster", "--with-agent"],
            "env": env,
            "ports": [{"name": "http", "containerPort": PORT}],
            "startupProbe": {"httpGet": probe("/healthz"), "periodSeconds": 2, "failureThreshold": 30},
            "livenessProbe": {"httpGet": probe("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
            "readinessProbe": {"httpGet": probe("/readyz"), "periodSeconds": 5, "timeoutSeconds": 3},
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [
                {"name": "sluice", "mountPath": "/etc/sluice", "readOnly": true},
                {"name": "tmp", "mountPath": "/tmp"},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser as _;
    use kube::api::{Api, PostParams};
    use sluice_kube::{Raw, Trust, client_of_kubeconfig};
    use sluice_simcluster::{FleetConfig, SimFleet};

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        pull: Pull,
    }

    fn pull(more: &[&str]) -> Pull {
        let all =
            ["register", "--pull", "--nats-url", "tls://bus:4222", "--images", "registry.example/sluice"];
        Command::parse_from(all.iter().chain(more)).pull
    }

    #[tokio::test]
    async fn what_is_printed_has_the_credential_of_that_cluster_and_nothing_of_the_management_cluster() {
        let fleet =
            SimFleet::start(FleetConfig { clusters: vec!["management".into()], ..FleetConfig::default() });
        let fleet = fleet.await.unwrap();
        let client = client_of_kubeconfig(&fleet.kubeconfig(&["management"]), Trust::Own).await.unwrap();
        let cluster = ClusterRef::sveltos("edge", "till");
        let pull = pull(&["--tag", "1.2", "--access", "apply"]);
        let error = pull.files(&client, &cluster).await.unwrap_err().to_string();
        assert!(error.contains("`sluice install secrets --pull-cluster edge/till`"), "{error}");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        apply(&client, &namespace).await.unwrap();
        let secrets: Api<Raw> = secrets_of(client.clone(), NAMESPACE);
        let data = |key: &str| json!({key: STANDARD.encode(format!("the {key}"))});
        for (name, key) in [
            ("sluice-nats-agent.edge.till", "seed"),
            ("sluice-bus-agent-sveltos-edge-till", "digest"),
            ("sluice-bus-deployer-sveltos-edge-till", "identity-1"),
            ("sluice-bus-deployer", "identity-1"),
        ] {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data(key)});
            secrets.create(&PostParams::default(), &Raw::from(secret)).await.unwrap();
        }
        let files = pull.files(&client, &cluster).await.unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["agent.sveltos_edge_till.digest", "deployer.sveltos_edge_till.identity-1", "seed"]
        );
        let text = Manifest { cluster: &cluster, pull: &pull, files }.text().unwrap();
        let objects = yaml::documents(&text).unwrap();
        let secrets: Vec<_> = objects.iter().filter(|object| object["kind"] == "Secret").collect();
        assert_eq!(secrets.len(), 1, "and no token");
        assert_eq!(secrets[0]["data"]["seed"], STANDARD.encode("the seed"));
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let of = |field: &str| containers.iter().map(|one| one[field].clone()).collect::<Vec<_>>();
        assert_eq!(of("image"), ["registry.example/sluice-deployer:1.2"]);
        assert_eq!(of("args"), [json!(["--cluster=edge/till", "--in-cluster", "--with-agent"])]);
        assert!(objects.iter().any(|object| object["metadata"]["name"] == "sluice-apply-common"));
        assert!(!text.contains("SLUICE_NATS_CA"), "there is none");
        fleet.shutdown().await;
    }

    #[test]
    fn a_cluster_that_pulls_needs_to_know_the_bus_and_has_no_kubeconfig_here() {
        for (arguments, lacks) in [
            (&["--pull", "--images", "i"][..], "--nats-url"),
            (&["--pull", "--nats-url", "nats://b"], "--images"),
            (&["--nats-url", "nats://b"], "--pull"),
        ] {
            let error =
                Command::try_parse_from(["x"].iter().chain(arguments)).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(lacks), "{error}");
        }
    }
}
