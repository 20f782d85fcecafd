//! `addf`, `subf`, `mulf`, `divf`: float arithmetic in exact decimals.

use num_bigint_dig::BigInt;
use num_traits::{Pow, Signed, Zero};

use super::casts::to_float64;
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("add1f(value any) float64", add1f, "value + 1, in decimals."),
    ("addf(...values any) float64", addf, "The sum, in decimals."),
    ("subf(first any, ...more any) float64", subf, "The first minus the others, in decimals."),
    ("mulf(first any, ...more any) float64", mulf, "The product, in decimals."),
    (
        "divf(first any, ...more any) float64",
        divf,
        "The first divided by the others, in decimals of 16 places.",
    ),
];

/// digits × 10^exponent
#[derive(Debug, Clone)]
struct Decimal {
    digits: BigInt,
    exponent: i32,
}

/// Digits after the decimal point of a quotient.
const DIVISION_PRECISION: i32 = 16;

/// Digits a decimal may have; a product of many large floats would grow without bound.
const MAX_DIGITS: i64 = 20_000;

// === impl Decimal ===

impl Decimal {
    fn from_float(f: f64) -> Result<Self, Fail> {
        if !f.is_finite() {
            let name = crate::gofmt::float::format_float(f, 'g', None);
            return Err(format!("Cannot create a Decimal from {name}").into());
        }
        let text = format!("{f:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap_or_default();
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        Ok(Self { digits, exponent: exponent.parse::<i32>().unwrap_or(0) - places })
    }

    fn to_float(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(0.0)
    }

    /// The digits of the same number with a smaller exponent.
    fn digits_at(&self, exponent: i32) -> BigInt {
        &self.digits * ten_to(self.exponent - exponent)
    }

    fn sum(&self, other: &Self, sign: i32) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let digits = self.digits_at(exponent) + other.digits_at(exponent) * sign;
        Self { digits, exponent }
    }

    fn product(&self, other: &Self) -> Self {
        Self { digits: &self.digits * &other.digits, exponent: self.exponent + other.exponent }
    }

    fn quotient(&self, other: &Self) -> Result<Self, Fail> {
        if other.digits.is_zero() {
            return Err("decimal division by 0".into());
        }
        let shift = self.exponent - other.exponent + DIVISION_PRECISION;
        let (top, bottom) = if shift < 0 {
            (self.digits.clone(), &other.digits * ten_to(-shift))
        } else {
            (&self.digits * ten_to(shift), other.digits.clone())
        };
        let mut digits = &top / &bottom;
        let rest = (&top - &digits * &bottom).abs() * 2;
        if rest >= bottom.abs() {
            digits += if top.is_negative() == bottom.is_negative() { 1 } else { -1 };
        }
        Ok(Self { digits, exponent: -DIVISION_PRECISION })
    }

    fn check(self, cx: &mut Cx<'_>) -> Result<Self, Fail> {
        let digits = i64::try_from(self.digits.bits()).unwrap_or(i64::MAX) / 3;
        // Powers of ten and the text of the result grow faster than the digits.
        cx.step(1 + digits.unsigned_abs() / 2)?;
        if digits + i64::from(self.exponent).abs() > MAX_DIGITS {
            return Err(Fail::Limit(format!("limit: a decimal of more than {MAX_DIGITS} digits")));
        }
        Ok(self)
    }
}

fn ten_to(exponent: i32) -> BigInt {
    BigInt::from(10).pow(exponent.unsigned_abs())
}

fn fold<'a>(
    cx: &mut Cx<'a>,
    first: f64,
    more: &[Value<'a>],
    op: impl Fn(&Decimal, &Decimal) -> Result<Decimal, Fail>,
) -> CallResult<'a> {
    let mut result = Decimal::from_float(first)?;
    for value in more {
        let operand = Decimal::from_float(to_float64(value))?;
        result = op(&result, &operand)?.check(cx)?;
    }
    Ok(Value::Float(result.to_float()))
}

fn add1f<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    fold(cx, to_float64(&args[0]), &[Value::int(1)], |a, b| Ok(a.sum(b, 1)))
}

fn addf<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    fold(cx, 0.0, args, |a, b| Ok(a.sum(b, 1)))
}

fn subf<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    fold(cx, to_float64(&args[0]), &args[1..], |a, b| Ok(a.sum(b, -1)))
}

fn mulf<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    fold(cx, to_float64(&args[0]), &args[1..], |a, b| Ok(a.product(b)))
}

fn divf<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    fold(cx, to_float64(&args[0]), &args[1..], Decimal::quotient)
}
