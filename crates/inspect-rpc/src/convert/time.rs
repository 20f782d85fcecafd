//! Times: microseconds since 1970 here, timestamps there. 0 is unknown.

use prost_types::{Duration, Timestamp};

const MICROS: i64 = 1_000_000;

pub(crate) fn stamp(micros: i64) -> Option<Timestamp> {
    let nanos = i32::try_from(micros.rem_euclid(MICROS) * 1_000).unwrap_or_default();
    (micros != 0).then(|| Timestamp { seconds: micros.div_euclid(MICROS), nanos })
}

pub(crate) fn micros(stamp: Option<Timestamp>) -> i64 {
    let micros = |stamp: Timestamp| {
        stamp.seconds.saturating_mul(MICROS).saturating_add(i64::from(stamp.nanos) / 1_000)
    };
    stamp.map_or(0, micros)
}

pub(crate) fn span(micros: i64) -> Option<Duration> {
    stamp(micros).map(|Timestamp { seconds, nanos }| Duration { seconds, nanos })
}

pub(crate) fn micros_of_span(span: Option<Duration>) -> i64 {
    micros(span.map(|Duration { seconds, nanos }| Timestamp { seconds, nanos }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were() {
        for time in [0, 1, 999_999, 1_000_000, 1_700_000_000_000_001, -1] {
            assert_eq!((micros(stamp(time)), micros_of_span(span(time))), (time, time));
        }
        let far = Timestamp { seconds: i64::MAX, nanos: i32::MAX };
        assert_eq!(micros(Some(far)), i64::MAX, "what a server sends never panics");
    }
}
