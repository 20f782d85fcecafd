//! Tokens of ServiceAccounts: what one says of itself, and getting another one.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kube::Client;
use serde_json::{Value, json};

use crate::path::segment;

/// How users are called that are ServiceAccounts.
const SUBJECT: &str = "system:serviceaccount:";
const SECOND: i64 = 1_000_000;

/// What a token says of itself. Nobody has checked it. Times are microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// When it was issued.
    pub issued: Option<i64>,
    /// When it ends.
    pub expires: Option<i64>,
    /// Namespace and name of its ServiceAccount.
    pub account: Option<(String, String)>,
    /// The uid of that account: no two clusters have one of the same.
    pub uid: Option<String>,
}

/// A token that was given. It is shown nowhere.
#[derive(Clone)]
pub struct GivenToken {
    /// The token itself.
    pub token: String,
    /// When it ends, as the server says beside it; microseconds since 1970.
    pub expires: Option<i64>,
}

// === impl Claims ===

impl Claims {
    /// Of a JWT; nothing of other tokens.
    pub fn of(token: &str) -> Option<Self> {
        let mut parts = token.trim().split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        // Some libraries write fractions of a second.
        let time = |name: &str| {
            let time = claims.get(name)?;
            let whole = time.as_i64().or_else(|| time.as_f64().map(|seconds| seconds as i64));
            whole?.checked_mul(SECOND)
        };
        let account = claims["sub"].as_str().and_then(|user| user.strip_prefix(SUBJECT));
        let account = account.and_then(|account| account.split_once(':'));
        // Tokens of Secrets say it in a field with a longer name.
        let uid = claims["kubernetes.io"]["serviceaccount"]["uid"].as_str();
        let uid = uid.or_else(|| claims["kubernetes.io/serviceaccount/service-account.uid"].as_str());
        Some(Self {
            issued: time("iat"),
            expires: time("exp"),
            account: account.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())),
            uid: uid.map(str::to_owned),
        })
    }
}

// === impl GivenToken ===

impl fmt::Debug for GivenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// Asks a cluster for a token of one of its ServiceAccounts that lives for so many seconds; it may give one for less.
///
/// # Errors
/// When the server does not answer, or refuses. No error has the token.
pub async fn request_token(
    client: &Client,
    (namespace, name): (&str, &str),
    seconds: i64,
) -> Result<GivenToken, kube::Error> {
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/{}/token", segment(namespace), segment(name));
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}});
    // As text: a client says in its log what it cannot read.
    let text = client.request_text(post(&path, &body)?).await?;
    let answer: Value = serde_json::from_str(&text).map_err(|_| unreadable())?;
    let token =
        answer["status"]["token"].as_str().filter(|token| !token.is_empty()).ok_or_else(unreadable)?;
    let expires = answer["status"]["expirationTimestamp"].as_str().and_then(|time| time.parse().ok());
    let expires = expires.map(|time: k8s_openapi::jiff::Timestamp| time.as_microsecond());
    Ok(GivenToken { token: token.to_owned(), expires })
}

/// Whether whoever this client is may ask for tokens of this ServiceAccount.
///
/// # Errors
/// When the server does not answer, or refuses the question.
pub async fn may_request_token(
    client: &Client,
    (namespace, name): (&str, &str),
) -> Result<bool, kube::Error> {
    let attributes = json!({"verb": "create", "group": "", "resource": "serviceaccounts", "subresource": "token",
        "namespace": namespace, "name": name});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer: Value = client.request(post(path, &review)?).await?;
    Ok(answer["status"]["allowed"] == true)
}

fn post(path: &str, body: &Value) -> Result<http::Request<Vec<u8>>, kube::Error> {
    let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
    request.body(body.to_string().into_bytes()).map_err(kube::Error::HttpError)
}

fn unreadable() -> kube::Error {
    let text = "its answer has no token; ask whoever runs it what answers in its place";
    kube::Error::Service(text.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::fake_api::FakeApi;

    fn jwt(claims: &Value) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_token_says_whose_it_is_and_for_how_long() {
        let bound = json!({"iat": 10, "exp": 70.5, "sub": "system:serviceaccount:a:b",
            "kubernetes.io": {"serviceaccount": {"name": "b", "uid": "u"}}});
        let account = Some(("a".to_owned(), "b".to_owned()));
        let (issued, expires) = (Some(10 * SECOND), Some(70 * SECOND));
        let expected = Claims { issued, expires, account: account.clone(), uid: Some("u".into()) };
        assert_eq!(Claims::of(&jwt(&bound)), Some(expected));
        let of_a_secret = json!({"sub": "system:serviceaccount:a:b", "kubernetes.io/serviceaccount/service-account.uid": "u"});
        let expected = Claims { account, uid: Some("u".into()), ..Claims::default() };
        assert_eq!(Claims::of(&jwt(&of_a_secret)), Some(expected));
        assert_eq!(Claims::of(&jwt(&json!({"sub": "jane", "exp": "never"}))), Some(Claims::default()));
        for other in ["", "t", "a.b.c", "a.e30"] {
            assert_eq!(Claims::of(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn a_token_is_asked_for_by_the_name_of_its_account_and_shown_by_nothing() {
        let answer = json!({"kind": "TokenRequest", "status": {"token": "secret", "expirationTimestamp": "1970-01-01T01:00:00Z"}});
        let api = FakeApi::start(move |_| (201, answer.to_string()));
        let given = request_token(&api.client(), ("a", "b"), 600).await.unwrap();
        assert_eq!((given.token.as_str(), given.expires), ("secret", Some(3_600 * SECOND)));
        assert!(!format!("{given:?}").contains("secret"));
        let asked = &api.requests()[0];
        let path = "/api/v1/namespaces/a/serviceaccounts/b/token";
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", path));
        assert!(asked.body.contains("\"expirationSeconds\":600"), "{}", asked.body);
    }

    #[tokio::test]
    async fn an_answer_without_a_token_is_an_error_that_repeats_nothing_of_it() {
        for answer in ["planted", "{\"status\": {\"tokens\": \"planted\"}}"] {
            let api = FakeApi::start(move |_| (201, answer.to_owned()));
            let error = request_token(&api.client(), ("a", "b"), 600).await.unwrap_err().to_string();
            assert!(error.contains("no token") && !error.contains("planted"), "{error}");
        }
    }

    #[tokio::test]
    async fn whether_a_token_can_ask_for_the_next_one_is_asked_with_it() {
        for allowed in [true, false] {
            let answer = json!({"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed}});
            let api = FakeApi::start(move |_| (201, answer.to_string()));
            assert_eq!(may_request_token(&api.client(), ("a", "b")).await.unwrap(), allowed);
            assert!(api.requests()[0].body.contains("\"subresource\":\"token\""));
        }
    }
}
