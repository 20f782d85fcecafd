//! Tokens that the management cluster knows: it is asked by a TokenReview, and what it says is kept for a while.
//!
//! Whoever reaches the server may send tokens: what is none is not asked about, and who sends many waits behind himself.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use sluice_inspect::Reached;
use tokio::time::Instant;

use super::jwt::is_jwt;
use super::turns::Turns;
use super::{Hash, hash};

/// How long a yes counts, and a no.
const YES: Duration = Duration::from_secs(60);
const NO: Duration = Duration::from_secs(5);
/// How long the management cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Answers that are kept. Whoever sends others all the time makes the oldest be forgotten, and no more.
const KEPT: usize = 4_096;

/// Asks the management cluster.
#[derive(Debug)]
pub struct Reviews {
    management: Management,
    kept: Mutex<HashMap<Hash, CachedReview>>,
    turns: Turns,
}

struct Management(Reached<Client>);

/// Why nobody can tell whether a token counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsure {
    /// The management cluster does not say.
    Away(String),
    /// Too many tokens of this peer wait to be asked about.
    Busy,
}

#[derive(Clone, Copy, Debug)]
struct CachedReview {
    known: bool,
    until: Instant,
}

impl std::fmt::Debug for Management {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Management")
    }
}

// === impl Reviews ===

impl Reviews {
    /// Asks this management cluster.
    pub fn new(management: Reached<Client>) -> Self {
        Self { management: Management(management), kept: Mutex::default(), turns: Turns::new() }
    }

    pub(super) async fn knows(&self, token: &str, peer: Option<IpAddr>) -> Result<bool, Unsure> {
        if !is_jwt(token) {
            return Ok(false);
        }
        let hash = hash(token);
        if let Some(answer) = self.kept(&hash) {
            return Ok(answer);
        }
        let _turn = self.turns.take(peer).await.ok_or(Unsure::Busy)?;
        // Somebody may have asked the same in the meantime.
        if let Some(answer) = self.kept(&hash) {
            return Ok(answer);
        }
        let known = self.ask(token).await.map_err(Unsure::Away)?;
        self.keep(hash, known);
        Ok(known)
    }

    async fn ask(&self, token: &str) -> Result<bool, String> {
        let client = self.management.0.borrow().clone()?;
        match tokio::time::timeout(PATIENCE, sluice_kube::knows_token(&client, token)).await {
            Ok(Ok(known)) => Ok(known),
            Ok(Err(error)) => Err(format!("the management cluster: {error}")),
            Err(_) => Err("the management cluster does not answer".to_owned()),
        }
    }

    fn kept(&self, hash: &Hash) -> Option<bool> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(hash).filter(|answer| answer.until > Instant::now()).map(|answer| answer.known)
    }

    fn keep(&self, hash: Hash, known: bool) {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.retain(|_, answer| answer.until > now);
        }
        if kept.len() >= KEPT {
            let oldest = kept.iter().min_by_key(|(_, answer)| answer.until).map(|(hash, _)| *hash);
            oldest.and_then(|oldest| kept.remove(&oldest));
        }
        kept.insert(hash, CachedReview { known, until: now + if known { YES } else { NO } });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};
    use sluice_kube::fake_api::{FakeApi, Request};
    use tokio::sync::watch;

    use super::*;

    const GOOD: &str = "e30.eyJhIjoxfQ.Z29vZA";
    const BAD: &str = "e30.eyJhIjoxfQ.YmFk";

    fn answer(request: &Request) -> (u16, String) {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let known = asked["spec"]["token"] == GOOD;
        (201, json!({"kind": "TokenReview", "status": {"authenticated": known}}).to_string())
    }

    fn reviews(api: &FakeApi) -> Reviews {
        Reviews::new(watch::channel(Ok(api.client())).1)
    }

    #[tokio::test]
    async fn the_management_cluster_is_asked_once_a_minute_for_each_token() {
        let api = FakeApi::start(answer);
        let reviews = reviews(&api);
        for _ in 0..3 {
            assert!(reviews.knows(GOOD, None).await.unwrap() && !reviews.knows(BAD, None).await.unwrap());
        }
        assert_eq!(api.requests().len(), 2);
        tokio::time::pause();
        tokio::time::advance(NO + Duration::from_millis(1)).await;
        assert_eq!((reviews.kept(&hash(BAD)), reviews.kept(&hash(GOOD))), (None, Some(true)));
        tokio::time::advance(YES).await;
        assert_eq!(reviews.kept(&hash(GOOD)), None);
    }

    #[tokio::test]
    async fn while_the_management_cluster_is_away_nobody_is_let_in() {
        let api = FakeApi::start(|_| (500, "{}".to_owned()));
        assert!(reviews(&api).knows(GOOD, None).await.is_err());
        let away = Reviews::new(watch::channel(Err("of a test".to_owned())).1);
        assert_eq!(away.knows(GOOD, None).await, Err(Unsure::Away("of a test".to_owned())));
    }

    #[tokio::test]
    async fn what_is_no_token_is_refused_without_a_question() {
        let api = FakeApi::start(answer);
        let reviews = reviews(&api);
        for guess in ["guess", "a.b.c", "e30.e30.", "e30.e30.YQ.YQ"] {
            assert_eq!(reviews.knows(guess, None).await, Ok(false), "{guess}");
        }
        assert_eq!(api.requests().len(), 0);
    }

    /// A management cluster that never answers, and a peer that sends one token after the other.
    #[tokio::test(start_paused = true)]
    async fn who_sends_many_tokens_is_refused_and_holds_up_nobody() {
        let (of_one, of_other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let (reachable, management) = watch::channel(Err("of a test".to_owned()));
        let reviews = Reviews::new(management);
        let tokens: Vec<String> = (10..60).map(|number| format!("e30.e30.YW{number}")).collect();
        // Whoever has a turn keeps it as long as the cluster thinks.
        let turn = reviews.turns.take(Some(of_one)).await;
        let second = reviews.turns.take(Some(of_one)).await;
        let mut waiting: Vec<_> =
            tokens.iter().map(|token| Box::pin(reviews.knows(token, Some(of_one)))).collect();
        let mut refused = 0;
        for one in &mut waiting {
            if let Ok(Err(Unsure::Busy)) = tokio::time::timeout(Duration::from_millis(1), one).await {
                refused += 1;
            }
        }
        assert_eq!(refused, 50 - 14);
        assert_eq!(reviews.knows(GOOD, Some(of_other)).await, Err(Unsure::Away("of a test".to_owned())));
        drop((turn, second, reachable));
    }

    #[test]
    fn guesses_take_no_more_memory_than_is_given_to_them() {
        let reviews = Reviews::new(watch::channel(Err(String::new())).1);
        for number in 0..KEPT + 10 {
            reviews.keep(hash(&number.to_string()), false);
        }
        assert_eq!(reviews.kept.lock().unwrap().len(), KEPT);
    }
}
