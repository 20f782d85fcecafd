//! What was rendered, from what, and what it reads: who is to be rendered again when something changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::Cause;

use crate::knowledge::Basis;
use crate::knowledge::catalog::ContentKey;
use crate::knowledge::chart_request::ChartRequest;
use crate::knowledge::reads::Reads;
use crate::knowledge::rights::Question;

/// Which objects are to be watched from now on and which charts fetched, and which no longer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadChanges {
    pub(crate) begun: Vec<ObjectKey>,
    pub(crate) ended: Vec<ObjectKey>,
    /// Charts that somebody begins to ask for.
    pub(crate) wanted: Vec<ChartRequest>,
    /// Charts that nobody asks for any more.
    pub(crate) unwanted: Vec<ChartRequest>,
    /// Rights of tenants that nobody asks for any more.
    pub(crate) settled: Vec<Question>,
}

type Readers<K> = BTreeMap<K, BTreeSet<Cause>>;

/// Every cause that was rendered and not withdrawn.
#[derive(Default)]
pub(crate) struct Renderings {
    bases: HashMap<Cause, Basis>,
    reads: HashMap<Cause, Reads>,
    readers: Readers<ContentKey>,
    resource_readers: Readers<ObjectKey>,
    chart_readers: Readers<ChartRequest>,
    askers: Readers<Question>,
    /// Those that read something of which nothing is known yet.
    waiting: BTreeSet<Cause>,
    projected: BTreeMap<Cause, Vec<ObjectKey>>,
}

impl Renderings {
    /// Whether the cause was rendered from this, without an error.
    pub(crate) fn is_of(&self, cause: &Cause, basis: Basis) -> bool {
        self.bases.get(cause) == Some(&basis)
    }

    /// The cause was rendered from this, or could not be.
    pub(crate) fn set(&mut self, cause: &Cause, basis: Option<Basis>) {
        match basis {
            Some(basis) => drop(self.bases.insert(cause.clone(), basis)),
            None => drop(self.bases.remove(cause)),
        }
    }

    /// The cause reads this now, and nothing else; returns the objects that somebody begins to read, and those that nobody
    /// reads any more.
    pub(crate) fn read(&mut self, cause: &Cause, mut reads: Reads) -> ReadChanges {
        let before = self.reads.remove(cause).unwrap_or_default();
        exchange(&mut self.readers, cause, before.contents(), reads.contents());
        let (old, new) = (before.resources(), reads.resources());
        let (begun, ended) = exchange(&mut self.resource_readers, cause, old, new);
        let (wanted, unwanted) = exchange(&mut self.chart_readers, cause, before.charts(), reads.charts());
        let (_, settled) = exchange(&mut self.askers, cause, before.questions(), reads.questions());
        let changes = ReadChanges { begun, ended, wanted, unwanted, settled };
        if reads.is_unknown() || !reads.unknown_clusters().is_empty() {
            reads.keep_outputs_of(&before);
            self.waiting.insert(cause.clone());
        } else {
            self.waiting.remove(cause);
        }
        if !reads.is_empty() {
            self.reads.insert(cause.clone(), reads);
        }
        changes
    }

    /// Whether nothing waits for an object of which nothing is known yet.
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the cause waits for something of which nothing is known yet.
    pub(crate) fn is_waiting(&self, cause: &Cause) -> bool {
        self.waiting.contains(cause)
    }

    /// The causes that read this content.
    pub(crate) fn readers(&self, key: &ContentKey) -> Vec<Cause> {
        self.readers.get(key).into_iter().flatten().cloned().collect()
    }

    /// The causes that read this object by an identifier, and for which the change counts.
    pub(crate) fn resource_readers(
        &self,
        key: &ObjectKey,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Vec<Cause> {
        let sees = |cause: &&Cause| {
            let waits = self.waiting.contains(*cause);
            waits || self.reads.get(*cause).is_some_and(|reads| reads.sees(key, old, new))
        };
        self.resource_readers.get(key).into_iter().flatten().filter(sees).cloned().collect()
    }

    /// The contents that this cause reads.
    pub(crate) fn content_read_by(&self, cause: &Cause) -> impl Iterator<Item = &ContentKey> {
        self.reads.get(cause).into_iter().flat_map(|reads| reads.contents())
    }

    /// The objects that this cause reads by an identifier.
    pub(crate) fn resources_read_by(&self, cause: &Cause) -> impl Iterator<Item = &ObjectKey> {
        self.reads.get(cause).into_iter().flat_map(|reads| reads.resources())
    }

    /// The causes that ask for this right.
    pub(crate) fn askers(&self, question: &Question) -> Vec<Cause> {
        self.askers.get(question).into_iter().flatten().cloned().collect()
    }

    /// The causes that read this object by an identifier.
    pub(crate) fn all_resource_readers(&self, key: &ObjectKey) -> Vec<Cause> {
        self.resource_readers.get(key).into_iter().flatten().cloned().collect()
    }

    /// The causes that ask for this chart.
    pub(crate) fn chart_readers(&self, request: &ChartRequest) -> Vec<Cause> {
        self.chart_readers.get(request).into_iter().flatten().cloned().collect()
    }

    /// The causes that ask for any chart, and those that would.
    pub(crate) fn all_chart_readers(&self) -> BTreeSet<Cause> {
        self.chart_readers.values().flatten().chain(&self.waiting).cloned().collect()
    }

    /// Whether it is not known what this cluster can do, and the cause has charts for it.
    pub(crate) fn waits_for(&self, cause: &Cause, cluster: &ClusterRef) -> bool {
        self.reads.get(cause).is_some_and(|reads| reads.unknown_clusters().contains(cluster))
    }

    /// Whether anybody reads this object by an identifier.
    pub(crate) fn is_read(&self, key: &ObjectKey) -> bool {
        self.resource_readers.contains_key(key)
    }

    /// The cause is shown by these objects of the management cluster now; those that showed it before and do not now.
    pub(crate) fn project(&mut self, cause: &Cause, keys: Vec<ObjectKey>) -> Vec<ObjectKey> {
        let before = self.projected.remove(cause).unwrap_or_default();
        let gone = before.into_iter().filter(|key| !keys.contains(key)).collect();
        if !keys.is_empty() {
            self.projected.insert(cause.clone(), keys);
        }
        gone
    }

    /// The cause is withdrawn; returns the objects that nobody reads any more.
    pub(crate) fn forget(&mut self, cause: &Cause) -> ReadChanges {
        self.bases.remove(cause);
        self.read(cause, Reads::default())
    }
}

/// The cause reads what is in `now` instead of what was; what somebody begins to read, and what nobody reads any more.
fn exchange<'k, K: Ord + Clone + 'k>(
    readers: &mut Readers<K>,
    cause: &Cause,
    before: impl IntoIterator<Item = &'k K>,
    now: impl IntoIterator<Item = &'k K>,
) -> (Vec<K>, Vec<K>) {
    let (now, mut begun) = (BTreeSet::from_iter(now), Vec::new());
    for key in &now {
        let causes = readers.entry((*key).clone()).or_default();
        if causes.insert(cause.clone()) && causes.len() == 1 {
            begun.push((*key).clone());
        }
    }
    let gone = before.into_iter().filter(|key| !now.contains(key));
    (begun, gone.filter(|key| remove(readers, key, cause)).cloned().collect())
}

/// The cause reads this no longer; whether nobody does.
fn remove<K: Ord>(readers: &mut Readers<K>, key: &K, cause: &Cause) -> bool {
    let Some(causes) = readers.get_mut(key) else { return false };
    causes.remove(cause);
    let nobody = causes.is_empty();
    if nobody {
        readers.remove(key);
    }
    nobody
}

#[cfg(test)]
mod tests {
    use sluice_api::model::Attention;
    use sluice_api::{Gvk, ProfileId};

    use super::*;
    use crate::knowledge::catalog::Catalog;

    fn cause(name: &str) -> Cause {
        Cause::Profile(ProfileId::cluster(name))
    }

    fn content(name: &str) -> ContentKey {
        ("ConfigMap".into(), "n".into(), name.into())
    }

    fn contents(names: &[&str]) -> Reads {
        let mut reads = Reads::default();
        names.iter().for_each(|name| reads.insert(content(name)));
        reads
    }

    #[test]
    fn objects_are_watched_while_somebody_reads_them() {
        let gvk = Gvk::new("apps", "v1", "Deployment");
        let key = ObjectKey { gvk, namespace: "n".into(), name: "d".into() };
        let reads = || {
            let mut reads = Reads::default();
            assert_eq!(reads.resource(&Catalog::default(), &key, &Attention::default()), Ok(None));
            reads
        };
        let mut renderings = Renderings::default();
        assert_eq!(renderings.read(&cause("a"), reads()).begun, std::slice::from_ref(&key));
        assert_eq!(renderings.read(&cause("a"), reads()), ReadChanges::default(), "it is read already");
        assert_eq!(renderings.read(&cause("b"), reads()), ReadChanges::default());
        assert!(!renderings.is_clear(), "nothing is known of it yet");
        assert_eq!(renderings.resource_readers(&key, None, None), [cause("a"), cause("b")]);
        assert_eq!(renderings.forget(&cause("a")), ReadChanges::default(), "another one reads it");
        assert_eq!(renderings.read(&cause("b"), Reads::default()).ended, std::slice::from_ref(&key));
        assert!(renderings.is_clear() && !renderings.is_read(&key));
    }

    #[test]
    fn who_reads_something_is_known_until_it_reads_something_else_or_goes() {
        let mut renderings = Renderings::default();
        renderings.read(&cause("a"), contents(&["x", "y"]));
        renderings.read(&cause("b"), contents(&["x"]));
        assert_eq!(renderings.readers(&content("x")), [cause("a"), cause("b")]);
        renderings.read(&cause("a"), contents(&["z"]));
        assert_eq!(renderings.readers(&content("x")), [cause("b")]);
        assert!(renderings.readers(&content("y")).is_empty());
        renderings.forget(&cause("b"));
        assert_eq!((renderings.readers.len(), renderings.reads.len()), (1, 1), "only what is read is kept");
    }

    #[test]
    fn what_failed_was_rendered_from_nothing() {
        let mut renderings = Renderings::default();
        renderings.set(&cause("a"), Some((1, 2)));
        assert!(renderings.is_of(&cause("a"), (1, 2)) && !renderings.is_of(&cause("a"), (1, 3)));
        renderings.set(&cause("a"), None);
        assert!(!renderings.is_of(&cause("a"), (1, 2)));
    }

    #[test]
    fn projections_that_are_no_longer_wanted_are_told_once() {
        let mut renderings = Renderings::default();
        let key = |name: &str| ObjectKey {
            gvk: Gvk::new("", "v1", "ConfigMap"),
            namespace: String::new(),
            name: name.into(),
        };
        assert!(renderings.project(&cause("a"), vec![key("x"), key("y")]).is_empty());
        assert_eq!(renderings.project(&cause("a"), vec![key("y")]), [key("x")]);
        assert_eq!(renderings.project(&cause("a"), Vec::new()), [key("y")]);
        assert!(renderings.project(&cause("a"), Vec::new()).is_empty());
    }
}
