//! Floats: `strconv.FormatFloat` and the `fmt` flags around it.

use super::printer::{Print, Printer};

/// `strconv.FormatFloat(value, verb, precision, 64)`; no precision is the shortest text.
pub fn format_float(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return if sign.is_empty() { "+Inf".into() } else { "-Inf".into() };
    }
    let magnitude = value.abs();
    let body = match verb {
        'e' | 'E' => exponent(magnitude, verb, precision),
        'f' | 'F' => match precision {
            Some(p) => format!("{magnitude:.p$}"),
            None => format!("{magnitude}"),
        },
        'g' | 'G' => general(magnitude, verb, precision),
        'b' => {
            let (mantissa, exponent) = decompose(magnitude);
            format!("{mantissa}p{exponent:+}")
        }
        'x' | 'X' => hexadecimal(magnitude, verb, precision),
        _ => String::new(),
    };
    format!("{sign}{body}")
}

fn exponent(magnitude: f64, verb: char, precision: Option<usize>) -> String {
    let text = match precision {
        Some(p) => format!("{magnitude:.p$e}"),
        None => format!("{magnitude:e}"),
    };
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    let exp: i32 = exp.parse().unwrap_or(0);
    let mark = if verb == 'e' || verb == 'g' { 'e' } else { 'E' };
    format!("{mantissa}{mark}{}{:02}", if exp < 0 { '-' } else { '+' }, exp.abs())
}

/// `%g`: the exponent form for small and large numbers, without trailing zeros.
fn general(magnitude: f64, verb: char, precision: Option<usize>) -> String {
    let digits = precision.map(|p| p.max(1));
    let text = match digits {
        Some(p) => format!("{magnitude:.*e}", p - 1),
        None => format!("{magnitude:e}"),
    };
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    let exp: i32 = exp.parse().unwrap_or(0);
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let significant = i32::try_from(mantissa.bytes().filter(u8::is_ascii_digit).count()).unwrap_or(i32::MAX);
    // The shortest form decides by six digits.
    let mut limit = digits.map_or(6, |p| i32::try_from(p).unwrap_or(i32::MAX));
    if digits.is_some() && limit > significant && significant > exp {
        limit = significant;
    }
    if exp < -4 || exp >= limit {
        let mark = if verb == 'g' { 'e' } else { 'E' };
        return format!("{mantissa}{mark}{}{:02}", if exp < 0 { '-' } else { '+' }, exp.abs());
    }
    plain(mantissa, exp)
}

/// Writes digits with a decimal exponent in positional notation.
fn plain(mantissa: &str, exp: i32) -> String {
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exp < 0 {
        let zeros = "0".repeat(usize::try_from(-exp - 1).unwrap_or(0));
        return format!("0.{zeros}{digits}");
    }
    let whole = usize::try_from(exp).unwrap_or(0) + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}

/// Mantissa and exponent as integers.
fn decompose(magnitude: f64) -> (u64, i64) {
    let bits = magnitude.to_bits();
    let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

fn hexadecimal(magnitude: f64, verb: char, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = decompose(magnitude);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // Normalize to 1.x with 60 fraction bits.
        let shift = mantissa.leading_zeros().saturating_sub(3);
        mantissa <<= shift;
        exponent += 60 - i64::from(shift);
    }
    if let Some(p) = precision.filter(|p| *p < 15) {
        let drop = 60 - 4 * u32::try_from(p).unwrap_or(0);
        let extra = mantissa & ((1 << drop) - 1);
        mantissa >>= drop;
        let half = 1u64 << (drop - 1);
        if extra > half || (extra == half && mantissa & 1 == 1) {
            mantissa += 1;
        }
        mantissa <<= drop;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut fraction = format!("{:015x}", mantissa & ((1 << 60) - 1));
    match precision {
        Some(p) => {
            fraction.truncate(p);
            fraction.extend(std::iter::repeat_n('0', p - fraction.len()));
        }
        None => fraction.truncate(fraction.trim_end_matches('0').len()),
    }
    let dot = if fraction.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let text = format!("0x{}{dot}{fraction}p{sign}{:02}", mantissa >> 60, exponent.abs());
    if verb == 'X' { text.to_uppercase() } else { text }
}

// === impl Printer ===

impl Printer<'_, '_> {
    pub(super) fn print_float(&mut self, value: f64, verb: char) -> Print {
        match verb {
            'v' => self.format_float_flags(value, 'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.format_float_flags(value, verb, None),
            'f' | 'e' | 'E' | 'F' => self.format_float_flags(value, verb, Some(6)),
            _ => self.bad_verb(verb),
        }
    }

    fn format_float_flags(&mut self, value: f64, verb: char, precision: Option<usize>) -> Print {
        let flags = self.flags;
        let precision = flags.precision.or(precision);
        self.cx.may_be_long(precision.unwrap_or(0).saturating_add(400))?;
        let mut number = format_float(value, verb, precision).into_bytes();
        if !matches!(number[0], b'-' | b'+') {
            number.insert(0, b'+');
        }
        if flags.space && number[0] == b'+' && !flags.plus {
            number[0] = b' ';
        }
        if matches!(number[1], b'I' | b'N') {
            if number[1] == b'N' && !flags.space && !flags.plus {
                number.remove(0);
            }
            return self.pad_spaces(&number);
        }
        if flags.sharp && verb != 'b' {
            sharpen(&mut number, verb, precision);
        }
        if !flags.plus && number[0] == b'+' {
            return self.pad(&number[1..]);
        }
        match flags.width {
            Some(width) if flags.zero && !flags.minus && width > number.len() => {
                self.out.push(number[0]);
                self.write_padding(width - number.len())?;
                self.write(&number[1..])
            }
            _ => self.pad(&number),
        }
    }

    pub(super) fn print_complex(&mut self, re: f64, im: f64, verb: char) -> Print {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(verb);
        }
        let plus = self.flags.plus;
        self.out.push(b'(');
        self.print_float(re, verb)?;
        self.flags.plus = true;
        self.print_float(im, verb)?;
        self.flags.plus = plus;
        self.write(b"i)")
    }
}

/// The `#` flag: a decimal point always, and trailing zeros up to the precision.
fn sharpen(number: &mut Vec<u8>, verb: char, precision: Option<usize>) {
    let mut digits = match verb {
        'g' | 'G' | 'x' => i64::try_from(precision.unwrap_or(6)).unwrap_or(6),
        _ => 0,
    };
    let hex = matches!(verb, 'x' | 'X');
    let tail_at = number.iter().skip(1).position(|b| match b {
        b'p' | b'P' => true,
        b'e' | b'E' => !hex,
        _ => false,
    });
    let tail = tail_at.map(|at| number.split_off(at + 1)).unwrap_or_default();
    let mut point = false;
    let mut significant = false;
    for b in &number[1..] {
        if *b == b'.' {
            point = true;
            continue;
        }
        significant |= *b != b'0';
        digits -= i64::from(significant);
    }
    if !point {
        if number.len() == 2 && number[1] == b'0' {
            digits -= 1;
        }
        number.push(b'.');
    }
    number.extend(std::iter::repeat_n(b'0', usize::try_from(digits).unwrap_or(0)));
    number.extend(tail);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_general_form() {
        for (value, text) in [
            (1e6, "1e+06"),
            (100_000.0, "100000"),
            (12_345_678.9, "1.23456789e+07"),
            (1e20, "1e+20"),
            (0.000_012_3, "1.23e-05"),
            (0.0001, "0.0001"),
            (3.0, "3"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(format_float(value, 'g', None), text);
        }
    }

    #[test]
    fn other_forms() {
        assert_eq!(format_float(2.5, 'b', None), "5629499534213120p-51");
        assert_eq!(format_float(2.5, 'x', None), "0x1.4p+01");
        assert_eq!(format_float(2.5, 'g', Some(1)), "2");
        assert_eq!(format_float(1e21, 'f', None), "1000000000000000000000");
    }
}
