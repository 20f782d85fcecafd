//! The login of a browser: authorization code flow with PKCE. What a login needs until it comes back is one random value that the
//! browser keeps in a cookie: state, nonce and verifier are digests of it, so nothing is kept here, and any replica completes what
//! another one began.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::provider::Found;
use super::web::Form;
use super::{Caller, LONGEST, Oidc, Refused};

/// Bytes of the random value.
const BYTES: usize = 32;
/// The longest code that is sent to the issuer.
const LONGEST_CODE: usize = 4_096;

// D-1215: nothing is kept between the two halves of a login.
/// What a login in progress is known by.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret([u8; BYTES]);

/// The answer of the issuer.
#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    error: Option<String>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

// === impl Secret ===

impl Secret {
    /// A new one.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// As it stands in a cookie.
    pub(crate) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn of(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// Whether an answer of the issuer belongs to the login of this browser.
    pub(crate) fn is_of(&self, state: &str) -> bool {
        self.digest("state").as_bytes().ct_eq(state.as_bytes()).into()
    }

    fn digest(&self, what: &str) -> String {
        digest(&[what.as_bytes(), &self.0].concat())
    }
}

fn digest(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

fn fields(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

// === impl Oidc ===

impl Oidc {
    /// Where a browser logs in.
    pub(crate) async fn begin(&self, secret: &Secret) -> Result<String, Refused> {
        let found = self.provider.usable().await.map_err(Refused::Away)?;
        let place = found.authorization.as_ref().ok_or_else(|| lacks("authorization_endpoint"))?.text();
        let query = fields(&[
            ("response_type", "code"),
            ("client_id", &self.settings.client),
            ("redirect_uri", &self.callback()),
            ("scope", &self.settings.scopes.join(" ")),
            ("state", &secret.digest("state")),
            ("nonce", &secret.digest("nonce")),
            ("code_challenge", &digest(secret.digest("verifier").as_bytes())),
            ("code_challenge_method", "S256"),
        ]);
        Ok(format!("{place}{}{query}", if place.contains('?') { '&' } else { '?' }))
    }

    /// The token of who comes back with this code.
    pub(crate) async fn complete(
        &self,
        secret: &Secret,
        code: &str,
        peer: Option<IpAddr>,
    ) -> Result<(String, Caller), Refused> {
        if code.is_empty() || code.len() > LONGEST_CODE {
            return Err(Refused::Token("the issuer gave no code".to_owned()));
        }
        let _turn = self.turns.take(peer).await.ok_or(Refused::Busy)?;
        let found = self.provider.usable().await.map_err(Refused::Away)?;
        let token = self.exchange(&found, secret, code).await?;
        let claims = self.claims(&token).await?;
        let nonce = claims.text("nonce").unwrap_or_default();
        if !bool::from(nonce.as_bytes().ct_eq(secret.digest("nonce").as_bytes())) {
            return Err(Refused::Token("it belongs to another login (nonce)".to_owned()));
        }
        // Where it says for whom it was made, that is us.
        if claims.text("azp").is_some_and(|party| party != self.settings.client) {
            return Err(Refused::Token("it was made for another client (azp)".to_owned()));
        }
        let caller = self.caller(&claims)?;
        Ok((token, caller))
    }

    async fn exchange(&self, found: &Found, secret: &Secret, code: &str) -> Result<String, Refused> {
        let place = found.token.as_ref().ok_or_else(|| lacks("token_endpoint"))?.text();
        let (callback, verifier, client) =
            (self.callback(), secret.digest("verifier"), &self.settings.client);
        let mut sent = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &callback),
            ("client_id", client),
            ("code_verifier", &verifier),
        ];
        let password = self.password()?;
        let mut authorization = None;
        match &password {
            Some(password) if found.by_header => {
                let both = STANDARD.encode(format!("{}:{}", encoded(client), encoded(password)));
                let header = HeaderValue::from_str(&format!("Basic {both}"));
                let mut header =
                    header.map_err(|_| Refused::Away("--oidc-client-secret-file: it is no secret".into()))?;
                header.set_sensitive(true);
                authorization = Some(header);
            }
            Some(password) => sent.push(("client_secret", password)),
            None => {}
        }
        let form = Form { fields: fields(&sent), authorization };
        let (status, tokens): (StatusCode, Tokens) =
            self.provider.web.post(place, form).await.map_err(Refused::Away)?;
        match tokens.id_token {
            Some(token) if status == StatusCode::OK && token.len() <= LONGEST => Ok(token),
            Some(_) if status == StatusCode::OK => {
                Err(Refused::Token("it is too long for a browser; have the issuer say less in it".to_owned()))
            }
            _ => Err(Refused::Token(format!(
                "the issuer gave none ({status}{})",
                shown(tokens.error.as_deref())
            ))),
        }
    }

    fn password(&self) -> Result<Option<String>, Refused> {
        let Some(file) = &self.settings.secret_file else { return Ok(None) };
        let text = std::fs::read_to_string(file).map_err(|error| {
            Refused::Away(format!("--oidc-client-secret-file {}: {error}", file.display()))
        })?;
        Ok(Some(text.trim().to_owned()))
    }

    /// Where the issuer sends browsers.
    fn callback(&self) -> String {
        let page = self.page().map(|page| page.text()).unwrap_or_default();
        format!("{page}callback")
    }
}

fn lacks(what: &str) -> Refused {
    Refused::Away(format!("the issuer says no {what}"))
}

/// A code of an error, as it may be shown: a word, and no text that somebody could have written for a reader.
pub(crate) fn shown(error: Option<&str>) -> String {
    let is_word =
        |word: &&str| word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    error.filter(is_word).map(|word| format!(", {word}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_derived_of_a_secret_differs_and_is_of_it_alone() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_eq!(Secret::of(&one.text()).unwrap(), one);
        assert!(one.is_of(&one.digest("state")) && !one.is_of(&other.digest("state")) && !one.is_of(""));
        assert!(!one.is_of(&one.digest("nonce")) && one.digest("verifier") != one.digest("nonce"));
        assert!(one.digest("verifier").len() >= 43, "as long as PKCE wants");
        for wrong in ["", "a", "????", &one.text()[1..]] {
            assert!(Secret::of(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "Secret");
    }

    #[test]
    fn nothing_but_a_word_of_the_issuers_error_is_shown() {
        assert_eq!(shown(Some("invalid_grant")), ", invalid_grant");
        assert_eq!(shown(Some("Call 555 and tell your password")), "");
        assert_eq!(shown(None), "");
    }

    #[test]
    fn a_form_holds_any_text() {
        assert_eq!(fields(&[("a", "x y&z=1"), ("b", "ü")]), "a=x%20y%26z%3D1&b=%C3%BC");
    }
}
