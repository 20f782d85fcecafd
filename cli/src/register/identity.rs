//! `sluice register eks`, `gke` and `aks`: what a cluster needs that is reached with the identity of a cloud.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_api::model::{AUTHORITY_KEY, Cluster, LIB_GROUP};

use super::labels;
use crate::print::say;

/// What every cloud needs to be told.
#[derive(Debug, clap::Args)]
pub(super) struct Reached {
    /// Namespace of the registration.
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Name of the registration.
    #[arg(long)]
    cluster: String,
    /// Address of the cluster's API server, https://…
    #[arg(long)]
    endpoint: String,
    /// File with the certificate authority of the API server; without one those count that the system knows.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Labels by which the cluster is selected: key=value, separated by commas.
    #[arg(long, value_delimiter = ',')]
    labels: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice register eks --cluster shop --endpoint https://a1.gr7.eu-west-1.eks.amazonaws.com --ca ca.crt --region eu-west-1 > shop.yaml
  sluice register eks --cluster bank --endpoint https://b2.gr7.eu-west-1.eks.amazonaws.com --ca ca.crt --role-arn arn:aws:iam::111122223333:role/bank --labels env=prod")]
pub(super) struct Eks {
    #[command(flatten)]
    reached: Reached,
    /// Name of the cluster in EKS; by default that of the registration.
    #[arg(long)]
    name: Option<String>,
    /// Its region; by default that of agents and deployers.
    #[arg(long, default_value = "", hide_default_value = true)]
    region: String,
    /// Role that is assumed first.
    #[arg(long, value_name = "ARN", default_value = "", hide_default_value = true)]
    role_arn: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice register gke --cluster shop --endpoint https://10.0.0.2 --ca ca.crt --project acme --location europe-west1 > shop.yaml
  sluice register gke --namespace eu --cluster shop --name shop-2 --endpoint https://10.0.0.3 --ca ca.crt --project acme --location europe-west1-b")]
pub(super) struct Gke {
    #[command(flatten)]
    reached: Reached,
    /// Name of the cluster in GKE; by default that of the registration.
    #[arg(long)]
    name: Option<String>,
    /// Its project.
    #[arg(long)]
    project: String,
    /// Its region or zone.
    #[arg(long)]
    location: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice register aks --cluster shop --endpoint https://shop-1.hcp.westeurope.azmk8s.io --ca ca.crt --tenant 0a… --client 1b… > shop.yaml
  sluice register aks --namespace eu --cluster shop --endpoint https://shop-1.hcp.westeurope.azmk8s.io --tenant 0a… --client 1b… --labels env=prod")]
pub(super) struct Aks {
    #[command(flatten)]
    reached: Reached,
    /// Tenant.
    #[arg(long)]
    tenant: String,
    /// Client ID of the managed identity or application that trusts agents and deployers.
    #[arg(long)]
    client: String,
}

/// A cloud: its part of the registration, and what is to be done there.
trait Provider {
    fn reached(&self) -> &Reached;
    fn identity(&self) -> Value;
    fn steps(&self) -> Vec<String>;
}

impl Provider for Eks {
    fn reached(&self) -> &Reached {
        &self.reached
    }

    fn identity(&self) -> Value {
        let mut aws = json!({"clusterName": self.name.as_ref().unwrap_or(&self.reached.cluster)});
        for (field, value) in [("region", &self.region), ("roleARN", &self.role_arn)] {
            if !value.is_empty() {
                aws[field] = value.clone().into();
            }
        }
        json!({"provider": "AWS", "aws": aws})
    }

    fn steps(&self) -> Vec<String> {
        let role = match self.role_arn.as_str() {
            "" => "the role of the accounts".to_owned(),
            role => format!("{role}, which the role of the accounts may assume (sts:AssumeRole),"),
        };
        vec![
            "give the accounts sluice-agent and sluice-deployer a role: the annotation eks.amazonaws.com/role-arn, or EKS Pod Identity".to_owned(),
            format!("allow {role} in the cluster: an access entry of EKS with a policy or with groups of RBAC"),
        ]
    }
}

impl Provider for Gke {
    fn reached(&self) -> &Reached {
        &self.reached
    }

    fn identity(&self) -> Value {
        let name = self.name.as_ref().unwrap_or(&self.reached.cluster);
        json!({"provider": "GCP", "gcp": {"projectID": self.project, "clusterName": name, "location": self.location}})
    }

    fn steps(&self) -> Vec<String> {
        vec![
            "give the accounts sluice-agent and sluice-deployer an identity: the annotation iam.gke.io/gcp-service-account, or a file of \
             workload identity federation in GOOGLE_APPLICATION_CREDENTIALS"
                .to_owned(),
            format!(
                "allow the identity in the cluster: roles/container.clusterViewer in project {}, and a ClusterRoleBinding to it",
                self.project
            ),
        ]
    }
}

impl Provider for Aks {
    fn reached(&self) -> &Reached {
        &self.reached
    }

    fn identity(&self) -> Value {
        json!({"provider": "Azure", "azure": {"tenantID": self.tenant, "clientID": self.client}})
    }

    fn steps(&self) -> Vec<String> {
        vec![
            "label the pods of agents and deployers azure.workload.identity/use: \"true\", and let the identity trust the accounts \
             sluice-agent and sluice-deployer (a federated credential for each)"
                .to_owned(),
            format!(
                "allow {} in the cluster: the role Azure Kubernetes Service RBAC Writer, or a ClusterRoleBinding to its object ID",
                self.client
            ),
        ]
    }
}

// === impl Eks, Gke, Aks ===

impl Eks {
    pub(super) fn run(self) -> anyhow::Result<()> {
        print(&self)
    }
}

impl Gke {
    pub(super) fn run(self) -> anyhow::Result<()> {
        print(&self)
    }
}

impl Aks {
    pub(super) fn run(self) -> anyhow::Result<()> {
        print(&self)
    }
}

/// Writes manifests, and as comments what else is needed: nothing of a cloud is changed from here.
fn print(provider: &dyn Provider) -> anyhow::Result<()> {
    say!("{}", text(provider)?.trim_end());
    Ok(())
}

fn text(provider: &dyn Provider) -> anyhow::Result<String> {
    let reached = provider.reached();
    let flag = format!(
        "start agents and deployers with --workload-identity-namespaces {0} (the chart's clusters.workloadIdentityNamespaces: [{0}])",
        reached.namespace
    );
    let steps: String =
        [flag].into_iter().chain(provider.steps()).map(|step| format!("# - {step}\n")).collect();
    let objects = objects(reached, provider.identity(), &labels(&reached.labels)?)?;
    let objects: String = objects
        .iter()
        .map(|object| format!("---\n{}\n", sluice_template::to_yaml(object).trim_end()))
        .collect();
    Ok(format!("# Besides these objects:\n{steps}{objects}"))
}

/// The certificate authority, where there is one, and the registration.
fn objects(
    reached: &Reached,
    mut identity: Value,
    labels: &BTreeMap<String, String>,
) -> anyhow::Result<Vec<Value>> {
    let Reached { namespace, cluster, endpoint, .. } = reached;
    identity["endpoint"] = endpoint.clone().into();
    let mut objects = Vec::new();
    if let Some(file) = &reached.ca {
        let authority = std::fs::read(file).with_context(|| format!("--ca {}", file.display()))?;
        let name = format!("{cluster}-ca");
        identity["caSecretRef"] = json!({"name": name});
        objects.push(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
            "data": {AUTHORITY_KEY: STANDARD.encode(authority)}}),
        );
    }
    let registration = json!({
        "apiVersion": format!("{LIB_GROUP}/v1beta1"),
        "kind": "SveltosCluster",
        "metadata": {"name": cluster, "namespace": namespace, "labels": labels},
        "spec": {"workloadIdentity": identity},
    });
    let read = Cluster::read(&registration.clone().into()).and_then(|cluster| cluster.identity);
    if let Some(Err(error)) = read.as_deref() {
        anyhow::bail!("{error}");
    }
    objects.push(registration);
    Ok(objects)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::*;

    fn reached(ca: Option<PathBuf>) -> Reached {
        Reached {
            namespace: "eu".into(),
            cluster: "shop".into(),
            endpoint: "https://shop.example".into(),
            ca,
            labels: vec!["env=prod".into()],
        }
    }

    #[test]
    fn a_cluster_of_eks_is_printed_with_its_authority_and_what_else_is_needed() {
        let mut ca = tempfile::NamedTempFile::new().unwrap();
        ca.write_all(b"PEM").unwrap();
        let eks = Eks {
            reached: reached(Some(ca.path().into())),
            name: None,
            region: "eu-west-1".into(),
            role_arn: "arn:aws:iam::1:role/shop".into(),
        };
        let text = text(&eks).unwrap();
        assert!(text.contains("--workload-identity-namespaces eu"), "{text}");
        assert!(text.contains("role/shop, which the role of the accounts may assume"), "{text}");
        let objects = sluice_api::yaml::documents(&text).unwrap();
        assert_eq!(
            (&objects[0]["metadata"]["name"], &objects[0]["data"]["ca.crt"]),
            (&json!("shop-ca"), &json!("UEVN"))
        );
        let expected = json!({"provider": "AWS", "endpoint": "https://shop.example", "caSecretRef": {"name": "shop-ca"},
            "aws": {"clusterName": "shop", "region": "eu-west-1", "roleARN": "arn:aws:iam::1:role/shop"}});
        assert_eq!(objects[1]["spec"]["workloadIdentity"], expected);
        assert_eq!(objects[1]["metadata"]["labels"], json!({"env": "prod"}));
    }

    #[test]
    fn clusters_of_gke_and_aks_need_no_authority() {
        let gke =
            Gke { reached: reached(None), name: Some("s".into()), project: "p".into(), location: "l".into() };
        let aks = Aks { reached: reached(None), tenant: "t".into(), client: "c".into() };
        let spec = |provider: &dyn Provider| {
            let objects = sluice_api::yaml::documents(&text(provider).unwrap()).unwrap();
            assert_eq!(objects.len(), 1);
            objects[0]["spec"]["workloadIdentity"].clone()
        };
        assert_eq!(spec(&gke)["gcp"], json!({"projectID": "p", "clusterName": "s", "location": "l"}));
        assert_eq!(spec(&aks)["azure"], json!({"tenantID": "t", "clientID": "c"}));
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused() {
        let clear = Reached { endpoint: "http://shop.example".into(), ..reached(None) };
        let gke = Gke { reached: clear, name: None, project: "p".into(), location: "l".into() };
        let error = text(&gke).unwrap_err().to_string();
        assert!(error.contains("spec.workloadIdentity.endpoint"), "{error}");
    }
}
