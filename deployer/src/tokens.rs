//! Renewing the tokens of kubeconfigs: those of a shard's clusters, by the owner of the shard.
//!
//! ```text
//! registrations, kubeconfigs ─► Renewals ─► what is due ─► Secret ─► TokenRequest in the cluster ─► Secret, status
//! ```

// D-1066: the deployer of a cluster renews its token.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use serde_json::json;
use sluice_api::model::{TokenRenewal, registration};
use sluice_api::{ClusterRef, Digest};
use sluice_bus::{Lease, now_micros};
use sluice_deployer_core::{Renewals, Renewed, TokenLife};
use sluice_kube::{Claims, token_user};
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{About, Problem, Shard};
use sluice_runtime::{Access, Reporter};
use sluice_tasks::End;

use crate::shard::{Outside, Shared};

mod renew;

/// Tokens that are renewed at the same time.
const AT_ONCE: usize = 4;
/// A clock may be set: what is due later is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// A cluster and what became of its renewal.
type Ended = (ClusterRef, Result<TokenLife, String>);

/// The clusters of a shard.
struct Tokens {
    shared: Shared,
    outside: Outside,
    shard: Shard,
    reporter: Reporter,
    renewals: Renewals,
}

/// Renews the tokens of this shard's clusters when they are due, for as long as `lease` is held.
pub(crate) async fn follow(
    shared: Shared,
    outside: Outside,
    shard: Shard,
    lease: Lease,
    reporter: Reporter,
) -> End {
    let mut accesses = shared.feed.subscribe();
    let mut tokens = Tokens { shared, outside, shard, reporter, renewals: Renewals::default() };
    let (mut running, mut waiting) = (FuturesUnordered::new(), Vec::new());
    loop {
        tokio::select! {
            access = accesses.recv() => match access {
                Some(access) => tokens.access(&access),
                None => return End::Early,
            },
            Some(ended) = running.next(), if !running.is_empty() => tokens.ended(ended),
            () = until(tokens.renewals.next()) => {}
        }
        waiting.extend(tokens.renewals.take_due(now_micros()));
        while running.len() < AT_ONCE
            && let Some((cluster, renewal)) = waiting.pop()
        {
            running.push(tokens.renew(cluster, renewal, lease.clone()));
        }
    }
}

/// Waits until this time, or until it is to be looked at again; without one for ever.
async fn until(time: Option<i64>) {
    match time.map(|at| u64::try_from(at - now_micros()).unwrap_or(0)) {
        Some(micros) => tokio::time::sleep(Duration::from_micros(micros).min(LOOK_AGAIN)).await,
        None => std::future::pending().await,
    }
}

// === impl Tokens ===

impl Tokens {
    fn access(&mut self, access: &Access) {
        let cluster = &access.cluster;
        if cluster_shard(cluster, self.shared.context.bus.shards()) != self.shard {
            return;
        }
        let renewal = access.renewal.as_deref();
        let known = renewal.and_then(|renewal| renewed(renewal.as_ref().ok()?, access));
        let can_wait = self.renewals.set(cluster, known, now_micros());
        match renewal {
            Some(Err(mistake)) => self.tell(cluster, Some(mistake.to_string())),
            // What a former owner has said may not be so any more.
            _ if can_wait => self.tell(cluster, None),
            _ => {}
        }
    }

    fn renew(
        &self,
        cluster: ClusterRef,
        renewal: TokenRenewal,
        lease: Lease,
    ) -> impl Future<Output = Ended> + use<> {
        let (management, access) = (self.outside.management.client(), self.shared.feed.get(&cluster));
        async move {
            let Some(access) = access else { return (cluster, Err(renew::GONE.to_owned())) };
            let renew =
                renew::Renew { management, trust: access.trust, cluster: &cluster, renewal: &renewal };
            let ended = renew.run(|| lease.is_held()).await;
            (cluster, ended)
        }
    }

    fn ended(&mut self, (cluster, ended): Ended) {
        let now = now_micros();
        self.renewals.ended(&cluster, ended.as_ref().ok().copied(), now);
        if ended.is_ok()
            && let Some(key) = registration(&cluster)
        {
            let at = Timestamp::from_second(now.div_euclid(1_000_000)).unwrap_or_default();
            let status = json!({"lastReconciledTokenRequestAt": at.to_string()});
            self.outside.projector.project_status(key, status, None);
        }
        // Of a cluster that has gone in between nothing is wrong.
        if self.shared.feed.get(&cluster).is_some_and(|access| access.renewal.is_some()) {
            self.tell(&cluster, ended.err());
        }
    }

    fn tell(&self, cluster: &ClusterRef, error: Option<String>) {
        self.reporter.problem(match error {
            Some(error) => Problem::open("deployer", cluster, About::Token, error),
            None => Problem::resolved("deployer", cluster, About::Token),
        });
    }
}

/// What is known of the token of a cluster; nothing where there is no kubeconfig.
fn renewed(renewal: &TokenRenewal, access: &Access) -> Option<Renewed> {
    let text = access.kubeconfig.as_ref()?.as_ref().ok()?;
    let token = token_user(text).ok().and_then(|user| user.token);
    let life = token.and_then(|token| Claims::of(&token)).map(|claims| life(&claims));
    let kubeconfig = Digest::of(&[text.as_bytes()]);
    Some(Renewed { renewal: renewal.clone(), life: life.unwrap_or_default(), kubeconfig })
}

fn life(claims: &Claims) -> TokenLife {
    TokenLife { issued: claims.issued, expires: claims.expires }
}
