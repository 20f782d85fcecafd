//! From Go's regular expressions to those of the `regex` crate, with Go's error texts.
//!
//! Both are RE2's language at heart. What differs: Perl classes and word boundaries are
//! ASCII in Go, `\Q…\E` and octal escapes exist, braces that count nothing are literal, and
//! Go refuses nested repetitions. So the text is parsed here and written anew.

/// A pattern in the other notation, and how much automaton it will take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) pattern: String,
    pub(super) weight: u64,
}

/// The state of a translation.
pub(super) struct Translator<'p> {
    pub(super) text: &'p str,
    pub(super) at: usize,
    pub(super) out: String,
    /// Where the last repeatable piece starts in the output, and its weight.
    last: Option<(usize, u64)>,
    /// Where the last repetition starts in the text.
    repeated: Option<usize>,
    groups: Vec<Open>,
    weight: u64,
    pub(super) names: Vec<String>,
}

/// An open group: where it starts in the output, and the weight before it.
struct Open {
    start: usize,
    weight: u64,
}

pub(super) type Step<T> = Result<T, String>;

const MAX_REPEAT: u32 = 1000;
const MAX_DEPTH: usize = 250;
/// Repetitions multiply; this is about what Go accepts.
const MAX_WEIGHT: u64 = 100_000;

/// Go's error text of a code and the offending piece.
pub(super) fn refuse<T>(what: &str, piece: &str) -> Step<T> {
    Err(format!("error parsing regexp: {what}: `{piece}`"))
}

/// Translates a pattern.
pub(super) fn translate(text: &str) -> Step<Translated> {
    let mut t = Translator {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 8),
        last: None,
        repeated: None,
        groups: Vec::new(),
        weight: 0,
        names: Vec::new(),
    };
    while t.at < text.len() {
        t.step()?;
    }
    if !t.groups.is_empty() {
        return refuse("missing closing )", text);
    }
    Ok(Translated { pattern: t.out, weight: t.weight + 1 })
}

// === impl Translator ===

impl<'p> Translator<'p> {
    pub(super) fn rest(&self) -> &'p str {
        &self.text[self.at..]
    }

    fn step(&mut self) -> Step<()> {
        let rest = self.rest();
        let repeated = self.repeated.take();
        let Some(c) = rest.chars().next() else { return Ok(()) };
        match c {
            '(' => return self.open(),
            ')' => return self.close(),
            '|' => {
                self.at += 1;
                self.out.push('|');
                self.last = None;
            }
            '*' | '+' | '?' => {
                let (start, len) = (self.at, lazy_len(rest, 1));
                return self.repeat(start, len, repeated, |_| 1);
            }
            '{' => {
                if let Some((len, most)) = counted(rest) {
                    if most.is_none() {
                        return refuse("invalid repeat count", &rest[..len]);
                    }
                    let (start, len) = (self.at, lazy_len(rest, len));
                    return self.repeat(start, len, repeated, |w| w.max(u64::from(most.unwrap_or(1))));
                }
                self.at += 1;
                self.piece("\\{", 1);
            }
            '[' => self.class()?,
            '.' => {
                self.at += 1;
                self.piece(".", 2);
            }
            '^' | '$' => {
                self.at += 1;
                self.piece(if c == '^' { "^" } else { "$" }, 1);
            }
            '\\' => self.escape()?,
            _ => {
                self.at += c.len_utf8();
                self.literal(u32::from(c));
            }
        }
        Ok(())
    }

    /// Writes a piece that a repetition may follow.
    pub(super) fn piece(&mut self, text: &str, weight: u64) {
        self.last = Some((self.out.len(), weight));
        self.weight += weight;
        self.out.push_str(text);
    }

    pub(super) fn literal(&mut self, rune: u32) {
        let c = char::from_u32(rune).unwrap_or('\u{FFFD}');
        let text = if c.is_alphanumeric() { c.to_string() } else { format!("\\x{{{rune:x}}}") };
        self.piece(&text, 1);
    }

    fn open(&mut self) -> Step<()> {
        if self.groups.len() >= MAX_DEPTH {
            return refuse("expression nests too deeply", self.text);
        }
        let start = self.out.len();
        let rest = self.rest();
        if rest.starts_with("(?") {
            if !self.perl_group()? {
                self.last = None;
                return Ok(());
            }
        } else {
            self.at += 1;
            self.out.push('(');
        }
        self.groups.push(Open { start, weight: self.weight });
        self.last = None;
        Ok(())
    }

    fn close(&mut self) -> Step<()> {
        let Some(open) = self.groups.pop() else { return refuse("unexpected )", self.text) };
        self.at += 1;
        self.out.push(')');
        self.last = Some((open.start, self.weight - open.weight + 1));
        Ok(())
    }

    fn repeat(
        &mut self,
        start: usize,
        len: usize,
        repeated: Option<usize>,
        factor: impl Fn(u64) -> u64,
    ) -> Step<()> {
        let piece = &self.text[start..start + len];
        if let Some(before) = repeated {
            return refuse("invalid nested repetition operator", &self.text[before..start + len]);
        }
        let Some((at, weight)) = self.last else {
            return refuse("missing argument to repetition operator", piece);
        };
        // Wrapping keeps assertions and multi-character pieces repeatable as a whole.
        self.out.insert_str(at, "(?:");
        self.out.push(')');
        self.out.push_str(piece);
        self.weight += weight * (factor(0).max(1) - 1) + 1;
        if self.weight > MAX_WEIGHT {
            return refuse("expression too large", self.text);
        }
        self.last = Some((at, weight * factor(0).max(1)));
        self.at = start + len;
        self.repeated = Some(start);
        Ok(())
    }
}

/// The length of a repetition with a following `?`.
fn lazy_len(rest: &str, len: usize) -> usize {
    len + usize::from(rest[len..].starts_with('?'))
}

/// The length of `{n}`, `{n,}` or `{n,m}`, and the larger count if it is allowed; nothing if
/// the braces are literal.
fn counted(rest: &str) -> Option<(usize, Option<u32>)> {
    let close = rest.find('}')?;
    let inside = &rest[1..close];
    let (low, high) = inside.split_once(',').map_or((inside, None), |(l, h)| (l, Some(h)));
    let number = |text: &str| {
        let plain = !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'));
        plain.then(|| text.parse::<u32>().unwrap_or(u32::MAX).min(MAX_REPEAT + 1))
    };
    let low = number(low)?;
    let high = match high {
        None => Some(low),
        Some("") => None,
        Some(text) => Some(number(text)?),
    };
    let most = high.unwrap_or(low);
    let allowed = low <= MAX_REPEAT && most <= MAX_REPEAT && high.is_none_or(|h| h >= low);
    Some((close + 1, allowed.then_some(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Step<String> {
        translate(text).map(|t| t.pattern)
    }

    #[test]
    fn repetitions_are_checked_as_in_go() {
        assert_eq!(
            pattern("a**"),
            Err("error parsing regexp: invalid nested repetition operator: `**`".into())
        );
        assert_eq!(
            pattern("*"),
            Err("error parsing regexp: missing argument to repetition operator: `*`".into())
        );
        assert_eq!(pattern("a{1001}"), Err("error parsing regexp: invalid repeat count: `{1001}`".into()));
        assert_eq!(pattern("a{,2}").as_deref(), Ok("a\\{\\x{2c}2\\x{7d}"));
        assert_eq!(pattern("a)"), Err("error parsing regexp: unexpected ): `a)`".into()));
    }

    #[test]
    fn weights_multiply() {
        assert!(translate("(a{100}){100}").is_ok_and(|t| t.weight >= 10_000));
        assert!(translate("((a{1000}){1000}){1000}").is_err());
    }
}
