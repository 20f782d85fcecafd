//! Integer and float arithmetic, conversions, ranges.

use super::casts::{to_float64, to_int64};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    gofmt,
    syntax::number::parse_float,
    text::lossy,
    value::{ListTy, Value},
};

pub(crate) const TABLE: &[Row] = &[
    ("int(value any) int", int, "The value as an integer; 0 if it is none."),
    ("int64(value any) int64", int64, "The value as a 64-bit integer; 0 if it is none."),
    ("float64(value any) float64", float64, "The value as a float; 0 if it is none."),
    ("atoi(text string) int", atoi, "The decimal number in the text; 0 if there is none."),
    ("toDecimal(octal any) int64", to_decimal, "An octal number as an integer."),
    ("add1(value any) int64", add1, "value + 1"),
    ("add(...values any) int64", add, "The sum."),
    ("sub(a any, b any) int64", sub, "a - b"),
    ("mul(first any, ...more any) int64", mul, "The product."),
    ("div(a any, b any) int64", div, "a / b, towards zero."),
    ("mod(a any, b any) int64", rem, "The remainder of a / b."),
    ("max(first any, ...more any) int64", max, "The largest."),
    ("biggest(first any, ...more any) int64", max, "The older name of `max`."),
    ("min(first any, ...more any) int64", min, "The smallest."),
    ("maxf(first any, ...more any) float64", maxf, "The largest, as a float."),
    ("minf(first any, ...more any) float64", minf, "The smallest, as a float."),
    ("ceil(value any) float64", ceil, "Rounded up."),
    ("floor(value any) float64", floor, "Rounded down."),
    (
        "round(value any, places int, ...on float64) float64",
        round,
        "Rounded to decimal places; `on` is the fraction that rounds up, 0.5 if absent.",
    ),
    ("until(count int) list", until, "The integers from 0 to below the count."),
    ("untilStep(start int, stop int, step int) list", until_step, "The integers from start to below stop."),
    ("seq(...bounds int) string", seq, "Like the shell's `seq`: the numbers with spaces between them."),
];

fn int<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int(to_int64(&args[0])))
}

fn int64<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(to_int64(&args[0])))
}

fn float64<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Float(to_float64(&args[0])))
}

/// Go's `Atoi` gives the nearest bound together with its range error, which sprig ignores.
fn atoi<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int(saturating_decimal(args[0].bytes())))
}

/// A decimal integer; 0 for a syntax error, the nearest bound beyond the range.
pub(crate) fn saturating_decimal(text: &[u8]) -> i64 {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let magnitude = digits.iter().fold(0i128, |n, d| (n * 10 + i128::from(d - b'0')).min(1 << 64));
    let value = if negative { -magnitude } else { magnitude };
    i64::try_from(value).unwrap_or(if negative { i64::MIN } else { i64::MAX })
}

fn to_decimal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = lossy(&gofmt::sprint_one(cx, &args[0])?);
    Ok(Value::int64(i64::from_str_radix(&text, 8).unwrap_or(0)))
}

pub(crate) fn add1<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(to_int64(&args[0]).wrapping_add(1)))
}

pub(crate) fn add<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(args.iter().fold(0, |sum, v| to_int64(v).wrapping_add(sum))))
}

pub(crate) fn sub<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(to_int64(&args[0]).wrapping_sub(to_int64(&args[1]))))
}

pub(crate) fn mul<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(args.iter().fold(1, |product: i64, v| product.wrapping_mul(to_int64(v)))))
}

fn divisor(value: &Value<'_>) -> Result<i64, Fail> {
    match to_int64(value) {
        0 => Err("runtime error: integer divide by zero".into()),
        divisor => Ok(divisor),
    }
}

pub(crate) fn div<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(to_int64(&args[0]).wrapping_div(divisor(&args[1])?)))
}

pub(crate) fn rem<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(to_int64(&args[0]).wrapping_rem(divisor(&args[1])?)))
}

pub(crate) fn max<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(args.iter().map(to_int64).max().unwrap_or(0)))
}

pub(crate) fn min<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::int64(args.iter().map(to_int64).min().unwrap_or(0)))
}

/// Go's `math.Max` and `math.Min`: an infinity wins over NaN, NaN over anything else.
fn extreme<'a>(args: &[Value<'a>], winner: f64, better: fn(f64, f64) -> bool) -> Value<'a> {
    let pick = |a: f64, b: f64| {
        if a == winner || b == winner {
            winner
        } else if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a == 0.0 && b == 0.0 {
            if a.is_sign_negative() == (winner < 0.0) { a } else { b }
        } else if better(a, b) {
            a
        } else {
            b
        }
    };
    Value::Float(args.iter().map(to_float64).reduce(pick).unwrap_or(0.0))
}

fn maxf<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(extreme(args, f64::INFINITY, |a, b| a > b))
}

fn minf<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(extreme(args, f64::NEG_INFINITY, |a, b| a < b))
}

fn ceil<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Float(to_float64(&args[0]).ceil()))
}

fn floor<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Float(to_float64(&args[0]).floor()))
}

fn round<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let on = args.get(2).map_or(0.5, to_float64);
    let power = power_of_ten(args[1].as_int());
    let digit = power * to_float64(&args[0]);
    let up = digit.fract() >= on;
    Ok(Value::Float(if up { digit.ceil() } else { digit.floor() } / power))
}

/// Go's `math.Pow(10, n)`: exact where a float can be.
fn power_of_ten(n: i64) -> f64 {
    match n {
        309.. => f64::INFINITY,
        ..=-324 => 0.0,
        _ => parse_float(&format!("1e{n}")).unwrap_or(0.0),
    }
}

/// Go's `untilStep`; what would run for ever runs into the budget.
fn steps(cx: &mut Cx<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Fail> {
    let down = stop < start;
    if (down && step >= 0) || (!down && step <= 0) {
        return Ok(Vec::new());
    }
    let span = (i128::from(stop) - i128::from(start)).unsigned_abs();
    let count = span.div_ceil(u128::from(step.unsigned_abs()));
    cx.spend(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(32))?;
    cx.step(u64::try_from(count).unwrap_or(u64::MAX) / 4)?;
    let mut out = Vec::new();
    let mut i = start;
    while if down { i > stop } else { i < stop } {
        out.push(i);
        let Some(next) = i.checked_add(step) else { break };
        i = next;
    }
    Ok(out)
}

fn int_list<'a>(cx: &mut Cx<'a>, numbers: Vec<i64>) -> CallResult<'a> {
    cx.list(ListTy::Ints, numbers.into_iter().map(Value::int).collect())
}

fn until<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let count = args[0].as_int();
    let numbers = steps(cx, 0, count, if count < 0 { -1 } else { 1 })?;
    int_list(cx, numbers)
}

fn until_step<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let numbers = steps(cx, args[0].as_int(), args[1].as_int(), args[2].as_int())?;
    int_list(cx, numbers)
}

fn seq<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let bounds: Vec<i64> = args.iter().map(Value::as_int).collect();
    let (start, end, step) = match bounds[..] {
        [end] => (1, end, if end < 1 { -1 } else { 1 }),
        [start, end] => (start, end, if end < start { -1 } else { 1 }),
        [start, step, end] if end < start && step > 0 => {
            let _ = (start, step, end);
            return Ok(Value::text(""));
        }
        [start, step, end] => (start, end, step),
        _ => return Ok(Value::text("")),
    };
    let beyond = end.saturating_add(if end < start { -1 } else { 1 });
    let numbers = steps(cx, start, beyond, step)?;
    let text: Vec<String> = numbers.iter().map(i64::to_string).collect();
    cx.string(text.join(" "))
}
