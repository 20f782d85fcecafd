//! Time zones by name, from the table built into the program.

use jiff::{Timestamp, tz::TimeZone};

use super::utc;
use crate::value::Time;

/// The same moment shown in a zone; an unknown zone is UTC, as in sprig.
pub(crate) fn in_zone(time: &Time, zone: &str) -> Time {
    find(time, zone).unwrap_or_else(|| Time { nanos: time.nanos, ..utc(time.unix) })
}

/// The same moment shown in a zone, if the zone exists.
pub(crate) fn find(time: &Time, zone: &str) -> Option<Time> {
    let plain = Time { nanos: time.nanos, ..utc(time.unix) };
    if matches!(zone, "" | "UTC" | "Local") {
        return Some(plain);
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return None;
    }
    let zone = TimeZone::get(zone).ok()?;
    let moment = Timestamp::from_second(of_known_years(time.unix)).ok()?;
    let info = zone.to_offset_info(moment);
    Some(Time { offset: info.offset().seconds(), zone: info.abbreviation().into(), utc: false, ..plain })
}

/// A moment of the table's years with the same rules: days repeat every 400 years, and before the first rule all is the same.
fn of_known_years(unix: i64) -> i64 {
    const CYCLE: i64 = 146_097 * 86_400;
    let (least, most) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second() - CYCLE);
    if unix > most { most + (unix - most) % CYCLE } else { unix.max(least) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_offsets_and_abbreviations() {
        let there = in_zone(&utc(1_700_000_000), "America/New_York");
        assert_eq!((there.offset, &*there.zone), (-18_000, "EST"));
        let (beyond, before) =
            (in_zone(&utc(i64::MAX), "America/New_York"), in_zone(&utc(i64::MIN), "Europe/Berlin"));
        assert_eq!((beyond.offset, &*beyond.zone), (-18_000, "EST"));
        assert_eq!((before.offset, &*before.zone), (3_208, "LMT"));
        assert_eq!(in_zone(&utc(0), "Nope/Zone").offset, 0);
    }
}
