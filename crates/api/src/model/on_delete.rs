//! What becomes of the add-ons of a cluster when its registration is deleted.
//!
//! By default they stay. Where the registration asks for it, they are withdrawn first, and a finalizer keeps the registration until
//! then, but not for ever.

// D-0515: a registration may ask for its add-ons to be withdrawn before it goes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::annotation::{Annotation, micros};
use super::read::Field;
use crate::error::FieldError;
use crate::object;

/// Annotation of a registration: with `true`, its add-ons are withdrawn before it goes.
pub const WITHDRAW_ON_DELETE: &str = "sluice.dev/withdraw-on-delete";
/// The finalizer that keeps a registration until then.
pub const WITHDRAW_FINALIZER: &str = "sluice.dev/withdraw";
/// How long it is kept at most, where nothing else is said, microseconds.
pub const USUAL_GRACE: i64 = 5 * 60_000_000;
/// The field that says so.
pub(super) const GRACE: &str = "cleanupGracePeriod";

/// What a registration says of its end. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDelete {
    /// Tells the registration from a later one of its name.
    pub uid: String,
    /// Whether its add-ons are to be withdrawn.
    pub withdraws: bool,
    /// Whether it has [`WITHDRAW_FINALIZER`].
    pub is_kept: bool,
    /// How long it is kept at most, once somebody has deleted it.
    pub grace: i64,
    /// When that was, since 1970.
    pub deleted_at: Option<i64>,
    /// What of it cannot be used. A wrong annotation asks for nothing, and a wrong time is [`USUAL_GRACE`].
    pub mistake: Option<FieldError>,
}

/// The same; most registrations say nothing.
pub type Farewell = Option<Arc<OnDelete>>;

// === impl OnDelete ===

impl OnDelete {
    /// Reads a SveltosCluster; nothing where it neither asks for anything nor is kept.
    pub(super) fn read(object: &Value) -> Option<Self> {
        let annotation = Annotation::of(object, WITHDRAW_ON_DELETE);
        let finalizers = object::at(object, &["metadata", "finalizers"]).and_then(Value::as_array);
        let is_kept = finalizers.into_iter().flatten().any(|finalizer| finalizer == WITHDRAW_FINALIZER);
        if annotation.text.is_none() && !is_kept {
            return None;
        }
        let (withdraws, grace) = (annotation.flag(), grace(object));
        let mistake = withdraws.as_ref().err().or(grace.as_ref().err()).cloned();
        let deleted_at = object::text(object, &["metadata", "deletionTimestamp"]).parse::<Timestamp>();
        Some(Self {
            uid: object::text(object, &["metadata", "uid"]).to_owned(),
            withdraws: withdraws.unwrap_or(false),
            is_kept,
            grace: grace.unwrap_or(USUAL_GRACE),
            deleted_at: deleted_at.ok().map(|time| time.as_microsecond()),
            mistake,
        })
    }

    /// Whether its cluster leaves: the registration goes as soon as nothing keeps it any more.
    pub fn is_leaving(&self) -> bool {
        self.is_kept && self.deleted_at.is_some()
    }
}

fn grace(object: &Value) -> Result<i64, FieldError> {
    let field = Field::spec(object).get(GRACE);
    if field.value().is_none() {
        return Ok(USUAL_GRACE);
    }
    let text = field.text()?;
    let wrong =
        || field.error(format!("{text:?} is no time above zero; write one such as 10m; until then it is 5m"));
    micros(&text).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn object(annotation: Option<&str>, finalizers: &[&str], spec: Value) -> Value {
        let annotations = annotation.map(|text| json!({WITHDRAW_ON_DELETE: text}));
        json!({"kind": "SveltosCluster", "spec": spec,
            "metadata": {"namespace": "n", "name": "c", "uid": "u", "annotations": annotations, "finalizers": finalizers}})
    }

    fn read(annotation: Option<&str>, finalizers: &[&str], spec: Value) -> Option<OnDelete> {
        OnDelete::read(&object(annotation, finalizers, spec))
    }

    #[test]
    fn who_neither_asks_nor_is_kept_says_nothing() {
        assert_eq!(read(None, &[], json!({"cleanupGracePeriod": "1h"})), None);
        assert_eq!(read(None, &["example.com/other"], json!({})), None);
        let kept = read(None, &["example.com/other", WITHDRAW_FINALIZER], json!({})).unwrap();
        assert_eq!((kept.withdraws, kept.is_kept), (false, true), "somebody has taken the annotation off");
    }

    #[test]
    fn it_is_kept_for_as_long_as_it_says_or_five_minutes() {
        let grace = |spec: Value| read(Some("true"), &[], spec).unwrap().grace;
        assert_eq!(
            (grace(json!({})), grace(json!({"cleanupGracePeriod": "1h30m"}))),
            (5 * MINUTE, 90 * MINUTE)
        );
    }

    #[test]
    fn a_cluster_leaves_when_its_registration_is_kept_and_deleted() {
        let mut kept = object(Some("true"), &[WITHDRAW_FINALIZER], json!({}));
        assert!(!OnDelete::read(&kept).unwrap().is_leaving());
        kept["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:02Z".into();
        let leaving = OnDelete::read(&kept).unwrap();
        assert_eq!((leaving.is_leaving(), leaving.deleted_at), (true, Some(2_000_000)));
        kept["metadata"]["finalizers"] = json!(["example.com/other"]);
        assert!(!OnDelete::read(&kept).unwrap().is_leaving(), "somebody else keeps it");
    }

    #[test]
    fn what_cannot_be_used_asks_for_nothing_and_changes_no_time() {
        for annotation in ["yes", "True", ""] {
            let wrong = read(Some(annotation), &[], json!({})).unwrap();
            assert!(!wrong.withdraws);
            assert_eq!(wrong.mistake.unwrap().field, "metadata.annotations[sluice.dev/withdraw-on-delete]");
        }
        for grace in [json!("soon"), json!("0s"), json!("-1m"), json!(5), json!("10"), json!("")] {
            let wrong = read(Some("true"), &[], json!({"cleanupGracePeriod": grace})).unwrap();
            assert_eq!((wrong.withdraws, wrong.grace), (true, USUAL_GRACE));
            assert_eq!(wrong.mistake.unwrap().field, "spec.cleanupGracePeriod", "{grace}");
        }
        assert_eq!(read(Some("false"), &[], json!({})).unwrap().mistake, None);
    }
}
