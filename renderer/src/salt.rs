//! The secret with which an installation's random values begin: made once, kept in the management cluster, the same for all
//! renderers. Whoever may not read it cannot reckon the passwords and keys that templates and charts draw.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, ApiResource, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sluice_api::model::{NAMESPACE, RANDOM};
use sluice_kube::{Raw, remedy_of_denial};
use sluice_protocol::{About, Problem};
use sluice_renderer_core::Salt;
use sluice_runtime::Reporter;

/// Its field.
const FIELD: &str = "salt";
/// Pause before an API server that does not answer is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// The secret, made where there is none. Waits for as long as the management cluster does not answer: without it nothing can
/// be rendered anyway. What it waits for is a problem meanwhile.
pub(crate) async fn salt(client: &Client, reporter: &Reporter) -> Salt {
    let mut told = String::new();
    loop {
        match read_or_make(client).await {
            Ok(salt) => {
                // Also where a former process has said it.
                reporter.problem(Problem::resolved("renderer", "", about()));
                return salt;
            }
            Err(error) if error != told => {
                let text = format!(
                    "it can be neither read nor made: {error}; nothing is rendered before it can{}",
                    remedy_of_denial(&error)
                );
                tracing::warn!("the Secret {NAMESPACE}/{RANDOM}: {text}");
                reporter.problem(Problem::open("renderer", "", about(), text));
                told = error;
            }
            Err(error) => tracing::debug!(error, "still waiting for the Secret {NAMESPACE}/{RANDOM}"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn about() -> About {
    About::ManagementWatch(format!("Secret {RANDOM}"))
}

async fn read_or_make(client: &Client) -> Result<Salt, String> {
    let secrets = api(client, "Secret", "secrets", Some(NAMESPACE));
    if let Some(found) = secrets.get_opt(RANDOM).await.map_err(|error| error.to_string())? {
        return read(&found.value);
    }
    let bytes: [u8; 32] = StdRng::from_os_rng().random();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": RANDOM, "namespace": NAMESPACE}, "data": {FIELD: STANDARD.encode(bytes)}});
    match secrets.create(&PostParams::default(), &Raw::from(secret)).await {
        Ok(made) => read(&made.value),
        // There is no such namespace yet, or another renderer was faster.
        Err(Error::Api(status)) if status.code == 404 => {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
            let made = api(client, "Namespace", "namespaces", None)
                .create(&PostParams::default(), &Raw::from(namespace))
                .await;
            Err(made
                .err()
                .map_or_else(|| "its namespace has been made just now".to_owned(), |error| error.to_string()))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn api(client: &Client, kind: &str, plural: &str, namespace: Option<&str>) -> Api<Raw> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", kind), plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn read(secret: &Value) -> Result<Salt, String> {
    let text = secret["data"][FIELD].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    bytes.map(Salt::new).ok_or_else(|| {
        format!("its field {FIELD} is not 32 bytes in base64; delete the Secret and another one is made, with which all random values change")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_kube::client_of_kubeconfig;
    use sluice_protocol::Role;
    use sluice_runtime::kit::{self, Server};
    use sluice_simcluster::{FleetConfig, SimFleet};
    use sluice_tasks::Tasks;

    use super::*;

    const MANAGEMENT: &str = "management";

    #[tokio::test]
    async fn it_is_made_once_and_read_by_all() {
        let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
        let client =
            client_of_kubeconfig(&fleet.kubeconfig(&[MANAGEMENT]), sluice_kube::Trust::Own).await.unwrap();
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Renderer, &tasks).await;
        let told = Reporter::new(&context, "management");
        let (one, other) = tokio::join!(salt(&client, &told), salt(&client, &told));
        assert!(one == other && one != Salt::default());
        assert!(salt(&client, &told).await == one, "after a restart, too");
    }

    #[tokio::test]
    async fn one_that_cannot_be_used_is_told_and_never_replaced() {
        let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
        let client =
            client_of_kubeconfig(&fleet.kubeconfig(&[MANAGEMENT]), sluice_kube::Trust::Own).await.unwrap();
        let broken = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": RANDOM, "namespace": NAMESPACE}, "data": {FIELD: "AAAA"}});
        fleet
            .apply(
                MANAGEMENT,
                "user",
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
            )
            .unwrap();
        fleet.apply(MANAGEMENT, "user", broken).unwrap();
        let error = read_or_make(&client).await.unwrap_err();
        assert!(error.contains("delete the Secret"), "{error}");
    }
}
