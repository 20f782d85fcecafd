//! Asking checks of a cluster as a whole: watches show all that a condition looks at.

use std::sync::Arc;

use kube::Client;
use kube::runtime::watcher;
use sluice_api::ClusterRef;
use sluice_api::model::{ClusterCheck, ResourceSelector};
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

/// A program and what each of its watches has shown, while they run elsewhere.
type Asked = (ClusterProgram, Vec<Resources>);

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
        let pending: Vec<_> = self.check.selectors.iter().map(|_| Pending::default()).collect();
        let watches = self.check.selectors.iter().zip(&pending).map(|(selector, pending)| {
            let ResourceSelector { gvk, namespace, labels, .. } = selector;
            let mut config = watcher::Config::default().streaming_lists();
            if !labels.is_empty() {
                config = config.labels(&labels.to_string());
            }
            watch(client.clone(), gvk.clone(), namespace.clone(), config, |event| pending.note(event))
        });
        tokio::select! {
            _ = futures::future::join_all(watches) => End::Early,
            end = self.judge(program, &pending) => end,
        }
    }

    async fn judge(&self, program: ClusterProgram, pending: &[Pending]) -> End {
        let nothing = pending.iter().map(|_| Resources::default()).collect();
        let (mut asked, mut listed): (Asked, _) = ((program, nothing), vec![false; pending.len()]);
        loop {
            let (at, news) = next(pending).await;
            if let Some(error) = news.trouble.as_deref().filter(|_| !listed[at]) {
                let (title, remedy) = (&self.check.title, remedy_of_denial(error));
                if !self.tell(Err(format!("{title}: it cannot be asked: {error}; it is tried again{remedy}")))
                {
                    return End::Done;
                }
            }
            listed[at] |= news.listed.is_some();
            let is_complete = listed.iter().all(|listed| *listed);
            let judged = self.turns.take(move || {
                let (program, mut seen) = asked;
                note(&program, &mut seen[at], news);
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

/// What a watch has shown, whichever is the first to show anything.
async fn next(pending: &[Pending]) -> (usize, News) {
    let next = pending.iter().map(|pending| Box::pin(pending.next()));
    let (news, at, _) = futures::future::select_all(next).await;
    (at, news)
}

/// Takes what a watch has shown.
fn note(program: &ClusterProgram, seen: &mut Resources, news: News) {
    let News { listed, changes, .. } = news;
    listed.into_iter().for_each(|objects| seen.listed(program, objects));
    for (key, object) in changes {
        match object {
            Some(object) => seen.applied(program, object),
            None => seen.deleted(&key),
        }
    }
}
