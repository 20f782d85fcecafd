//! The registered clusters and how to reach them: registrations and kubeconfig Secrets of the management
//! cluster.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::runtime::watcher;
use sluice_api::ClusterRef;
use sluice_api::model::{Farewell, Guards, Onboarding, Renewal};
use sluice_bus::{Feed, now_micros};
use sluice_kube::{Trust, WatchEvent, remedy_of_denial, watch};
use sluice_protocol::{About, Problem};
use sluice_tasks::{End, Kept, Tasks};
use tokio::sync::Notify;

mod identities;
mod registrations;

pub use identities::IdentityNamespaces;
pub use registrations::kubeconfig_key;
use registrations::{RegistrationKind, Registrations};

use crate::context::Context;
use crate::reporter::Reporter;

/// How to reach a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which cluster.
    pub cluster: ClusterRef,
    /// Its kubeconfig, or why there is none. `None` when the cluster is not registered any more.
    pub kubeconfig: Option<Result<Arc<str>, String>>,
    /// Whose word that is.
    pub trust: Trust,
    /// Whether it is left alone at present: nothing is written to it, what happens in it is followed.
    pub paused: bool,
    /// Whether it is served by a deployer and an agent of its own, and nobody reaches it from outside.
    pub pulls: bool,
    /// What is asked of it as a whole.
    pub checks: Guards,
    /// How the token of its kubeconfig is renewed.
    pub renewal: Renewal,
    /// What becomes of its add-ons when the registration is deleted.
    pub farewell: Farewell,
}

impl Access {
    /// Reached like this, where the registration asks for nothing else.
    pub fn new(cluster: ClusterRef, kubeconfig: Option<Result<Arc<str>, String>>, trust: Trust) -> Self {
        let (paused, pulls) = (false, false);
        Self { cluster, kubeconfig, trust, paused, pulls, checks: None, renewal: None, farewell: None }
    }
}

/// Which registrations count, and what they may say.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    /// Whether kubeconfigs may name a proxy.
    pub proxies: bool,
    /// Which clusters of Cluster API count.
    pub onboarding: Onboarding,
    /// Where registrations may use the identity that a cloud gives to this process.
    pub identities: IdentityNamespaces,
}

/// Without proxies.
impl From<Onboarding> for Accepted {
    fn from(onboarding: Onboarding) -> Self {
        Self { onboarding, ..Self::default() }
    }
}

// D-1063: a pause may have an end, and clusters may have a window.
/// A clock may be set: whose pause ends later is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Access by cluster.
pub type ClusterFeed = Feed<ClusterRef, Access>;

/// Who is told that the management cluster cannot be watched, and by which of its clusters; nobody where there is no bus.
type Told = Option<(Reporter, String)>;

/// Follows registrations and Secrets until the process stops.
pub fn access_feed(client: &Client, tasks: &Tasks, accepted: Accepted) -> ClusterFeed {
    follow(client, tasks, accepted, &None)
}

/// The same for a stage, whose problem it is where they cannot be followed. A stage that may speak `of` one cluster only names it.
pub fn access_feed_of(
    context: &Context,
    client: &Client,
    accepted: Accepted,
    of: Option<&ClusterRef>,
) -> ClusterFeed {
    let reporter = Reporter::new(context, "management");
    let cluster = of.map(ToString::to_string).unwrap_or_default();
    follow(client, &context.tasks, accepted, &Some((reporter, cluster)))
}

fn follow(client: &Client, tasks: &Tasks, accepted: Accepted, told: &Told) -> ClusterFeed {
    let registrations = Registrations::accepting(accepted);
    let (feed, state) = (ClusterFeed::new(), Arc::new(Mutex::new(registrations)));
    let changed = Arc::new(Notify::new());
    tasks.keep(Kept::Pauses, {
        let (state, feed, changed) = (state.clone(), feed.clone(), changed.clone());
        move || end_pauses(state.clone(), feed.clone(), changed.clone())
    });
    for kind in RegistrationKind::ALL {
        let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), tasks.stop().clone());
        let (told, changed) = (told.clone(), changed.clone());
        tasks.keep(Kept::Registrations, move || {
            let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), stop.clone());
            let (told, changed, mut troubled) = (told.clone(), changed.clone(), false);
            async move {
                let config = watcher::Config::default();
                watch(client, kind.gvk(), String::new(), config, |event| {
                    tell(&told, kind, &event, &mut troubled);
                    if lock(&state).take(kind, event, now_micros(), &feed) {
                        changed.notify_one();
                    }
                    !stop.is_cancelled()
                })
                .await;
                End::Early
            }
        });
    }
    feed
}

fn lock(state: &Mutex<Registrations>) -> MutexGuard<'_, Registrations> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells of pauses that begin or end by themselves, when they do.
async fn end_pauses(state: Arc<Mutex<Registrations>>, feed: ClusterFeed, changed: Arc<Notify>) -> End {
    loop {
        let now = now_micros();
        let next = lock(&state).next(now);
        let wait = next.map(|at| Duration::from_micros(u64::try_from(at - now).unwrap_or_default()));
        let waited = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait.min(LOOK_AGAIN)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = waited => lock(&state).turn(now_micros(), &feed),
            () = changed.notified() => {}
        }
    }
}

/// Says that this kind cannot be watched, or can again.
fn tell(told: &Told, kind: RegistrationKind, event: &WatchEvent, troubled: &mut bool) {
    let was = std::mem::replace(troubled, matches!(event, WatchEvent::Trouble(_)));
    let Some((reporter, cluster)) = told else { return };
    let about = About::ManagementWatch(kind.gvk().to_string());
    if let WatchEvent::Trouble(error) = event {
        let text = format!("{error}; it is tried again{}", remedy_of_denial(error));
        reporter.problem(Problem::open(reporter.stage(), cluster, about, text));
    } else if was {
        reporter.problem(Problem::resolved(reporter.stage(), cluster, about));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use sluice_kube::fake_api::FakeApi;
    use sluice_protocol::Role;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::kit::{self, Server};

    /// A server that knows Secrets only, and refuses the first lists of them.
    fn refusing(lists: usize) -> FakeApi {
        let asked = AtomicUsize::new(0);
        FakeApi::start(move |request| {
            let kinds = json!({"kind": "APIResourceList", "groupVersion": "v1",
                "resources": [{"name": "secrets", "singularName": "", "kind": "Secret", "namespaced": true, "verbs": ["list"]}]});
            let denied = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
                "message": "secrets is forbidden: User \"u\" cannot list resource \"secrets\" in API group \"\""});
            let path = request.path.split('?').next().unwrap_or_default();
            let answer = match path {
                "/api/v1" => (200, kinds),
                "/apis" => (200, json!({"kind": "APIGroupList", "groups": []})),
                "/api/v1/secrets" if request.path.contains("watch=true") => return (200, String::new()),
                "/api/v1/secrets" if asked.fetch_add(1, Ordering::Relaxed) < lists => (403, denied),
                "/api/v1/secrets" => {
                    (200, json!({"kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []}))
                }
                _ => (404, json!({"kind": "Status", "code": 404, "message": "not found"})),
            };
            (answer.0, answer.1.to_string())
        })
    }

    #[tokio::test]
    async fn a_stage_tells_that_it_may_not_follow_registrations_and_that_it_can_again() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Deployer(None), &tasks).await;
        let mut problems = sluice_bus::problem_feed(&context.bus, CancellationToken::new()).subscribe();
        let api = refusing(1);
        let feed = access_feed_of(&context, &api.client(), Accepted::default(), None);
        let open = kit::told(&mut problems, |row| !row.error.is_empty()).await;
        assert_eq!((open.stage.as_str(), open.cluster.as_str()), ("deployer", ""));
        assert_eq!(open.object, "watch of v1/Secret in the management cluster");
        assert!(open.error.contains("cannot list resource \"secrets\""), "{}", open.error);
        assert!(open.error.contains("sluice install check --only rights"), "{}", open.error);
        kit::told(&mut problems, |row| row.object == open.object && row.error.is_empty()).await;
        feed.synced().await;
        tasks.stop().cancel();
    }
}
