//! Go's `net/url`: which bytes are escaped where, and the parser.

use std::net::Ipv6Addr;

use crate::text::{lossy, quote::quoted};

/// The part of a URL that bytes are escaped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    User,
    Host,
    Zone,
    Fragment,
}

/// A parsed URL.
#[derive(Debug, Default)]
pub(super) struct Url {
    pub(super) scheme: Vec<u8>,
    pub(super) opaque: Vec<u8>,
    /// The user information as it is written in a URL.
    pub(super) user: Option<Vec<u8>>,
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    /// The path as it is written.
    pub(super) raw_path: Vec<u8>,
    pub(super) query: Vec<u8>,
    pub(super) fragment: Vec<u8>,
}

type Parsed<T> = Result<T, String>;

fn must_escape(b: u8, part: Part) -> bool {
    match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']'
        | b'<' | b'>' | b'"'
            if matches!(part, Part::Host | Part::Zone) =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::Path => b == b'?',
            Part::User => matches!(b, b'@' | b'/' | b'?' | b':'),
            Part::Fragment => false,
            Part::Host | Part::Zone => true,
        },
        b'!' | b'(' | b')' | b'*' if part == Part::Fragment => false,
        _ => true,
    }
}

pub(super) fn escape(text: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        if must_escape(*b, part) {
            out.extend_from_slice(format!("%{b:02X}").as_bytes());
        } else {
            out.push(*b);
        }
    }
    out
}

pub(super) fn unescape(text: &[u8], part: Part) -> Parsed<Vec<u8>> {
    let host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'%' {
            if host && text[at] < 0x80 && must_escape(text[at], part) {
                return Err(format!("invalid character {} in host name", quoted(&lossy(&text[at..=at]))));
            }
            out.push(text[at]);
            at += 1;
            continue;
        }
        let shown = &text[at..text.len().min(at + 3)];
        let bad = || format!("invalid URL escape {}", quoted(&lossy(shown)));
        let [_, high, low] = shown else { return Err(bad()) };
        let digit = |b: u8| char::from(b).to_digit(16);
        let (high, low) = (digit(*high).ok_or_else(bad)?, digit(*low).ok_or_else(bad)?);
        let byte = u8::try_from(high * 16 + low).unwrap_or(0);
        if part == Part::Host && high < 8 && byte != b'%' {
            return Err(bad());
        }
        if part == Part::Zone && byte != b'%' && byte != b' ' && must_escape(byte, Part::Host) {
            return Err(bad());
        }
        out.push(byte);
        at += 3;
    }
    Ok(out)
}

fn cut(text: &[u8], mark: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| *b == mark) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Go's `url.Parse`.
pub(super) fn parse(text: &[u8]) -> Parsed<Url> {
    let (head, fragment) = cut(text, b'#');
    let wrap = |shown: &[u8], message: String| format!("parse {}: {message}", quoted(&lossy(shown)));
    let mut url = parse_head(head).map_err(|m| wrap(head, m))?;
    if let Some(fragment) = fragment {
        url.fragment = unescape(fragment, Part::Fragment).map_err(|m| wrap(text, m))?;
    }
    Ok(url)
}

fn parse_head(text: &[u8]) -> Parsed<Url> {
    if text.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let mut url = Url::default();
    if text == b"*" {
        url.path = text.to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = cut(rest, b'?');
    url.query = query.unwrap_or_default().to_vec();
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let has_authority = rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///"));
    let mut path = rest;
    if has_authority {
        let authority = &rest[2..];
        let end = authority.iter().position(|b| *b == b'/').unwrap_or(authority.len());
        path = &authority[end..];
        parse_authority(&mut url, &authority[..end])?;
    }
    url.path = unescape(path, Part::Path)?;
    url.raw_path = path.to_vec();
    Ok(url)
}

fn split_scheme(text: &[u8]) -> Parsed<(&[u8], &[u8])> {
    for (at, b) in text.iter().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn parse_authority(url: &mut Url, authority: &[u8]) -> Parsed<()> {
    let at = authority.iter().rposition(|b| *b == b'@');
    url.host = parse_host(&url.scheme, &authority[at.map_or(0, |at| at + 1)..])?;
    let Some(at) = at else { return Ok(()) };
    let info = &authority[..at];
    let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b);
    if !info.iter().all(allowed) {
        return Err("net/url: invalid userinfo".into());
    }
    let (name, password) = cut(info, b':');
    let mut user = escape(&unescape(name, Part::User)?, Part::User);
    if let Some(password) = password {
        user.push(b':');
        user.extend(escape(&unescape(password, Part::User)?, Part::User));
    }
    url.user = Some(user);
    Ok(())
}

fn check_port(port: &[u8]) -> Parsed<()> {
    match port {
        [] => Ok(()),
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(format!("invalid port {} after host", quoted(&lossy(port)))),
    }
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Parsed<Vec<u8>> {
    match host.iter().rposition(|b| *b == b'[') {
        Some(0) => return parse_bracketed(host),
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    if let Some(first) = host.iter().position(|b| *b == b':') {
        let last = host.iter().rposition(|b| *b == b':').unwrap_or(first);
        let strict = matches!(scheme, b"http" | b"https");
        check_port(&host[if strict { first } else { last }..])?;
    }
    unescape(host, Part::Host)
}

fn parse_bracketed(host: &[u8]) -> Parsed<Vec<u8>> {
    let Some(close) = host.iter().rposition(|b| *b == b']') else {
        return Err("missing ']' in host".into());
    };
    check_port(&host[close + 1..])?;
    let inside = &host[1..close];
    let zone = crate::text::find(inside, b"%25");
    let mut name = unescape(&inside[..zone.unwrap_or(inside.len())], Part::Host)?;
    let address = lossy(&name);
    if let Some(zone) = zone {
        name.extend(unescape(&inside[zone..], Part::Zone)?);
    }
    if address.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".into());
    }
    if address.parse::<Ipv6Addr>().is_err() {
        return Err(format!("invalid host: ParseAddr({}): unable to parse IP", quoted(&lossy(&name))));
    }
    Ok([b"[", name.as_slice(), b"]", &host[close + 1..]].concat())
}

// === impl Url ===

impl Url {
    /// The host without its port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let mut host = self.host.as_slice();
        if let Some(colon) = host.iter().rposition(|b| *b == b':')
            && check_port(&host[colon..]).is_ok()
        {
            host = &host[..colon];
        }
        host.strip_prefix(b"[").and_then(|h| h.strip_suffix(b"]")).unwrap_or(host)
    }

    /// Go's `URL.String`.
    pub(super) fn join(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.join_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(escape(&self.fragment, Part::Fragment));
        }
        out
    }

    fn join_hierarchy(&self, out: &mut Vec<u8>) {
        if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
            if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                out.extend_from_slice(b"//");
            }
            if let Some(user) = &self.user {
                out.extend_from_slice(user);
                out.push(b'@');
            }
            out.extend(escape(&self.host, Part::Host));
        }
        let path = if self.path == b"*" { self.path.clone() } else { escape(&self.path, Part::Path) };
        if !path.is_empty() && path[0] != b'/' && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}
