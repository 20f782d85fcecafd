//! Methods of `time.Time`, `time.Duration` and the named integers.

use super::{between, duration, layout, layout_format, plus, time_of, utc, zone};
use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    value::{IntTy, Object, Time, Value},
};

/// The methods of `time.Time`; the receiver comes before the arguments.
pub(crate) const TABLE: &[Row] = &[
    ("Format(layout string) string", |cx, a| shown(cx, a, a[1].bytes()), "The time in Go's layout."),
    (
        "String() string",
        |cx, a| shown(cx, a, b"2006-01-02 15:04:05.999999999 -0700 MST"),
        "The time in Go's default layout.",
    ),
    ("Unix() int64", |_, a| Ok(Value::int64(time_of(&a[0]).unix)), "Seconds since 1970."),
    ("UnixMilli() int64", |_, a| Ok(Value::int64(scaled(a, 1_000))), "Milliseconds since 1970."),
    ("UnixMicro() int64", |_, a| Ok(Value::int64(scaled(a, 1_000_000))), "Microseconds since 1970."),
    ("UnixNano() int64", |_, a| Ok(Value::int64(scaled(a, 1_000_000_000))), "Nanoseconds since 1970."),
    ("Year() int", |_, a| field(a, |c| c.year), "The year."),
    ("Month() int", |_, a| Ok(Value::Int(IntTy::Month, layout::civil(&time_of(&a[0])).month)), "The month."),
    ("Day() int", |_, a| field(a, |c| c.day), "The day of the month."),
    ("YearDay() int", |_, a| field(a, |c| c.yday), "The day of the year."),
    (
        "Weekday() int",
        |_, a| Ok(Value::Int(IntTy::Weekday, layout::civil(&time_of(&a[0])).weekday)),
        "The day of the week.",
    ),
    ("Hour() int", |_, a| field(a, |c| c.hour), "The hour."),
    ("Minute() int", |_, a| field(a, |c| c.minute), "The minute."),
    ("Second() int", |_, a| field(a, |c| c.second), "The second."),
    (
        "Nanosecond() int",
        |_, a| Ok(Value::int(i64::from(time_of(&a[0]).nanos))),
        "The nanoseconds within the second.",
    ),
    ("UTC() time", |cx, a| Ok(time(cx, zone::in_zone(&time_of(&a[0]), "UTC"))), "The same moment in UTC."),
    (
        "Local() time",
        |cx, a| Ok(time(cx, zone::in_zone(&time_of(&a[0]), "UTC"))),
        "The same moment in UTC. | Go uses the zone of the process.",
    ),
    (
        "IsZero() bool",
        |_, a| Ok(Value::Bool(time_of(&a[0]).unix == -62_135_596_800 && time_of(&a[0]).nanos == 0)),
        "Whether it is the zero time.",
    ),
    (
        "Add(duration duration) time",
        |cx, a| Ok(time(cx, plus(&time_of(&a[0]), a[1].as_int()))),
        "The time plus a duration.",
    ),
    ("AddDate(years int, months int, days int) time", add_date, "The time plus years, months and days."),
    (
        "Sub(other time) duration",
        |_, a| Ok(Value::Int(IntTy::Duration, between(&time_of(&a[1]), &time_of(&a[0])))),
        "The duration since the other time.",
    ),
    (
        "Before(other time) bool",
        |_, a| Ok(Value::Bool(moment(&a[0]) < moment(&a[1]))),
        "Whether it is earlier.",
    ),
    ("After(other time) bool", |_, a| Ok(Value::Bool(moment(&a[0]) > moment(&a[1]))), "Whether it is later."),
    (
        "Equal(other time) bool",
        |_, a| Ok(Value::Bool(moment(&a[0]) == moment(&a[1]))),
        "Whether it is the same moment.",
    ),
    (
        "Compare(other time) int",
        |_, a| Ok(Value::int(moment(&a[0]).cmp(&moment(&a[1])) as i64)),
        "-1, 0 or 1.",
    ),
];

/// The methods of `time.Duration`.
pub(crate) const DURATION_TABLE: &[Row] = &[
    ("String() string", |cx, a| cx.string(duration::format(a[0].as_int())), "The duration as text."),
    ("Nanoseconds() int64", |_, a| Ok(Value::int64(a[0].as_int())), "In nanoseconds."),
    ("Microseconds() int64", |_, a| Ok(Value::int64(a[0].as_int() / 1_000)), "In microseconds."),
    ("Milliseconds() int64", |_, a| Ok(Value::int64(a[0].as_int() / 1_000_000)), "In milliseconds."),
    ("Seconds() float64", |_, a| Ok(in_units(a, 1_000_000_000)), "In seconds."),
    ("Minutes() float64", |_, a| Ok(in_units(a, 60_000_000_000)), "In minutes."),
    ("Hours() float64", |_, a| Ok(in_units(a, 3_600_000_000_000)), "In hours."),
    ("Abs() duration", |_, a| Ok(nanos(a[0].as_int().saturating_abs())), "Without its sign."),
    (
        "Round(unit duration) duration",
        |_, a| Ok(nanos(duration::round(a[0].as_int(), a[1].as_int()))),
        "Rounded to the unit.",
    ),
    (
        "Truncate(unit duration) duration",
        |_, a| Ok(nanos(duration::truncate(a[0].as_int(), a[1].as_int()))),
        "Cut to the unit.",
    ),
];

/// The methods of `time.Month` and `time.Weekday`.
pub(crate) const NAMED_TABLE: &[Row] = &[("String() string", name, "The English name.")];

fn time<'a>(cx: &mut Cx<'a>, time: Time) -> Value<'a> {
    cx.object(Object::Time(time))
}

fn nanos<'a>(nanos: i64) -> Value<'a> {
    Value::Int(IntTy::Duration, nanos)
}

fn moment(value: &Value<'_>) -> (i64, u32) {
    let time = time_of(value);
    (time.unix, time.nanos)
}

fn shown<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], layout: &[u8]) -> CallResult<'a> {
    let text = layout_format::format(&time_of(&args[0]), layout);
    cx.string(text)
}

fn scaled(args: &[Value<'_>], per_second: i64) -> i64 {
    let time = time_of(&args[0]);
    let part = i64::from(time.nanos) / (1_000_000_000 / per_second);
    time.unix.wrapping_mul(per_second).wrapping_add(part)
}

fn field<'a>(args: &[Value<'a>], of: fn(&layout::Civil) -> i64) -> CallResult<'a> {
    Ok(Value::int(of(&layout::civil(&time_of(&args[0])))))
}

fn in_units<'a>(args: &[Value<'a>], unit: i64) -> Value<'a> {
    let value = args[0].as_int();
    Value::Float((value / unit) as f64 + (value % unit) as f64 / unit as f64)
}

fn add_date<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let old = time_of(&args[0]);
    let shown = layout::civil(&old);
    let bounded = |v: &Value<'a>| v.as_int().clamp(-1_000_000, 1_000_000);
    let months = shown.month - 1 + bounded(&args[2]);
    let year = shown.year + bounded(&args[1]) + months.div_euclid(12);
    let first = layout::days_from_civil(year, months.rem_euclid(12) + 1, 1);
    let days = first + shown.day - 1 + bounded(&args[3]);
    let clock = shown.hour * 3600 + shown.minute * 60 + shown.second;
    let unix = days * 86_400 + clock - i64::from(old.offset);
    let moved = Time { unix, ..old.clone() };
    let moved = if old.utc { Time { nanos: old.nanos, ..utc(unix) } } else { moved };
    Ok(time(cx, moved))
}

fn name<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match &args[0] {
        Value::Int(IntTy::Month, month) => cx.string(layout::month_name(*month)),
        other => cx.string(layout::weekday_name(other.as_int())),
    }
}
