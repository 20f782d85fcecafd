//! Servers that do not answer are left alone for a while by everybody who asks them in the same way. Who asks in another way, such
//! as with another password, may be answered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sluice_renderer_core::Access;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// What is known of servers, by scheme, host and port, and by the way they are asked.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Mutex<HashMap<Key, Rest>>);

type Key = (String, Access);

#[derive(Clone, Copy, Debug)]
struct Rest {
    failures: u32,
    until: Instant,
}

// === impl Hosts ===

impl Hosts {
    /// Waits until a server may be asked.
    pub(crate) async fn wait(&self, server: &str, access: &Access) {
        if let Some(until) = self.with(|all| all.get(&key(server, access)).map(|rest| rest.until)) {
            tokio::time::sleep_until(until).await;
        }
    }

    /// It has answered.
    pub(crate) fn well(&self, server: &str, access: &Access) {
        self.with(|all| all.remove(&key(server, access)));
    }

    /// It has failed; how long it is left alone. Several who asked at once count as one.
    pub(crate) fn failed(&self, server: &str, access: &Access) -> Duration {
        let now = Instant::now();
        self.with(|all| {
            // What failed long ago, and was asked no more, is forgotten.
            all.retain(|_, rest| rest.until + LONGEST >= now);
            let rest = all.entry(key(server, access)).or_insert(Rest { failures: 0, until: now });
            if rest.until <= now {
                let pause = FIRST.saturating_mul(1 << rest.failures.min(9)).min(LONGEST);
                *rest = Rest { failures: rest.failures.saturating_add(1), until: now + pause };
            }
            rest.until - now
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<Key, Rest>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key(server: &str, access: &Access) -> Key {
    (server.to_owned(), access.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_host_that_fails_rests_longer_each_time_until_it_answers() {
        let (hosts, access) = (Hosts::default(), Access::default());
        let failed = || hosts.failed("h", &access);
        assert_eq!((failed(), failed()), (FIRST, FIRST), "two who asked at once are one");
        hosts.wait("h", &access).await;
        assert_eq!(failed(), FIRST * 2);
        for _ in 0..12 {
            hosts.wait("h", &access).await;
            assert!(failed() <= LONGEST);
        }
        hosts.well("h", &access);
        assert_eq!(failed(), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_what_another_way_of_asking_has_found() {
        let (hosts, mine) = (Hosts::default(), Access::default());
        let theirs = Access { login: Some(("me".into(), "wrong".into())), ..Access::default() };
        let begun = Instant::now();
        hosts.failed("h", &theirs);
        hosts.wait("h", &mine).await;
        hosts.wait("other", &theirs).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        hosts.wait("h", &theirs).await;
        assert_eq!(begun.elapsed(), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_no_more_is_forgotten() {
        let (hosts, access) = (Hosts::default(), Access::default());
        for at in 0..100 {
            hosts.failed(&format!("h{at}"), &access);
        }
        tokio::time::advance(LONGEST * 2).await;
        assert_eq!(hosts.failed("h1", &access), FIRST);
        assert_eq!(hosts.with(|all| all.len()), 1);
    }
}
