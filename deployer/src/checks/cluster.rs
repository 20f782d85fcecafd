//! Asking checks of a cluster as a whole: watches show all that a condition looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use kube::runtime::watcher;
use sluice_api::model::{ClusterCheck, ResourceSelector};
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_deployer_core::{CheckId, ExternalInput, Outcome};
use sluice_health::{ClusterProgram, Resources};
use sluice_kube::{remedy_of_denial, watch};
use sluice_tasks::End;
use tokio::sync::mpsc;

use super::Turns;
use super::pending::{News, Pending};

/// A check of a cluster, and who hears of it.
pub(crate) struct Guard {
    pub(crate) cluster: ClusterRef,
    pub(crate) id: CheckId,
    pub(crate) check: Arc<ClusterCheck>,
    pub(crate) sender: mpsc::UnboundedSender<ExternalInput>,
    pub(crate) turns: Turns,
}

/// What one watch shows: objects of a kind, of all namespaces or of one.
type Place = (Gvk, String);

/// A program and what it has seen, while they run elsewhere.
type Asked = (ClusterProgram, Resources);

// === impl Guard ===

impl Guard {
    /// Asks until it is not to be asked any more.
    pub(crate) async fn run(self, client: Client) -> End {
        let program = match ClusterProgram::compile(&self.check) {
            Ok(program) => program,
            Err(error) => {
                self.tell(Err(error));
                return End::Done;
            }
        };
        // Of two selectors of one kind one watch shows enough.
        let places = self.check.selectors.iter().map(|selector| (place(selector), Arc::default()));
        let places: BTreeMap<Place, Arc<Pending>> = places.collect();
        let watches = places.iter().map(|((gvk, namespace), pending)| {
            let config = watcher::Config::default().streaming_lists();
            let tell = |event| pending.note(event);
            watch(client.clone(), gvk.clone(), namespace.clone(), config, tell)
        });
        tokio::select! {
            _ = futures::future::join_all(watches) => End::Early,
            end = self.judge(program, &places) => end,
        }
    }

    async fn judge(&self, program: ClusterProgram, places: &BTreeMap<Place, Arc<Pending>>) -> End {
        let (mut asked, mut unlisted): (Asked, Vec<&Place>) =
            ((program, Resources::default()), places.keys().collect());
        loop {
            let (place, news) = next(places).await;
            let is_first = unlisted.contains(&place);
            if let Some(error) = news.trouble.as_deref().filter(|_| is_first) {
                let (title, remedy) = (&self.check.title, remedy_of_denial(error));
                if !self.tell(Err(format!("{title}: it cannot be asked: {error}; it is tried again{remedy}")))
                {
                    return End::Done;
                }
            }
            if news.listed.is_some() {
                unlisted.retain(|one| *one != place);
            }
            let (is_complete, of) = (unlisted.is_empty(), place.clone());
            let judged = self.turns.take(move || {
                let (program, mut seen) = asked;
                note(&program, &mut seen, &of, news);
                let said = is_complete.then(|| program.ask(&seen));
                ((program, seen), said)
            });
            let said = match judged.await {
                Ok((same, said)) => {
                    asked = same;
                    said
                }
                Err(why) => {
                    self.tell(Err(format!("{}: {why}", self.check.title)));
                    return End::Done;
                }
            };
            if said.is_some_and(|said| !self.tell(said)) {
                return End::Done;
            }
        }
    }

    /// Tells the core. Whether anybody listens.
    fn tell(&self, said: Outcome) -> bool {
        self.sender.send(ExternalInput::Checked(self.cluster.clone(), self.id, said)).is_ok()
    }
}

fn place(selector: &ResourceSelector) -> Place {
    (selector.gvk.clone(), selector.namespace.clone())
}

/// What a watch has shown, whichever is the first to show anything.
async fn next(places: &BTreeMap<Place, Arc<Pending>>) -> (&Place, News) {
    let next = places.iter().map(|(place, pending)| Box::pin(async move { (place, pending.next().await) }));
    futures::future::select_all(next).await.0
}

/// Takes what a watch of this place has shown.
fn note(program: &ClusterProgram, seen: &mut Resources, (gvk, namespace): &Place, news: News) {
    let is_there = |key: &ObjectKey| key.gvk == *gvk && (namespace.is_empty() || key.namespace == *namespace);
    let News { listed, changes, .. } = news;
    if let Some(objects) = listed {
        seen.listed(program, objects, is_there);
    }
    for (key, object) in changes {
        match object {
            Some(object) => seen.applied(program, object),
            None => seen.deleted(&key),
        }
    }
}
