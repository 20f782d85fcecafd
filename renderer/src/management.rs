//! The management cluster as a feed: what users wrote. What was generated is kept apart.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::model::{INVENTORY, Onboarding, management_kinds};
use sluice_api::{ClusterRef, Gvk, ObjectKey, object};
use sluice_bus::Feed;
use sluice_kube::{WatchEvent, remedy_of_denial, watch_versioned};
use sluice_protocol::{About, Problem, Revision};
use sluice_renderer_core::{Change, generated_for, is_generator_output};
use sluice_runtime::{Context, Reporter};
use sluice_status_core::GeneratedProfile;
use sluice_tasks::{End, Kept};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::history::History;

/// Objects that users wrote, by key.
pub(crate) type Management = Feed<ObjectKey, Change>;
/// What matters of each generated object: they are many.
pub(crate) type Generated = Feed<ObjectKey, Made>;

/// A generated object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    /// The cluster that it is for.
    pub(crate) cluster: ClusterRef,
    /// What it says of itself, of a ClusterProfile.
    pub(crate) profile: Option<GeneratedProfile>,
}

/// The feeds of user-written and of generated objects.
pub(crate) fn follow(
    context: &Context,
    client: &Client,
    history: Option<&History>,
    onboarding: &Onboarding,
) -> (Management, Generated) {
    let (written, generated) = (Management::new(), Generated::new());
    let unlisted: Arc<Mutex<BTreeSet<Gvk>>> = Arc::new(Mutex::new(management_kinds().into_iter().collect()));
    for kind in management_kinds() {
        let watch = KindWatch {
            kind,
            client: client.clone(),
            written: written.clone(),
            generated: generated.clone(),
            unlisted: unlisted.clone(),
            troubled: false,
            history: history.cloned(),
            onboarding: onboarding.clone(),
            reporter: Reporter::new(context, "management"),
            stop: context.tasks.stop().clone(),
        };
        context.tasks.keep(Kept::Management, move || watch.clone().run());
    }
    (written, generated)
}

/// The watch of one kind.
#[derive(Clone)]
struct KindWatch {
    kind: Gvk,
    client: Client,
    written: Management,
    generated: Generated,
    /// Kinds of which there was no list yet.
    unlisted: Arc<Mutex<BTreeSet<Gvk>>>,
    troubled: bool,
    history: Option<History>,
    onboarding: Onboarding,
    reporter: Reporter,
    stop: CancellationToken,
}

impl KindWatch {
    async fn run(mut self) -> End {
        let (client, kind) = (self.client.clone(), self.kind.clone());
        let config = watcher::Config::default();
        // Unbounded: what is told is put into a feed, and a list waits only while another call is answered.
        let (sender, mut events) = mpsc::unbounded_channel();
        let watching =
            watch_versioned(client, kind, String::new(), config, move |event| sender.send(event).is_ok());
        let telling = async {
            while let Some(event) = events.recv().await {
                if matches!(event, WatchEvent::Listed(_)) && !self.goes_on().await {
                    // What is listed is of the past. The process ends.
                    std::future::pending::<()>().await;
                }
                if !self.tell(event) {
                    return;
                }
            }
        };
        tokio::select! {
            () = watching => {}
            () = telling => {}
        }
        End::Early
    }

    /// Whether a list may be believed. Whoever has not begun to work compares for itself.
    async fn goes_on(&self) -> bool {
        let is_first = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.kind);
        match &self.history {
            Some(history) if !is_first => history.goes_on().await,
            _ => true,
        }
    }

    /// Whether anybody still listens.
    fn tell(&mut self, event: WatchEvent) -> bool {
        let about = About::ManagementWatch(self.kind.to_string());
        if let WatchEvent::Trouble(error) = &event {
            self.troubled = true;
            let text = format!("{error}; it is tried again{}", remedy_of_denial(error));
            self.reporter.problem(Problem::open("renderer", "", about, text));
            return !self.stop.is_cancelled();
        }
        if std::mem::take(&mut self.troubled) {
            self.reporter.problem(Problem::resolved("renderer", "", about));
        }
        // The version of what was listed comes after it.
        let listed = matches!(event, WatchEvent::Version(_));
        take(&self.written, &self.generated, &self.kind, let_in(&self.onboarding, event));
        let mut unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        if listed && unlisted.remove(&self.kind) && unlisted.is_empty() {
            self.written.set_synced();
            self.generated.set_synced();
        }
        !self.stop.is_cancelled()
    }
}

/// The same, where a cluster of Cluster API that does not count is one that is not there.
fn let_in(onboarding: &Onboarding, event: WatchEvent) -> WatchEvent {
    match event {
        WatchEvent::Listed(mut objects) => {
            objects.retain(|object| onboarding.lets_in(object));
            WatchEvent::Listed(objects)
        }
        WatchEvent::Applied(object) if !onboarding.lets_in(&object) => WatchEvent::Deleted(object),
        event => event,
    }
}

fn take(written: &Management, generated: &Generated, kind: &Gvk, event: WatchEvent) {
    match event {
        WatchEvent::Trouble(_) | WatchEvent::Well => {}
        WatchEvent::Version(version) => {
            let none = ObjectKey { gvk: kind.clone(), namespace: String::new(), name: String::new() };
            written.put(none, Change::Listed(kind.kind.clone(), Revision::new(version)));
        }
        WatchEvent::Listed(objects) => {
            let present: BTreeSet<ObjectKey> = objects.iter().filter_map(ObjectKey::of).collect();
            let absent = |key: &ObjectKey| key.gvk.is_kind_of(kind) && !present.contains(key);
            for key in written.keys_where(|key, _| absent(key)) {
                if let Some(Change::Upsert(last)) = written.get(&key) {
                    written.remove(&key, Change::Delete(last));
                }
            }
            for key in generated.keys_where(|key, _| absent(key)) {
                lose(generated, &key);
            }
            objects.into_iter().for_each(|object| put(written, generated, object));
        }
        WatchEvent::Applied(object) => put(written, generated, object),
        WatchEvent::Deleted(object) => {
            let Some(key) = ObjectKey::of(&object) else { return };
            written.remove(&key, Change::Delete(Arc::new(object)));
            lose(generated, &key);
        }
    }
}

/// It is not there any more, or no generated one.
fn lose(generated: &Generated, key: &ObjectKey) {
    let Some(made) = generated.get(key) else { return };
    let profile = made.profile.map(|profile| GeneratedProfile { status: None, ..profile });
    generated.remove(key, Made { profile, ..made });
}

fn put(written: &Management, generated: &Generated, object: Value) {
    let Some(key) = ObjectKey::of(&object) else { return };
    // What deployers keep of the management cluster as a destination: it changes with each event, and decides nothing.
    if object::label(&object, INVENTORY).is_some() {
        return;
    }
    // A user may take the labels off what was generated, and keep it: then it is no leftover that would be deleted. Or put
    // them on.
    let (made_for, is_read) = (generated_for(&object), is_generator_output(&object));
    match &made_for {
        Some(cluster) => {
            let made = Made { cluster: cluster.clone(), profile: GeneratedProfile::of(&object, false) };
            generated.put(key.clone(), made);
        }
        None => lose(generated, &key),
    }
    // What a generator has made is read by others, as if a user had written it.
    if made_for.is_none() || is_read {
        written.put(key, Change::Upsert(Arc::new(object)));
    } else if let Some(Change::Upsert(last)) = written.get(&key) {
        written.remove(&key, Change::Delete(last));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// A ConfigMap that a user wrote, or that was made for a cluster, where such are.
    fn config_map(name: &str, made_for: Option<&str>) -> Value {
        let label = |key: &str| format!("eventtrigger.lib.projectsveltos.io/{key}");
        let labels = made_for.map(|cluster| {
            json!({label("clustertype"): "Sveltos", label("clusterNamespace"): "default", label("clustername"): cluster})
        });
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "projectsveltos", "name": name, "labels": labels}})
    }

    struct Fixture {
        written: Management,
        generated: Generated,
        news: tokio::sync::mpsc::UnboundedReceiver<Change>,
    }

    impl Fixture {
        fn new() -> Self {
            let (written, generated) = (Management::new(), Generated::new());
            let news = written.subscribe();
            Self { written, generated, news }
        }

        fn take(&mut self, event: WatchEvent) -> Vec<String> {
            take(&self.written, &self.generated, &Gvk::new("", "v1", "ConfigMap"), event);
            let mut told = Vec::new();
            while let Ok(change) = self.news.try_recv() {
                told.push(match change {
                    Change::Upsert(object) => format!("+{}", sluice_api::object::name(&object)),
                    Change::Delete(object) => format!("-{}", sluice_api::object::name(&object)),
                    Change::Listed(kind, version) => format!("{kind} {version}"),
                });
            }
            told
        }

        fn generated(&self) -> Vec<String> {
            self.generated.keys().into_iter().map(|key| key.name).collect()
        }
    }

    #[test]
    fn what_was_generated_decides_nothing() {
        let mut fixture = Fixture::new();
        let listed = vec![config_map("own", None), config_map("made", Some("c"))];
        assert_eq!(fixture.take(WatchEvent::Listed(listed)), ["+own"]);
        assert_eq!(fixture.take(WatchEvent::Version(7)), ["ConfigMap 7"]);
        assert_eq!(fixture.generated(), ["made"]);
        assert!(fixture.take(WatchEvent::Deleted(config_map("made", Some("c")))).is_empty());
        assert!(fixture.generated().is_empty());
    }

    #[test]
    fn what_a_list_no_longer_shows_is_gone_and_nothing_of_another_kind() {
        let mut fixture = Fixture::new();
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "s"}});
        assert_eq!(fixture.take(WatchEvent::Applied(secret)), ["+s"]);
        let first = ["a", "b"].map(|name| config_map(name, None));
        fixture.take(WatchEvent::Listed(first.into_iter().chain([config_map("made", Some("c"))]).collect()));
        fixture.take(WatchEvent::Version(7));
        assert_eq!(fixture.take(WatchEvent::Listed(vec![config_map("b", None)])), ["-a", "+b"]);
        assert!(fixture.generated().is_empty());
        assert_eq!(fixture.take(WatchEvent::Deleted(config_map("b", None))), ["-b"]);
    }

    #[test]
    fn what_a_user_makes_their_own_by_taking_the_labels_off_is_no_leftover() {
        let mut fixture = Fixture::new();
        fixture.take(WatchEvent::Applied(config_map("x", Some("c"))));
        assert_eq!(fixture.take(WatchEvent::Applied(config_map("x", None))), ["+x"]);
        assert!(fixture.generated().is_empty(), "it would be deleted");
        assert_eq!(fixture.take(WatchEvent::Applied(config_map("x", Some("c")))), ["-x"]);
        assert_eq!(fixture.generated(), ["x"]);
    }

    #[test]
    fn what_a_generator_has_made_is_read_and_is_a_leftover_all_the_same() {
        let mut fixture = Fixture::new();
        let mut made = config_map("x", Some("c"));
        made["metadata"]["labels"]["eventtrigger.lib.projectsveltos.io/fromgenerator"] = json!("ok");
        assert_eq!(fixture.take(WatchEvent::Applied(made.clone())), ["+x"]);
        assert_eq!(fixture.generated(), ["x"]);
        assert_eq!(fixture.take(WatchEvent::Deleted(made)), ["-x"]);
        assert!(fixture.generated().is_empty());
    }

    #[test]
    fn a_profile_that_was_made_is_told_with_what_it_says_until_it_is_gone() {
        let fixture = Fixture::new();
        let mut told = fixture.generated.subscribe();
        let mut news = || -> Vec<Option<Box<str>>> {
            let all = std::iter::from_fn(|| told.try_recv().ok());
            all.map(|made| made.profile.unwrap().status).collect()
        };
        let mut profile = config_map("p", Some("c"));
        profile["apiVersion"] = "config.projectsveltos.io/v1beta1".into();
        profile["kind"] = "ClusterProfile".into();
        let kind = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterProfile");
        let tell = |event| take(&fixture.written, &fixture.generated, &kind, event);
        tell(WatchEvent::Applied(profile.clone()));
        profile["status"] = json!({"a": 1});
        tell(WatchEvent::Applied(profile.clone()));
        assert_eq!(news(), [Some("{}".into()), Some(r#"{"a":1}"#.into())]);
        tell(WatchEvent::Deleted(profile.clone()));
        tell(WatchEvent::Deleted(profile));
        assert_eq!(news(), [None], "once");
    }

    #[test]
    fn inventories_are_nobodys_content() {
        let mut fixture = Fixture::new();
        let mut inventory = config_map("sluice-local-x", None);
        inventory["metadata"]["labels"] = json!({INVENTORY: "local"});
        assert!(fixture.take(WatchEvent::Applied(inventory.clone())).is_empty());
        assert!(fixture.take(WatchEvent::Listed(vec![inventory])).is_empty());
    }

    #[test]
    fn where_an_annotation_is_needed_a_cluster_api_cluster_without_it_is_not_there() {
        let (mut fixture, onboarding) = (Fixture::new(), "onboard".parse::<Onboarding>().unwrap());
        let cluster = |name: &str, annotations: Value| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"namespace": "n", "name": name, "annotations": annotations}})
        };
        let (with, without) = (|| json!({"onboard": "x"}), || json!({"other": "x"}));
        let mut tell = |event| {
            let kind = Gvk::new("cluster.x-k8s.io", "v1beta2", "Cluster");
            take(&fixture.written, &fixture.generated, &kind, let_in(&onboarding, event));
            let told = std::iter::from_fn(|| fixture.news.try_recv().ok());
            told.map(|change| match change {
                Change::Upsert(object) => format!("+{}", sluice_api::object::name(&object)),
                Change::Delete(object) => format!("-{}", sluice_api::object::name(&object)),
                Change::Listed(..) => String::new(),
            })
            .collect::<Vec<_>>()
        };
        let listed = vec![cluster("a", with()), cluster("b", without())];
        assert_eq!(tell(WatchEvent::Listed(listed)), ["+a"]);
        assert_eq!(tell(WatchEvent::Applied(cluster("b", without()))), [""; 0]);
        assert_eq!(tell(WatchEvent::Applied(cluster("b", with()))), ["+b"]);
        assert_eq!(tell(WatchEvent::Applied(cluster("a", without()))), ["-a"]);
        assert_eq!(tell(WatchEvent::Listed(vec![cluster("b", without())])), ["-b"]);
        assert_eq!(tell(WatchEvent::Applied(config_map("m", None))), ["+m"]);
    }

    #[test]
    fn trouble_changes_nothing() {
        let mut fixture = Fixture::new();
        fixture.take(WatchEvent::Listed(vec![config_map("a", None)]));
        assert!(fixture.take(WatchEvent::Trouble("no answer".into())).is_empty());
        assert_eq!(fixture.written.keys().len(), 1);
    }

    #[test]
    fn every_kind_that_the_renderer_decides_by_is_followed() {
        let mut followed: Vec<_> = management_kinds().into_iter().map(|gvk| gvk.kind).collect();
        followed.sort();
        let mut needed = sluice_renderer_core::KINDS.map(str::to_owned);
        needed.sort();
        assert_eq!(followed, needed);
    }
}
