//! Timestamps of the years 1 to 9999, and durations of 64 bits of nanoseconds, as Go writes and reads them. The last 26 hours of
//! 9999 are missing: in some time zone they are of another year, which the library does not have.

use jiff::civil::Weekday;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::budget::Fault;
use super::syntax::Part;

/// The first and the last second.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// Units of durations, in nanoseconds. Longer names come before those that they begin with.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// So many seconds after 1970.
pub(super) fn timestamp(seconds: i64) -> Result<Timestamp, Fault> {
    let in_range = SECONDS.contains(&seconds);
    let found = Timestamp::from_second(seconds).ok().filter(|_| in_range);
    found.ok_or_else(|| Fault::data("range: the timestamp is not in the years 1 to 9999"))
}

/// Reads RFC 3339.
pub(super) fn parse_timestamp(text: &str) -> Result<Timestamp, Fault> {
    let is_strict = text.get(10..11) == Some("T") && text.get(16..17) == Some(":");
    let parsed = text.parse::<Timestamp>().ok().filter(|_| is_strict);
    let parsed =
        parsed.ok_or_else(|| Fault::data(format!("{text:?} is no timestamp; write 2026-01-31T08:00:00Z")))?;
    in_range(parsed)
}

fn in_range(moment: Timestamp) -> Result<Timestamp, Fault> {
    // What is before 1970 is counted from the second that follows.
    timestamp(moment.as_second()).map(|_| moment)
}

/// Reads a duration: `1h30m`, `-1.5s`.
pub(super) fn parse_duration(text: &str) -> Result<SignedDuration, Fault> {
    let wrong = || Fault::data(format!("{text:?} is no duration; write 1h30m or 1.5s"));
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut nanos = 0_i128;
    while !rest.is_empty() {
        let (part, after) = part(rest).ok_or_else(wrong)?;
        nanos = nanos.saturating_add(part);
        rest = after;
    }
    let nanos = i64::try_from(if negative { -nanos } else { nanos }).map_err(|_| wrong())?;
    Ok(SignedDuration::from_nanos(nanos))
}

/// The first number and its unit, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(i128, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(end);
    let (unit, length) =
        UNITS.iter().find(|(name, _)| rest.starts_with(name)).map(|(name, nanos)| (*nanos, name.len()))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? };
    // More digits than these are below a nanosecond of any unit.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = if fraction.is_empty() { 0 } else { i128::from(fraction.parse::<i64>().ok()?) };
    Some((i128::from(whole) * unit + fraction * unit / scale, &rest[length..]))
}

/// How a duration is written: seconds.
pub(super) fn written(duration: SignedDuration) -> String {
    format!("{}s", duration.as_secs_f64())
}

/// `left - right`.
pub(super) fn between(left: Timestamp, right: Timestamp) -> Result<SignedDuration, Fault> {
    checked(left.as_nanosecond() - right.as_nanosecond())
}

/// `moment + duration`.
pub(super) fn later(moment: Timestamp, duration: SignedDuration) -> Result<Timestamp, Fault> {
    let out = || Fault::data("range: the timestamp is not in the years 1 to 9999");
    moment.checked_add(duration).map_err(|_| out()).and_then(in_range)
}

pub(super) fn sum(left: SignedDuration, right: SignedDuration) -> Result<SignedDuration, Fault> {
    checked(left.as_nanos() + right.as_nanos())
}

pub(super) fn negated(duration: SignedDuration) -> Result<SignedDuration, Fault> {
    checked(-duration.as_nanos())
}

fn checked(nanos: i128) -> Result<SignedDuration, Fault> {
    let nanos = i64::try_from(nanos)
        .map_err(|_| Fault::data("range: the duration has more than 64 bits of nanoseconds"))?;
    Ok(SignedDuration::from_nanos(nanos))
}

/// A part of a timestamp in a time zone: UTC, an offset as `+02:00`, or a zone by its name.
pub(super) fn part_of_timestamp(part: Part, moment: Timestamp, zone: Option<&str>) -> Result<i64, Fault> {
    let there: Zoned = moment.to_zoned(zone.map_or(Ok(TimeZone::UTC), time_zone)?);
    Ok(match part {
        Part::FullYear => i64::from(there.year()),
        Part::Month => i64::from(there.month()) - 1,
        Part::Date => i64::from(there.day()),
        Part::DayOfMonth => i64::from(there.day()) - 1,
        Part::DayOfWeek => i64::from(there.weekday().since(Weekday::Sunday)),
        Part::DayOfYear => i64::from(there.day_of_year()) - 1,
        Part::Hours => i64::from(there.hour()),
        Part::Minutes => i64::from(there.minute()),
        Part::Seconds => i64::from(there.second()),
        Part::Milliseconds => i64::from(there.millisecond()),
    })
}

/// A part of a duration; `None` for those that only timestamps have.
pub(super) fn part_of_duration(part: Part, duration: SignedDuration) -> Option<i64> {
    match part {
        Part::Hours => Some(duration.as_hours()),
        Part::Minutes => Some(duration.as_mins()),
        Part::Seconds => Some(duration.as_secs()),
        Part::Milliseconds => i64::try_from(duration.as_millis()).ok(),
        _ => None,
    }
}

fn time_zone(name: &str) -> Result<TimeZone, Fault> {
    let wrong = || Fault::data(format!("{name:?} is no time zone; write Europe/Berlin or +02:00"));
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            _ => TimeZone::get(name).map_err(|_| wrong()),
        };
    };
    let number = |text: &str| text.parse::<i32>().ok();
    let (hours, minutes) = (number(hours).ok_or_else(wrong)?, number(minutes).ok_or_else(wrong)?);
    let minutes = if name.starts_with('-') { -minutes } else { minutes };
    let seconds = hours.checked_mul(3600).and_then(|hours| hours.checked_add(minutes.checked_mul(60)?));
    let offset = seconds.and_then(|seconds| Offset::from_seconds(seconds).ok());
    offset.map(TimeZone::fixed).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
