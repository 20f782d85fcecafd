//! How a cluster is reached with the identity that a cloud gives to the process, without a kubeconfig.

// D-1070: a cluster may be reached with the identity that a cloud gives to the stages.

use std::sync::Arc;

use serde_json::Value;

use super::read::Field;
use crate::error::FieldError;

/// `spec.workloadIdentity` of a SveltosCluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadIdentity {
    /// Address of its API server, with the scheme.
    pub endpoint: String,
    /// The Secret with its certificate authority, in the namespace of the registration, under the key `ca.crt`. Without one those count
    /// that the system knows.
    pub authority: Option<String>,
    /// Whose tokens it takes.
    pub cloud: Cloud,
}

/// Who gives tokens for a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(tag = "provider", rename_all_fields = "camelCase")]
pub enum Cloud {
    /// AWS, for clusters of EKS.
    #[serde(rename = "AWS")]
    Aws {
        /// Name of the cluster in EKS; a token is good for this one alone.
        cluster: String,
        /// Its region; empty for that of the process.
        region: String,
        /// Role that is assumed first; empty for none.
        role: String,
    },
    /// Google Cloud, for clusters of GKE: the default credentials of the process.
    #[serde(rename = "GCP")]
    Gcp,
    /// Azure, for clusters of AKS.
    #[serde(rename = "Azure")]
    Azure {
        /// Tenant.
        tenant: String,
        /// Managed identity or application that trusts the process.
        client: String,
    },
}

/// How a cluster is reached with an identity, or why that cannot be read; most are not.
pub type Identity = Option<Arc<Result<WorkloadIdentity, FieldError>>>;

/// Key of a Secret with a certificate authority.
pub const AUTHORITY_KEY: &str = "ca.crt";

// === impl WorkloadIdentity ===

impl WorkloadIdentity {
    /// Reads the registration of a cluster; nothing where it has none.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub(super) fn read(object: &Value) -> Result<Option<Self>, FieldError> {
        let identity = Field::spec(object).map("workloadIdentity")?;
        if identity.value().is_none() {
            return Ok(None);
        }
        let authority = identity.map("caSecretRef")?.get("name").text()?;
        Ok(Some(Self {
            endpoint: endpoint(&identity.get("endpoint"))?,
            authority: Some(authority).filter(|name| !name.is_empty()),
            cloud: cloud(&identity)?,
        }))
    }
}

fn cloud(identity: &Field<'_>) -> Result<Cloud, FieldError> {
    let provider = identity.get("provider");
    match provider.text()?.as_str() {
        "AWS" => {
            let aws = identity.map("aws")?;
            let (region, role) = (aws.get("region").text()?, aws.get("roleARN").text()?);
            Ok(Cloud::Aws { cluster: needed(&aws.get("clusterName"))?, region, role })
        }
        "GCP" => Ok(Cloud::Gcp),
        "Azure" => {
            let azure = identity.map("azure")?;
            let tenant = needed(&azure.get("tenantID"))?;
            Ok(Cloud::Azure { tenant, client: needed(&azure.get("clientID"))? })
        }
        other => Err(provider.error(format!("{other:?} is no cloud that is known; write AWS, GCP or Azure"))),
    }
}

fn needed(field: &Field<'_>) -> Result<String, FieldError> {
    let text = field.text()?;
    if text.is_empty() { Err(field.error("is required")) } else { Ok(text) }
}

/// An address without a scheme means HTTPS. In clear a token goes nowhere but to this machine.
fn endpoint(field: &Field<'_>) -> Result<String, FieldError> {
    let text = needed(field)?;
    // What is before it is no host.
    if text.contains('@') {
        return Err(field.error("names a user; write the address alone"));
    }
    let local = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
    if text.starts_with("https://") || local.iter().any(|address| text.starts_with(address)) {
        return Ok(text);
    }
    match text.contains("://") {
        false => Ok(format!("https://{text}")),
        true => {
            Err(field.error("a token would go there in clear; write an address that begins with https://"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(identity: Value) -> Result<Option<WorkloadIdentity>, String> {
        let object = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c"},
            "spec": {"workloadIdentity": identity}});
        WorkloadIdentity::read(&object).map_err(|error| error.to_string())
    }

    #[test]
    fn each_cloud_has_fields_of_its_own() {
        assert_eq!(read(json!(null)), Ok(None));
        let of = |cloud: Value| {
            let mut identity = json!({"endpoint": "https://c", "caSecretRef": {"name": "ca"}});
            identity.as_object_mut().unwrap().extend(cloud.as_object().unwrap().clone());
            read(identity).unwrap().unwrap()
        };
        let (cluster, region, role) = ("shop".to_owned(), "eu-west-1".to_owned(), String::new());
        let aws = of(json!({"provider": "AWS", "aws": {"clusterName": "shop", "region": "eu-west-1"}}));
        assert_eq!(aws.cloud, Cloud::Aws { cluster, region, role });
        assert_eq!((aws.endpoint.as_str(), aws.authority.as_deref()), ("https://c", Some("ca")));
        let gcp = json!({"projectID": "p", "clusterName": "c", "location": "l"});
        assert_eq!(of(json!({"provider": "GCP", "gcp": gcp})).cloud, Cloud::Gcp);
        let azure = of(json!({"provider": "Azure", "azure": {"tenantID": "t", "clientID": "i"}}));
        assert_eq!(azure.cloud, Cloud::Azure { tenant: "t".into(), client: "i".into() });
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (identity, expected) in [
            (json!("x"), "spec.workloadIdentity"),
            (json!({}), "spec.workloadIdentity.endpoint: is required"),
            (
                json!({"endpoint": "c", "provider": "IBM"}),
                "spec.workloadIdentity.provider: \"IBM\" is no cloud",
            ),
            (
                json!({"endpoint": "c", "provider": "AWS"}),
                "spec.workloadIdentity.aws.clusterName: is required",
            ),
            (
                json!({"endpoint": "c", "provider": "Azure", "azure": {"tenantID": "t"}}),
                "azure.clientID: is required",
            ),
            (
                json!({"endpoint": "http://c", "provider": "GCP"}),
                "spec.workloadIdentity.endpoint: a token would go there in clear",
            ),
            (
                json!({"endpoint": "c", "provider": "GCP", "caSecretRef": 1}),
                "spec.workloadIdentity.caSecretRef",
            ),
        ] {
            let error = read(identity).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_token_goes_in_clear_to_this_machine_only() {
        let endpoint = |text: &str| {
            read(json!({"endpoint": text, "provider": "GCP"})).map(|read| read.unwrap().endpoint)
        };
        assert_eq!(endpoint("10.0.0.1:443").unwrap(), "https://10.0.0.1:443");
        assert_eq!(endpoint("http://127.0.0.1:80").unwrap(), "http://127.0.0.1:80");
        assert!(endpoint("http://127.0.0.1.example.com").is_err());
        assert!(endpoint("http://localhost.example.com:80").is_err());
        assert!(endpoint("http://127.0.0.1:80@example.com").is_err());
    }
}
