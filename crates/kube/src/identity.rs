//! Clusters that are reached with the identity that a cloud gives to this process.
//!
//! ```text
//! registration ─► kubeconfig that names a cloud ─► client ─► each request: a token of the cache, renewed in time
//! ```
//!
//! Which credentials the process has is what the cloud puts into its environment, as the cloud's own programs read it. No token is
//! written anywhere.

// D-1070: a cluster may be reached with the identity that a cloud gives to the stages.

use std::sync::Arc;

use http::StatusCode;
use http::header::AUTHORIZATION;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use sluice_api::model::{Cloud, WorkloadIdentity};

use crate::client::{Trust, client_of_kubeconfig};

mod ask;
mod aws;
mod azure;
mod environment;
mod google;
mod signature;
mod tokens;

pub(crate) use tokens::Tokens;

/// As which a kubeconfig names what gives the tokens. No other program knows it.
const PROVIDER: &str = "sluice.dev/workload-identity";

/// No token could be had, so nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoToken(pub(crate) String);

/// Whether a call has failed since no token could be had.
pub fn is_no_token(error: &kube::Error) -> bool {
    let mut next = Some(error as &dyn std::error::Error);
    while let Some(error) = next {
        if error.is::<NoToken>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// The kubeconfig of a cluster that is reached with an identity; its certificate authority is base64 of PEM. It is for
/// [`Trust::Identity`](crate::Trust::Identity) alone.
pub fn identity_kubeconfig(identity: &WorkloadIdentity, authority: Option<&str>) -> String {
    let mut cluster = json!({"server": identity.endpoint});
    if let Some(authority) = authority {
        cluster["certificate-authority-data"] = authority.into();
    }
    let provider = json!({"name": PROVIDER, "config": identity.cloud});
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": {"auth-provider": provider}}],
    })
    .to_string()
}

/// A client for the cluster of such a kubeconfig.
///
/// # Errors
/// That it is none, or what is wrong with the address or the certificate authority.
pub(crate) async fn client_of(kubeconfig: &str, tokens: Arc<Tokens>) -> Result<Client, String> {
    let (cloud, rest) = read(kubeconfig).ok_or("the kubeconfig names no cloud")?;
    let client = client_of_kubeconfig(&rest, Trust::Identity).await.map_err(|_| {
        "it cannot be reached: check spec.workloadIdentity.endpoint, and whether ca.crt of caSecretRef is a certificate".to_owned()
    })?;
    Ok(identified(&client, cloud, tokens))
}

/// The cloud that such a kubeconfig names, and the kubeconfig without it.
fn read(text: &str) -> Option<(Cloud, String)> {
    let mut file: Value = serde_json::from_str(text).ok()?;
    let provider = file.pointer_mut("/users/0/user").map(Value::take)?;
    let provider = provider.get("auth-provider").filter(|provider| provider["name"] == PROVIDER)?;
    let cloud = serde_json::from_value(provider["config"].clone()).ok()?;
    file["users"][0]["user"] = json!({});
    Some((cloud, file.to_string()))
}

/// A client over the connections of `client` that comes with a token of this cloud. A token that the server does not take is asked for
/// anew before the next request.
fn identified(client: &Client, cloud: Cloud, tokens: Arc<Tokens>) -> Client {
    let (namespace, client) = (client.default_namespace().to_owned(), client.clone());
    let cloud = Arc::new(cloud);
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        let (client, tokens, cloud) = (client.clone(), tokens.clone(), cloud.clone());
        async move {
            let token =
                tokens.of_cloud(&cloud).await.map_err(|error| kube::Error::Service(Box::new(error)))?;
            request.headers_mut().insert(AUTHORIZATION, token);
            let response = client.send(request).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                tokens.refused(&cloud).await;
            }
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests;
