//! Helm's functions on durations: texts, or numbers of seconds.

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    gofmt::float::format_float,
    sprig::dates::duration,
    text::quote::quoted,
    value::{IntTy, Value},
};

const SECOND: i64 = 1_000_000_000;

pub(crate) const TABLE: &[Row] = &[
    ("mustToDuration(duration any) duration", must_to_duration, "The duration."),
    ("durationSeconds(duration any) float64", |_, a| Ok(float(a, SECOND)), "Seconds; 0 if there is none."),
    (
        "durationMilliseconds(duration any) int64",
        |_, a| Ok(whole(a, 1_000_000)),
        "Milliseconds; 0 if there is none.",
    ),
    (
        "durationMicroseconds(duration any) int64",
        |_, a| Ok(whole(a, 1_000)),
        "Microseconds; 0 if there is none.",
    ),
    ("durationNanoseconds(duration any) int64", |_, a| Ok(whole(a, 1)), "Nanoseconds; 0 if there is none."),
    (
        "durationMinutes(duration any) float64",
        |_, a| Ok(float(a, 60 * SECOND)),
        "Minutes; 0 if there is none.",
    ),
    ("durationHours(duration any) float64", |_, a| Ok(float(a, 3600 * SECOND)), "Hours; 0 if there is none."),
    (
        "durationDays(duration any) float64",
        |_, a| Ok(parts_of_hours(a, &[24.0])),
        "Days; 0 if there is none.",
    ),
    (
        "durationWeeks(duration any) float64",
        |_, a| Ok(parts_of_hours(a, &[24.0, 7.0])),
        "Weeks; 0 if there is none.",
    ),
    (
        "durationRoundTo(duration any, unit any) duration",
        |_, a| Ok(to_unit(a, duration::round)),
        "Rounded to the unit.",
    ),
    (
        "durationTruncateTo(duration any, unit any) duration",
        |_, a| Ok(to_unit(a, duration::truncate)),
        "Cut to the unit.",
    ),
];

fn must_to_duration<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Int(IntTy::Duration, of(&args[0]).map_err(Fail::Message)?))
}

/// The nanoseconds a value stands for.
fn of(value: &Value<'_>) -> Result<i64, String> {
    match value {
        Value::Int(IntTy::Duration, nanos) => Ok(*nanos),
        Value::Str(text) => of_text(&text.lossy()),
        Value::Nil | Value::Invalid => Err("invalid duration".into()),
        Value::Int(_, seconds) => {
            seconds.checked_mul(SECOND).ok_or_else(|| format!("duration seconds overflow: {seconds}"))
        }
        Value::Uint(_, seconds) => {
            let nanos = i64::try_from(*seconds).ok().and_then(|s| s.checked_mul(SECOND));
            nanos.ok_or_else(|| format!("duration seconds overflow: {seconds}"))
        }
        Value::Float(seconds) => of_float(*seconds),
        other => Err(format!("unsupported duration type {}", other.type_name())),
    }
}

fn of_text(text: &str) -> Result<i64, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("empty duration".into());
    }
    if let Ok(nanos) = duration::parse(trimmed) {
        return Ok(nanos);
    }
    match trimmed.parse::<f64>() {
        Ok(seconds) => of_float(seconds),
        Err(_) => Err(format!("could not parse duration {}", quoted(text))),
    }
}

fn of_float(seconds: f64) -> Result<i64, String> {
    let shown = || format_float(seconds, 'g', None);
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", shown()));
    }
    if seconds.abs() > i64::MAX as f64 / 1e9 {
        return Err(format!("duration seconds overflow: {}", shown()));
    }
    Ok((seconds * 1e9) as i64)
}

/// Whole units and the rest apart, as Go adds them.
fn in_units(nanos: i64, unit: i64) -> f64 {
    (nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64
}

fn float<'a>(args: &[Value<'a>], unit: i64) -> Value<'a> {
    Value::Float(of(&args[0]).map_or(0.0, |nanos| in_units(nanos, unit)))
}

fn whole<'a>(args: &[Value<'a>], unit: i64) -> Value<'a> {
    Value::int64(of(&args[0]).unwrap_or(0) / unit)
}

fn parts_of_hours<'a>(args: &[Value<'a>], parts: &[f64]) -> Value<'a> {
    let hours = of(&args[0]).map_or(0.0, |nanos| in_units(nanos, 3600 * SECOND));
    Value::Float(parts.iter().fold(hours, |rest, part| rest / part))
}

fn to_unit<'a>(args: &[Value<'a>], change: fn(i64, i64) -> i64) -> Value<'a> {
    let nanos = match (of(&args[0]), of(&args[1])) {
        (Ok(nanos), Ok(unit)) => change(nanos, unit),
        (Ok(nanos), Err(_)) => nanos,
        (Err(_), _) => 0,
    };
    Value::Int(IntTy::Duration, nanos)
}
