//! What a browser keeps: during a login its secret, and then the token.
//!
//! No script sees either. The token goes to answers of the page alone, and with no request that another page makes.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use super::LONGEST;
use super::oidc::{Address, Secret};

/// Browsers take some 4 096 bytes in one cookie: a token is kept in parts.
const PART: usize = 3_700;
const PARTS: usize = LONGEST.div_ceil(PART);
/// How long a login may take, in seconds.
const LOGIN: u32 = 600;

/// Cookies of the page at this address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies<'a> {
    page: &'a Address,
}

// === impl Cookies ===

impl<'a> Cookies<'a> {
    pub(crate) fn of(page: &'a Address) -> Self {
        Self { page }
    }

    /// The token that a browser keeps.
    pub(crate) fn token(&self, headers: &HeaderMap) -> Option<String> {
        let token: String = (0..PARTS).map_while(|part| cookie(headers, &self.of_token(part))).collect();
        (!token.is_empty() && token.len() <= LONGEST).then_some(token)
    }

    /// The secret of the login that a browser is in.
    pub(crate) fn secret(&self, headers: &HeaderMap) -> Option<Secret> {
        Secret::of(cookie(headers, &self.of_login())?)
    }

    /// Has a browser keep a secret until it comes back from the issuer.
    pub(crate) fn begin(&self, secret: &Secret) -> Vec<HeaderValue> {
        self.login(&secret.text(), LOGIN).into_iter().collect()
    }

    /// Has a browser keep a token, until it is closed, and forget the login; without a token both are forgotten.
    pub(crate) fn end(&self, token: &str) -> Vec<HeaderValue> {
        let text =
            |part: usize| token.get(part * PART..token.len().min((part + 1) * PART)).unwrap_or_default();
        let path = format!("{}api/", self.page.path());
        let parts = (0..PARTS).filter_map(|part| {
            let (name, text) = (self.of_token(part), text(part));
            let over = if text.is_empty() { "; Max-Age=0" } else { "" };
            made(format!("{name}={text}; Path={path}; HttpOnly; SameSite=Strict{over}{}", self.secure()))
        });
        parts.chain(self.login("", 0)).collect()
    }

    /// It comes back with a browser that another server sends here.
    fn login(&self, text: &str, seconds: u32) -> Option<HeaderValue> {
        let (name, secure) = (self.of_login(), self.secure());
        made(format!("{name}={text}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}"))
    }

    fn secure(&self) -> &'static str {
        if self.page.is_encrypted() { "; Secure" } else { "" }
    }

    /// A browser takes a cookie of this name from this very host alone.
    fn of_login(&self) -> String {
        format!("{}sluice-login", if self.page.is_encrypted() { "__Host-" } else { "" })
    }

    fn of_token(&self, part: usize) -> String {
        format!("{}sluice-token-{part}", if self.page.is_encrypted() { "__Secure-" } else { "" })
    }
}

fn made(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::oidc::Oidc;
    use super::super::oidc::OidcSettings;
    use super::*;

    fn oidc(page: &str) -> Oidc {
        Oidc::new(OidcSettings {
            page: Some(page.to_owned()),
            ..OidcSettings::new("https://id.example", "a")
        })
        .unwrap()
    }

    /// What a browser sends back.
    fn sent(set: &[HeaderValue]) -> HeaderMap {
        let pairs = set.iter().map(|one| one.to_str().unwrap().split(';').next().unwrap().to_owned());
        HeaderMap::from_iter([(COOKIE, pairs.collect::<Vec<_>>().join("; ").parse().unwrap())])
    }

    #[test]
    fn a_token_of_any_length_comes_back_as_it_was() {
        let oidc = oidc("https://inspect.example/ui/");
        let cookies = Cookies::of(oidc.page().unwrap());
        for length in [1, PART - 1, PART, PART + 1, 2 * PART, LONGEST] {
            let token: String = (0..length).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
            let set = cookies.end(&token);
            assert_eq!(cookies.token(&sent(&set)).as_deref(), Some(token.as_str()), "{length}");
            assert!(set.iter().all(|one| one.len() < 4_096));
        }
        assert_eq!((cookies.token(&sent(&cookies.end(""))), cookies.token(&HeaderMap::new())), (None, None));
    }

    #[test]
    fn no_script_and_no_other_page_has_a_token() {
        for (page, path, name, secure) in [
            ("https://inspect.example/ui/", "Path=/ui/api/", "__Secure-sluice-token-0=", true),
            ("https://shared.example/sluice/ui/", "Path=/sluice/ui/api/", "__Secure-sluice-token-0=", true),
            ("http://127.0.0.1:8090/ui/", "Path=/ui/api/", "sluice-token-0=", false),
        ] {
            let oidc = oidc(page);
            let set = Cookies::of(oidc.page().unwrap()).end("token");
            let first = set[0].to_str().unwrap();
            assert!(first.starts_with(name) && first.contains(path), "{first}");
            assert!(first.contains("HttpOnly") && first.contains("SameSite=Strict"), "{first}");
            assert_eq!(set.iter().all(|one| one.to_str().unwrap().contains("; Secure")), secure);
        }
    }
}
