//! The EventSources that are live on one cluster, and how far the cluster is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sluice_api::cloud_event::is_event;
use sluice_api::{Digest, ObjectKey, ServiceAccount};
use sluice_protocol::interest::{Complete, Interest, Lacking};
use sluice_protocol::{Incarnation, Revision, Sequence, View};

use crate::error::Result;
use crate::program::Program;

/// Compiled sources by the digest of their manifest: clusters with the same sources share them.
#[derive(Default)]
pub(crate) struct Programs(HashMap<Digest, Arc<Result<Program>>>);

/// One source on one cluster.
pub(crate) struct LiveSource {
    pub(crate) name: String,
    pub(crate) changed: Revision,
    /// The last form that could be read, while the newest cannot.
    pub(crate) program: Arc<Result<Program>>,
    /// Whose rows it is told by: the account that they are seen as, empty for the agent itself. `None` where its labels cannot be read,
    /// and never could.
    viewer: Option<String>,
}

/// What is known of one cluster.
#[derive(Default)]
pub(crate) struct Live {
    /// Revision of the interest row; `None` while there is no row: unknown, not empty.
    pub(crate) revision: Option<Revision>,
    pub(crate) sources: Vec<LiveSource>,
    /// The newest completeness row of the agent in this incarnation of the input, once everything that was in the
    /// table with it has been read.
    pub(crate) complete: Option<Complete>,
    /// What the renderer has been told to be there completely, apart from the stream's incarnation.
    pub(crate) told: Option<Complete>,
    pub(crate) replay: Option<Replay>,
    /// The revision of the interest row that was told last; it is older than what is worked with where that is lost.
    pub(crate) present: Revision,
    /// The newest revision that rows were made from which were there at the beginning.
    pub(crate) found: Revision,
    /// A newer revision that its agent, or this matcher, has worked with, and when the renderer is told if its row has not
    /// come.
    pub(crate) ahead: Option<(Revision, i64)>,
    /// The view of the agent's row that was looked at last: few rows have another one than the row before.
    pub(crate) view: View,
    /// Whether the interest row says that the cluster is no longer registered.
    pub(crate) gone: bool,
    /// Whether its agent has taken the completeness row away that it had in this shard: nothing of it is left there.
    pub(crate) left: bool,
    /// Objects that are not reported because nobody can tell whether they are events, by source: their rows cannot be read,
    /// or the script fails.
    unknown: BTreeMap<String, BTreeSet<ObjectKey>>,
}

/// A replay of the cluster's rows that is under way.
pub(crate) struct Replay {
    pub(crate) id: u64,
    /// Rows of the tail that came during the replay, by viewer and object: the replay must not bring older ones back.
    pub(crate) newer: HashMap<(String, ObjectKey), Sequence>,
}

/// How an interest row differs from the one before.
pub(crate) struct Difference {
    /// Sources that are new or changed: the cluster's rows must be judged again.
    pub(crate) changed: Vec<String>,
    /// Sources that are gone: what they reported is withdrawn.
    pub(crate) removed: Vec<String>,
}

/// As whom an agent watches for a source, as its labels say.
fn viewer_of(manifest: &serde_json::Value) -> Option<String> {
    let account = ServiceAccount::watching(manifest).ok()?;
    Some(account.map_or_else(String::new, |account| account.name))
}

impl LiveSource {
    // D-0816: a row is judged only by sources of its viewer.
    /// Whether a row that `viewer` has seen says something to it. CloudEvents are sent to the cluster: no server is asked who may see
    /// them.
    fn is_seen_by(&self, viewer: &str, key: &ObjectKey) -> bool {
        is_event(key) || self.viewer.as_ref().is_none_or(|own| own == viewer)
    }

    fn is_tenants(&self) -> bool {
        self.viewer.as_ref().is_some_and(|viewer| !viewer.is_empty())
    }
}

impl Programs {
    fn get(&mut self, manifest: &serde_json::Value) -> Arc<Result<Program>> {
        let text = manifest.to_string();
        let entry = self.0.entry(Digest::of(&[text.as_bytes()]));
        entry.or_insert_with(|| Arc::new(Program::compile(manifest))).clone()
    }

    /// Forgets programs that no cluster uses any more.
    pub(crate) fn sweep(&mut self) {
        self.0.retain(|_, program| Arc::strong_count(program) > 1);
    }
}

impl Live {
    /// Nobody can tell whether the object is an event of the source.
    pub(crate) fn cannot_tell(&mut self, object: &ObjectKey, source: &str) {
        self.unknown.entry(source.to_owned()).or_default().insert(object.clone());
    }

    /// It is known whether the object is an event of the source; true when nothing of the source is unknown any more.
    pub(crate) fn can_tell(&mut self, object: &ObjectKey, source: &str) -> bool {
        let Some(objects) = self.unknown.get_mut(source) else { return false };
        let was = objects.remove(object);
        if objects.is_empty() {
            self.unknown.remove(source);
        }
        was && !self.unknown.contains_key(source)
    }

    /// Sources of which something is unknown.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &String> {
        let broken = self.sources.iter().filter(|source| source.program.is_err()).map(|source| &source.name);
        self.unknown.keys().chain(broken)
    }

    /// What nothing can be said of.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = Lacking> {
        let broken = self.sources.iter().filter(|source| source.program.is_err()).map(|source| &source.name);
        let unknown = self.unknown.iter().filter(|(_, objects)| objects.iter().any(is_event));
        let events =
            unknown.map(|(source, _)| source).chain(broken).map(|source| Lacking::Events(source.clone()));
        self.unknown().map(|source| Lacking::Objects(source.clone())).chain(events)
    }

    /// The sources that rows of this viewer say something to; also those of which nobody knows whose they are.
    pub(crate) fn seen_by(&self, viewer: &str, key: &ObjectKey) -> impl Iterator<Item = &LiveSource> {
        self.sources.iter().filter(move |source| source.is_seen_by(viewer, key))
    }

    /// All others.
    pub(crate) fn not_seen_by(&self, viewer: &str, key: &ObjectKey) -> impl Iterator<Item = &LiveSource> {
        self.sources.iter().filter(move |source| !source.is_seen_by(viewer, key))
    }

    // D-0817: versions that know of no tenants take no absence for proved.
    /// What an agent has told, of whichever life of its stream, as a renderer is to read it: a tenant's source is lacking unless the
    /// agent says that it has watched as the tenant.
    pub(crate) fn told_by(&self, agent: Complete) -> Complete {
        let tenants: Vec<_> = self.sources.iter().filter(|source| source.is_tenants()).collect();
        let is_of_tenant = |name: &str| tenants.iter().any(|source| source.name == name);
        let lacks = tenants.iter().filter(|source| !agent.covers_tenants(&source.name));
        let mut lacking: Vec<_> = lacks.map(|source| Lacking::Objects(source.name.clone())).collect();
        let others = agent.lacking.into_iter().filter(|lacking| match lacking {
            Lacking::Objects(name) => !is_of_tenant(name),
            Lacking::Events(_) => true,
            Lacking::Nothing(_) => false,
        });
        lacking.extend(others);
        Complete { incarnation: Incarnation::NONE, lacking, ..agent }
    }

    /// Takes a newer interest row; an older or equal one changes nothing.
    pub(crate) fn update(&mut self, row: &Interest, programs: &mut Programs) -> Option<Difference> {
        if row.is_lost() || self.revision.is_some_and(|known| known >= row.revision) {
            return None;
        }
        let known = |name: &str, changed: Revision| {
            self.sources.iter().any(|s| s.name == name && s.changed == changed)
        };
        let changed = row.sources.iter().filter(|source| !known(&source.name, source.changed));
        let removed = self.sources.iter().filter(|source| row.source(&source.name).is_none());
        let difference = Difference {
            changed: changed.map(|source| source.name.clone()).collect(),
            removed: removed.map(|source| source.name.clone()).collect(),
        };
        let before = std::mem::take(&mut self.sources);
        let live = |source: &sluice_protocol::interest::Source| {
            let newest = programs.get(&source.manifest);
            // Why the newest form cannot be read, the renderer says of the EventSource itself.
            let is_broken = newest.is_err();
            let former = before.iter().find(|former| former.name == source.name && former.program.is_ok());
            let program = former.filter(|_| is_broken).map_or(newest, |former| former.program.clone());
            let viewer = match program.as_ref() {
                Ok(program) => Some(program.viewer().to_owned()),
                Err(_) => viewer_of(&source.manifest),
            };
            LiveSource { name: source.name.clone(), changed: source.changed, program, viewer }
        };
        self.sources = row.sources.iter().map(live).collect();
        self.unknown.retain(|source, _| row.source(source).is_some());
        (self.revision, self.present, self.gone) = (Some(row.revision), row.revision, row.gone);
        Some(difference)
    }
}
