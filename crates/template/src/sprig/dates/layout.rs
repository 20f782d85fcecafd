//! The elements of Go's date layouts, names, and the calendar.

use crate::value::Time;

/// An element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Std {
    Month,
    LongMonth,
    NumMonth,
    ZeroMonth,
    WeekDay,
    LongWeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    /// A zone's abbreviation.
    Zone,
    Offset(Offset),
    /// Fractional seconds: the digits, whether trailing zeros go, and the separator.
    Fraction {
        digits: usize,
        trim: bool,
        comma: bool,
    },
}

/// A numeric zone offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` stands for UTC.
    pub(super) iso: bool,
    pub(super) colon: bool,
    pub(super) seconds: bool,
    pub(super) short: bool,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The elements of fixed text; a longer one comes before its own prefix.
const FIXED: [(&str, Std); 28] = [
    ("January", Std::LongMonth),
    ("Monday", Std::LongWeekDay),
    ("MST", Std::Zone),
    ("01", Std::ZeroMonth),
    ("02", Std::ZeroDay),
    ("03", Std::ZeroHour12),
    ("04", Std::ZeroMinute),
    ("05", Std::ZeroSecond),
    ("06", Std::Year),
    ("002", Std::ZeroYearDay),
    ("15", Std::Hour),
    ("1", Std::NumMonth),
    ("2006", Std::LongYear),
    ("2", Std::Day),
    ("__2", Std::UnderYearDay),
    ("3", Std::Hour12),
    ("4", Std::Minute),
    ("5", Std::Second),
    ("PM", Std::UpperPm),
    ("pm", Std::LowerPm),
    ("070000", offset(false, true, false)),
    ("07:00:00", offset(true, true, false)),
    ("0700", offset(false, false, false)),
    ("07:00", offset(true, false, false)),
    ("07", offset(false, false, true)),
    ("Jan", Std::Month),
    ("Mon", Std::WeekDay),
    ("_2", Std::UnderDay),
];

const fn offset(colon: bool, seconds: bool, short: bool) -> Std {
    Std::Offset(Offset { iso: false, colon, seconds, short })
}

/// The element at the start of a layout, and its length.
fn element(layout: &[u8]) -> Option<(Std, usize)> {
    if let [sign @ (b'-' | b'Z'), rest @ ..] = layout {
        let (text, std) = FIXED[20..25].iter().find(|(text, _)| rest.starts_with(text.as_bytes()))?;
        let Std::Offset(offset) = *std else { return None };
        return Some((Std::Offset(Offset { iso: *sign == b'Z', ..offset }), 1 + text.len()));
    }
    if let [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] = layout {
        let digits = layout[1..].iter().take_while(|b| *b == digit).count();
        if layout.get(1 + digits).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let fraction = Std::Fraction { digits, trim: *digit == b'9', comma: *separator == b',' };
        return Some((fraction, 1 + digits));
    }
    let fixed = FIXED[..20].iter().chain(&FIXED[25..]);
    let (text, std) = fixed.clone().find(|(text, std)| {
        let rest = layout.strip_prefix(text.as_bytes());
        rest.is_some_and(|rest| match std {
            Std::Month | Std::WeekDay => !rest.first().is_some_and(u8::is_ascii_lowercase),
            Std::UnderDay => !rest.starts_with(b"006"),
            _ => true,
        })
    })?;
    Some((*std, text.len()))
}

/// The text before the first element, the element, and what follows.
pub(super) fn next_chunk(layout: &[u8]) -> (&[u8], Option<Std>, &[u8]) {
    for at in 0..layout.len() {
        if let Some((std, len)) = element(&layout[at..]) {
            return (&layout[..at], Some(std), &layout[at + len..]);
        }
    }
    (layout, None, b"")
}

pub(crate) fn month_name(month: i64) -> &'static str {
    usize::try_from(month - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or("%!Month")
}

pub(crate) fn weekday_name(day: i64) -> &'static str {
    usize::try_from(day).ok().and_then(|at| DAYS.get(at)).copied().unwrap_or("%!Weekday")
}

/// The position of the name that a text starts with, in any case, and its length.
pub(super) fn lookup(long: bool, months: bool, text: &[u8]) -> Option<(i64, usize)> {
    let table: &[&str] = if months { &MONTHS } else { &DAYS };
    for (at, name) in table.iter().enumerate() {
        let name = if long { name } else { &name[..3] };
        if text.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name.as_bytes())) {
            return Some((i64::try_from(at).unwrap_or(0), name.len()));
        }
    }
    None
}

/// A date and time of day in some zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) yday: i64,
    pub(crate) weekday: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

/// Days since 1970 of a date of the Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days between the earliest day that Go reckons with and the first of March of the year 0.
const EARLIEST: i64 = 292_277_022_400 / 400 * 146_097;
/// Seconds between that day and 1970.
const EARLIEST_TO_UNIX: i64 = (EARLIEST + 719_468) * 86_400;

/// The date and time that a moment shows. Moments before the earliest day come after all others, as in Go.
pub(crate) fn civil(time: &Time) -> Civil {
    let local = time.unix.wrapping_add(i64::from(time.offset)).wrapping_add(EARLIEST_TO_UNIX).cast_unsigned();
    let part = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    let (shifted, clock) = (part(local / 86_400) - EARLIEST, part(local % 86_400));
    let days = shifted - 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day: of_year - (153 * shifted_month + 2) / 5 + 1,
        yday: days - days_from_civil(year, 1, 1) + 1,
        weekday: (days + 4).rem_euclid(7),
        hour: clock / 3600,
        minute: clock / 60 % 60,
        second: clock % 60,
    }
}

pub(crate) fn days_in(month: i64, year: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Go's `Time.String`.
pub(crate) fn time_string(time: &Time) -> String {
    let text = super::layout_format::format(time, b"2006-01-02 15:04:05.999999999 -0700 MST");
    crate::text::lossy_owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_goes_both_ways() {
        for days in [-800_000, -719_528, -1, 0, 59, 11_016, 47_540, 2_932_896] {
            let time = super::super::utc(days * 86_400);
            let c = civil(&time);
            assert_eq!(days_from_civil(c.year, c.month, c.day), days);
        }
    }

    #[test]
    fn seconds_beyond_the_earliest_day_overflow_as_in_go() {
        let shown = |unix: i64| {
            let c = civil(&super::super::utc(unix));
            (c.year, c.month, c.day, c.hour, c.minute, c.second)
        };
        assert_eq!(shown(i64::MAX), (292_277_026_596, 12, 4, 15, 30, 7));
        assert_eq!(shown(i64::MIN), (292_277_026_596, 12, 4, 15, 30, 8));
        assert_eq!(shown(-EARLIEST_TO_UNIX), (-292_277_022_400, 3, 1, 0, 0, 0));
        assert_eq!(shown(-EARLIEST_TO_UNIX - 1), (292_277_026_854, 1, 7, 7, 0, 15));
    }

    #[test]
    fn layouts_are_cut_at_their_elements() {
        assert_eq!(next_chunk(b"on Jan 2"), (&b"on "[..], Some(Std::Month), &b" 2"[..]));
        assert_eq!(next_chunk(b"January"), (&b""[..], Some(Std::LongMonth), &b""[..]));
        assert_eq!(next_chunk(b"Janus"), (&b"Janus"[..], None, &b""[..]));
        assert_eq!(next_chunk(b"_2006"), (&b"_"[..], Some(Std::LongYear), &b""[..]));
        assert_eq!(next_chunk(b".0001"), (&b".00"[..], Some(Std::ZeroMonth), &b""[..]));
    }
}
