//! Base64 and base32, with Go's error texts.

use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("b64enc(text string) string", b64enc, "Base64."),
    ("b64dec(text string) string", b64dec, "From base64; an error is the result."),
    ("b32enc(text string) string", b32enc, "Base32."),
    ("b32dec(text string) string", b32dec, "From base32; an error is the result."),
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Groups of `group` letters of `bits` each stand for whole bytes; the last is padded.
fn encode(bytes: &[u8], alphabet: &[u8], bits: usize, group: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 8 / bits + group);
    let (mut buffer, mut held) = (0u32, 0);
    for byte in bytes {
        buffer = buffer << 8 | u32::from(*byte);
        held += 8;
        while held >= bits {
            held -= bits;
            out.push(alphabet[(buffer >> held) as usize & (alphabet.len() - 1)]);
        }
    }
    if held > 0 {
        out.push(alphabet[(buffer << (bits - held)) as usize & (alphabet.len() - 1)]);
    }
    while !out.len().is_multiple_of(group) {
        out.push(b'=');
    }
    out
}

/// Go's base64 encoding of bytes.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    encode(bytes, BASE64, 6, 4)
}

fn is_newline(b: u8) -> bool {
    matches!(b, b'\r' | b'\n')
}

/// Go's strict base64 decoder; the error is the offset of the offending byte.
pub(crate) fn decode_base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let mut at = 0;
    loop {
        let (mut group, mut count) = ([0u32; 4], 0);
        while count < 4 {
            let Some(&b) = text.get(at) else {
                return if count == 0 { Ok(out) } else { Err(at - count) };
            };
            at += 1;
            if is_newline(b) {
                continue;
            }
            if let Some(digit) = BASE64.iter().position(|c| *c == b) {
                group[count] = digit as u32;
                count += 1;
                continue;
            }
            if b != b'=' || count < 2 {
                return Err(at - 1);
            }
            padding_follows(text, at, count)?;
            break;
        }
        let bits = group[0] << 18 | group[1] << 12 | group[2] << 6 | group[3];
        out.extend_from_slice(&bits.to_be_bytes()[1..count]);
        if count < 4 {
            return Ok(out);
        }
    }
}

/// After the first `=` there may only be the second one and newlines.
fn padding_follows(text: &[u8], at: usize, count: usize) -> Result<(), usize> {
    let mut at = at;
    let skip = |at: &mut usize| {
        while text.get(*at).is_some_and(|b| is_newline(*b)) {
            *at += 1;
        }
    };
    if count == 2 {
        skip(&mut at);
        match text.get(at) {
            None => return Err(text.len()),
            Some(b'=') => at += 1,
            Some(_) => return Err(at - 1),
        }
    }
    skip(&mut at);
    if at < text.len() { Err(at) } else { Ok(()) }
}

/// Go's base32 decoder.
fn decode_base32(text: &[u8]) -> Result<Vec<u8>, usize> {
    let clean: Vec<u8> = text.iter().copied().filter(|b| !is_newline(*b)).collect();
    let mut out = Vec::with_capacity(clean.len() * 5 / 8);
    let mut at = 0;
    while at < clean.len() {
        let (mut bits, mut count) = (0u64, 0);
        while count < 8 {
            let Some(&b) = clean.get(at) else { return Err(clean.len() - count) };
            at += 1;
            if b == b'=' && count >= 2 {
                break;
            }
            match BASE32.iter().position(|c| *c == b) {
                Some(digit) => bits = bits << 5 | digit as u64,
                None => return Err(at - 1),
            }
            count += 1;
        }
        if count < 8 {
            let wanted = 8 - count - 1;
            let rest = &clean[at..];
            if rest.len() < wanted {
                return Err(clean.len());
            }
            if let Some(bad) = rest[..wanted].iter().position(|b| *b != b'=') {
                return Err(at + bad - 1);
            }
            if matches!(count, 1 | 3 | 6) {
                return Err(at - 1);
            }
            if rest.len() > wanted {
                return Err(at + wanted);
            }
        }
        let bytes = count * 5 / 8;
        let aligned = bits << (64 - 5 * count);
        out.extend_from_slice(&aligned.to_be_bytes()[..bytes]);
        if count < 8 {
            break;
        }
    }
    Ok(out)
}

fn b64enc<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.may_be_long(args[0].bytes().len() / 3 * 4)?;
    let out = base64(args[0].bytes());
    cx.string(out)
}

fn b64dec<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match decode_base64(args[0].bytes()) {
        Ok(bytes) => cx.string(bytes),
        Err(at) => cx.string(format!("illegal base64 data at input byte {at}")),
    }
}

fn b32enc<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.may_be_long(args[0].bytes().len() / 5 * 8)?;
    let out = encode(args[0].bytes(), BASE32, 5, 8);
    cx.string(out)
}

fn b32dec<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match decode_base32(args[0].bytes()) {
        Ok(bytes) => cx.string(bytes),
        Err(at) => cx.string(format!("illegal base32 data at input byte {at}")),
    }
}
