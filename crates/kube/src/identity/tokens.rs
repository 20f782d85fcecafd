//! Tokens by cloud, asked for once and renewed in time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sluice_api::model::Cloud;
use tokio::sync::Mutex as Turn;

use super::aws::{self, Lent};
use super::environment::Environment;
use super::{NoToken, azure, google};

/// A token is renewed so long before it ends, or when a fifth of its life is left.
const SPARE: SignedDuration = SignedDuration::from_mins(5);
/// What could not be had is not asked for again for so long.
const REST: SignedDuration = SignedDuration::from_secs(5);
/// A token that a server refuses is asked for anew when it is so old: a server may refuse any.
const YOUNG: SignedDuration = SignedDuration::from_secs(60);

/// A token, and when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) until: Timestamp,
}

/// All that this process has.
pub(crate) struct Tokens {
    environment: Environment,
    now: fn() -> Timestamp,
    headers: Cache<Cloud, HeaderValue>,
    /// Keys of AWS by role and region: of them the tokens of all clusters are made.
    keys: Cache<(String, String), Lent>,
}

/// What was had last, by what it was asked for.
struct Cache<K, V>(Mutex<HashMap<K, Entry<V>>>);

/// One asks at a time, and all who wait have the answer.
type Entry<V> = Arc<Turn<Option<Had<V>>>>;

/// What came of the last question, and when it is to be asked again.
struct Had<V> {
    /// The last that could be had, and when it ends.
    value: Option<(V, Timestamp)>,
    error: Option<NoToken>,
    since: Timestamp,
    again: Timestamp,
}

// === impl Token ===

impl Token {
    /// That of an answer of OAuth 2.0.
    pub(super) fn of_answer(answer: &str, now: Timestamp) -> Result<Self, String> {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let life = &answer["expires_in"];
        let life = life.as_i64().or_else(|| life.as_str()?.parse().ok());
        let text = answer["access_token"].as_str().map(str::to_owned);
        let (Some(text), Some(life)) = (text, life) else { return Err("the answer has no token".to_owned()) };
        let until = now.checked_add(SignedDuration::from_secs(life)).map_err(|error| error.to_string())?;
        Ok(Self { text, until })
    }
}

// === impl Tokens ===

impl Tokens {
    /// Those of this process.
    pub(crate) fn of_process() -> Arc<Self> {
        static ALL: LazyLock<Arc<Tokens>> =
            LazyLock::new(|| Arc::new(Tokens::of(Environment::of_process(), Timestamp::now)));
        ALL.clone()
    }

    pub(super) fn of(environment: Environment, now: fn() -> Timestamp) -> Self {
        Self { environment, now, headers: Cache::default(), keys: Cache::default() }
    }

    /// A token of a cloud, as a header.
    pub(super) async fn of_cloud(&self, cloud: &Cloud) -> Result<HeaderValue, NoToken> {
        self.headers.get(cloud, self.now, self.header(cloud)).await
    }

    /// A server does not take the token of this cloud.
    pub(super) async fn refused(&self, cloud: &Cloud) {
        let before = earlier((self.now)(), YOUNG);
        self.headers.forget(cloud, before).await;
    }

    async fn header(&self, cloud: &Cloud) -> Result<(HeaderValue, Timestamp), String> {
        let name = match cloud {
            Cloud::Aws { .. } => "AWS",
            Cloud::Gcp => "Google Cloud",
            Cloud::Azure { .. } => "Azure",
        };
        let Token { text, until } =
            self.token(cloud).await.map_err(|error| format!("no token of {name}: {error}"))?;
        let header = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let mut header = header.map_err(|_| format!("no token of {name}: what it answers is none"))?;
        header.set_sensitive(true);
        Ok((header, until))
    }

    async fn token(&self, cloud: &Cloud) -> Result<Token, String> {
        let (environment, now) = (&self.environment, (self.now)());
        match cloud {
            Cloud::Gcp => google::token(environment, now).await,
            Cloud::Azure { tenant, client } => azure::token(tenant, client, environment, now).await,
            Cloud::Aws { cluster, region, role } => {
                let region = aws::region_of(region, environment)?;
                let lend = async {
                    let lent = aws::keys(role, &region, environment, now).await?;
                    let until = lent.until;
                    Ok((lent, until))
                };
                let lent = self.keys.get(&(role.clone(), region.clone()), self.now, lend).await;
                let Lent { keys, until } = lent.map_err(|NoToken(error)| error)?;
                let text = aws::token(cluster, &region, &keys, environment, now);
                Ok(Token { text, until: later(now, aws::TOKEN_LIFE).min(until) })
            }
        }
    }
}

// === impl Cache ===

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// What is known, or else what `ask` answers: a value, and when it ends. What cannot be renewed is used until it ends.
    async fn get(
        &self,
        key: &K,
        now: fn() -> Timestamp,
        ask: impl Future<Output = Result<(V, Timestamp), String>>,
    ) -> Result<V, NoToken> {
        let entry = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(key.clone()).or_default().clone()
        };
        let mut had = entry.lock().await;
        if let Some(had) = had.as_ref().filter(|had| now() < had.again) {
            return had.answer(now());
        }
        let asked = ask.await;
        let since = now();
        let new = match asked {
            Ok((value, until)) => {
                Had { value: Some((value, until)), error: None, since, again: renewal(since, until) }
            }
            Err(error) => {
                let value = had.take().and_then(|had| had.value);
                Had { value, error: Some(NoToken(error)), since, again: later(since, REST) }
            }
        };
        had.insert(new).answer(since)
    }

    /// Is to be asked for anew, where it was had before this time.
    async fn forget(&self, key: &K, before: Timestamp) {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        let Some(entry) = entry else { return };
        let mut had = entry.lock().await;
        if had.as_ref().is_some_and(|had| had.error.is_none() && had.since < before) {
            *had = None;
        }
    }
}

// === impl Had ===

impl<V: Clone> Had<V> {
    fn answer(&self, now: Timestamp) -> Result<V, NoToken> {
        let none = || self.error.clone().unwrap_or_else(|| NoToken("the token has ended".to_owned()));
        self.value.as_ref().filter(|(_, until)| now < *until).map(|(value, _)| value.clone()).ok_or_else(none)
    }
}

fn renewal(since: Timestamp, until: Timestamp) -> Timestamp {
    earlier(until, SPARE.min(until.duration_since(since) / 5))
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}
