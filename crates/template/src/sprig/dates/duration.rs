//! Go's `time.Duration`: nanoseconds as `1h2m3.5s`.

use crate::text::quote::quoted;

const SECOND: u64 = 1_000_000_000;

/// `Duration.String`.
pub(crate) fn format(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    if magnitude == 0 {
        return "0s".into();
    }
    if magnitude < SECOND {
        let (unit, size) = match magnitude {
            0..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            _ => ("ms", 1_000_000),
        };
        return format!("{sign}{}{unit}", with_fraction(magnitude, size));
    }
    let seconds = magnitude / SECOND;
    let rest = with_fraction(seconds % 60 * SECOND + magnitude % SECOND, SECOND);
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{sign}{rest}s"),
        (0, minutes) => format!("{sign}{minutes}m{rest}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

fn with_fraction(value: u64, size: u64) -> String {
    let fraction = value % size;
    if fraction == 0 {
        return (value / size).to_string();
    }
    let digits = size.ilog10() as usize;
    let text = format!("{}.{fraction:0digits$}", value / size);
    text.trim_end_matches('0').to_owned()
}

/// `time.ParseDuration`.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let (value, after) = parse_term(rest, text)?;
        total = total.checked_add(value).filter(|t| *t <= 1 << 63).ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return 0i64.checked_sub_unsigned(total).ok_or_else(invalid);
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// A number with its unit, in nanoseconds, and the rest.
fn parse_term<'t>(rest: &'t str, whole: &str) -> Result<(u64, &'t str), String> {
    let invalid = || format!("time: invalid duration {}", quoted(whole));
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let int_len = digits(rest);
    let value: u64 = match &rest[..int_len] {
        "" => 0,
        number => number.parse().ok().filter(|v| *v <= 1 << 63).ok_or_else(invalid)?,
    };
    let mut after = &rest[int_len..];
    let mut fraction = "";
    if let Some(tail) = after.strip_prefix('.') {
        fraction = &tail[..digits(tail)];
        after = &tail[fraction.len()..];
    }
    if int_len == 0 && fraction.is_empty() {
        return Err(invalid());
    }
    let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
    let (unit, after) = after.split_at(unit_len);
    if unit.is_empty() {
        return Err(format!("time: missing unit in duration {}", quoted(whole)));
    }
    let size = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return Err(format!("time: unknown unit {} in duration {}", quoted(unit), quoted(whole))),
    };
    let mut nanos = value.checked_mul(size).filter(|v| *v <= 1 << 63).ok_or_else(invalid)?;
    if !fraction.is_empty() {
        let exact: f64 = format!("0.{fraction}").parse().unwrap_or(0.0);
        nanos = nanos.checked_add((exact * size as f64) as u64).ok_or_else(invalid)?;
    }
    Ok((nanos, after))
}

/// `Duration.Round`: half away from zero.
pub(crate) fn round(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = nanos % unit;
    if rest.unsigned_abs() * 2 < unit.unsigned_abs() {
        return nanos - rest;
    }
    let away = if nanos < 0 { -unit } else { unit };
    (nanos - rest).checked_add(away).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

/// `Duration.Truncate`.
pub(crate) fn truncate(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 { nanos } else { nanos - nanos % unit }
}

/// sprig's `durationRound`: only the largest unit that the duration exceeds.
pub(crate) fn in_largest_unit(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let hour = 3600 * SECOND;
    let units = [
        (hour * 24 * 365, "y"),
        (hour * 24 * 30, "mo"),
        (hour * 24, "d"),
        (hour, "h"),
        (60 * SECOND, "m"),
        (SECOND, "s"),
    ];
    let unit = units.iter().find(|(size, _)| magnitude > *size);
    unit.map_or_else(|| "0s".into(), |(size, name)| format!("{}{name}", magnitude / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_as_in_go() {
        for (text, shown) in [
            ("1h2m3.5s", "1h2m3.5s"),
            ("90m", "1h30m0s"),
            ("1.5ms", "1.5ms"),
            ("100us", "100µs"),
            ("-2ns", "-2ns"),
            ("0", "0s"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Ok(shown));
        }
        assert_eq!(parse("5"), Err("time: missing unit in duration \"5\"".into()));
        assert_eq!(parse("5x"), Err("time: unknown unit \"x\" in duration \"5x\"".into()));
        assert_eq!(parse("x"), Err("time: invalid duration \"x\"".into()));
    }
}
