//! Formatting a time in Go's layouts.

use super::layout::{Civil, Offset, Std, civil, month_name, next_chunk, weekday_name};
use crate::value::Time;

/// `Time.Format`.
pub(crate) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(layout.len() + 16);
    let shown = civil(time);
    let mut rest = layout;
    loop {
        let (prefix, std, suffix) = next_chunk(rest);
        out.extend_from_slice(prefix);
        let Some(std) = std else { return out };
        out.extend_from_slice(element(time, &shown, std).as_bytes());
        rest = suffix;
    }
}

fn element(time: &Time, c: &Civil, std: Std) -> String {
    let hour12 = if c.hour % 12 == 0 { 12 } else { c.hour % 12 };
    match std {
        Std::Year => format!("{:02}", c.year.abs() % 100),
        Std::LongYear if c.year < 0 => format!("-{:04}", -c.year),
        Std::LongYear => format!("{:04}", c.year),
        Std::Month => month_name(c.month)[..3].to_owned(),
        Std::LongMonth => month_name(c.month).to_owned(),
        Std::NumMonth => c.month.to_string(),
        Std::ZeroMonth => format!("{:02}", c.month),
        Std::WeekDay => weekday_name(c.weekday)[..3].to_owned(),
        Std::LongWeekDay => weekday_name(c.weekday).to_owned(),
        Std::Day => c.day.to_string(),
        Std::UnderDay => format!("{:2}", c.day),
        Std::ZeroDay => format!("{:02}", c.day),
        Std::UnderYearDay => format!("{:3}", c.yday),
        Std::ZeroYearDay => format!("{:03}", c.yday),
        Std::Hour => format!("{:02}", c.hour),
        Std::Hour12 => hour12.to_string(),
        Std::ZeroHour12 => format!("{hour12:02}"),
        Std::Minute => c.minute.to_string(),
        Std::ZeroMinute => format!("{:02}", c.minute),
        Std::Second => c.second.to_string(),
        Std::ZeroSecond => format!("{:02}", c.second),
        Std::UpperPm => if c.hour >= 12 { "PM" } else { "AM" }.to_owned(),
        Std::LowerPm => if c.hour >= 12 { "pm" } else { "am" }.to_owned(),
        Std::Zone if !time.zone.is_empty() => time.zone.to_string(),
        Std::Zone => offset(time.offset, Offset { iso: false, colon: false, seconds: false, short: false }),
        Std::Offset(o) if o.iso && time.offset == 0 => "Z".to_owned(),
        Std::Offset(o) => offset(time.offset, o),
        Std::Fraction { digits, trim, comma } => fraction(time.nanos, digits, trim, comma),
    }
}

fn offset(seconds: i32, form: Offset) -> String {
    let sign = if seconds / 60 < 0 { '-' } else { '+' };
    let (minutes, rest) = ((seconds / 60).abs(), seconds.abs() % 60);
    let colon = if form.colon { ":" } else { "" };
    let mut out = format!("{sign}{:02}", minutes / 60);
    if !form.short {
        out.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if form.seconds {
        out.push_str(&format!("{colon}{rest:02}"));
    }
    out
}

fn fraction(nanos: u32, digits: usize, trim: bool, comma: bool) -> String {
    let all = format!("{nanos:09}");
    let mut shown = all[..digits.min(9)].to_owned();
    if trim {
        shown.truncate(shown.trim_end_matches('0').len());
        if shown.is_empty() {
            return shown;
        }
    }
    format!("{}{shown}", if comma { ',' } else { '.' })
}
