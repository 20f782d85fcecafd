//! Anchors, aliases, tags and directives.

use super::{
    scanner::{Scan, Scanner},
    tokens::{Lexeme, Mark},
};

fn is_alpha(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-')
}

// === impl Scanner ===

impl Scanner<'_> {
    pub(super) fn anchor(&mut self, anchor: bool) -> Scan<()> {
        let start = self.mark;
        self.skip();
        let mut name = Vec::new();
        while is_alpha(self.at(0)) {
            self.read(&mut name);
        }
        if name.is_empty() || !(self.is_blankz(0) || b"?:,]}%@`".contains(&self.at(0))) {
            return self.fail("did not find expected alphabetic or numeric character", start);
        }
        self.push(if anchor { Lexeme::Anchor(name) } else { Lexeme::Alias(name) }, start);
        Ok(())
    }

    pub(super) fn tag(&mut self) -> Scan<()> {
        let start = self.mark;
        let (handle, suffix) = if self.at(1) == b'<' {
            self.skip();
            self.skip();
            let suffix = self.tag_uri(&[], start)?;
            if self.at(0) != b'>' {
                return self.fail("did not find the expected '>'", start);
            }
            self.skip();
            (Vec::new(), suffix)
        } else {
            let handle = self.tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with(b"!") {
                let suffix = self.tag_uri(&[], start)?;
                (handle, suffix)
            } else {
                let suffix = self.tag_uri(&handle, start)?;
                if suffix.is_empty() { (Vec::new(), b"!".to_vec()) } else { (b"!".to_vec(), suffix) }
            }
        };
        if !self.is_blankz(0) {
            return self.fail("did not find expected whitespace or line break", start);
        }
        self.push(Lexeme::Tag { handle, suffix }, start);
        Ok(())
    }

    fn tag_handle(&mut self, directive: bool, start: Mark) -> Scan<Vec<u8>> {
        if self.at(0) != b'!' {
            return self.fail("did not find expected '!'", start);
        }
        let mut handle = Vec::new();
        self.read(&mut handle);
        while is_alpha(self.at(0)) {
            self.read(&mut handle);
        }
        if self.at(0) == b'!' {
            self.read(&mut handle);
        } else if directive && handle != b"!" {
            return self.fail("did not find expected '!'", start);
        }
        Ok(handle)
    }

    fn tag_uri(&mut self, head: &[u8], start: Mark) -> Scan<Vec<u8>> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut any = !head.is_empty();
        while is_alpha(self.at(0)) || (self.at(0) != 0 && b";/?:@&=+$,.!~*'()[]%".contains(&self.at(0))) {
            if self.at(0) == b'%' {
                let digit = |c: u8| char::from(c).to_digit(16);
                let (Some(high), Some(low)) = (digit(self.at(1)), digit(self.at(2))) else {
                    return self.fail("did not find URI escaped octet", start);
                };
                uri.push(u8::try_from(high * 16 + low).unwrap_or(0));
                (0..3).for_each(|_| self.skip());
            } else {
                self.read(&mut uri);
            }
            any = true;
        }
        if any { Ok(uri) } else { self.fail("did not find expected tag URI", start) }
    }

    pub(super) fn directive(&mut self) -> Scan<()> {
        let start = self.mark;
        self.skip();
        let mut name = Vec::new();
        while is_alpha(self.at(0)) {
            self.read(&mut name);
        }
        if name.is_empty() {
            return self.fail("could not find expected directive name", start);
        }
        if !self.is_blankz(0) {
            return self.fail("found unexpected non-alphabetical character", start);
        }
        let kind = match name.as_slice() {
            b"YAML" => {
                self.version(start)?;
                Lexeme::Directive(None)
            }
            b"TAG" => Lexeme::Directive(Some(self.tag_directive(start)?)),
            _ => return self.fail("found unknown directive name", start),
        };
        self.blanks();
        if self.at(0) == b'#' {
            while !self.is_breakz() {
                self.skip();
            }
        }
        if !self.is_breakz() {
            return self.fail("did not find expected comment or line break", start);
        }
        self.skip_line();
        self.push(kind, start);
        Ok(())
    }

    fn blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    fn version(&mut self, start: Mark) -> Scan<()> {
        self.blanks();
        self.version_number(start)?;
        if self.at(0) != b'.' {
            return self.fail("did not find expected digit or '.' character", start);
        }
        self.skip();
        self.version_number(start)
    }

    fn version_number(&mut self, start: Mark) -> Scan<()> {
        let mut digits = 0;
        while self.at(0).is_ascii_digit() {
            digits += 1;
            if digits > 2 {
                return self.fail("found extremely long version number", start);
            }
            self.skip();
        }
        if digits == 0 { self.fail("did not find expected version number", start) } else { Ok(()) }
    }

    fn tag_directive(&mut self, start: Mark) -> Scan<(Vec<u8>, Vec<u8>)> {
        self.blanks();
        let handle = self.tag_handle(true, start)?;
        if !self.is_blank(0) {
            return self.fail("did not find expected whitespace", start);
        }
        self.blanks();
        let prefix = self.tag_uri(&[], start)?;
        if !self.is_blankz(0) {
            return self.fail("did not find expected whitespace or line break", start);
        }
        Ok((handle, prefix))
    }
}
