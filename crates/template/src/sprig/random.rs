//! Random strings and numbers, from the seed that the caller passes in.

use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};

use super::encoding;
use crate::{
    env::Env,
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::runes,
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    (
        "randAlphaNum(count int) string",
        |cx, a| letters(cx, a, |b| b.is_ascii_alphanumeric()),
        "Random letters and digits.",
    ),
    ("randAlpha(count int) string", |cx, a| letters(cx, a, |b| b.is_ascii_alphabetic()), "Random letters."),
    ("randNumeric(count int) string", |cx, a| letters(cx, a, |b| b.is_ascii_digit()), "Random digits."),
    (
        "randAscii(count int) string",
        |cx, a| letters(cx, a, |b| (b' '..=b'~').contains(b)),
        "Random printable ASCII.",
    ),
    ("randBytes(count int) string", rand_bytes, "Random bytes in base64."),
    ("randInt(min int, max int) int", rand_int, "A random integer from min to below max."),
    ("shuffle(text string) string", shuffle, "The characters in random order."),
    ("uuidv4() string", uuidv4, "A random UUID."),
];

/// The source of randomness of a render, made when it is first asked.
#[derive(Default)]
pub(crate) struct Random(Option<StdRng>);

// === impl Random ===

impl Random {
    pub(crate) fn get(&mut self, env: &Env<'_>) -> &mut StdRng {
        self.0.get_or_insert_with(|| StdRng::from_seed(env.draw()))
    }
}

fn count_of(cx: &mut Cx<'_>, value: &Value<'_>) -> Result<usize, Fail> {
    let count = usize::try_from(value.as_int()).unwrap_or(0);
    cx.may_be_long(count)?;
    cx.step(count as u64 / 16)?;
    Ok(count)
}

fn letters<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], allowed: fn(&u8) -> bool) -> CallResult<'a> {
    let count = count_of(cx, &args[0])?;
    let alphabet: Vec<u8> = (0..=127).filter(allowed).collect();
    let random = cx.random.get(cx.env);
    let out: Vec<u8> = (0..count).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect();
    cx.string(out)
}

fn rand_bytes<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args[0].as_int() < 0 {
        return Err("runtime error: makeslice: len out of range".into());
    }
    let mut bytes = vec![0; count_of(cx, &args[0])?];
    cx.random.get(cx.env).fill_bytes(&mut bytes);
    let text = encoding::base64(&bytes);
    cx.string(text)
}

fn rand_int<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (min, max) = (args[0].as_int(), args[1].as_int());
    if max.wrapping_sub(min) <= 0 {
        return Err("invalid argument to Intn".into());
    }
    Ok(Value::int(cx.random.get(cx.env).random_range(min..max)))
}

fn shuffle<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all: Vec<char> =
        runes(args[0].bytes()).map(|(_, r, _)| char::from_u32(r).unwrap_or('\u{FFFD}')).collect();
    cx.spend(all.len() * 4)?;
    cx.step(all.len() as u64 / 8)?;
    let random = cx.random.get(cx.env);
    for i in (1..all.len()).rev() {
        all.swap(i, random.random_range(0..=i));
    }
    cx.string(all.into_iter().collect::<String>())
}

fn uuidv4<'a>(cx: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    let mut b = [0u8; 16];
    cx.random.get(cx.env).fill_bytes(&mut b);
    b[6] = b[6] & 0x0f | 0x40;
    b[8] = b[8] & 0x3f | 0x80;
    let hex: String = b.iter().map(|b| format!("{b:02x}")).collect();
    cx.string(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
