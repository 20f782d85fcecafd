//! Reading the elements of a layout from a text.

use super::{
    layout::{Offset, Std, lookup},
    parse::Wrong,
};
use crate::text::lossy;

/// What has been read of a time so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) year: i64,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) yday: Option<i64>,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanos: u32,
    /// Whether PM or AM was said.
    pub(super) pm: Option<bool>,
    pub(super) utc: bool,
    pub(super) offset: Option<i32>,
    pub(super) zone: String,
}

type Read<T> = Result<T, Wrong>;

fn digit(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_digit)
}

fn decimal(text: &[u8]) -> i64 {
    text.iter().fold(0, |n, b| n * 10 + i64::from(b.wrapping_sub(b'0')))
}

fn take<'t>(rest: &mut &'t [u8], count: usize) -> Read<&'t [u8]> {
    let (head, tail) = rest.split_at_checked(count).ok_or(Wrong::Bad)?;
    *rest = tail;
    Ok(head)
}

/// One or two digits; `fixed` demands two.
fn number(rest: &mut &[u8], fixed: bool) -> Read<i64> {
    if !digit(rest, 0) || (fixed && !digit(rest, 1)) {
        return Err(Wrong::Bad);
    }
    let count = if digit(rest, 1) { 2 } else { 1 };
    Ok(decimal(take(rest, count)?))
}

fn within(value: i64, below: i64, what: &'static str) -> Read<i64> {
    if value < below { Ok(value) } else { Err(Wrong::Range(what)) }
}

// === impl Fields ===

impl Fields {
    /// Reads one element from the start of the text.
    pub(super) fn read(&mut self, std: Std, rest: &mut &[u8], next_fraction: bool) -> Read<()> {
        match std {
            Std::Year | Std::LongYear => self.read_year(std, rest)?,
            Std::Month | Std::LongMonth => {
                let (at, len) = lookup(std == Std::LongMonth, true, rest).ok_or(Wrong::Bad)?;
                take(rest, len)?;
                self.month = Some(at + 1);
            }
            Std::NumMonth | Std::ZeroMonth => {
                let month = number(rest, std == Std::ZeroMonth)?;
                if !(1..=12).contains(&month) {
                    return Err(Wrong::Range("month"));
                }
                self.month = Some(month);
            }
            Std::WeekDay | Std::LongWeekDay => {
                let (_, len) = lookup(std == Std::LongWeekDay, false, rest).ok_or(Wrong::Bad)?;
                take(rest, len)?;
            }
            Std::Day | Std::UnderDay | Std::ZeroDay => {
                if std == Std::UnderDay && rest.first() == Some(&b' ') {
                    take(rest, 1)?;
                }
                self.day = Some(number(rest, std == Std::ZeroDay)?);
            }
            Std::UnderYearDay | Std::ZeroYearDay => self.read_year_day(std, rest)?,
            Std::Hour => self.hour = within(number(rest, false)?, 24, "hour")?,
            Std::Hour12 | Std::ZeroHour12 => {
                self.hour = within(number(rest, std == Std::ZeroHour12)?, 13, "hour")?;
            }
            Std::Minute | Std::ZeroMinute => {
                self.minute = within(number(rest, std == Std::ZeroMinute)?, 60, "minute")?;
            }
            Std::Second | Std::ZeroSecond => self.read_second(std, rest, next_fraction)?,
            Std::UpperPm | Std::LowerPm => {
                let word = take(rest, 2)?;
                let (pm, am): (&[u8], &[u8]) =
                    if std == Std::UpperPm { (b"PM", b"AM") } else { (b"pm", b"am") };
                if word != pm && word != am {
                    return Err(Wrong::Bad);
                }
                self.pm = Some(word == pm);
            }
            Std::Zone => self.read_zone(rest)?,
            Std::Offset(offset) => self.read_offset(offset, rest)?,
            Std::Fraction { digits, trim: false, .. } => self.read_fraction(rest, digits)?,
            Std::Fraction { .. } => {
                if rest.len() >= 2 && matches!(rest[0], b'.' | b',') && digit(rest, 1) {
                    let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
                    self.read_fraction(rest, digits)?;
                }
            }
        }
        Ok(())
    }

    fn read_year(&mut self, std: Std, rest: &mut &[u8]) -> Read<()> {
        let digits = take(rest, if std == Std::Year { 2 } else { 4 })?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(Wrong::Bad);
        }
        self.year = decimal(digits);
        if std == Std::Year {
            self.year += if self.year >= 69 { 1900 } else { 2000 };
        }
        Ok(())
    }

    fn read_year_day(&mut self, std: Std, rest: &mut &[u8]) -> Read<()> {
        for _ in 0..2 {
            if std == Std::UnderYearDay && rest.first() == Some(&b' ') {
                take(rest, 1)?;
            }
        }
        let count = rest.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
        if count == 0 || (std == Std::ZeroYearDay && count != 3) {
            return Err(Wrong::Bad);
        }
        self.yday = Some(decimal(take(rest, count)?));
        Ok(())
    }

    /// Seconds may be followed by a fraction that the layout does not name.
    fn read_second(&mut self, std: Std, rest: &mut &[u8], next_fraction: bool) -> Read<()> {
        self.second = within(number(rest, std == Std::ZeroSecond)?, 60, "second")?;
        let fraction = rest.len() >= 2 && matches!(rest[0], b'.' | b',') && digit(rest, 1);
        if fraction && !next_fraction {
            let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            self.read_fraction(rest, digits)?;
        }
        Ok(())
    }

    fn read_fraction(&mut self, rest: &mut &[u8], digits: usize) -> Read<()> {
        let text = take(rest, 1 + digits)?;
        if !matches!(text[0], b'.' | b',') || !text[1..].iter().all(u8::is_ascii_digit) {
            return Err(Wrong::Bad);
        }
        let kept = &text[1..text.len().min(10)];
        let scale = 10i64.pow(u32::try_from(9 - kept.len()).unwrap_or(0));
        self.nanos = u32::try_from(decimal(kept) * scale).unwrap_or(0);
        Ok(())
    }

    fn read_offset(&mut self, form: Offset, rest: &mut &[u8]) -> Read<()> {
        if form.iso && rest.first() == Some(&b'Z') {
            take(rest, 1)?;
            self.utc = true;
            return Ok(());
        }
        let len = match (form.short, form.colon, form.seconds) {
            (true, ..) => 3,
            (_, true, true) => 9,
            (_, true, false) => 6,
            (_, false, true) => 7,
            (_, false, false) => 5,
        };
        let text = take(rest, len)?;
        let colons = |at: usize| !form.colon || text.get(at).is_none_or(|b| *b == b':');
        if !colons(3) || !colons(6) {
            return Err(Wrong::Bad);
        }
        let digits: Vec<u8> = text[1..].iter().copied().filter(|b| !(form.colon && *b == b':')).collect();
        if !digits.iter().all(u8::is_ascii_digit) || !digits.len().is_multiple_of(2) {
            return Err(Wrong::Bad);
        }
        let pair = |at: usize| digits.get(at..at + 2).map_or(0, decimal);
        within(pair(0), 25, "time zone offset hour")?;
        within(pair(2), 61, "time zone offset minute")?;
        within(pair(4), 61, "time zone offset second")?;
        let seconds = i32::try_from((pair(0) * 60 + pair(2)) * 60 + pair(4)).unwrap_or(0);
        self.offset = Some(match text[0] {
            b'+' => seconds,
            b'-' => -seconds,
            _ => return Err(Wrong::Bad),
        });
        Ok(())
    }

    fn read_zone(&mut self, rest: &mut &[u8]) -> Read<()> {
        if rest.starts_with(b"UTC") {
            take(rest, 3)?;
            self.utc = true;
            return Ok(());
        }
        let len = zone_len(rest).ok_or(Wrong::Bad)?;
        self.zone = lossy(take(rest, len)?);
        Ok(())
    }
}

/// The length of a zone's abbreviation.
fn zone_len(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix(b"GMT") {
        return Some(3 + signed_len(rest));
    }
    if matches!(text[0], b'+' | b'-') {
        return Some(signed_len(text)).filter(|len| *len > 0);
    }
    match text.iter().take(6).take_while(|b| b.is_ascii_uppercase()).count() {
        5 if text[4] == b'T' => Some(5),
        4 if text[3] == b'T' || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

/// The length of a signed hour of at most 23.
fn signed_len(text: &[u8]) -> usize {
    if !matches!(text.first(), Some(b'+' | b'-')) {
        return 0;
    }
    let digits = text[1..].iter().take_while(|b| b.is_ascii_digit()).count();
    let fits = digits > 0 && digits < 10 && decimal(&text[1..=digits]) <= 23;
    if fits { 1 + digits } else { 0 }
}
