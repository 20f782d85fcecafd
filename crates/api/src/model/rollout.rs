//! How a new content of a profile goes to its clusters, where not to all at once: `maxUpdate`, and Sluice's own annotations.

// D-0927: a new content goes to so many clusters at a time.

use serde_json::Value;

use super::annotation::Annotation;
use super::read::Field;
use crate::error::FieldError;

/// Annotation: on so many clusters it may fail before it goes to no more.
pub const FAILURE_BUDGET: &str = "sluice.dev/rollout-failure-budget";
/// Annotation: how long a cluster must have it before another one gets it in its place.
pub const SOAK: &str = "sluice.dev/rollout-soak";
/// Annotation: after so long a cluster of which nobody has said what became of it counts as one where it failed.
pub const DEADLINE: &str = "sluice.dev/rollout-deadline";
/// Annotation: after the first clusters it waits until this names what is rolled out.
pub const ROLLOUT_APPROVE: &str = "sluice.dev/rollout-approve";
/// Annotation: it goes to no more clusters.
pub const ROLLOUT_STOP: &str = "sluice.dev/rollout-stop";
/// Annotation: what becomes of clusters that have a content which fails, see [`Rollout::goes_back`].
pub const ROLLOUT_ON_FAILURE: &str = "sluice.dev/rollout-on-failure";
/// Annotation: clusters go back from what is called so.
pub const ROLLOUT_UNDO: &str = "sluice.dev/rollout-undo";

/// What is said of one begins with this.
pub const ROLLOUT: &str = "rollout: ";

/// How a new content of a profile goes to its clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// To so many clusters at a time.
    pub at_a_time: Portion,
    /// On so many clusters it may fail before it goes to no more. Without one, where it fails another cluster does not get its turn.
    pub failure_budget: Option<Portion>,
    /// How long a cluster must have it before another one gets its turn, microseconds.
    pub soak: i64,
    /// After so long a cluster of which nobody has said what became of it counts as one where it failed, microseconds; where some may
    /// fail.
    pub deadline: i64,
    /// Whether somebody must look at the first clusters.
    pub approval: Approval,
    /// Whether it goes to no more clusters.
    pub is_stopped: bool,
    // D-0933: what fails goes back to the last content that was good.
    /// Whether contents are kept on clusters, and they go back to the last one that was good when a rollout fails.
    pub goes_back: bool,
    /// What clusters are to go back from, as people have said; empty where they have not.
    pub undo: String,
}

/// A part of some clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// So many.
    Count(usize),
    /// So many of a hundred, rounded up.
    Percent(u8),
}

/// Whether somebody must look at the first clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// Nobody.
    #[default]
    NotNeeded,
    /// What is called so may go on, and nothing else.
    Of(String),
}

/// The deadline where nothing else is said, microseconds.
const USUAL_DEADLINE: i64 = 600_000_000;
/// All annotations.
const ALL: [&str; 7] =
    [FAILURE_BUDGET, SOAK, DEADLINE, ROLLOUT_APPROVE, ROLLOUT_STOP, ROLLOUT_ON_FAILURE, ROLLOUT_UNDO];
/// The one value of [`ROLLOUT_ON_FAILURE`].
const ROLLBACK: &str = "rollback";

// === impl Rollout ===

impl Rollout {
    /// Reads `maxUpdate` and the annotations of a profile or trigger; nothing where all clusters get it at once.
    ///
    /// # Errors
    /// What cannot be used.
    pub(super) fn read(object: &Value) -> Result<Option<Self>, FieldError> {
        let failure_budget = Annotation::of(object, FAILURE_BUDGET);
        let remedy = "write a number of clusters or a percentage, such as \"2\" or \"5%\"";
        let portion = |text: &str| Portion::of_text(text).ok_or_else(|| failure_budget.error(remedy));
        let failure_budget = failure_budget.text.map(portion).transpose()?;
        let duration = |key| Annotation::of(object, key).duration();
        let (soak, deadline) = (duration(SOAK)?.unwrap_or(0), duration(DEADLINE)?.unwrap_or(USUAL_DEADLINE));
        let is_stopped = Annotation::of(object, ROLLOUT_STOP).flag()?;
        let on_failure = Annotation::of(object, ROLLOUT_ON_FAILURE);
        let goes_back = match on_failure.text {
            None => false,
            Some(ROLLBACK) => true,
            Some(_) => return Err(on_failure.error("write \"rollback\", or take it off")),
        };
        let undo = Annotation::of(object, ROLLOUT_UNDO).text.filter(|_| goes_back);
        let undo = undo.unwrap_or_default().to_owned();
        let Some(at_a_time) = at_a_time(&Field::spec(object).get("maxUpdate"))? else { return Ok(None) };
        let approval = Annotation::of(object, ROLLOUT_APPROVE).text;
        let approval = approval.map_or(Approval::NotNeeded, |text| Approval::Of(text.to_owned()));
        Ok(Some(Self { at_a_time, failure_budget, soak, deadline, approval, is_stopped, goes_back, undo }))
    }

    /// The annotations of an object that have no effect, as it goes to clusters in this way.
    pub(super) fn idle(object: &Value, rollout: Option<&Self>) -> Vec<FieldError> {
        let (keys, why): (&[&str], _) = match rollout {
            None => (&ALL, "has no effect without spec.maxUpdate: all clusters are updated at the same time"),
            Some(rollout) if !rollout.goes_back => (
                &[ROLLOUT_UNDO],
                "has no effect without sluice.dev/rollout-on-failure: no former content is kept",
            ),
            Some(_) => return Vec::new(),
        };
        let has = |key: &&&str| Annotation::of(object, key).text.is_some();
        let field = |key| format!("metadata.annotations[{key}]");
        let idle = keys.iter().filter(has);
        idle.map(|key| FieldError::new(crate::object::describe(object), field(key), why)).collect()
    }
}

/// `maxUpdate`; zero is no limit.
fn at_a_time(field: &Field<'_>) -> Result<Option<Portion>, FieldError> {
    let portion = match field.value() {
        None => return Ok(None),
        Some(Value::Number(number)) => {
            number.as_u64().map(|count| Portion::Count(count.try_into().unwrap_or(usize::MAX)))
        }
        Some(Value::String(text)) => Portion::of_text(text),
        Some(_) => None,
    };
    let Some(portion) = portion else {
        return Err(field.error("write a number of clusters or a percentage, such as 5 or \"30%\""));
    };
    Ok(Some(portion).filter(|portion| !matches!(portion, Portion::Count(0) | Portion::Percent(0))))
}

// === impl Portion ===

impl Portion {
    fn of_text(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Self::Percent),
            None => text.parse().ok().map(Self::Count),
        }
    }

    /// Of so many clusters these are as many.
    pub fn of(self, all: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => all.saturating_mul(usize::from(percent)).div_ceil(100),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(max_update: Value, annotations: Value) -> Result<Option<Rollout>, FieldError> {
        Rollout::read(
            &json!({"kind": "ClusterProfile", "metadata": {"name": "p", "annotations": annotations},
            "spec": {"maxUpdate": max_update}}),
        )
    }

    #[test]
    fn a_number_a_text_and_a_percentage_are_read_and_zero_is_no_limit() {
        let portion = |value| read(value, json!({})).unwrap().map(|rollout| rollout.at_a_time);
        for (value, expected) in [
            (json!(5), Some(Portion::Count(5))),
            (json!("5"), Some(Portion::Count(5))),
            (json!("30%"), Some(Portion::Percent(30))),
            (json!("100%"), Some(Portion::Percent(100))),
            (json!(0), None),
            (json!("0%"), None),
            (json!("0"), None),
            (json!(null), None),
        ] {
            assert_eq!(portion(value.clone()), expected, "{value}");
        }
        for wrong in [json!(-1), json!("x"), json!("101%"), json!(1.5), json!([1]), json!("")] {
            let error = read(wrong, json!({})).unwrap_err().to_string();
            assert!(error.starts_with("ClusterProfile p: spec.maxUpdate: write a number"), "{error}");
        }
    }

    #[test]
    fn a_percentage_is_rounded_up() {
        let of = |percent: u8, all| Portion::Percent(percent).of(all);
        assert_eq!([of(30, 10), of(30, 11), of(1, 10), of(100, 7), of(5, 0)], [3, 4, 1, 7, 0]);
        assert_eq!(Portion::Count(3).of(2), 3);
    }

    #[test]
    fn annotations_say_when_it_goes_on() {
        let all = json!({FAILURE_BUDGET: "5%", SOAK: "10m", DEADLINE: "1h", ROLLOUT_APPROVE: "abc", ROLLOUT_STOP: "true"});
        let rollout = read(json!(1), all.clone()).unwrap().unwrap();
        assert_eq!(rollout.failure_budget, Some(Portion::Percent(5)));
        assert_eq!((rollout.soak, rollout.deadline, rollout.is_stopped), (600_000_000, 3_600_000_000, true));
        assert_eq!(rollout.approval, Approval::Of("abc".into()));
        let plain = read(json!(1), json!({})).unwrap().unwrap();
        assert_eq!((plain.soak, plain.deadline, plain.failure_budget), (0, 600_000_000, None));
        assert_eq!(plain.approval, Approval::NotNeeded);
        assert_eq!(read(json!(0), all).unwrap(), None);
        for (key, text) in [
            (FAILURE_BUDGET, "many"),
            (FAILURE_BUDGET, "101%"),
            (SOAK, "5"),
            (DEADLINE, "soon"),
            (ROLLOUT_STOP, "yes"),
            (ROLLOUT_ON_FAILURE, "stop"),
            (ROLLOUT_ON_FAILURE, ""),
        ] {
            let error = read(json!(0), json!({key: text})).unwrap_err().to_string();
            assert!(
                error.contains(&format!("metadata.annotations[{key}]: {text:?} cannot be used")),
                "{error}"
            );
        }
    }

    #[test]
    fn what_fails_goes_back_where_that_is_said_and_only_then_can_be_undone() {
        let of = |annotations| {
            let rollout = read(json!(1), annotations).unwrap().unwrap();
            (rollout.goes_back, rollout.undo)
        };
        assert_eq!(of(json!({})), (false, String::new()));
        assert_eq!(of(json!({ROLLOUT_UNDO: "abc"})), (false, String::new()), "nothing is kept");
        let both = json!({ROLLOUT_ON_FAILURE: "rollback", ROLLOUT_UNDO: "abc"});
        assert_eq!(of(both.clone()), (true, "abc".to_owned()));
        let object = |max_update| json!({"kind": "ClusterProfile", "metadata": {"name": "p", "annotations": both.clone()}, "spec": {"maxUpdate": max_update}});
        assert_eq!(Rollout::idle(&object(json!(0)), None).len(), 2);
        let kept = Rollout::read(&object(json!(1))).unwrap().unwrap();
        assert!(Rollout::idle(&object(json!(1)), Some(&kept)).is_empty());
        let plain = Rollout { goes_back: false, ..kept };
        let idle = Rollout::idle(&object(json!(1)), Some(&plain));
        assert!(
            idle.len() == 1 && idle[0].to_string().contains("rollout-undo]: has no effect without"),
            "{idle:?}"
        );
    }

    #[test]
    fn annotations_without_a_limit_are_told_of() {
        let object =
            json!({"kind": "Profile", "metadata": {"name": "p", "annotations": {SOAK: "5m", "other": "x"}}});
        let idle = Rollout::idle(&object, None);
        assert_eq!(idle.len(), 1);
        assert!(
            idle[0].to_string().contains("sluice.dev/rollout-soak]: has no effect without spec.maxUpdate")
        );
    }
}
