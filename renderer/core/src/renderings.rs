//! What was rendered, from what, and what it reads: who is to be rendered again when something changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sluice_api::ObjectKey;
use sluice_protocol::rows::Cause;

use crate::catalog::ContentKey;
use crate::render::Reads;

/// Versions of the management cluster, and of the matches, that a cause is rendered from: while they are the same, rendering
/// again gives the same.
pub(crate) type Basis = (u64, u64);

/// Every cause that was rendered and not withdrawn.
#[derive(Default)]
pub(crate) struct Renderings {
    bases: HashMap<Cause, Basis>,
    reads: HashMap<Cause, Reads>,
    readers: HashMap<ContentKey, BTreeSet<Cause>>,
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

    /// The cause reads these contents now, and no others.
    pub(crate) fn read(&mut self, cause: &Cause, reads: Reads) {
        self.unread(cause);
        for key in &reads {
            self.readers.entry(key.clone()).or_default().insert(cause.clone());
        }
        if !reads.is_empty() {
            self.reads.insert(cause.clone(), reads);
        }
    }

    fn unread(&mut self, cause: &Cause) {
        for key in self.reads.remove(cause).into_iter().flatten() {
            if let Some(causes) = self.readers.get_mut(&key) {
                causes.remove(cause);
                if causes.is_empty() {
                    self.readers.remove(&key);
                }
            }
        }
    }

    /// The causes that read this.
    pub(crate) fn readers(&self, key: &ContentKey) -> Vec<Cause> {
        self.readers.get(key).into_iter().flatten().cloned().collect()
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

    /// The cause is withdrawn.
    pub(crate) fn forget(&mut self, cause: &Cause) {
        self.unread(cause);
        self.bases.remove(cause);
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{Gvk, ProfileId};

    use super::*;

    fn cause(name: &str) -> Cause {
        Cause::Profile(ProfileId::cluster(name))
    }

    fn content(name: &str) -> ContentKey {
        ("ConfigMap".into(), "n".into(), name.into())
    }

    #[test]
    fn who_reads_something_is_known_until_it_reads_something_else_or_goes() {
        let mut renderings = Renderings::default();
        renderings.read(&cause("a"), [content("x"), content("y")].into());
        renderings.read(&cause("b"), [content("x")].into());
        assert_eq!(renderings.readers(&content("x")), [cause("a"), cause("b")]);
        renderings.read(&cause("a"), [content("z")].into());
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
