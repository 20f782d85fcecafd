//! Tokens for clusters of EKS: a signed question to the service for identities, which the cluster asks in the name of its caller.
//!
//! Keys are those of the environment, those that a web identity token of the pod is exchanged for (IRSA), or those of EKS Pod Identity.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::ask::{Question, element};
use super::environment::Environment;
use super::signature::{Keys, Signed};

/// A cluster takes a token for so long after it was signed.
pub(super) const TOKEN_LIFE: SignedDuration = SignedDuration::from_mins(15);
/// The question itself may be asked for so long, seconds.
const GOOD_FOR: u32 = 60;
/// As which roles are assumed.
const SESSION: &str = "sluice";
/// Version of the service for identities.
const VERSION: &str = "2011-06-15";

/// Keys, and until when they are lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lent {
    pub(super) keys: Keys,
    pub(super) until: Timestamp,
}

/// The region, of the cluster or else of the process.
pub(super) fn region_of(region: &str, environment: &Environment) -> Result<String, String> {
    let own = || environment.get("AWS_REGION").or_else(|| environment.get("AWS_DEFAULT_REGION"));
    let region = Some(region.to_owned()).filter(|region| !region.is_empty()).or_else(own);
    let region = region.ok_or("no region: write spec.workloadIdentity.aws.region, or set AWS_REGION")?;
    // It becomes a part of a host.
    let is_plain = region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_plain {
        Ok(region)
    } else {
        Err(format!("spec.workloadIdentity.aws.region: {region:?} is no region"))
    }
}

/// The token of a cluster.
pub(super) fn token(
    cluster: &str,
    region: &str,
    keys: &Keys,
    environment: &Environment,
    now: Timestamp,
) -> String {
    let service = service(region, environment);
    let signed = Signed {
        host: host_of(&service),
        region,
        service: "sts",
        parameters: &[("Action", "GetCallerIdentity"), ("Version", VERSION)],
        headers: &[("x-k8s-aws-id", cluster)],
        good_for: GOOD_FOR,
    };
    let url = format!("{service}/?{}", signed.query(keys, now));
    format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url))
}

/// The keys of a role, or those of the process where none is named.
pub(super) async fn keys(
    role: &str,
    region: &str,
    environment: &Environment,
    now: Timestamp,
) -> Result<Lent, String> {
    let own = own_keys(region, environment, now).await?;
    if role.is_empty() {
        return Ok(own);
    }
    let service = service(region, environment);
    let signed = Signed {
        host: host_of(&service),
        region,
        service: "sts",
        parameters: &[
            ("Action", "AssumeRole"),
            ("DurationSeconds", "3600"),
            ("RoleArn", role),
            ("RoleSessionName", SESSION),
            ("Version", VERSION),
        ],
        headers: &[],
        good_for: GOOD_FOR,
    };
    let answer = Question::get(format!("{service}/?{}", signed.query(&own.keys, now))).ask().await;
    lent(&answer.map_err(|error| format!("role {role} cannot be assumed: {error}"))?)
}

async fn own_keys(region: &str, environment: &Environment, now: Timestamp) -> Result<Lent, String> {
    let get = |name: &str| environment.get(name);
    if let (Some(id), Some(secret)) = (get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY")) {
        let keys = Keys { id, secret, session: get("AWS_SESSION_TOKEN") };
        let until = now.checked_add(SignedDuration::from_hours(1)).unwrap_or(now);
        return Ok(Lent { keys, until });
    }
    if let (Some(role), Some(file)) = (get("AWS_ROLE_ARN"), get("AWS_WEB_IDENTITY_TOKEN_FILE")) {
        let token = read(&file).await?;
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("RoleArn", &role),
            ("RoleSessionName", SESSION),
            ("Version", VERSION),
            ("WebIdentityToken", &token),
        ];
        let answer = Question::form(format!("{}/", service(region, environment)), &fields).ask().await;
        return lent(
            &answer.map_err(|error| format!("role {role} of AWS_ROLE_ARN cannot be assumed: {error}"))?,
        );
    }
    if let Some(url) = get("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
        let mut question = Question::get(url);
        if let Some(file) = get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            question = question.header("authorization", &read(&file).await?);
        }
        return lent_to_container(&question.ask().await?);
    }
    Err("this process has no identity of AWS: annotate its ServiceAccount with eks.amazonaws.com/role-arn, or associate a role \
         with it (EKS Pod Identity)"
        .to_owned())
}

async fn read(file: &str) -> Result<String, String> {
    let text = tokio::fs::read_to_string(file).await.map_err(|error| format!("{file}: {error}"))?;
    Ok(text.trim().to_owned())
}

/// Where the service for identities is, with the scheme and without a slash.
fn service(region: &str, environment: &Environment) -> String {
    let own = environment.get("AWS_ENDPOINT_URL_STS").or_else(|| environment.get("AWS_ENDPOINT_URL"));
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    own.map_or_else(|| format!("https://sts.{region}.{domain}"), |own| own.trim_end_matches('/').to_owned())
}

fn host_of(service: &str) -> &str {
    service.split_once("://").map_or(service, |(_, host)| host)
}

/// The answer to a role that is assumed.
fn lent(answer: &str) -> Result<Lent, String> {
    let part = |name: &str| element(answer, name).map(str::to_owned);
    let read = || {
        let (id, secret) = (part("AccessKeyId")?, part("SecretAccessKey")?);
        let until = part("Expiration")?.parse().ok()?;
        Some(Lent { keys: Keys { id, secret, session: part("SessionToken") }, until })
    };
    read().ok_or_else(|| "the answer of AWS has no keys".to_owned())
}

fn lent_to_container(answer: &str) -> Result<Lent, String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let part = |name: &str| answer[name].as_str().map(str::to_owned);
    let read = || {
        let (id, secret) = (part("AccessKeyId")?, part("SecretAccessKey")?);
        let until = part("Expiration")?.parse().ok()?;
        Some(Lent { keys: Keys { id, secret, session: part("Token") }, until })
    };
    read().ok_or_else(|| "the answer of AWS_CONTAINER_CREDENTIALS_FULL_URI has no keys".to_owned())
}
