//! A row and its head. Heads alone are enough to take a shard over.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use sluice_api::{Digest, DigestKey};

use crate::meta::Meta;
use crate::subject::Subject;
use crate::view::View;
use crate::{JournalEntry, Sequence};

/// What is known of a row without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Digest of the content; equal content is not published again.
    pub digest: Digest,
    /// When the cause happened, microseconds since 1970; 0 when unknown.
    pub time: i64,
    /// What the row was made from.
    pub view: View,
    /// What the table needs to know of a row besides its key.
    pub meta: Meta,
    /// Whether the row says "this is gone".
    pub tombstone: bool,
}

/// The content of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The content; how it is packed for the wire is the bus's matter.
    Value(Arc<[u8]>),
    // D-0104: a deletion is a row.
    /// The value is gone. The row itself disappears after the tombstone's time to live.
    Tombstone,
}

/// A row as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which fact of the table it states.
    pub subject: Subject,
    /// All of it that a take-over reads.
    pub head: Head,
    /// Its content, empty for tombstones.
    pub body: Arc<[u8]>,
    /// Its position in the stream.
    pub sequence: Sequence,
}

/// Begins the body of a row whose content cannot be had; why, follows. No JSON begins so.
const NO_CONTENT: u8 = 0;

impl Row {
    /// The body of a row whose content cannot be had, for this reason: nobody can take it for a value.
    pub fn no_content(reason: &str) -> Arc<[u8]> {
        [&[NO_CONTENT], reason.as_bytes()].concat().into()
    }

    /// Its content.
    ///
    /// # Errors
    /// Why it cannot be had, or is not what is asked for.
    pub fn content<T: DeserializeOwned>(&self) -> Result<T, String> {
        match self.body.strip_prefix(&[NO_CONTENT]) {
            Some(reason) => Err(String::from_utf8_lossy(reason).into_owned()),
            None => serde_json::from_slice(&self.body).map_err(|error| error.to_string()),
        }
    }
}

/// A row that a core wants to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Which fact of the table it states.
    pub subject: Subject,
    /// What it says of it, or that it is gone.
    pub body: Body,
    /// When the cause happened, microseconds since 1970.
    pub time: i64,
    /// What it is made from.
    pub view: View,
    /// What the table needs to know besides the key.
    pub meta: Meta,
    /// Whether it waits until the server has everything that was published before.
    pub barrier: bool,
    /// Whether it is published although the table, as far as this owner knows, says the same.
    pub forced: bool,
    /// Whether it also replaces what was made from newer knowledge: what it is about has gone for good, and nobody is to know it
    /// better. Then it has no view.
    pub parting: bool,
    /// Whether its body holds what a Secret holds: such a row is sealed for who reads it, and its digest says nothing to others.
    pub secret: bool,
    /// What people are told when it says something that the table does not say.
    pub line: Option<Box<Line>>,
}

/// A line of the journal that goes with a row. Whether the row says something new is known to the owner alone, and a row that
/// is replaced before it goes has not happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Told with every row that says something new.
    Change(JournalEntry),
    /// Told when there was no row; not when one is replaced.
    Begin(JournalEntry),
}

// === impl Body ===

impl Body {
    /// A value of these bytes.
    pub fn value(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Value(bytes.into())
    }
}

// === impl Publish ===

impl Publish {
    /// A row without meta and view. It is secret where its subject names a Secret.
    pub fn new(subject: Subject, body: Body, time: i64) -> Self {
        Self {
            secret: subject.is_of_secret(),
            subject,
            body,
            time,
            view: View::default(),
            meta: Meta::None,
            barrier: false,
            forced: false,
            parting: false,
            line: None,
        }
    }

    /// With these meta data.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = meta;
        self
    }

    /// Made from this view.
    #[must_use]
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// After everything before it has been stored.
    #[must_use]
    pub fn after_all(mut self) -> Self {
        self.barrier = true;
        self
    }

    /// Also where the table says the same already: who reads it is to act upon it once more.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.forced = true;
        self
    }

    // D-0506: tombstones of a cluster that leaves name no revision.
    /// In place of whatever is there, for ever.
    #[must_use]
    pub fn parting(mut self) -> Self {
        self.parting = true;
        self
    }

    /// Its body holds what a Secret holds, whatever its subject says.
    #[must_use]
    pub fn secret(mut self, secret: bool) -> Self {
        self.secret |= secret;
        self
    }

    /// People are told so when it says something new.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.line = Some(Box::new(line));
        self
    }

    /// The head this row will have on a bus that seals nothing.
    pub fn head(&self) -> Head {
        self.head_by(None)
    }

    /// The head this row will have. The digest covers content and meta, not time and view: a newer look at
    /// the same thing is the same row. That of a secret is made with the key, where there is one.
    pub fn head_by(&self, key: Option<&DigestKey>) -> Head {
        let (digest, tombstone) = match (&self.body, key.filter(|_| self.secret)) {
            (Body::Value(bytes), Some(key)) => {
                (key.digest(&[bytes, self.meta.to_string().as_bytes()]), false)
            }
            (Body::Value(bytes), None) => (Digest::of(&[bytes, self.meta.to_string().as_bytes()]), false),
            (Body::Tombstone, _) => (Digest::default(), true),
        };
        Head { digest, time: self.time, view: self.view.clone(), meta: self.meta.clone(), tombstone }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId};

    use super::*;
    use crate::Shard;

    fn object(group: &str, kind: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new(group, "v1", kind), namespace: "n".into(), name: "x".into() }
    }

    fn change(group: &str, kind: &str) -> Publish {
        let (cluster, object) = (ClusterRef::sveltos("a", "b"), object(group, kind));
        let subject = Subject::Change { shard: Shard::FIRST, cluster, viewer: String::new(), object };
        Publish::new(subject, Body::value(*b"{}"), 1)
    }

    #[test]
    fn a_body_that_cannot_be_had_says_why() {
        let subject = change("", "Secret").subject;
        let of = |body: Arc<[u8]>| Row {
            subject: subject.clone(),
            head: Head::default(),
            body,
            sequence: Sequence::NONE,
        };
        assert_eq!(of(b"[1]".as_slice().into()).content::<Vec<u8>>(), Ok(vec![1]));
        let reason = of(Row::no_content("it is sealed for the key matcher-1")).content::<Vec<u8>>();
        assert_eq!(reason.unwrap_err(), "it is sealed for the key matcher-1");
        assert!(of(b"{".as_slice().into()).content::<Vec<u8>>().unwrap_err().contains("invalid type"));
    }

    #[test]
    fn rows_about_secrets_are_secret_and_others_when_their_maker_says_so() {
        assert!(change("", "Secret").secret);
        assert!(!change("", "ConfigMap").secret && !change("example.com", "Secret").secret);
        let (cluster, object) = (ClusterRef::sveltos("a", "b"), object("", "Secret"));
        let report = Subject::Report {
            shard: Shard::FIRST,
            cluster: cluster.clone(),
            source: "s".into(),
            origin: Shard::FIRST,
            object,
        };
        assert!(Publish::new(report, Body::value([]), 1).secret);
        let desired = Subject::Desired {
            shard: Shard::FIRST,
            cluster,
            origin: Shard::FIRST,
            profile: ProfileId::cluster("p"),
        };
        let row = Publish::new(desired, Body::value([]), 1);
        assert!(!row.secret && row.clone().secret(true).secret);
        assert!(row.secret(true).secret(false).secret, "nobody takes it back");
    }

    #[test]
    fn only_the_digest_of_a_secret_depends_on_the_key() {
        let (one, other) = (DigestKey::new([1; 32]), DigestKey::new([2; 32]));
        let (secret, plain) = (change("", "Secret"), change("", "ConfigMap"));
        assert_eq!(plain.head_by(Some(&one)), plain.head());
        assert_eq!(
            secret.head_by(Some(&one)),
            secret.head_by(Some(&one)),
            "equal content is found to be equal"
        );
        let digests = [None, Some(&one), Some(&other)].map(|key| secret.head_by(key).digest);
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
    }

    #[test]
    fn a_newer_look_at_the_same_thing_is_the_same_row() {
        let row = change("", "ConfigMap");
        let later = Publish { time: 99, ..row.clone() }.view(View::parse("a=7"));
        assert_eq!(later.head().digest, row.head().digest);
        assert_eq!((later.head().time, later.head().view), (99, View::parse("a=7")));
    }

    #[test]
    fn another_body_or_other_meta_data_are_another_row() {
        let row = change("", "ConfigMap");
        let body = Publish { body: Body::value(*b"{ }"), ..row.clone() };
        let meta = row.clone().meta(Meta::Unknown("x".into()));
        assert!(row.head().digest != body.head().digest && row.head().digest != meta.head().digest);
        assert_ne!(body.head().digest, meta.head().digest);
    }

    #[test]
    fn what_is_gone_has_no_digest_also_where_it_is_secret() {
        let gone = Publish { body: Body::Tombstone, ..change("", "Secret") };
        let head = gone.head_by(Some(&DigestKey::new([1; 32])));
        assert_eq!((head.digest, head.tombstone), (Digest::default(), true));
        assert!(!change("", "Secret").head().tombstone);
    }

    #[test]
    fn a_row_is_as_any_other_unless_it_is_told() {
        let row = change("", "ConfigMap");
        assert!(!row.barrier && !row.forced && !row.parting && row.line.is_none() && row.meta == Meta::None);
        let told = row.clone().after_all().forced().parting();
        assert!(told.barrier && told.forced && told.parting);
        assert_eq!(told.head(), row.head(), "how it goes out is nothing that it says");
    }
}
