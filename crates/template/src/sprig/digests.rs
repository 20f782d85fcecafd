//! Checksums.

use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("sha1sum(text string) string", sha1sum, "The SHA-1 digest in hexadecimal."),
    ("sha256sum(text string) string", sha256sum, "The SHA-256 digest in hexadecimal."),
    ("sha512sum(text string) string", sha512sum, "The SHA-512 digest in hexadecimal."),
    ("adler32sum(text string) string", adler32sum, "The Adler-32 checksum as a decimal number."),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn sum<'a, D: Digest>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[0].bytes().len() as u64 / 16)?;
    let digest = D::digest(args[0].bytes());
    cx.string(hex(&digest))
}

fn sha1sum<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    sum::<Sha1>(cx, args)
}

fn sha256sum<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    sum::<Sha256>(cx, args)
}

fn sha512sum<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    sum::<Sha512>(cx, args)
}

fn adler32sum<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[0].bytes().len() as u64 / 16)?;
    let (mut a, mut b) = (1u32, 0u32);
    for byte in args[0].bytes() {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    cx.string((b << 16 | a).to_string())
}
