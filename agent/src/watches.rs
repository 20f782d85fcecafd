//! The watches of one cluster, and what they say.

use std::collections::HashMap;

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_agent_core::{Agent, Effect, ExternalInput, Seen, Selection, Sent, WatchSpec};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_bus::{Bus, Effects, Message, read_cloud_events};
use sluice_kube::{WatchEvent, only, watch_some};
use sluice_protocol::subject::channel_of;
use sluice_protocol::{About, Problem, WatchId};
use sluice_runtime::Reporter;
use sluice_tasks::{End, Group, Kept, Tasks};
use tokio::sync::mpsc;

use crate::leaving::Leaving;
use crate::tenants;

/// After so many failures in a row everything else of the cluster does not wait for a kind.
const GIVEN_UP: u32 = 3;

/// Begins and ends watches as the core says.
pub(crate) struct Watches {
    pub(crate) cluster: ClusterRef,
    pub(crate) client: Client,
    pub(crate) sender: mpsc::UnboundedSender<ExternalInput>,
    pub(crate) reporter: Reporter,
    pub(crate) tasks: Tasks,
    /// By the core's number; a watch ends when it is dropped.
    pub(crate) running: HashMap<WatchId, Group>,
    pub(crate) bus: Bus,
    /// Who reads CloudEvents; it ends when it is dropped.
    pub(crate) listening: Option<Group>,
    pub(crate) leaving: Leaving,
}

impl Effects<Agent> for Watches {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Watch(id, spec) => drop(self.running.insert(id, self.begin(id, spec))),
            Effect::Unwatch(id) => drop(self.running.remove(&id)),
            Effect::Listen(id) => self.listening = Some(self.listen(id)),
            Effect::Unlisten => self.listening = None,
            Effect::Left(revision) => self.leaving.left(revision),
            Effect::Refused => self.reporter.refused(),
            Effect::Problem(problem) => self.reporter.problem(problem),
        }
    }
}

impl Watches {
    /// The reading goes on until what is returned is dropped.
    fn listen(&self, id: WatchId) -> Group {
        let task = self.tasks.group(&format!("{} CloudEvents", self.cluster));
        let (bus, cluster, sender) = (self.bus.clone(), self.cluster.clone(), self.sender.clone());
        task.keep(Kept::CloudEvents, move || {
            let (bus, cluster, sender) = (bus.clone(), cluster.clone(), sender.clone());
            async move {
                let tell = |message: Option<Message>| match message {
                    Some(message) => {
                        sent(message).is_none_or(|sent| sender.send(ExternalInput::Sent(id, sent)).is_ok())
                    }
                    None => sender.send(ExternalInput::SentAll(id)).is_ok(),
                };
                // Boxed, since it is large.
                Box::pin(read_cloud_events(&bus, &cluster, tell)).await;
                End::Done
            }
        });
        task
    }

    /// The watch goes on until what is returned is dropped.
    fn begin(&self, id: WatchId, spec: WatchSpec) -> Group {
        let task = self.tasks.group(&format!("{} {}", self.cluster, spec.scope.gvk));
        let config = config(&spec.scope);
        let teller = Teller {
            id,
            cluster: self.cluster.clone(),
            about: About::Watch(spec.scope.gvk.clone()).seen_by(&spec.viewer),
            viewer: spec.viewer.clone(),
            failures: 0,
            sender: self.sender.clone(),
            reporter: self.reporter.clone(),
        };
        let client = match tenants::client(&self.client, &spec.viewer) {
            Ok(client) => client,
            Err(error) => {
                teller.give_up(&error);
                return task;
            }
        };
        task.keep(Kept::ClusterWatch, move || {
            let (client, spec, config, mut teller) =
                (client.clone(), spec.clone(), config.clone(), teller.clone());
            async move {
                let Selection { gvk, namespace, .. } = spec.scope.clone();
                // A list is kept as what goes into rows: as trees objects take several times as much.
                let pick = |object: Value| if spec.wants(&object) { seen(object) } else { Err(object) };
                watch_some(client, gvk, namespace, config, pick, |event| teller.tell(event)).await;
                // The receiver has enough once its cluster has ended, and nobody else ends a watch from within.
                End::Done
            }
        });
        task
    }
}

/// Tells the core what one watch says.
#[derive(Clone)]
struct Teller {
    id: WatchId,
    cluster: ClusterRef,
    /// What problems are about.
    about: About,
    /// As whom it watches.
    viewer: String,
    /// In a row.
    failures: u32,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
}

impl Teller {
    /// Whether anybody still listens.
    fn tell(&mut self, event: WatchEvent<Seen>) -> bool {
        let id = self.id;
        if !matches!(event, WatchEvent::Trouble(_)) && std::mem::take(&mut self.failures) > 0 {
            self.reporter.problem(Problem::resolved("agent", &self.cluster, self.about.clone()));
        }
        let input = match event {
            WatchEvent::Trouble(error) => return self.trouble(&error),
            WatchEvent::Version(_) => return true,
            WatchEvent::Well => return !self.sender.is_closed(),
            WatchEvent::Listed(objects) => ExternalInput::Listed(id, objects),
            WatchEvent::Applied(seen) => ExternalInput::Applied(id, seen),
            WatchEvent::Deleted(object) => match ObjectKey::of(&object) {
                Some(key) => ExternalInput::Deleted(id, key),
                None => return true,
            },
        };
        self.sender.send(input).is_ok()
    }

    /// Nothing will ever be shown.
    fn give_up(&self, error: &str) {
        self.problem(error.to_owned());
        // Who is not there any more does not wait either.
        drop(self.sender.send(ExternalInput::Troubled(self.id)));
    }

    fn problem(&self, text: String) {
        self.reporter.problem(Problem::open("agent", &self.cluster, self.about.clone(), text));
    }

    fn trouble(&mut self, error: &str) -> bool {
        self.failures += 1;
        let remedy = tenants::remedy(error, &self.viewer);
        self.problem(format!("{error}{remedy}; it is tried again"));
        // Now and then a server does not answer; who is told so again and again is not waited for.
        if self.failures == GIVEN_UP {
            return self.sender.send(ExternalInput::Troubled(self.id)).is_ok();
        }
        !self.sender.is_closed()
    }
}

/// What a message says; nothing where its subject has no channel, which the filter does not let through.
fn sent(message: Message) -> Option<Sent> {
    let Message { subject, headers, body, sequence, time } = message;
    Some(Sent { channel: channel_of(&subject)?.to_owned(), headers, body, sequence, time })
}

fn config(scope: &Selection) -> watcher::Config {
    let mut config = watcher::Config::default().streaming_lists();
    if !scope.labels.is_empty() {
        config = config.labels(&scope.labels.to_string());
    }
    if !scope.name.is_empty() {
        config = config.fields(&only(&scope.name));
    }
    config
}

/// What goes into the row of an object; the object itself when it has no name.
fn seen(object: Value) -> Result<Seen, Value> {
    let named = ObjectKey::of(&object).zip(serde_json::to_vec(&object).ok());
    named.map(|(key, body)| Seen { key, body: body.into() }).ok_or(object)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_api::{Gvk, Selector};
    use sluice_protocol::Role;
    use sluice_runtime::kit::{self, Server};

    use super::*;

    fn scope(labels: &str, name: &str) -> Selection {
        let gvk = Gvk::new("", "v1", "ConfigMap");
        let labels = Selector::parse(labels).unwrap();
        Selection { gvk, namespace: "n".into(), name: name.into(), labels }
    }

    fn object(name: &str) -> Value {
        let metadata = json!({"namespace": "n", "name": name, "resourceVersion": "7"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    }

    #[test]
    fn a_watch_asks_the_server_for_nothing_else_than_what_is_wanted() {
        let selectors = |labels: &str, name: &str| {
            let config = config(&scope(labels, name));
            (config.label_selector, config.field_selector)
        };
        assert_eq!(selectors("", ""), (None, None));
        assert_eq!(selectors("a=b,c", ""), (Some("a=b,c".into()), None));
        assert_eq!(selectors("", "x"), (None, Some("metadata.name=x".into())));
    }

    #[test]
    fn what_has_no_name_or_kind_is_not_seen() {
        let found = seen(object("x")).unwrap();
        assert_eq!(found.key.name, "x");
        assert_eq!(serde_json::from_slice::<Value>(&found.body).unwrap(), object("x"));
        assert!(seen(json!({"metadata": {"name": "x"}})).is_err());
        assert!(seen(json!({"apiVersion": "v1", "kind": "ConfigMap"})).is_err());
    }

    const ID: WatchId = WatchId::new(1);

    /// What the core is told, in words.
    fn told(receiver: &mut mpsc::UnboundedReceiver<ExternalInput>) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(input) = receiver.try_recv() {
            all.push(match input {
                ExternalInput::Listed(ID, seen) => format!("{} listed", seen.len()),
                ExternalInput::Applied(ID, seen) => format!("+{}", seen.key.name),
                ExternalInput::Deleted(ID, key) => format!("-{}", key.name),
                ExternalInput::Troubled(ID) => "troubled".to_owned(),
                other => format!("{other:?}"),
            });
        }
        all
    }

    #[tokio::test]
    async fn a_watch_that_fails_again_and_again_is_told_once_and_its_problem_ends_with_what_it_shows() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Agent(None), &tasks).await;
        let stop = tokio_util::sync::CancellationToken::new();
        let mut problems = sluice_bus::problem_feed(&context.bus, stop).subscribe();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let cluster = ClusterRef::sveltos("default", "c");
        let reporter = Reporter::new(&context, "c");
        let about = About::Watch(Gvk::new("", "v1", "ConfigMap"));
        let object_of = about.to_string();
        let mut teller =
            Teller { id: ID, cluster, about, viewer: String::new(), failures: 0, sender, reporter };
        let trouble = || WatchEvent::Trouble("no answer".into());
        assert!(teller.tell(trouble()) && teller.tell(trouble()));
        assert!(told(&mut receiver).is_empty(), "now and then a server does not answer");
        assert!(teller.tell(trouble()) && teller.tell(trouble()));
        assert_eq!(told(&mut receiver), ["troubled"]);
        let row = kit::told(&mut problems, |row| row.object == object_of).await;
        assert_eq!(row.error, "no answer; it is tried again");
        let named = |name| seen(object(name)).unwrap();
        assert!(teller.tell(WatchEvent::Listed(vec![named("x")])));
        assert!(
            teller.tell(WatchEvent::Applied(named("y"))) && teller.tell(WatchEvent::Deleted(object("y")))
        );
        assert!(teller.tell(WatchEvent::Deleted(json!({}))));
        assert_eq!(told(&mut receiver), ["1 listed", "+y", "-y"]);
        kit::told(&mut problems, |row| row.object == object_of && row.error.is_empty()).await;
        assert!(teller.tell(trouble()), "it counts from the beginning");
        kit::told(&mut problems, |row| row.object == object_of && !row.error.is_empty()).await;
        assert!(teller.tell(WatchEvent::Well) && told(&mut receiver).is_empty());
        kit::told(&mut problems, |row| row.object == object_of && row.error.is_empty()).await;
        drop(receiver);
        assert!(!teller.tell(trouble()) && !teller.tell(WatchEvent::Applied(named("x"))), "nobody listens");
        tasks.stop().cancel();
    }
}
