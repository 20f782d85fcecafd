//! What becomes of a string on its way through JSON, which `sigs.k8s.io/yaml` prints first
//! and then reads as YAML.

use std::borrow::Cow;

use crate::{
    exec::Fail,
    text::{RUNE_ERROR, lossy, rune_count, runes},
};

/// A key must end within so many characters of where it starts.
const MAX_KEY: usize = 1024;

/// The string after the round trip; some strings do not survive it.
pub(super) fn through_json(bytes: &[u8], key: bool) -> Result<Cow<'_, [u8]>, Fail> {
    if bytes.is_ascii() && !bytes.contains(&0x7F) && bytes.len() < MAX_KEY / 6 {
        return Ok(bytes.into());
    }
    if key {
        let mut json = Vec::new();
        sluice_go_json::push_string(&mut json, bytes, true);
        if rune_count(&json) > MAX_KEY {
            return Err("yaml: did not find expected ',' or '}'".into());
        }
    }
    let mut valid: Cow<'_, [u8]> = bytes.into();
    for (_, rune, width) in runes(bytes) {
        match rune {
            RUNE_ERROR if width == 1 => {
                valid = lossy(bytes).into_bytes().into();
                break;
            }
            0x7F..=0x84 | 0x86..=0x9F | 0xFFFE | 0xFFFF => {
                return Err("yaml: control characters are not allowed".into());
            }
            _ => {}
        }
    }
    let next_lines = valid.windows(2).any(|pair| pair == [0xC2, 0x85]);
    if next_lines { Ok(fold(&lossy(&valid)).into()) } else { Ok(valid) }
}

/// U+0085 is a line break to YAML, and lines are folded.
fn fold(text: &str) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    let lines: Vec<&str> = text.split('\u{85}').collect();
    let last = lines.len() - 1;
    let mut breaks = 0;
    for (i, line) in lines.iter().enumerate() {
        let line = if i > 0 { line.trim_start_matches(' ') } else { line };
        let line = if i < last { line.trim_end_matches(' ') } else { line };
        if i > 0 {
            breaks += 1;
        }
        if !line.is_empty() || i == last {
            match breaks {
                0 => {}
                1 => out.push(' '),
                n => out.extend(std::iter::repeat_n('\n', n - 1)),
            }
            breaks = 0;
        }
        out.push_str(line);
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_survive_or_not() {
        assert!(through_json("a\u{80}".as_bytes(), false).is_err());
        assert!(through_json(b"\x7f", false).is_err());
        assert!(through_json("k".repeat(1023).as_bytes(), true).is_err());
        assert!(through_json("v".repeat(5000).as_bytes(), false).is_ok());
        assert_eq!(fold("a \u{85} b"), b"a b");
        assert_eq!(fold("a\u{85}\u{85}b"), b"a\nb");
    }
}
