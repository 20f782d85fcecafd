//! Parsing a time in Go's layouts, with Go's error texts.

use super::{
    layout::{Std, days_from_civil, days_in, next_chunk},
    parse_fields::Fields,
};
use crate::value::Time;

/// The zero time of Go.
pub(crate) fn zero() -> Time {
    super::utc(-62_135_596_800)
}

/// What is wrong with an element of the value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrong {
    /// It has another form.
    Bad,
    /// It has the right form, but is too large.
    Range(&'static str),
}

/// Go's own quoting in time errors: everything beyond ASCII as bytes.
pub(super) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for b in text {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*b));
            }
            b' '..=0x7f => out.push(char::from(*b)),
            _ => out.push_str(&format!("\\x{b:02x}")),
        }
    }
    out.push('"');
    out
}

fn no_match(layout: &[u8], value: &[u8], element: &[u8], rest: &[u8]) -> String {
    let (value, layout) = (quote(value), quote(layout));
    format!("parsing time {value} as {layout}: cannot parse {} as {}", quote(rest), quote(element))
}

/// `time.Parse`.
pub(crate) fn parse(layout: &[u8], value: &[u8]) -> Result<Time, String> {
    let mut fields = Fields::default();
    let (mut layout_rest, mut rest) = (layout, value);
    loop {
        let (prefix, std, suffix) = next_chunk(layout_rest);
        let element = &layout_rest[prefix.len()..layout_rest.len() - suffix.len()];
        rest = skip(rest, prefix).map_err(|at| no_match(layout, value, prefix, at))?;
        let Some(std) = std else { break };
        layout_rest = suffix;
        let hold = rest;
        let next_fraction = matches!(next_chunk(suffix).1, Some(Std::Fraction { .. }));
        match fields.read(std, &mut rest, next_fraction) {
            Ok(()) => {}
            Err(Wrong::Bad) => return Err(no_match(layout, value, element, hold)),
            Err(Wrong::Range(what)) => {
                return Err(format!("parsing time {}: {what} out of range", quote(value)));
            }
        }
    }
    if !rest.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(value), quote(rest)));
    }
    finish(fields).map_err(|what| format!("parsing time {}: {what}", quote(value)))
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|b| **b == b' ').count();
    &text[spaces..]
}

/// Removes literal text; runs of spaces match any number of spaces.
fn skip<'t>(mut value: &'t [u8], mut prefix: &[u8]) -> Result<&'t [u8], &'t [u8]> {
    while let Some(first) = prefix.first() {
        if *first == b' ' {
            if value.first().is_some_and(|b| *b != b' ') {
                return Err(value);
            }
            (prefix, value) = (trim_spaces(prefix), trim_spaces(value));
            continue;
        }
        if value.first() != Some(first) {
            return Err(value);
        }
        (prefix, value) = (&prefix[1..], &value[1..]);
    }
    Ok(value)
}

/// Puts the fields together and checks them against each other.
fn finish(fields: Fields) -> Result<Time, &'static str> {
    let hour = match (fields.pm, fields.hour) {
        (Some(true), hour) if hour < 12 => hour + 12,
        (Some(false), 12) => 0,
        (_, hour) => hour,
    };
    let (month, day) = match fields.yday {
        Some(yday) => from_year_day(&fields, yday)?,
        None => (fields.month.unwrap_or(1), fields.day.unwrap_or(1)),
    };
    if day < 1 || day > days_in(month, fields.year) {
        return Err("day out of range");
    }
    let days = days_from_civil(fields.year, month, day);
    let unix = days * 86_400 + hour * 3600 + fields.minute * 60 + fields.second;
    let shown = |unix: i64, offset: i32, zone: &str, utc: bool| Time {
        unix,
        nanos: fields.nanos,
        offset,
        zone: zone.into(),
        utc,
    };
    if fields.utc {
        return Ok(shown(unix, 0, "UTC", true));
    }
    if let Some(offset) = fields.offset {
        let unix = unix - i64::from(offset);
        if offset == 0 && (fields.zone.is_empty() || fields.zone == "UTC") {
            return Ok(shown(unix, 0, "UTC", true));
        }
        return Ok(shown(unix, offset, &fields.zone, false));
    }
    if !fields.zone.is_empty() {
        // An unknown abbreviation has no offset, except for GMT+n.
        let hours = fields.zone.strip_prefix("GMT").and_then(|n| n.parse::<i32>().ok());
        return Ok(shown(unix, hours.unwrap_or(0) * 3600, &fields.zone, false));
    }
    Ok(shown(unix, 0, "UTC", true))
}

fn from_year_day(fields: &Fields, yday: i64) -> Result<(i64, i64), &'static str> {
    let leap = days_in(2, fields.year) == 29;
    if yday < 1 || yday > 365 + i64::from(leap) {
        return Err("day-of-year out of range");
    }
    let (mut month, mut day) = (1, yday);
    while day > days_in(month, fields.year) {
        day -= days_in(month, fields.year);
        month += 1;
    }
    if fields.month.is_some_and(|m| m != month) {
        return Err("day-of-year does not match month");
    }
    if fields.day.is_some_and(|d| d != day) {
        return Err("day-of-year does not match day");
    }
    Ok((month, day))
}
