//! What an issuer says of itself: where it is asked, and with which keys it signs.
//!
//! One question is under way at a time, whoever waits for it: it goes on when the one who asked first has gone, and its answer counts
//! until the issuer may be asked anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Header};
use serde::Deserialize;
use tokio::time::Instant;

use super::OidcSettings;
use super::address::Address;
use super::web::Web;

/// How long keys count without a question, and how long while the issuer does not answer.
const FRESH: Duration = Duration::from_secs(5 * 60);
const KEPT: Duration = Duration::from_secs(15 * 60);
/// Keys that are taken of one issuer.
const KEYS: usize = 64;

/// Asks an issuer.
#[derive(Debug)]
pub(super) struct Provider {
    issuer: String,
    pub(super) web: Web,
    again: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: Option<Arc<Found>>,
    /// The newest question, and since when.
    asked: Option<(Instant, Question)>,
}

type Question = Shared<BoxFuture<'static, Result<Arc<Found>, String>>>;

/// What it said.
#[derive(Debug)]
pub(super) struct Found {
    since: Instant,
    keys: Vec<Key>,
    /// Where browsers log in, and where a code becomes a token.
    pub(super) authorization: Option<Address>,
    pub(super) token: Option<Address>,
    /// Whether we prove our name in a header, and not in the form.
    pub(super) by_header: bool,
}

#[derive(Debug)]
struct Key {
    name: Option<String>,
    /// What it is for.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// The document of discovery.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<serde_json::Value>,
}

// === impl Provider ===

impl Provider {
    pub(super) fn new(settings: &OidcSettings) -> Self {
        let web = Web::new(settings.ca.clone(), settings.patience);
        Self { issuer: settings.issuer.clone(), web, again: settings.again, state: Mutex::default() }
    }

    /// What is known of the issuer and new enough.
    pub(super) async fn usable(&self) -> Result<Arc<Found>, String> {
        let known = self.lock().known.clone();
        if let Some(known) = &known
            && known.since.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        match (self.newer().await, known) {
            (Err(why), Some(known)) if known.since.elapsed() < KEPT => {
                tracing::warn!(why, "the issuer does not answer; the keys that it had count for now");
                Ok(known)
            }
            (answer, _) => answer,
        }
    }

    /// Asks, unless that has just been done: then that is the answer.
    pub(super) async fn newer(&self) -> Result<Arc<Found>, String> {
        let question = self.question();
        let answer = question.await;
        if let Ok(found) = &answer {
            let mut state = self.lock();
            if state.known.as_ref().is_none_or(|known| known.since < found.since) {
                state.known = Some(found.clone());
            }
        }
        answer
    }

    fn question(&self) -> Question {
        let mut state = self.lock();
        if let Some((since, question)) = &state.asked
            && since.elapsed() < self.again
        {
            return question.clone();
        }
        let (issuer, web) = (self.issuer.clone(), self.web.clone());
        let ask = async move { ask(&issuer, &web).await.map(Arc::new) };
        let question = ask.boxed().shared();
        state.asked = Some((Instant::now(), question.clone()));
        question
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(issuer: &str, web: &Web) -> Result<Found, String> {
    let since = Instant::now();
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let said: Metadata = web.get(&url).await?;
    if said.issuer != issuer {
        return Err(format!(
            "{url} names another issuer; write --oidc-issuer as it does, down to the last slash"
        ));
    }
    let address = |name: &str, text: Option<String>| {
        let read = text.map(|text| Address::of(&text).map_err(|error| format!("{url}: {name}: {error}")));
        read.transpose()
    };
    let authorization = address("authorization_endpoint", said.authorization_endpoint)?;
    let token = address("token_endpoint", said.token_endpoint)?;
    let Keys { keys } = web.get(&said.jwks_uri).await?;
    // Those of other kinds are for others.
    let keys: Vec<Key> = keys.into_iter().take(KEYS).filter_map(Key::of).collect();
    if keys.is_empty() {
        return Err(format!("{} has no key for RS256 or ES256", said.jwks_uri));
    }
    let ways = said.token_endpoint_auth_methods_supported;
    let by_header = ways.is_none_or(|ways| ways.iter().any(|way| way == "client_secret_basic"));
    Ok(Found { since, keys, authorization, token, by_header })
}

// === impl Found ===

impl Found {
    /// The key that this token names. One without a name is of the only key that it can be of.
    pub(super) fn key(&self, header: &Header) -> Option<&DecodingKey> {
        let mut fit = self.keys.iter().filter(|key| {
            key.algorithms.contains(&header.alg) && (header.kid.is_none() || key.name == header.kid)
        });
        let key = fit.next()?;
        (header.kid.is_some() || fit.next().is_none()).then_some(&key.key)
    }
}

// === impl Key ===

impl Key {
    fn of(value: serde_json::Value) -> Option<Self> {
        let read: Jwk = serde_json::from_value(value).ok()?;
        if !matches!(read.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let mut algorithms = match &read.algorithm {
            AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa.algorithms().to_vec(),
            AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
                EllipticCurve::P256 => vec![Algorithm::ES256],
                EllipticCurve::P384 => vec![Algorithm::ES384],
                _ => return None,
            },
            _ => return None,
        };
        if let Some(only) = read.common.key_algorithm {
            let only = Algorithm::try_from(only).ok()?;
            algorithms.retain(|one| *one == only);
        }
        let key = DecodingKey::from_jwk(&read).ok()?;
        Some(Self { name: read.common.key_id, algorithms, key })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn rsa(name: &str, more: Value) -> Value {
        let mut key = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": name});
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        key
    }

    #[test]
    fn keys_for_something_else_are_left_out() {
        let takes = |more: Value| Key::of(rsa("a", more)).is_some_and(|key| !key.algorithms.is_empty());
        assert!(takes(json!({})) && takes(json!({"use": "sig", "alg": "RS256"})));
        assert!(
            !takes(json!({"use": "enc"}))
                && !takes(json!({"alg": "ES256"}))
                && !takes(json!({"alg": "HS256"}))
        );
        assert!(Key::of(json!({"kty": "oct", "k": "c2VjcmV0", "kid": "a"})).is_none());
        assert!(Key::of(json!({"kty": "new", "kid": "a"})).is_none() && Key::of(json!(5)).is_none());
    }

    #[test]
    fn a_token_without_the_name_of_a_key_is_of_the_only_one() {
        let found = |names: &[&str]| Found {
            since: Instant::now(),
            keys: names.iter().filter_map(|name| Key::of(rsa(name, json!({})))).collect(),
            authorization: None,
            token: None,
            by_header: true,
        };
        let named =
            |name: Option<&str>| Header { kid: name.map(str::to_owned), ..Header::new(Algorithm::RS256) };
        assert!(found(&["a", "b"]).key(&named(Some("b"))).is_some());
        assert!(found(&["a", "b"]).key(&named(Some("c"))).is_none());
        assert!(found(&["a"]).key(&named(None)).is_some() && found(&["a", "b"]).key(&named(None)).is_none());
        assert!(found(&["a"]).key(&Header { alg: Algorithm::ES256, ..named(Some("a")) }).is_none());
    }
}
