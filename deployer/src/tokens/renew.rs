//! Renewing one token: the Secret is read, the cluster is asked, and the Secret is written if nobody else has.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Map, Value, json};
use sluice_api::model::TokenRenewal;
use sluice_api::secrets::without_values;
use sluice_api::{ClusterRef, Gvk, object};
use sluice_deployer_core::{MANAGER, TokenLife};
use sluice_kube::{
    Claims, GivenToken, Raw, TokenUser, Trust, client_of_kubeconfig, may_request_token, remedy_of_denial,
    request_token, segment, token_user, with_token,
};
use sluice_runtime::kubeconfig_key;

use super::life;
use crate::api::TIMEOUT;
use crate::failure::root;

/// Why nothing is done for a cluster that has just gone.
pub(super) const GONE: &str = "the cluster is not registered any more";
const OPTION: &str = "spec.tokenRequestRenewalOption";
const SECOND: i64 = 1_000_000;

/// What is needed for it.
pub(super) struct Renew<'a> {
    pub(super) management: Client,
    pub(super) trust: Trust,
    pub(super) cluster: &'a ClusterRef,
    pub(super) renewal: &'a TokenRenewal,
}

/// A kubeconfig as its Secret has it now.
struct Found {
    key: String,
    text: String,
    /// Of the Secret.
    version: String,
}

// === impl Renew ===

impl Renew<'_> {
    /// Renews it, and says how long the new one lives; writes only while it is `allowed`.
    ///
    /// # Errors
    /// What is wrong and what to do, without anything of a kubeconfig.
    pub(super) async fn run(&self, allowed: impl Fn() -> bool) -> Result<TokenLife, String> {
        let found = self.in_time("the management cluster", self.find()).await?;
        let user = token_user(&found.text).map_err(|error| self.of_secret(error))?;
        let account = self.account(&user)?;
        let old =
            client_of_kubeconfig(&found.text, self.trust).await.map_err(|error| self.of_secret(error))?;
        let given = self.in_time("the cluster", self.ask(&old, &account)).await?;
        let text = with_token(&found.text, &given.token).map_err(|error| self.of_secret(error))?;
        let new = client_of_kubeconfig(&text, self.trust).await.map_err(|error| self.of_secret(error))?;
        self.in_time("the cluster", self.prove(&new, &account)).await?;
        if !allowed() {
            return Err("this replica's membership has lapsed".to_owned());
        }
        self.in_time("the management cluster", self.write(&found, &text)).await?;
        tracing::info!(cluster = %self.cluster, "the token of a cluster's kubeconfig is another one");
        Ok(lives(&given))
    }

    async fn in_time<T>(
        &self,
        who: &str,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let answer = tokio::time::timeout(TIMEOUT, work).await;
        answer.unwrap_or_else(|_| {
            Err(format!("{OPTION}: {who} has not answered within {} s; it is tried again", TIMEOUT.as_secs()))
        })
    }

    fn secrets(&self) -> Api<Raw> {
        let secret = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
        Api::namespaced_with(self.management.clone(), &self.cluster.namespace, &secret)
    }

    fn name(&self) -> &str {
        &self.renewal.kubeconfig.secret
    }

    /// An error about the Secret.
    fn of_secret(&self, error: impl Display) -> String {
        format!("Secret {}/{}: {error}", self.cluster.namespace, self.name())
    }

    /// That the management cluster does not do what it is asked.
    fn refused(&self, error: &kube::Error) -> String {
        if let kube::Error::Api(status) = error {
            if status.code == 409 {
                return self.of_secret("somebody else has just written it; it is tried again");
            }
            let message = without_values(&Gvk::new("", "v1", "Secret"), &status.message).to_string();
            let remedy = match remedy_of_denial(&status.message) {
                "" => "; it is tried again".to_owned(),
                remedy => format!("{remedy} where `rbac.renewTokens` of the chart is true"),
            };
            return self.of_secret(format!("{message}{remedy}"));
        }
        self.of_secret(format!("the management cluster cannot be asked: {}; it is tried again", root(error)))
    }

    async fn find(&self) -> Result<Found, String> {
        let secret = self.secrets().get(&segment(self.name())).await;
        let secret = secret.map_err(|error| self.refused(&error))?.value;
        let none = Map::new();
        let data = secret.get("data").and_then(Value::as_object).unwrap_or(&none);
        let named = &self.renewal.kubeconfig;
        let key = kubeconfig_key(named, data).ok_or_else(|| self.of_secret("it has no kubeconfig"))?;
        let text = data.get(&key).and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| self.of_secret(format!("key {key} is not base64 of text")))?;
        let version = object::text(&secret, &["metadata", "resourceVersion"]).to_owned();
        let key = named.renewed.clone().unwrap_or(key);
        Ok(Found { key, text, version })
    }

    /// Namespace and name of the ServiceAccount: as they are written, as the present token says, or as the context does.
    fn account(&self, user: &TokenUser) -> Result<(String, String), String> {
        let written = (self.renewal.namespace.clone(), self.renewal.name.clone());
        let own = user.token.as_deref().and_then(Claims::of).and_then(|claims| claims.account);
        let (namespace, name) = own.unwrap_or_else(|| (user.namespace.clone(), user.name.clone()));
        let or = |written: String, own: String| if written.is_empty() { own } else { written };
        let account = (or(written.0, namespace), or(written.1, name));
        if account.0.is_empty() || account.1.is_empty() {
            return Err(format!(
                "{OPTION}.saName: nobody knows which ServiceAccount the kubeconfig is of; write saName and saNamespace"
            ));
        }
        Ok(account)
    }

    async fn ask(&self, client: &Client, account: &(String, String)) -> Result<GivenToken, String> {
        let (namespace, name) = (account.0.as_str(), account.1.as_str());
        let seconds = (self.renewal.duration / SECOND).max(1);
        let given = request_token(client, (namespace, name), seconds).await;
        given.map_err(|error| said(&error, (namespace, name)))
    }

    /// Whether the cluster takes the new token, and gives one for it when it is to be renewed: a kubeconfig that locks out whoever
    /// has it is not written.
    async fn prove(&self, client: &Client, account: &(String, String)) -> Result<(), String> {
        let (namespace, name) = (account.0.as_str(), account.1.as_str());
        match may_request_token(client, (namespace, name)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!(
                "{OPTION}: ServiceAccount {namespace}/{name} of the cluster could not renew its own token, so the kubeconfig stays as it is; {}",
                allow((namespace, name))
            )),
            // It may not even ask, which tells nothing.
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(()),
            Err(error) => Err(said(&error, (namespace, name))),
        }
    }

    /// Writes it, where nobody has written the Secret since it was read.
    async fn write(&self, found: &Found, text: &str) -> Result<(), String> {
        let patch = json!({
            "metadata": {"resourceVersion": found.version},
            "data": {found.key.as_str(): STANDARD.encode(text)},
        });
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = self.secrets().patch(&segment(self.name()), &params, &Patch::Merge(patch)).await;
        written.map(drop).map_err(|error| self.refused(&error))
    }
}

/// How long a token lives: as it says itself, or as the server has said beside it.
fn lives(given: &GivenToken) -> TokenLife {
    let own = Claims::of(&given.token).map(|claims| life(&claims)).unwrap_or_default();
    TokenLife { expires: own.expires.or(given.expires), ..own }
}

/// What to do so that a ServiceAccount can renew its token.
fn allow((namespace, name): (&str, &str)) -> String {
    format!(
        "allow it create of serviceaccounts/token there, in namespace {namespace} with the resourceName {name}"
    )
}

/// That the cluster does not give a token.
fn said(error: &kube::Error, account: (&str, &str)) -> String {
    let (namespace, name) = account;
    let kube::Error::Api(status) = error else {
        return format!(
            "{OPTION}: the cluster cannot be asked for a token: {}; it is tried again",
            root(error)
        );
    };
    let remedy = match status.code {
        401 => "the credentials of its kubeconfig are not valid any more; register the cluster once more"
            .to_owned(),
        403 => format!("who its kubeconfig is of may not do that; {}", allow(account)),
        404 => "there is none of that name; correct saNamespace and saName".to_owned(),
        400 | 422 => "correct tokenDuration, saNamespace or saName".to_owned(),
        _ => "it is tried again".to_owned(),
    };
    format!(
        "{OPTION}: the cluster gives no token of its ServiceAccount {namespace}/{name}: {}; {remedy}",
        status.message
    )
}

#[cfg(test)]
mod tests;
