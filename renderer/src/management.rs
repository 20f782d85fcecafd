//! The management cluster as a feed: what users wrote. What was generated is kept apart.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, LIB_GROUP};
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_bus::Feed;
use sluice_kube::{WatchEvent, watch_versioned};
use sluice_protocol::Problem;
use sluice_renderer_core::{Change, generated_for, is_generator_output};
use sluice_runtime::{Context, Reporter};
use sluice_tasks::{End, Kept};
use tokio_util::sync::CancellationToken;

/// Objects that users wrote, by key.
pub(crate) type Management = Feed<ObjectKey, Change>;
/// For which cluster each generated object is: they are many, and nothing else of them matters.
pub(crate) type Generated = Feed<ObjectKey, ClusterRef>;

/// Where each kind is. Kinds that do not exist count as empty.
fn kinds() -> Vec<Gvk> {
    let lib = ["EventSource", "EventTrigger", "EventBasedAddOn", "SveltosCluster", "ClusterSet", "Set"]
        .map(|kind| Gvk::new(LIB_GROUP, "v1beta1", kind));
    let config = ["ClusterProfile", "Profile"].map(|kind| Gvk::new(CONFIG_GROUP, "v1beta1", kind));
    let core = ["ConfigMap", "Secret"].map(|kind| Gvk::new("", "v1", kind));
    let capi = [Gvk::new("cluster.x-k8s.io", "v1beta2", "Cluster")];
    lib.into_iter().chain(config).chain(core).chain(capi).collect()
}

/// The feeds of user-written and of generated objects.
pub(crate) fn follow(context: &Context, client: &Client) -> (Management, Generated) {
    let (written, generated) = (Management::new(), Generated::new());
    let unlisted: Arc<Mutex<BTreeSet<Gvk>>> = Arc::new(Mutex::new(kinds().into_iter().collect()));
    for kind in kinds() {
        let watch = KindWatch {
            kind,
            client: client.clone(),
            written: written.clone(),
            generated: generated.clone(),
            unlisted: unlisted.clone(),
            troubled: false,
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
    reporter: Reporter,
    stop: CancellationToken,
}

impl KindWatch {
    async fn run(mut self) -> End {
        let (client, kind) = (self.client.clone(), self.kind.clone());
        let config = watcher::Config::default();
        watch_versioned(client, kind, String::new(), config, |event| self.tell(event)).await;
        End::Early
    }

    /// Whether anybody still listens.
    fn tell(&mut self, event: WatchEvent) -> bool {
        let object = format!("watch of {} in the management cluster", self.kind);
        if let WatchEvent::Trouble(error) = &event {
            self.troubled = true;
            let text = format!("{error}; it is tried again");
            self.reporter.problem(Problem::open("renderer", "", &object, text));
            return !self.stop.is_cancelled();
        }
        if std::mem::take(&mut self.troubled) {
            self.reporter.problem(Problem::resolved("renderer", "", &object));
        }
        // The version of what was listed comes after it.
        let listed = matches!(event, WatchEvent::Version(_));
        take(&self.written, &self.generated, &self.kind, event);
        let mut unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        if listed && unlisted.remove(&self.kind) && unlisted.is_empty() {
            self.written.set_synced();
            self.generated.set_synced();
        }
        !self.stop.is_cancelled()
    }
}

fn take(written: &Management, generated: &Generated, kind: &Gvk, event: WatchEvent) {
    match event {
        WatchEvent::Trouble(_) => {}
        WatchEvent::Version(version) => {
            let none = ObjectKey { gvk: kind.clone(), namespace: String::new(), name: String::new() };
            written.put(none, Change::Listed(kind.kind.clone(), version));
        }
        WatchEvent::Listed(objects) => {
            let present: BTreeSet<ObjectKey> = objects.iter().filter_map(ObjectKey::of).collect();
            let absent = |key: &ObjectKey| key.gvk == *kind && !present.contains(key);
            for key in written.keys_where(|key, _| absent(key)) {
                if let Some(Change::Upsert(last)) = written.get(&key) {
                    written.remove(&key, Change::Delete(last));
                }
            }
            for key in generated.keys_where(|key, _| absent(key)) {
                generated.forget(&key);
            }
            objects.into_iter().for_each(|object| put(written, generated, object));
        }
        WatchEvent::Applied(object) => put(written, generated, object),
        WatchEvent::Deleted(object) => {
            let Some(key) = ObjectKey::of(&object) else { return };
            written.remove(&key, Change::Delete(Arc::new(object)));
            generated.forget(&key);
        }
    }
}

fn put(written: &Management, generated: &Generated, object: Value) {
    let Some(key) = ObjectKey::of(&object) else { return };
    let made_for = generated_for(&object);
    // What a generator has made is read by others.
    if made_for.is_none() || is_generator_output(&object) {
        written.put(key.clone(), Change::Upsert(Arc::new(object)));
    }
    if let Some(cluster) = made_for {
        generated.put(key, cluster);
    }
}
