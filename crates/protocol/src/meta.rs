//! What a table needs to know of a row besides its key, and its one text form.

use std::fmt;
use std::sync::Arc;

use crate::interest::Complete;
use crate::json;
use crate::position::Position;
use crate::rows::{Cause, Departure, ReportMeta, Staged};

/// Meta data of a row. On the bus it is JSON in a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Meta {
    /// The key says it all.
    #[default]
    None,
    /// Of a `reports` row.
    Report(ReportMeta),
    /// Of a completeness row.
    Complete(Complete),
    /// Of a CloudEvent among the `changes`.
    Position(Position),
    /// Of `desired` and `status` rows. Those of many clusters share it.
    Cause(Arc<Cause>),
    /// Of `desired` rows whose content is kept, to be gone back to.
    Staged(Arc<Staged>),
    /// Of tombstones in `desired` that do not count at once.
    Departure(Departure),
    /// Something else, as it was written: nothing may be concluded from it.
    Unknown(String),
}

// === impl Meta ===

impl Meta {
    /// Reads what [`Display`](fmt::Display) has written.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() {
            return Self::None;
        }
        let cause = || serde_json::from_str(text).map(|cause| Self::Cause(Arc::new(cause)));
        let staged = |_| serde_json::from_str(text).map(|staged| Self::Staged(Arc::new(staged)));
        let report = |_| serde_json::from_str(text).map(Self::Report);
        let complete = |_| serde_json::from_str(text).map(Self::Complete);
        let position = |_| serde_json::from_str(text).map(Self::Position);
        let departure = |_| serde_json::from_str(text).map(Self::Departure);
        // Each needs a field that no other has.
        cause()
            .or_else(staged)
            .or_else(report)
            .or_else(complete)
            .or_else(position)
            .or_else(departure)
            .unwrap_or_else(|_: serde_json::Error| Self::Unknown(text.to_owned()))
    }

    /// A cause, to be shared by many rows.
    pub fn of_cause(cause: &Cause) -> Self {
        Self::Cause(Arc::new(cause.clone()))
    }

    /// Why the row exists, where that is what it says.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Cause(cause) => Some(cause),
            Self::Staged(staged) => Some(&staged.cause),
            _ => None,
        }
    }

    /// What can be gone back to, where that is what it says.
    pub fn staged(&self) -> Option<&Arc<Staged>> {
        if let Self::Staged(staged) = self { Some(staged) } else { None }
    }

    /// When what is withdrawn goes, where that is what it says.
    pub fn departure(&self) -> Option<&Departure> {
        if let Self::Departure(departure) = self { Some(departure) } else { None }
    }

    /// What is complete, where that is what it says.
    pub fn complete(&self) -> Option<&Complete> {
        if let Self::Complete(complete) = self { Some(complete) } else { None }
    }
}

impl fmt::Display for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Report(report) => f.write_str(&json::text(report)),
            Self::Complete(complete) => f.write_str(&json::text(complete)),
            Self::Position(position) => f.write_str(&json::text(position)),
            Self::Cause(cause) => f.write_str(&json::text(&**cause)),
            Self::Staged(staged) => f.write_str(&json::text(&**staged)),
            Self::Departure(departure) => f.write_str(&json::text(departure)),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};

    use super::*;
    use crate::interest::Lacking;
    use crate::position::EventIds;
    use crate::rows::EventCause;
    use crate::{Incarnation, Revision, Sequence};

    /// Every version of Sluice on a bus writes and reads these texts, and digests are made of them.
    #[test]
    fn the_texts_are_those_that_are_on_the_bus() {
        let gvk = Gvk::new("", "v1", "Service");
        let item = Some(ObjectKey { gvk, namespace: "n".into(), name: "x".into() });
        let event = EventCause {
            trigger: TriggerId::new("EventTrigger", "t"),
            cluster: ClusterRef::sveltos("a", "b"),
            source: "s".into(),
            item,
        };
        let none = ReportMeta::default;
        let lacking = vec![Lacking::Objects("s".into()), Lacking::Events("t".into())];
        let of_all = || Complete::of_all(Incarnation::new(7), Revision::new(5));
        let position = Position { order: 4, sequence: Sequence::new(3), time: 2, ..Position::default() };
        let mut ids = EventIds::default();
        ids.remember("a");
        let texts = [
            (Meta::None, ""),
            (Meta::Report(ReportMeta { selectors: vec![0, 2], ..none() }), r#"{"selectors":[0,2]}"#),
            (
                Meta::Report(ReportMeta { selectors: vec![0], order: 4, ..none() }),
                r#"{"selectors":[0],"order":4}"#,
            ),
            (
                Meta::Report(ReportMeta { selectors: vec![0], owner: "p".into(), ..none() }),
                r#"{"selectors":[0],"owner":"p"}"#,
            ),
            (Meta::Position(position.clone()), r#"{"order":4,"sequence":3,"time":2}"#),
            (
                Meta::Position(Position { ids: ids.clone(), ..position }),
                r#"{"order":4,"sequence":3,"time":2,"ids":"ae6121c88ba555f6"}"#,
            ),
            (Meta::Complete(Complete { tenants: false, ..of_all() }), r#"{"incarnation":7,"revision":5}"#),
            (
                Meta::Complete(Complete { lacking, ..of_all() }),
                r#"{"incarnation":7,"revision":5,"lacking":["s","~t"],"tenants":true}"#,
            ),
            (Meta::of_cause(&Cause::Profile(ProfileId::cluster("p"))), r#"{"profile":"ClusterProfile p"}"#),
            (Meta::of_cause(&Cause::from(event)), EVENT),
            (
                Meta::Departure(Departure {
                    after: [ProfileId::new("team", "p")].into(),
                    ..Departure::default()
                }),
                r#"{"after":["Profile team/p"]}"#,
            ),
            (
                Meta::Departure(Departure { unregistered: true, ..Departure::default() }),
                r#"{"after":[],"unregistered":true}"#,
            ),
            (Meta::Unknown(r#"{"other":1}"#.into()), r#"{"other":1}"#),
        ];
        for (meta, text) in texts {
            assert_eq!(meta.to_string(), text);
            assert_eq!(Meta::parse(text), meta);
        }
    }

    const EVENT: &str = r#"{"event":{"trigger":"EventTrigger/t","cluster":"sveltos:a/b","source":"s","item":{"gvk":{"group":"","version":"v1","kind":"Service"},"namespace":"n","name":"x"}}}"#;

    #[test]
    fn what_is_not_known_is_kept_as_it_was_written() {
        for text in [
            "x",
            "{}",
            "[]",
            "null",
            r#"{"incarnation":1}"#,
            r#"{"order":1}"#,
            r#"{"profile":"p"}"#,
            r#"{"selectors":"a"}"#,
        ] {
            let meta = Meta::parse(text);
            assert_eq!(meta, Meta::Unknown(text.to_owned()));
            assert_eq!((meta.cause(), meta.complete(), meta.to_string()), (None, None, text.to_owned()));
        }
    }

    #[test]
    fn what_is_complete_is_known_of_a_completeness_row_alone() {
        let complete = Complete::of_all(Incarnation::new(7), Revision::new(5));
        assert_eq!(Meta::Complete(complete.clone()).complete(), Some(&complete));
        assert_eq!((Meta::None.complete(), Meta::None.cause()), (None, None));
    }
}
