//! Tokens that the management cluster knows: it is asked by a TokenReview, and what it says is kept for a while.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use sluice_inspect::Reached;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Hash, hash};

/// How long a yes counts, and a no.
const YES: Duration = Duration::from_secs(60);
const NO: Duration = Duration::from_secs(5);
/// How long the management cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Answers that are kept. Whoever sends others all the time makes the oldest be forgotten, and no more.
const KEPT: usize = 4_096;
/// Questions at the same time: guesses must not keep the management cluster from its work.
const AT_ONCE: usize = 8;

/// Asks the management cluster.
#[derive(Debug)]
pub struct Reviews {
    management: Management,
    kept: Mutex<HashMap<Hash, Answer>>,
    turns: Semaphore,
}

struct Management(Reached<Client>);

#[derive(Clone, Copy, Debug)]
struct Answer {
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
        Self { management: Management(management), kept: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }

    pub(super) async fn knows(&self, token: &str) -> Result<bool, String> {
        let hash = hash(token);
        if let Some(answer) = self.kept(&hash) {
            return Ok(answer);
        }
        let _turn = self.turns.acquire().await.map_err(|error| error.to_string())?;
        // Somebody may have asked the same in the meantime.
        if let Some(answer) = self.kept(&hash) {
            return Ok(answer);
        }
        let client = self.management.0.borrow().clone()?;
        let asked = tokio::time::timeout(PATIENCE, sluice_kube::knows_token(&client, token)).await;
        let known = match asked {
            Ok(Ok(known)) => known,
            Ok(Err(error)) => return Err(format!("the management cluster: {error}")),
            Err(_) => return Err("the management cluster does not answer".to_owned()),
        };
        self.keep(hash, known);
        Ok(known)
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
        kept.insert(hash, Answer { known, until: now + if known { YES } else { NO } });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};
    use sluice_kube::fake_api::{FakeApi, Request};
    use tokio::sync::watch;

    use super::*;

    fn answer(request: &Request) -> (u16, String) {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let known = asked["spec"]["token"] == "good";
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
            assert!(reviews.knows("good").await.unwrap() && !reviews.knows("bad").await.unwrap());
        }
        assert_eq!(api.requests().len(), 2);
        tokio::time::pause();
        tokio::time::advance(NO + Duration::from_millis(1)).await;
        assert_eq!((reviews.kept(&hash("bad")), reviews.kept(&hash("good"))), (None, Some(true)));
        tokio::time::advance(YES).await;
        assert_eq!(reviews.kept(&hash("good")), None);
    }

    #[tokio::test]
    async fn while_the_management_cluster_is_away_nobody_is_let_in() {
        let api = FakeApi::start(|_| (500, "{}".to_owned()));
        assert!(reviews(&api).knows("good").await.is_err());
        let away = Reviews::new(watch::channel(Err("of a test".to_owned())).1);
        assert_eq!(away.knows("good").await, Err("of a test".to_owned()));
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
