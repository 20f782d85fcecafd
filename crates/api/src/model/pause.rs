//! When a cluster is left alone: while its user says so, until a time, and outside of its active window.

// D-1063: a pause may have an end, and clusters may have a window.

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::annotation::Annotation;
use super::read::Field;
use crate::error::FieldError;

/// Annotation of a cluster: it is left alone until this time.
pub const PAUSED_UNTIL: &str = "sluice.dev/paused-until";

/// When a cluster is left alone. Times are microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pause {
    /// `spec.paused`.
    asked: bool,
    /// [`PAUSED_UNTIL`].
    until: Option<i64>,
    /// `spec.activeWindow`.
    window: Option<Window>,
    /// What of it cannot be used. Nobody knows then when it may be changed, so it is left alone.
    mistake: Option<FieldError>,
}

/// Opens and closes again and again, in UTC.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    from: Cron,
    to: Cron,
}

/// Why a cluster is left alone at a time, in the order in which a user would look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// `spec.paused`.
    Asked,
    /// What says when it may be changed cannot be used.
    Mistake,
    /// Until then.
    Until(i64),
    /// Its active window is closed; it opens then, if it ever does.
    Closed(Option<i64>),
}

// === impl Pause ===

impl Pause {
    /// Reads the registration of a cluster.
    pub(super) fn read(object: &Value) -> Self {
        let spec = Field::spec(object);
        let asked = spec.get("paused").flag();
        let (until, window) = (until(object), Window::read(&spec.get("activeWindow")));
        let mistake = asked.as_ref().err().or(until.as_ref().err()).or(window.as_ref().err()).cloned();
        let (asked, until) = (asked.unwrap_or(false), until.ok().flatten());
        Self { asked, until, window: window.ok().flatten(), mistake }
    }

    /// Whether it is left alone at this time, and why.
    pub fn at(&self, now: i64) -> Option<Paused> {
        let closed = |window: &Window| (!window.is_open(now)).then(|| Paused::Closed(window.opens(now)));
        let asked = self.asked.then_some(Paused::Asked);
        let until = || self.until.filter(|until| now < *until).map(Paused::Until);
        let mistake = || self.mistake.as_ref().map(|_| Paused::Mistake);
        asked.or_else(mistake).or_else(until).or_else(|| self.window.as_ref().and_then(closed))
    }

    /// When it may be otherwise than at this time without anybody writing anything.
    pub fn next(&self, now: i64) -> Option<i64> {
        if self.asked || self.mistake.is_some() {
            return None;
        }
        let until = self.until.filter(|until| now < *until);
        let window = self.window.iter().flat_map(|window| [window.opens(now), window.closes(now)]);
        window.flatten().chain(until).min()
    }

    /// Whether time alone may begin or end it.
    pub fn is_timed(&self) -> bool {
        !self.asked && self.mistake.is_none() && (self.until.is_some() || self.window.is_some())
    }

    /// When its window closes next, and when it opens next.
    pub fn window(&self, now: i64) -> (Option<i64>, Option<i64>) {
        let window = self.window.as_ref();
        (window.and_then(|window| window.closes(now)), window.and_then(|window| window.opens(now)))
    }

    /// What of it cannot be used.
    pub fn mistake(&self) -> Option<&FieldError> {
        self.mistake.as_ref()
    }
}

fn until(object: &Value) -> Result<Option<i64>, FieldError> {
    let annotation = Annotation::of(object, PAUSED_UNTIL);
    let Some(text) = annotation.text else { return Ok(None) };
    let time = text.parse::<Timestamp>().map(|time| Some(time.as_microsecond()));
    time.map_err(|_| annotation.error("write a time such as 2026-12-24T18:00:00Z; until then it is paused"))
}

// === impl Paused ===

impl Paused {
    /// What ends it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Asked => "set spec.paused of its registration to false",
            Self::Mistake => "correct the field that its condition names",
            Self::Until(_) => "wait, or take the annotation sluice.dev/paused-until off its registration",
            Self::Closed(_) => "wait, or change spec.activeWindow of its registration",
        }
    }
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: i64| Timestamp::from_microsecond(time).unwrap_or_default();
        match self {
            Self::Asked => f.write_str("paused"),
            Self::Mistake => f.write_str("paused, since what says when it may be changed cannot be used"),
            Self::Until(end) => write!(f, "paused until {}", time(*end)),
            Self::Closed(None) => f.write_str("paused: its active window does not open again"),
            Self::Closed(Some(opens)) => write!(f, "paused: its active window opens at {}", time(*opens)),
        }
    }
}

// === impl Window ===

impl Window {
    fn read(field: &Field<'_>) -> Result<Option<Self>, FieldError> {
        if field.value().is_none() {
            return Ok(None);
        }
        Ok(Some(Self { from: cron(&field.get("from"))?, to: cron(&field.get("to"))? }))
    }

    /// Whether it has opened since it closed last. At a time at which it does both it is open.
    fn is_open(&self, now: i64) -> bool {
        let last = |cron: &Cron| cron.find_previous_occurrence(&civil(now)?, true).ok();
        last(&self.to) <= last(&self.from)
    }

    fn opens(&self, now: i64) -> Option<i64> {
        next(&self.from, now)
    }

    fn closes(&self, now: i64) -> Option<i64> {
        next(&self.to, now)
    }
}

/// A text of five fields, as cron has them.
fn cron(field: &Field<'_>) -> Result<Cron, FieldError> {
    const REMEDY: &str = "write minute, hour, day of the month, month and day of the week, in UTC, such as \"0 20 * * 5\"; until then it is paused";
    let text = field.text()?;
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(&text).map_err(|error| {
        let error = error.to_string();
        field.error(format!("{text:?} cannot be used: {}; {REMEDY}", error.trim_end_matches('.')))
    })?;
    match next(&cron, 0) {
        Some(_) => Ok(cron),
        None => Err(field.error(format!("{text:?} is at no time; {REMEDY}"))),
    }
}

/// The first time after this one.
fn next(cron: &Cron, now: i64) -> Option<i64> {
    let time = cron.find_next_occurrence(&civil(now)?, false).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp().as_microsecond())
}

/// The time in UTC, without a part of a second.
fn civil(now: i64) -> Option<DateTime> {
    let second = Timestamp::from_second(now.div_euclid(1_000_000)).ok()?;
    Some(second.to_zoned(TimeZone::UTC).datetime())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn time(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    fn of(spec: Value, until: Option<&str>) -> Pause {
        let annotations = until.map(|until| json!({PAUSED_UNTIL: until}));
        Pause::read(&json!({"kind": "SveltosCluster", "spec": spec,
            "metadata": {"namespace": "n", "name": "c", "annotations": annotations}}))
    }

    fn window(from: &str, to: &str) -> Pause {
        of(json!({"activeWindow": {"from": from, "to": to}}), None)
    }

    #[test]
    fn a_cluster_of_which_nothing_is_said_is_never_left_alone() {
        let pause = of(json!({}), None);
        assert_eq!((pause.at(0), pause.next(0), pause.window(0)), (None, None, (None, None)));
    }

    #[test]
    fn a_pause_ends_at_its_time() {
        let end = time("2026-12-24T18:00:00Z");
        let pause = of(json!({}), Some("2026-12-24T19:00:00+01:00"));
        assert_eq!((pause.at(end - 1), pause.next(end - 1)), (Some(Paused::Until(end)), Some(end)));
        assert_eq!((pause.at(end), pause.next(end)), (None, None));
        let asked = of(json!({"paused": true}), Some("2026-12-24T18:00:00Z"));
        assert_eq!((asked.at(end), asked.next(0)), (Some(Paused::Asked), None));
    }

    #[test]
    fn a_window_is_open_from_when_it_opened_to_when_it_closes() {
        let weekend = window("0 20 * * 5", "0 7 * * 1");
        let (opens, closes) = (time("2026-11-27T20:00:00Z"), time("2026-11-30T07:00:00Z"));
        assert_eq!(weekend.at(opens - 1), Some(Paused::Closed(Some(opens))));
        assert_eq!((weekend.at(opens), weekend.at(closes - 1)), (None, None));
        assert_eq!(weekend.at(closes), Some(Paused::Closed(Some(opens + 7 * 24 * HOUR))));
        assert_eq!(weekend.next(opens - 1), Some(opens));
        assert_eq!(weekend.next(opens), Some(closes));
        assert_eq!(weekend.window(opens), (Some(closes), Some(opens + 7 * 24 * HOUR)));
        let never_closed = window("0 20 * * *", "0 20 * * *");
        assert_eq!(never_closed.at(opens), None);
    }

    #[test]
    fn an_end_and_a_window_count_together() {
        let spec = json!({"activeWindow": {"from": "0 20 * * *", "to": "0 22 * * *"}});
        let pause = of(spec, Some("2026-11-27T21:00:00Z"));
        let at = |text: &str| pause.at(time(text));
        let until = time("2026-11-27T21:00:00Z");
        assert_eq!(at("2026-11-27T20:30:00Z"), Some(Paused::Until(until)));
        assert_eq!(at("2026-11-27T21:30:00Z"), None);
        assert!(matches!(at("2026-11-27T22:00:00Z"), Some(Paused::Closed(_))));
        assert_eq!(pause.next(time("2026-11-27T20:30:00Z")), Some(until));
    }

    #[test]
    fn what_cannot_be_used_leaves_the_cluster_alone_and_is_told() {
        let cases = [
            (window("every day", "0 7 * * 1"), "spec.activeWindow.from"),
            (window("0 20 * * 5", "0 0 7 * * 1 2027"), "spec.activeWindow.to"),
            (window("0 0 30 2 *", "0 7 * * 1"), "spec.activeWindow.from"),
            (of(json!({"activeWindow": {"from": "0 20 * * 5"}}), None), "spec.activeWindow.to"),
            (of(json!({"activeWindow": {"from": 5, "to": "0 7 * * 1"}}), None), "spec.activeWindow.from"),
            (of(json!({"paused": "yes"}), None), "spec.paused"),
            (of(json!({}), Some("tomorrow")), "metadata.annotations[sluice.dev/paused-until]"),
        ];
        for (pause, field) in cases {
            assert_eq!((pause.at(0), pause.next(0)), (Some(Paused::Mistake), None));
            let mistake = pause.mistake().unwrap();
            assert_eq!(mistake.field, field);
            assert!(mistake.to_string().contains("SveltosCluster n/c"), "{mistake}");
        }
    }

    fn field(limit: u8) -> impl Strategy<Value = String> {
        prop_oneof![
            Just("*".to_owned()),
            (0..limit).prop_map(|n| n.to_string()),
            (2..limit).prop_map(|n| format!("*/{n}"))
        ]
    }

    proptest! {
        /// Between two looks at which nothing is announced nothing changes.
        #[test]
        fn it_changes_only_when_that_was_announced(
            from in (field(60), field(24), field(7)), to in (field(60), field(24), field(7)), begin in 0..2_000_000_000_i64, steps in 1..40_i64,
        ) {
            let text = |(minute, hour, day): &(String, String, String)| format!("{minute} {hour} * * {day}");
            let pause = window(&text(&from), &text(&to));
            prop_assert!(pause.mistake().is_none());
            let begin = begin * 1_000_000;
            let next = pause.next(begin).unwrap();
            prop_assert!(next > begin);
            let is_paused = |time| pause.at(time).is_some();
            for step in 0..steps {
                let time = begin + (next - begin) / steps * step;
                prop_assert_eq!(is_paused(time), is_paused(begin), "at {}", time);
            }
        }

        /// Whatever is written, it is read or told.
        #[test]
        fn no_text_is_too_strange(from in "[0-9*/,@A-Z#?-]{0,9}( [0-9*/,LW#-]{0,4}){0,6}", until in ".{0,12}") {
            let pause = of(json!({"activeWindow": {"from": from, "to": "0 7 * * 1"}}), Some(&until));
            pause.at(0);
            pause.next(0);
        }
    }
}
