//! BurntSushi's TOML decoder: tables, keys, and where they go.

use super::{
    toml_keys::{is_bare, joined},
    toml_tree::{Item, Table, descend, table_value},
};
use crate::{
    exec::{Cx, Fail},
    funcs::CallResult,
    text::{classes::is_print, decode_rune, lossy, quote::quoted, runes},
};

/// The state of a decoding.
pub(super) struct Reader<'c, 't, 'a> {
    pub(super) cx: &'c mut Cx<'a>,
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    context: Vec<Vec<u8>>,
    key: Vec<u8>,
    /// The first character that is not allowed, and Go's complaint about it.
    refused: Option<(usize, String)>,
}

pub(super) type Read<T> = Result<T, Fail>;

/// Reads a whole text into a map.
pub(super) fn decode<'a>(cx: &mut Cx<'a>, text: &[u8]) -> CallResult<'a> {
    let text = text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(text);
    if text[..text.len().min(6)].contains(&0) {
        let problem = "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8";
        return Err(format!("toml: line 1: {problem}").into());
    }
    let mut reader = Reader { cx, text, at: 0, context: Vec::new(), key: Vec::new(), refused: None };
    reader.check_characters()?;
    let root = reader.document()?;
    if reader.refused.is_some() {
        return reader.fail("");
    }
    table_value(cx, root, 0)
}

// === impl Reader ===

impl Reader<'_, '_, '_> {
    fn check_characters(&mut self) -> Read<()> {
        self.cx.step(self.text.len() as u64 / 16)?;
        for (at, rune, width) in runes(self.text) {
            let message = match rune {
                0xFFFD if width == 1 => format!("invalid UTF-8 byte: 0x{:02x}", self.text[at]),
                13 if self.text.get(at + 1) == Some(&b'\n') => continue,
                0..=8 | 11..=31 | 127 => {
                    format!("TOML files cannot contain control characters: '0x{rune:02x}'")
                }
                _ => continue,
            };
            self.refused = Some((at, message));
            break;
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn accept(&mut self, text: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// An error at the current place, with the last key as Go shows it.
    pub(super) fn fail<T>(&self, message: &str) -> Read<T> {
        self.fail_lines_up(message, 0)
    }

    /// An error that is reported so many lines further up.
    pub(super) fn fail_lines_up<T>(&self, message: &str, up: usize) -> Read<T> {
        // Go meets the characters one by one, so what is wrong before them comes first.
        let (at, message, up) = match &self.refused {
            Some((refused, complaint)) if self.at >= *refused => (*refused, complaint.as_str(), 0),
            _ => (self.at, message, up),
        };
        let line = 1 + self.text[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count();
        let line = line - up.min(line);
        let mut last = joined(&self.context);
        if !self.key.is_empty() {
            if !last.is_empty() {
                last.push(b'.');
            }
            last.extend_from_slice(&self.key);
        }
        if last.is_empty() {
            return Err(format!("toml: line {line}: {message}").into());
        }
        Err(format!("toml: line {line} (last key {}): {message}", quoted(&lossy(&last))).into())
    }

    /// Fails if a refused character has been read, with so many read ahead.
    pub(super) fn check_refused(&self, ahead: usize) -> Read<()> {
        if self.refused.as_ref().is_some_and(|(refused, _)| self.at + ahead > *refused) {
            return self.fail("");
        }
        Ok(())
    }

    /// The character at hand as Go's `%q` shows it; the end is a rune of its own.
    pub(super) fn shown(&self) -> String {
        if self.at >= self.text.len() {
            return r"'\x00'".to_owned();
        }
        let (rune, _) = decode_rune(&self.text[self.at..]);
        crate::text::lossy_owned(crate::text::quote::quote_rune(rune, false))
    }

    /// The character in quotes as `%c` has it.
    pub(super) fn shown_plain(&self) -> String {
        match self.peek() {
            None => "end of file".to_owned(),
            Some(_) => {
                let (rune, _) = decode_rune(&self.text[self.at..]);
                let c = char::from_u32(rune).filter(|c| is_print(*c) || *c == '\n').unwrap_or('\u{FFFD}');
                format!("'{c}'")
            }
        }
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|b| b != b'\n') {
            self.at += 1;
        }
    }

    fn document(&mut self) -> Read<Table> {
        let mut root = Table::default();
        let mut header: Vec<Vec<u8>> = Vec::new();
        loop {
            self.cx.step(1)?;
            match self.peek() {
                None => return Ok(root),
                Some(b' ' | b'\t' | b'\r' | b'\n') => {
                    self.at += 1;
                    continue;
                }
                Some(b'#') => {
                    self.comment();
                    continue;
                }
                Some(b'[') => header = self.header(&mut root)?,
                Some(_) => {
                    self.context.clone_from(&header);
                    match descend(&mut root, &header) {
                        Some(table) => self.pair(table, header.len()).map(drop)?,
                        None => return Ok(root),
                    }
                    self.context.clone_from(&header);
                }
            }
            self.line_end()?;
        }
    }

    fn line_end(&mut self) -> Read<()> {
        self.blanks();
        match self.peek() {
            None | Some(b'\n') => Ok(()),
            Some(b'\r') => {
                self.at += 1;
                Ok(())
            }
            Some(b'#') => {
                self.comment();
                Ok(())
            }
            Some(_) => {
                let shown = self.shown();
                self.fail(&format!(
                    "expected a top-level item to end with a newline, comment, or EOF, but got {shown} instead"
                ))
            }
        }
    }

    fn header(&mut self, root: &mut Table) -> Read<Vec<Vec<u8>>> {
        self.at += 1;
        let array = self.accept(b"[");
        let mut key = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b']') | None => {
                    return self.fail("unexpected end of table name (table names cannot be empty)");
                }
                Some(b'.') => return self.fail("unexpected table separator (table names cannot be empty)"),
                _ => key.push(self.key_part()?),
            }
            self.blanks();
            if self.accept(b".") {
                continue;
            }
            if !self.accept(b"]") {
                return self.unexpected("expected '.' or ']' to end table name");
            }
            break;
        }
        if array && !self.accept(b"]") {
            return self.unexpected("expected end of table array name delimiter ']'");
        }
        self.key.clear();
        self.cx.may_be_deep(key.len(), "TOML")?;
        self.define(root, &key, array)?;
        self.context.clone_from(&key);
        Ok(key)
    }

    /// Go has read the character that it complains about, and is on the next line if it ends one.
    fn unexpected<T>(&mut self, expected: &str) -> Read<T> {
        let shown = self.shown();
        self.accept(b"\n");
        self.fail(&format!("{expected}, but got {shown} instead"))
    }

    /// Makes the table that a header names.
    fn define(&mut self, root: &mut Table, key: &[Vec<u8>], array: bool) -> Read<()> {
        let Some((last, parents)) = key.split_last() else { return Ok(()) };
        let mut table = root;
        for (i, parent) in parents.iter().enumerate() {
            let fresh = || Item::Table(Table { implicit: true, ..Table::default() });
            let item = table.entries.entry(parent.clone()).or_insert_with(fresh);
            table = match item {
                Item::Table(inner) => inner,
                Item::Tables(all) if !all.is_empty() => match all.last_mut() {
                    Some(inner) => inner,
                    None => return Ok(()),
                },
                _ => {
                    let name = lossy(&joined(&key[..=i]));
                    return self.fail(&format!("Key '{name}' was already created as a hash."));
                }
            };
        }
        self.context = parents.to_vec();
        let name = lossy(&joined(key));
        if array {
            match table.entries.entry(last.clone()).or_insert_with(|| Item::Tables(Vec::new())) {
                Item::Tables(all) => all.push(Table::default()),
                _ => {
                    let message = format!("Key '{name}' was already created and cannot be used as an array.");
                    return self.fail(&message);
                }
            }
            return Ok(());
        }
        match table.entries.get_mut(last) {
            None => {
                table.entries.insert(last.clone(), Item::Table(Table::default()));
            }
            Some(Item::Table(known)) if known.implicit => known.implicit = false,
            Some(_) => return self.fail(&format!("Key '{name}' has already been defined.")),
        }
        Ok(())
    }

    /// A bare or quoted part of a key.
    fn key_part(&mut self) -> Read<Vec<u8>> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.basic_string()
            }
            Some(b'\'') => {
                self.at += 1;
                self.raw_string()
            }
            _ => {
                let start = self.at;
                while self.peek().is_some_and(is_bare) {
                    self.at += 1;
                }
                Ok(self.text[start..self.at].to_vec())
            }
        }
    }

    fn keys(&mut self) -> Read<Vec<Vec<u8>>> {
        self.blanks();
        match self.peek() {
            Some(b'=') | None => return self.fail("unexpected '=': key name appears blank"),
            Some(b'.') => return self.fail("unexpected '.': keys cannot start with a '.'"),
            _ => {}
        }
        let mut key = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'=') | None => return self.fail("unexpected '='"),
                Some(b'.') => return self.fail("unexpected '.'"),
                _ => key.push(self.key_part()?),
            }
            self.blanks();
            if self.accept(b".") {
                continue;
            }
            if self.accept(b"=") {
                return Ok(key);
            }
            if self.at >= self.text.len() {
                return self.fail("unexpected EOF; expected key separator '='");
            }
            let shown = self.shown();
            return self.fail(&format!("expected '.' or '=', but got {shown} instead"));
        }
    }

    /// The key that errors name.
    pub(super) fn set_key(&mut self, key: Vec<u8>) {
        self.key = key;
    }

    /// `key = value` into a table that is so deep; answers the key.
    pub(super) fn pair(&mut self, table: &mut Table, depth: usize) -> Read<Vec<u8>> {
        let path = self.keys()?;
        let Some((last, parents)) = path.split_last() else { return Ok(Vec::new()) };
        let depth = depth + parents.len();
        self.cx.may_be_deep(depth, "TOML")?;
        let outer = self.context.len();
        self.key.clone_from(last);
        let mut at = table;
        for parent in parents {
            self.context.push(parent.clone());
            let fresh = || Item::Table(Table::default());
            at = match at.entries.entry(parent.clone()).or_insert_with(fresh) {
                Item::Table(inner) => inner,
                _ => {
                    let name = lossy(&joined(&self.context));
                    return self.fail(&format!("Key '{name}' has already been defined."));
                }
            };
            at.implicit = false;
        }
        let value = self.value(depth)?;
        self.key.clone_from(last);
        // Go reads one character more to see where a number or a word ends.
        let ahead = matches!(value, Item::Int(_) | Item::Float(_) | Item::Bool(_) | Item::Time(_));
        self.check_refused(usize::from(ahead))?;
        if at.entries.contains_key(last) {
            let name = [self.context.as_slice(), std::slice::from_ref(last)].concat();
            let name = lossy(&joined(&name));
            return self.fail(&format!("Key '{name}' has already been defined."));
        }
        at.entries.insert(last.clone(), value);
        self.context.truncate(outer);
        Ok(std::mem::take(&mut self.key))
    }

    /// Enters an inline table's context and answers what to restore.
    pub(super) fn enter(&mut self) -> (usize, Vec<u8>) {
        let key = std::mem::take(&mut self.key);
        let outer = self.context.len();
        self.context.push(key.clone());
        (outer, key)
    }

    pub(super) fn leave(&mut self, (outer, key): (usize, Vec<u8>)) {
        self.context.truncate(outer);
        self.key = key;
    }
}
