//! Upper, lower, title, snake, camel and kebab case.

use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    text::{
        RUNE_ERROR,
        classes::{is_letter, is_space, to_lower, to_title, to_upper},
        map_runes, push_rune, runes,
    },
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("upper(text string) string", upper, "In upper case."),
    ("lower(text string) string", lower, "In lower case."),
    ("title(text string) string", title, "Every word's first letter in title case."),
    ("untitle(text string) string", untitle, "Every word's first letter in lower case."),
    (
        "swapcase(text string) string",
        swapcase,
        "Upper case for lower case and the reverse; words start in title case.",
    ),
    ("snakecase(text string) string", snakecase, "From camel case to `snake_case`."),
    ("kebabcase(text string) string", kebabcase, "From camel case to `kebab-case`."),
    ("camelcase(text string) string", camelcase, "From snake case to `CamelCase`."),
];

fn upper<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let out = map_runes(args[0].bytes(), to_upper);
    cx.string(out)
}

fn lower<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let out = map_runes(args[0].bytes(), to_lower);
    cx.string(out)
}

/// Go's `strings.Title`: letters, digits, underscores and everything non-ASCII that is no
/// space belong to a word.
fn title<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let separates = |c: char| match c {
        '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => false,
        c if c.is_ascii() => true,
        c => !is_letter(c) && is_space(c),
    };
    let after_separator = std::cell::Cell::new(true);
    let out = map_runes(args[0].bytes(), |c| {
        let first = after_separator.replace(separates(c));
        if first { to_title(c) } else { c }
    });
    cx.string(out)
}

fn untitle<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let first = std::cell::Cell::new(true);
    let out = map_runes(args[0].bytes(), |c| {
        if is_space(c) {
            first.set(true);
            return c;
        }
        if first.replace(false) { to_lower(c) } else { c }
    });
    cx.string(out)
}

fn swapcase<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let after_space = std::cell::Cell::new(true);
    let out = map_runes(args[0].bytes(), |c| {
        if c.is_uppercase() || matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ') {
            after_space.set(false);
            to_lower(c)
        } else if c.is_lowercase() {
            if after_space.replace(false) { to_title(c) } else { to_upper(c) }
        } else {
            after_space.set(is_space(c));
            c
        }
    });
    cx.string(out)
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || is_space(c)
}

/// A letter, but none of Chinese writing.
fn is_alphabet(c: char) -> bool {
    is_letter(c) && !matches!(u32::from(c), 0x3400..=0x4D85 | 0x4E00..=0x9FCC | 0x20000..=0x2B81D)
}

fn is_punct(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
        || matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}'
            | '\u{2030}'..='\u{205E}' | '、'..='〃' | '〈'..='】')
}

/// Go's `strings.ToPascalCase` of xstrings.
fn camelcase<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text: Vec<char> = args[0].str_chars();
    let mut out = String::with_capacity(text.len());
    let lead = text.iter().position(|c| !is_connector(*c));
    let Some(lead) = lead else {
        // Nothing but connectors: the last one is written twice.
        out.extend(text.iter().chain(text.last()));
        return cx.string(out);
    };
    out.extend(&text[..lead]);
    let mut run_of_upper = text[lead].is_uppercase();
    let mut current = to_upper(text[lead]);
    for &next in &text[lead + 1..] {
        let before = current;
        current = next;
        if is_connector(current) && is_connector(before) {
            out.push(before);
            continue;
        }
        if is_connector(before) {
            run_of_upper = current.is_uppercase();
            current = to_upper(current);
        } else {
            if run_of_upper {
                if current.is_uppercase() {
                    current = to_lower(current);
                } else {
                    run_of_upper = false;
                }
            }
            out.push(before);
        }
    }
    out.push(current);
    cx.string(out)
}

fn snakecase<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[0].bytes().len() as u64 / 2)?;
    let out = camel_to_lower(args[0].bytes(), '_');
    cx.string(out)
}

fn kebabcase<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[0].bytes().len() as u64 / 2)?;
    let out = camel_to_lower(args[0].bytes(), '-');
    cx.string(out)
}

/// The classes that words of camel case are cut by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

/// The runes of a text with a reading position.
struct Words {
    text: Vec<(char, bool)>,
    at: usize,
}

impl Words {
    fn new(bytes: &[u8]) -> Self {
        let rune = |(_, r, w)| (char::from_u32(r).unwrap_or('\u{FFFD}'), !(r == RUNE_ERROR && w <= 3));
        Self { text: runes(bytes).map(rune).collect(), at: 0 }
    }

    fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Extends the word while the class holds; invalid runes belong to any word.
    fn take_while(&mut self, class: impl Fn(char) -> bool) {
        while self.text.get(self.at).is_some_and(|(c, valid)| !valid || class(*c)) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> (Word, String) {
        let start = self.at;
        self.at += self.text[start..].iter().take_while(|(_, valid)| !valid).count();
        let Some(&(c, _)) = self.text.get(self.at) else {
            return (Word::Invalid, self.word(start));
        };
        self.at += 1;
        let class = if is_connector(c) {
            self.take_while(is_connector);
            Word::Connector
        } else if is_punct(c) {
            self.take_while(is_punct);
            Word::Punct
        } else if c.is_uppercase() {
            self.upper_word();
            Word::Upper
        } else if is_alphabet(c) {
            self.take_while(|c| is_alphabet(c) && !c.is_uppercase());
            Word::Alphabet
        } else if c.is_numeric() {
            self.take_while(char::is_numeric);
            Word::Number
        } else {
            self.take_while(|c| !(is_connector(c) || is_alphabet(c) || c.is_numeric() || is_punct(c)));
            Word::Other
        };
        (class, self.word(start))
    }

    /// `HTTPServer` is `HTTP` and `Server`; `Server` is one word.
    fn upper_word(&mut self) {
        match self.text.get(self.at) {
            Some((c, _)) if c.is_uppercase() => {
                self.take_while(char::is_uppercase);
                if self.text.get(self.at).is_some_and(|(c, _)| is_alphabet(*c)) {
                    self.at -= 1;
                }
            }
            Some((c, _)) if is_alphabet(*c) => self.take_while(|c| is_alphabet(c) && !c.is_uppercase()),
            _ => {}
        }
    }

    fn word(&self, start: usize) -> String {
        self.text[start..self.at].iter().map(|(c, _)| *c).collect()
    }

    fn next_or_end(&mut self) -> (Word, String) {
        if self.is_done() { (Word::Invalid, String::new()) } else { self.next() }
    }
}

fn push_lower(out: &mut String, class: Word, word: &str, connector: char) {
    if !matches!(class, Word::Upper | Word::Connector) {
        out.push_str(word);
        return;
    }
    out.extend(word.chars().map(|c| match c {
        c if is_connector(c) => connector,
        c if c.is_uppercase() => to_lower(c),
        c => c,
    }));
}

fn camel_to_lower(bytes: &[u8], connector: char) -> Vec<u8> {
    let mut words = Words::new(bytes);
    let mut out = String::with_capacity(bytes.len() + 8);
    let (mut class, mut word) = words.next_or_end();
    while !words.is_done() {
        if class != Word::Connector {
            push_lower(&mut out, class, &word, connector);
        }
        let (before, last) = (class, word);
        (class, word) = words.next_or_end();
        match before {
            Word::Number => (class, word) = after_number(&mut words, &mut out, (class, word), connector),
            Word::Connector => push_lower(&mut out, before, &last, connector),
            Word::Punct => {}
            _ => (class, word) = after_word(&mut words, &mut out, (class, word), connector),
        }
    }
    push_lower(&mut out, class, &word, connector);
    out.into_bytes()
}

fn glues(class: Word) -> bool {
    matches!(class, Word::Alphabet | Word::Number)
}

fn after_number(
    words: &mut Words,
    out: &mut String,
    next: (Word, String),
    connector: char,
) -> (Word, String) {
    let mut next = next;
    while glues(next.0) {
        push_lower(out, next.0, &next.1, connector);
        next = words.next_or_end();
    }
    if !matches!(next.0, Word::Invalid | Word::Punct | Word::Connector) {
        out.push(connector);
    }
    next
}

fn after_word(words: &mut Words, out: &mut String, next: (Word, String), connector: char) -> (Word, String) {
    if next.0 != Word::Number {
        if !matches!(next.0, Word::Connector | Word::Punct) {
            out.push(connector);
        }
        return next;
    }
    if words.is_done() {
        return next;
    }
    let number = next.1;
    let mut next = words.next_or_end();
    if next.0 != Word::Alphabet {
        push_lower(out, Word::Number, &number, connector);
        if !matches!(next.0, Word::Connector | Word::Punct) {
            out.push(connector);
        }
        return next;
    }
    out.push(connector);
    push_lower(out, Word::Number, &number, connector);
    while glues(next.0) {
        push_lower(out, next.0, &next.1, connector);
        next = words.next_or_end();
    }
    if !matches!(next.0, Word::Invalid | Word::Connector | Word::Punct) {
        out.push(connector);
    }
    next
}

// === impl Value ===

impl Value<'_> {
    fn str_chars(&self) -> Vec<char> {
        let mut out = Vec::new();
        for (_, rune, _) in runes(self.bytes()) {
            push_rune(&mut out, rune);
        }
        crate::text::lossy_owned(out).chars().collect()
    }
}
