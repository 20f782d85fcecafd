//! Which large bodies a shard's rows name, and keeping them from expiring.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use sluice_api::Digest;
use sluice_protocol::Subject;

use crate::buckets::contents::{BodyLocation, Contents};
use crate::error::BusError;

/// Bodies in the `content` bucket, by the subject of the row that names them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentRefs(Arc<Mutex<HashMap<String, BodyLocation>>>);

impl ContentRefs {
    /// A row names a body, or no longer.
    pub(crate) fn note(&self, subject: &Subject, digest: Option<Digest>) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match digest {
            Some(digest) => drop(rows.insert(subject.to_string(), BodyLocation::of(subject, digest))),
            None if rows.is_empty() => {}
            None => drop(rows.remove(&subject.to_string())),
        }
    }

    /// Marks the bodies that `named` rows name; which subjects name one that is not there.
    pub(crate) async fn adopt(
        &self,
        contents: &Contents,
        named: HashMap<Subject, Digest>,
    ) -> Result<HashSet<Subject>, BusError> {
        let mut missing = HashSet::new();
        for (subject, digest) in named {
            if contents.mark(&BodyLocation::of(&subject, digest)).await? {
                self.note(&subject, Some(digest));
            } else {
                missing.insert(subject);
            }
        }
        Ok(missing)
    }

    /// Marks every body from time to time; ends when one of them is not there any more.
    pub(crate) async fn keep(self, contents: Contents) {
        loop {
            tokio::time::sleep(contents.period()).await;
            let places: HashSet<BodyLocation> =
                self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            for place in places {
                match contents.mark(&place).await {
                    Ok(true) => {}
                    Ok(false) => {
                        tracing::warn!(%place, "a body that rows name has expired");
                        return;
                    }
                    // It is marked often enough for a few attempts to fail.
                    Err(error) => tracing::warn!(%error, "a body cannot be marked"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{ClusterRef, ProfileId};

    use super::*;
    use sluice_protocol::Shard;

    fn subject(profile: &str) -> Subject {
        let cluster = ClusterRef::sveltos("default", "a");
        Subject::Desired {
            shard: Shard::FIRST,
            cluster,
            origin: Shard::FIRST,
            profile: ProfileId::cluster(profile),
        }
    }

    fn named(refs: &ContentRefs) -> Vec<Digest> {
        let rows = refs.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.values().map(BodyLocation::digest).collect()
    }

    #[test]
    fn a_row_names_its_last_body_and_none_that_it_had_before() {
        let (refs, [first, second]) = (ContentRefs::default(), [b"1", b"2"].map(|body| Digest::of(&[body])));
        refs.note(&subject("x"), Some(first));
        refs.note(&subject("x"), Some(second));
        assert_eq!(named(&refs), [second]);
        refs.note(&subject("x"), None);
        assert!(named(&refs).is_empty());
    }

    #[test]
    fn a_body_is_named_until_the_last_of_its_rows_has_another_one() {
        let (refs, digest) = (ContentRefs::default(), Digest::of(&[b"1"]));
        ["x", "y"].iter().for_each(|profile| refs.note(&subject(profile), Some(digest)));
        refs.clone().note(&subject("x"), None);
        assert_eq!(named(&refs), [digest]);
    }
}
