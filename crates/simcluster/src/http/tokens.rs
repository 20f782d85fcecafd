//! Tokens of ServiceAccounts: the subresource that gives them, and whether one was given. They keep clusters apart, and guard nothing.

use ::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::respond::{self, Response};
use super::route::Target;
use super::{Call, body};
use crate::cluster::Cluster;
use crate::status::{ApiError, Cause};

/// No token is given for less, seconds.
const SHORTEST: i64 = 600;
/// And for so long where nothing is asked.
const USUAL: i64 = 3600;

/// Whether a path names this subresource.
pub fn is_here(target: &Target) -> bool {
    target.group.is_empty() && target.plural == "serviceaccounts" && target.subresource == "token"
}

/// Answers a `create` of a TokenRequest.
pub fn answer(target: &Target, call: &Call) -> Result<Response, ApiError> {
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let request = body::parse(&call.body, &call.content_type)?;
    let def = call.cluster.endpoint(&target.group, &target.version, &target.plural)?.def;
    let found = call.cluster.state().find(&def, &target.namespace, &target.name).cloned();
    let account = found.ok_or_else(|| ApiError::not_found(&def, &target.name))?;
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(USUAL);
    if seconds < SHORTEST {
        let why = "may not specify a duration less than 10 minutes";
        let cause = Cause::invalid("spec.expirationSeconds", &seconds.to_string(), why);
        return Err(ApiError::invalid(&def, &target.name, &[cause]));
    }
    let now = Timestamp::now();
    let ends = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let account = json!({"name": target.name, "uid": account.meta_str("uid")});
    let claims = json!({
        "iat": now.as_second(),
        "exp": ends.as_second(),
        "sub": format!("system:serviceaccount:{}:{}", target.namespace, target.name),
        "kubernetes.io": {"namespace": target.namespace, "serviceaccount": account},
    });
    let ends = Timestamp::from_second(ends.as_second()).unwrap_or(Timestamp::MAX).to_string();
    let answer = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": target.namespace, "name": target.name},
        "spec": request["spec"],
        "status": {"token": token(&call.cluster, &claims), "expirationTimestamp": ends},
    });
    Ok(respond::json(201, &answer))
}

fn token(cluster: &Cluster, claims: &Value) -> String {
    let [head, claims, seal] =
        [r#"{"alg":"none"}"#, &claims.to_string(), cluster.token()].map(|part| URL_SAFE_NO_PAD.encode(part));
    format!("{head}.{claims}.{seal}")
}

/// Whether this cluster has given that token, and it has not ended.
pub fn is_given(cluster: &Cluster, token: &str) -> bool {
    let mut parts = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap_or_default());
    let (_, claims, seal) =
        (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
    let lives = claims["exp"].as_i64().is_some_and(|ends| ends > Timestamp::now().as_second());
    seal == cluster.token().as_bytes() && lives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_in_its_cluster_until_it_ends() {
        let (here, elsewhere) = (Cluster::new("a", "seal"), Cluster::new("b", "other"));
        let now = Timestamp::now().as_second();
        let good = token(&here, &json!({"exp": now + 60}));
        assert!(is_given(&here, &good) && !is_given(&elsewhere, &good));
        assert!(!is_given(&here, &token(&here, &json!({"exp": now - 1}))));
        assert!(!is_given(&here, "seal") && !is_given(&here, ""));
    }
}
