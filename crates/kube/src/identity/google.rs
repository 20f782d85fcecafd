//! Tokens for clusters of GKE: the default credentials of the process.
//!
//! A pod of GKE has them from the metadata server. Elsewhere a file of workload identity federation says where the token of the pod is,
//! and where it is exchanged.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::{Question, escaped};
use super::environment::Environment;
use super::tokens::Token;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A token of the process.
pub(super) async fn token(environment: &Environment, now: Timestamp) -> Result<Token, String> {
    let Some(file) = environment.get("GOOGLE_APPLICATION_CREDENTIALS") else {
        return of_metadata(environment, now).await;
    };
    let text = tokio::fs::read_to_string(&file).await.map_err(|error| format!("{file}: {error}"))?;
    let credentials: Value = serde_json::from_str(&text).unwrap_or_default();
    if credentials["type"] != "external_account" {
        return Err(format!(
            "{file}: no file of workload identity federation (type external_account); keys of accounts are not used"
        ));
    }
    federated(&credentials, now).await.map_err(|error| format!("{file}: {error}"))
}

async fn of_metadata(environment: &Environment, now: Timestamp) -> Result<Token, String> {
    let host = environment.get("GCE_METADATA_HOST").unwrap_or_else(|| "metadata.google.internal".to_owned());
    let path = "computeMetadata/v1/instance/service-accounts/default/token";
    let question = Question::get(format!("http://{host}/{path}?scopes={}", escaped(SCOPE)));
    let answer = question.header("metadata-flavor", "Google").ask().await.map_err(|error| {
        format!("this process has no identity of Google Cloud: bind its ServiceAccount to one, or set GOOGLE_APPLICATION_CREDENTIALS ({error})")
    })?;
    Token::of_answer(&answer, now)
}

/// Exchanges the token of the pod, and that for one of an account where one is to be impersonated.
async fn federated(credentials: &Value, now: Timestamp) -> Result<Token, String> {
    let text = |field: &str| credentials[field].as_str().unwrap_or_default();
    let own = subject_token(&credentials["credential_source"]).await?;
    let fields = [
        ("audience", text("audience")),
        ("grant_type", EXCHANGE),
        ("requested_token_type", ACCESS_TOKEN),
        ("scope", SCOPE),
        ("subject_token", &own),
        ("subject_token_type", text("subject_token_type")),
    ];
    let token = Token::of_answer(&Question::form(text("token_url"), &fields).ask().await?, now)?;
    let account = text("service_account_impersonation_url");
    if account.is_empty() {
        return Ok(token);
    }
    let question = Question::json(account, &json!({"scope": [SCOPE], "lifetime": "3600s"}));
    let answer = question.header("authorization", &format!("Bearer {}", token.text)).ask().await?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let read = || {
        let until = answer["expireTime"].as_str()?.parse().ok()?;
        Some(Token { text: answer["accessToken"].as_str()?.to_owned(), until })
    };
    read().ok_or_else(|| "the answer to service_account_impersonation_url has no token".to_owned())
}

/// The token of the pod: a file, or a field of one.
async fn subject_token(source: &Value) -> Result<String, String> {
    let file =
        source["file"].as_str().ok_or("credential_source.file is missing: other sources are not used")?;
    let text = tokio::fs::read_to_string(file).await.map_err(|error| format!("{file}: {error}"))?;
    if source["format"]["type"] != "json" {
        return Ok(text.trim().to_owned());
    }
    let field = source["format"]["subject_token_field_name"].as_str().unwrap_or_default();
    let fields: Value = serde_json::from_str(&text).unwrap_or_default();
    fields[field].as_str().map(str::to_owned).ok_or_else(|| format!("{file}: no field {field:?}"))
}
