//! Contents that can be gone back to: what their rows say, and the row that goes back to one.

// D-0933: what fails goes back to the last content that was good.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sluice_api::Digest;

use super::Cause;
use crate::{Row, json};

/// Meta of a `desired` row whose content its deployer keeps, so that it can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Staged {
    /// Why the row exists.
    pub cause: Arc<Cause>,
    /// How that is called which its users have written: on all clusters the same.
    pub called: String,
    /// What they write is counted: of two contents the later one has more.
    pub round: u64,
    /// The last content that was good, as the row that this place had of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<Good>,
    /// Why the row goes back to that, away from what is called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
}

/// A content that was good, at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Good {
    /// How it is called.
    pub called: String,
    /// Digest of its row.
    pub row: Digest,
}

/// Body of a `desired` row that goes back. No field of [`Desired`](super::Desired) is in it: deployers of every version that do not know
/// it take it for a row that they cannot read, and delete nothing for its sake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoBack {
    /// Digest of the row that the cluster has kept the content of.
    pub to: Digest,
    /// What it may delete at once: as the profile says it now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub allow_prune: String,
    /// What it is asked with to be applied once more: as the profile says it now.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redeploy: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GoBackBody {
    go_back: GoBack,
}

/// So its body begins, and no other.
const START: &[u8] = br#"{"goBack":"#;

// === impl Staged ===

impl Staged {
    /// How the content is called that the place has, or should have.
    pub fn content(&self) -> Option<&str> {
        match (&self.back, &self.good) {
            (None, _) => Some(&self.called),
            (Some(_), good) => good.as_ref().map(|good| &*good.called),
        }
    }
}

// === impl GoBack ===

impl GoBack {
    /// As the body of a row.
    pub fn bytes(&self) -> Arc<[u8]> {
        json::bytes(&GoBackBody { go_back: self.clone() }).into()
    }

    /// What a row says that goes back; nothing where it is another one.
    pub fn of_row(row: &Row) -> Option<Self> {
        if !row.body.starts_with(START) || row.head.tombstone {
            return None;
        }
        row.content::<GoBackBody>().ok().map(|body| body.go_back)
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{ClusterRef, ProfileId};

    use super::super::{Desired, NoContent};
    use super::*;
    use crate::{Body, Head, Meta, Publish, Sequence, Shard, Subject};

    fn row(body: Arc<[u8]>) -> Row {
        let subject = Subject::Desired {
            shard: Shard::FIRST,
            cluster: ClusterRef::sveltos("a", "b"),
            origin: Shard::FIRST,
            profile: ProfileId::cluster("p"),
        };
        let head = Publish::new(subject.clone(), Body::Value(body.clone()), 1).head();
        Row { subject, head, body, sequence: Sequence::new(1) }
    }

    #[test]
    fn a_row_that_goes_back_is_no_content_and_is_read_back() {
        let back = GoBack { to: Digest::of(&[b"x"]), allow_prune: "w".into(), redeploy: ["r".into()].into() };
        let found = row(back.bytes());
        assert_eq!(GoBack::of_row(&found), Some(back));
        assert_eq!(Desired::of_row(&found), Err(NoContent::GoesBack));
        // As a former version reads it.
        assert!(found.content::<Desired>().is_err());
        let gone = Row { head: Head { tombstone: true, ..Head::default() }, ..found };
        assert_eq!(GoBack::of_row(&gone), None);
        for other in ["{}", r#"{"goBack":{}}"#, r#"{"goBack":{"to":"x"}}"#, r#"{"goBack":1,"policies":[]}"#] {
            let other = row(other.as_bytes().into());
            assert_eq!(GoBack::of_row(&other), None);
            assert!(Desired::of_row(&other).is_err(), "it is no profile without content");
        }
    }

    #[test]
    fn its_texts_are_those_that_are_on_the_bus() {
        let cause = Arc::new(Cause::Profile(ProfileId::cluster("p")));
        let staged = Staged { cause: cause.clone(), called: "c".into(), round: 2, good: None, back: None };
        let text = r#"{"cause":{"profile":"ClusterProfile p"},"called":"c","round":2}"#;
        assert_eq!(Meta::Staged(staged.clone().into()).to_string(), text);
        assert_eq!((staged.content(), Meta::parse(text).cause()), (Some("c"), Some(&*cause)));
        let good = Some(Good { called: "g".into(), row: Digest::default() });
        let back = Staged { good, back: Some("it failed".into()), ..staged };
        let text = r#"{"cause":{"profile":"ClusterProfile p"},"called":"c","round":2,"good":{"called":"g","row":"00000000000000000000000000000000"},"back":"it failed"}"#;
        let meta = Meta::Staged(back.clone().into());
        assert_eq!((meta.to_string().as_str(), Meta::parse(text)), (text, meta.clone()));
        assert_eq!((back.content(), meta.staged()), (Some("g"), Some(&Arc::new(back.clone()))));
        let body = GoBack { to: Digest::default(), ..GoBack::default() }.bytes();
        assert_eq!(&*body, br#"{"goBack":{"to":"00000000000000000000000000000000"}}"#);
    }
}
