//! Which characters a document may have.

use super::parser::Parser;
use crate::{
    exec::{Cx, Fail},
    text::{RUNE_ERROR, runes},
};

/// What libyaml's reader refuses, and how much of the text it had read before.
struct Refused {
    read: usize,
    fail: Fail,
}

/// So many bytes libyaml reads at once. What is wrong in those before is said first.
const CHUNK: usize = 512;

/// How far the scanner looks ahead.
const AHEAD: usize = 4;

/// Refuses what libyaml's reader refuses, unless something is wrong with the text that it has read before.
pub(super) fn check(cx: &mut Cx<'_>, text: &[u8]) -> Result<(), Fail> {
    let Err(refused) = read(cx, text) else { return Ok(()) };
    let mut parser = Parser::new(cx, &text[..refused.read]);
    Err(match parser.document() {
        Err(fail) if parser.position() + AHEAD < refused.read => fail,
        _ => refused.fail,
    })
}

fn read(cx: &mut Cx<'_>, text: &[u8]) -> Result<(), Refused> {
    cx.step(text.len() as u64 / 16).map_err(|fail| Refused { read: 0, fail })?;
    let is_common = |byte: &u8| matches!(byte, b'\n' | 0x20..=0x7E);
    if text.iter().all(is_common) {
        return Ok(());
    }
    let mut read = 0;
    for (at, rune, width) in runes(text) {
        // A character that a chunk cuts belongs to the next one.
        if at + width > read + CHUNK {
            read = at;
        }
        if rune == RUNE_ERROR && width == 1 {
            let problem = match text[at] {
                0x80..=0xBF | 0xF8.. => "invalid leading UTF-8 octet",
                _ if at + 1 >= text.len() => "incomplete UTF-8 octet sequence",
                _ => "invalid trailing UTF-8 octet",
            };
            return Err(Refused { read, fail: format!("yaml: {problem}").into() });
        }
        let allowed =
            matches!(rune, 9 | 10 | 13 | 0x20..=0x7E | 0x85 | 0xA0..=0xD7FF | 0xE000..=0xFFFD | 0x10000..);
        if !allowed {
            return Err(Refused { read, fail: "yaml: control characters are not allowed".into() });
        }
    }
    Ok(())
}
