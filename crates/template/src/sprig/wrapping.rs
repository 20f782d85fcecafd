//! `wrap` and `wrapWith`.

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("wrap(width int, text string) string", wrap, "Lines of at most so many bytes; longer words stay whole."),
    (
        "wrapWith(width int, separator string, text string) string",
        wrap_with,
        "`wrap` with another line end; longer words are cut.",
    ),
];

fn wrap<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let out = wrapped(cx, args[1].bytes(), args[0].as_int(), b"\n", false)?;
    cx.string(out)
}

fn wrap_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let separator: &[u8] = if args[1].bytes().is_empty() { b"\n" } else { args[1].bytes() };
    let out = wrapped(cx, args[2].bytes(), args[0].as_int(), separator, true)?;
    cx.string(out)
}

fn wrapped(cx: &mut Cx<'_>, text: &[u8], width: i64, separator: &[u8], cut: bool) -> Result<Vec<u8>, Fail> {
    let width = usize::try_from(width.max(1)).unwrap_or(1);
    let mut out = Vec::with_capacity(text.len());
    let mut offset = 0;
    while text.len() - offset > width {
        if text[offset] == b' ' {
            offset += 1;
            continue;
        }
        cx.step(1)?;
        cx.may_be_long(out.len())?;
        let window = &text[offset..=offset + width];
        if let Some(space) = window.iter().rposition(|b| *b == b' ') {
            out.extend_from_slice(&window[..space]);
            out.extend_from_slice(separator);
            offset += space + 1;
        } else if cut {
            out.extend_from_slice(&window[..width]);
            out.extend_from_slice(separator);
            offset += width;
        } else {
            let after = &text[offset + width..];
            match after.iter().position(|b| *b == b' ') {
                Some(space) => {
                    out.extend_from_slice(&text[offset..offset + width + space]);
                    out.extend_from_slice(separator);
                    offset += width + space + 1;
                }
                None => {
                    out.extend_from_slice(&text[offset..]);
                    offset = text.len();
                }
            }
        }
    }
    out.extend_from_slice(&text[offset..]);
    Ok(out)
}
