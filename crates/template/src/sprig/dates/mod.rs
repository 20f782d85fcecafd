//! Dates and durations in Go's layouts. Local time is UTC; now comes from the surroundings.

pub(crate) mod duration;
pub(crate) mod layout;
pub(crate) mod layout_format;
pub(crate) mod parse;
pub(crate) mod parse_fields;
pub(crate) mod time_methods;
pub(crate) mod zone;

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::lossy,
    value::{IntTy, Object, Time, Value},
};

use super::numbers::saturating_decimal;

pub(crate) const TABLE: &[Row] = &[
    ("now() time", now, "The moment of the render."),
    (
        "date(layout string, date any) string",
        date,
        "The date in Go's layout. | UTC; Go uses the zone of the process.",
    ),
    (
        "dateInZone(layout string, date any, zone string) string",
        date_in_zone,
        "The date in Go's layout and in the zone.",
    ),
    (
        "date_in_zone(layout string, date any, zone string) string",
        date_in_zone,
        "The older name of `dateInZone`.",
    ),
    (
        "htmlDate(date any) string",
        html_date,
        "The date as `2006-01-02`. | UTC; Go uses the zone of the process.",
    ),
    (
        "htmlDateInZone(date any, zone string) string",
        html_date_in_zone,
        "The date in the zone as `2006-01-02`.",
    ),
    (
        "dateModify(duration string, date time) time",
        modify,
        "The date plus the duration; a bad duration is ignored.",
    ),
    ("date_modify(duration string, date time) time", modify, "The older name of `dateModify`."),
    ("mustDateModify(duration string, date time) time", must_modify, "The date plus the duration."),
    ("must_date_modify(duration string, date time) time", must_modify, "The older name of `mustDateModify`."),
    (
        "toDate(layout string, text string) time",
        to_date,
        "The date in the text; the zero time if there is none.",
    ),
    ("mustToDate(layout string, text string) time", must_to_date, "The date in the text."),
    ("ago(date any) string", ago, "The time from the date until now, in whole seconds."),
    ("duration(seconds any) string", duration_of, "Seconds as a duration such as `1m35s`."),
    ("durationRound(duration any) string", duration_round, "A duration in its largest unit."),
    ("unixEpoch(date time) string", unix_epoch, "The seconds since 1970."),
];

/// The moment of the render.
pub(crate) fn now_of(cx: &Cx<'_>) -> Time {
    let nanos = cx.env.now_unix_nanos;
    let part = u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0);
    Time { unix: nanos.div_euclid(1_000_000_000), nanos: part, offset: 0, zone: "UTC".into(), utc: true }
}

pub(crate) fn utc(unix: i64) -> Time {
    Time { unix, nanos: 0, offset: 0, zone: "UTC".into(), utc: true }
}

/// The time in an argument that has passed the type check.
pub(crate) fn time_of(value: &Value<'_>) -> Time {
    match value {
        Value::Object(object) => match &**object {
            Object::Time(time) => time.clone(),
            _ => utc(0),
        },
        _ => utc(0),
    }
}

/// A time, or seconds since 1970; anything else is now.
fn any_time(cx: &Cx<'_>, value: &Value<'_>) -> Time {
    match value {
        Value::Object(object) if matches!(**object, Object::Time(_)) => time_of(value),
        Value::Int(IntTy::Int | IntTy::Int64, unix) => utc(*unix),
        _ => now_of(cx),
    }
}

fn now<'a>(cx: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    let now = now_of(cx);
    Ok(cx.object(Object::Time(now)))
}

fn formatted<'a>(cx: &mut Cx<'a>, layout: &[u8], date: &Value<'a>, zone: &str) -> CallResult<'a> {
    let time = zone::in_zone(&any_time(cx, date), zone);
    let out = layout_format::format(&time, layout);
    cx.string(out)
}

fn date<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    formatted(cx, args[0].bytes(), &args[1], "UTC")
}

fn date_in_zone<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    formatted(cx, args[0].bytes(), &args[1], &lossy(args[2].bytes()))
}

fn html_date<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    formatted(cx, b"2006-01-02", &args[0], "UTC")
}

fn html_date_in_zone<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    formatted(cx, b"2006-01-02", &args[0], &lossy(args[1].bytes()))
}

/// The time plus a number of nanoseconds.
pub(crate) fn plus(time: &Time, nanos: i64) -> Time {
    let total = i128::from(time.unix) * 1_000_000_000 + i128::from(time.nanos) + i128::from(nanos);
    let unix = i64::try_from(total.div_euclid(1_000_000_000)).unwrap_or(time.unix);
    let part = u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or(0);
    Time { unix, nanos: part, ..time.clone() }
}

/// The nanoseconds from one time to another, within a duration's range.
pub(crate) fn between(from: &Time, to: &Time) -> i64 {
    let nanos = |t: &Time| i128::from(t.unix) * 1_000_000_000 + i128::from(t.nanos);
    let span = nanos(to) - nanos(from);
    i64::try_from(span).unwrap_or(if span < 0 { i64::MIN } else { i64::MAX })
}

fn modify<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match duration::parse(&lossy(args[0].bytes())) {
        Ok(nanos) => Ok(cx.object(Object::Time(plus(&time_of(&args[1]), nanos)))),
        Err(_) => Ok(args[1].clone()),
    }
}

fn must_modify<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let nanos = duration::parse(&lossy(args[0].bytes())).map_err(Fail::Message)?;
    Ok(cx.object(Object::Time(plus(&time_of(&args[1]), nanos))))
}

/// A byte of a layout is compared with every element there is: 53 ns.
fn parsing<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Result<(), Fail> {
    cx.step(args[0].bytes().len() as u64 / 16)
}

fn to_date<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    parsing(cx, args)?;
    let time = parse::parse(args[0].bytes(), args[1].bytes()).unwrap_or_else(|_| parse::zero());
    Ok(cx.object(Object::Time(time)))
}

fn must_to_date<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    parsing(cx, args)?;
    let time = parse::parse(args[0].bytes(), args[1].bytes()).map_err(Fail::Message)?;
    Ok(cx.object(Object::Time(time)))
}

fn ago<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let time = any_time(cx, &args[0]);
    let span = duration::round(between(&time, &now_of(cx)), 1_000_000_000);
    cx.string(duration::format(span))
}

fn duration_of<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let seconds = match &args[0] {
        Value::Str(s) => saturating_decimal(s.bytes()),
        Value::Int(IntTy::Int64, i) => *i,
        _ => 0,
    };
    cx.string(duration::format(seconds.wrapping_mul(1_000_000_000)))
}

fn duration_round<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let nanos = match &args[0] {
        Value::Str(s) => duration::parse(&s.lossy()).unwrap_or(0),
        Value::Int(IntTy::Int64, i) => *i,
        Value::Object(object) if matches!(**object, Object::Time(_)) => {
            between(&time_of(&args[0]), &now_of(cx))
        }
        _ => 0,
    };
    cx.string(duration::in_largest_unit(nanos))
}

fn unix_epoch<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.string(time_of(&args[0]).unix.to_string())
}
