//! Number literals under every type that can hold them, as Go's ideal constants.

use crate::text::{
    quote::quoted,
    unquote::{Unit, unquote_char},
};

use super::lexer::Typ;

/// A number literal; the constant's type is chosen where it is used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Number {
    pub(crate) text: Box<str>,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// What the literal is where nothing else is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ideal {
    Complex(f64, f64),
    Float(f64),
    Int(i64),
    Overflow,
}

// === impl Number ===

impl Number {
    /// Reads a literal of the given token class.
    pub(crate) fn parse(text: &str, typ: Typ) -> Result<Self, String> {
        let number = Self { text: text.into(), ..Self::default() };
        match typ {
            Typ::CharConstant => number.char_constant(),
            Typ::Complex => number.complex_sum(),
            _ => number.plain(),
        }
    }

    /// The constant without a context.
    pub(crate) fn ideal(&self) -> Ideal {
        let hex = self.text.len() > 2
            && (self.text.starts_with("0x") || self.text.starts_with("0X"))
            && !self.text.contains(['p', 'P']);
        let looks_float =
            !hex && !self.text.starts_with('\'') && self.text.contains(['.', 'e', 'E', 'p', 'P']);
        match (self.complex, self.float, self.int) {
            (Some((re, im)), _, _) => Ideal::Complex(re, im),
            (_, Some(f), _) if looks_float => Ideal::Float(f),
            (_, _, Some(i)) => Ideal::Int(i),
            _ => Ideal::Overflow,
        }
    }

    fn char_constant(mut self) -> Result<Self, String> {
        let body = &self.text.as_bytes()[1..];
        let (unit, width) = unquote_char(body, b'\'').map_err(|_| "invalid syntax".to_owned())?;
        if &body[width..] != b"'" {
            return Err(format!("malformed character constant: {}", self.text));
        }
        let rune = match unit {
            Unit::Rune(rune) => rune,
            Unit::Byte(byte) => u32::from(byte),
        };
        self.int = Some(i64::from(rune));
        self.uint = Some(u64::from(rune));
        self.float = Some(f64::from(rune));
        Ok(self)
    }

    fn complex_sum(mut self) -> Result<Self, String> {
        let body = &self.text[..self.text.len() - 1];
        let split = body.char_indices().skip(1).filter(|(i, c)| {
            matches!(c, '+' | '-') && !matches!(body.as_bytes()[i - 1], b'e' | b'E' | b'p' | b'P')
        });
        let at = split.map(|(i, _)| i).last().ok_or("syntax error scanning complex number")?;
        let (re, im) = (parse_float(&body[..at]), parse_float(&body[at..]));
        let both = re.zip(im).ok_or("syntax error scanning complex number")?;
        self.set_complex(both);
        Ok(self)
    }

    fn set_complex(&mut self, (re, im): (f64, f64)) {
        self.complex = Some((re, im));
        if im == 0.0 {
            self.float = Some(re);
            self.int = exact_i64(re);
            self.uint = exact_u64(re);
        }
    }

    fn plain(mut self) -> Result<Self, String> {
        if let Some(im) = self.text.strip_suffix('i').and_then(parse_float) {
            self.set_complex((0.0, im));
            return Ok(self);
        }
        self.uint = parse_uint(&self.text);
        self.int = parse_int(&self.text);
        if self.int == Some(0) {
            self.uint = self.uint.or(Some(0));
        }
        if let Some(i) = self.int {
            self.float = Some(i as f64);
        } else if let Some(u) = self.uint {
            self.float = Some(u as f64);
        } else if let Some(f) = parse_float(&self.text) {
            if !self.text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quoted(&self.text)));
            }
            self.float = Some(f);
            self.int = exact_i64(f);
            self.uint = exact_u64(f);
        }
        if self.int.is_none() && self.uint.is_none() && self.float.is_none() {
            return Err(format!("illegal number syntax: {}", quoted(&self.text)));
        }
        Ok(self)
    }
}

fn exact_i64(f: f64) -> Option<i64> {
    (f.fract() == 0.0 && f.abs() < 9.3e18 && (f as i64) as f64 == f).then_some(f as i64)
}

fn exact_u64(f: f64) -> Option<u64> {
    (f.fract() == 0.0 && (0.0..1.85e19).contains(&f) && (f as u64) as f64 == f).then_some(f as u64)
}

/// `strconv.ParseUint(text, 0, 64)`.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    let (digits, radix) = split_radix(text);
    if digits.is_empty() || (text.contains('_') && !underscores_ok(text)) {
        return None;
    }
    let clean: String = digits.chars().filter(|c| *c != '_').collect();
    if clean.is_empty() || !clean.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(&clean, radix).ok()
}

/// `strconv.ParseInt(text, 0, 64)`.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'+' => (false, &text[1..]),
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_uint(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

fn split_radix(text: &str) -> (&str, u32) {
    let bytes = text.as_bytes();
    if bytes.len() < 2 || bytes[0] != b'0' {
        return (text, 10);
    }
    match bytes[1] {
        b'x' | b'X' => (&text[2..], 16),
        b'b' | b'B' => (&text[2..], 2),
        b'o' | b'O' => (&text[2..], 8),
        _ => (&text[1..], 8),
    }
}

/// Underscores may only stand between digits, or between a base prefix and a digit.
fn underscores_ok(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    let prefixed = matches!(body, [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]);
    let hex = matches!(body, [b'0', b'x' | b'X', ..]);
    let mut before = if prefixed { b'0' } else { b'^' };
    for &b in &body[if prefixed { 2 } else { 0 }..] {
        let digit = b.is_ascii_digit() || (hex && b.is_ascii_hexdigit());
        match (b, before) {
            _ if digit => before = b'0',
            (b'_', b'0') => before = b'_',
            (b'_', _) | (_, b'_') => return false,
            _ => before = b'!',
        }
    }
    before != b'_'
}

/// `strconv.ParseFloat(text, 64)`, hexadecimal mantissas and underscores in prefixed literals
/// included; out of range is refused.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let (negative, body) = match text.as_bytes().first()? {
        b'+' => (false, &text[1..]),
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    if body.contains('_') && !underscores_ok(body) {
        return None;
    }
    let lower = body.replace('_', "").to_ascii_lowercase();
    let magnitude = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        hex if hex.starts_with("0x") => parse_hex_float(&hex[2..])?,
        plain if plain.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'+' | b'-')) => {
            let value: f64 = plain.parse().ok()?;
            if value.is_infinite() {
                return None;
            }
            value
        }
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0f64;
    for digit in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    let value = value * 2f64.powi(shift);
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_base() {
        assert_eq!(parse_uint("0x1F"), Some(31));
        assert_eq!(parse_uint("0b101"), Some(5));
        assert_eq!(parse_uint("017"), Some(15));
        assert_eq!(parse_uint("1_000"), Some(1000));
        assert_eq!(parse_uint("1__0"), None);
        assert_eq!(parse_uint("_1"), None);
        assert_eq!(parse_uint("0_1"), Some(1));
        assert_eq!(parse_uint("08"), None);
        assert_eq!(parse_int("-9223372036854775808"), Some(i64::MIN));
    }

    #[test]
    fn floats_of_every_form() {
        assert_eq!(parse_float("1e3"), Some(1000.0));
        assert_eq!(parse_float("0x1p4"), Some(16.0));
        assert_eq!(parse_float("0x.8p1"), Some(1.0));
        assert_eq!(parse_float("1e400"), None);
        assert_eq!(parse_float("1_0"), Some(10.0));
        assert_eq!(parse_float("1_.5"), None);
    }
}
