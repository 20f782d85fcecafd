//! Who may ask.

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use tonic::Status;

pub(crate) use self::oidc::{Caller, LONGEST, Refused, Secret, shown};
pub use self::oidc::{Oidc, OidcSettings};
pub use self::reviews::Reviews;
use self::reviews::Unsure;
pub use self::token_file::TokenFile;

mod cookies;
mod jwt;
mod oidc;
mod reviews;
mod token_file;
mod turns;

pub(crate) use self::cookies::Cookies;

/// What a token is known by here: it is never kept, and never logged.
pub(crate) type Hash = [u8; 32];

/// How callers prove that they may ask.
#[derive(Debug)]
pub enum Authentication {
    /// Whoever reaches the server may ask.
    None,
    /// By a token that stands in a file.
    TokenFile(TokenFile),
    /// By a token that the management cluster knows.
    Kubernetes(Reviews),
    /// By a token of an issuer of OpenID Connect.
    Oidc(Arc<Oidc>),
}

// === impl Authentication ===

impl Authentication {
    /// Who logs browsers in, where they may.
    pub(crate) fn page(&self) -> Option<&Arc<Oidc>> {
        match self {
            Self::Oidc(oidc) => oidc.page().is_some().then_some(oidc),
            _ => None,
        }
    }

    /// Whether this peer may ask with what it says of itself, and who it is, where that is known. A browser that asks for answers of
    /// the page may show its token in cookies.
    pub(crate) async fn check(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        is_of_page: bool,
    ) -> Result<Option<Caller>, Status> {
        let known = match self {
            Self::None => return Ok(None),
            Self::Oidc(oidc) => return by_issuer(oidc, headers, is_of_page).await.map(Some),
            Self::TokenFile(file) => file.holds(&hash(bearer(headers)?)).map_err(Unsure::Away),
            Self::Kubernetes(reviews) => reviews.knows(bearer(headers)?, peer).await,
        };
        match known {
            Ok(true) => Ok(None),
            Ok(false) => Err(Status::unauthenticated(match self {
                Self::Kubernetes(_) => "the management cluster does not know this token; it may have expired",
                _ => "this token is not one that counts; it may have been replaced",
            })),
            Err(Unsure::Away(why)) => {
                Err(Status::unavailable(format!("nobody can tell whether this token counts: {why}")))
            }
            Err(Unsure::Busy) => Err(Status::resource_exhausted(
                "too many unknown tokens of this address are being asked about; ask again",
            )),
        }
    }
}

async fn by_issuer(oidc: &Oidc, headers: &HeaderMap, is_of_page: bool) -> Result<Caller, Status> {
    let cookies = oidc.page().filter(|_| is_of_page && !headers.contains_key(AUTHORIZATION)).map(Cookies::of);
    let checked = match cookies.and_then(|cookies| cookies.token(headers)) {
        Some(token) => oidc.check(&token).await,
        None => oidc.check(bearer(headers)?).await,
    };
    checked.map_err(Status::from)
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Token(why) => Self::unauthenticated(format!("this token does not count: {why}")),
            Refused::Caller(why) => Self::permission_denied(why),
            Refused::Away(why) => {
                Self::unavailable(format!("nobody can tell whether this token counts: {why}"))
            }
            Refused::Busy => {
                Self::resource_exhausted("too many logins of this address are being completed; log in again")
            }
        }
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Status> {
    let Some(given) = headers.get(AUTHORIZATION) else {
        return Err(Status::unauthenticated("a token is needed: `authorization: Bearer <token>`"));
    };
    let token = given.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
    });
    token.ok_or_else(|| Status::unauthenticated("the header must read `authorization: Bearer <token>`"))
}

pub(crate) fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_token_is_read_from_the_header_and_from_nothing_else() {
        let of = |text: &str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, text.parse().unwrap())]);
            bearer(&headers).map(str::to_owned).map_err(|status| status.message().to_owned())
        };
        assert_eq!((of("Bearer abc"), of("bearer abc ")), (Ok("abc".into()), Ok("abc".into())));
        for wrong in ["", "Bearer", "Bearer ", "Basic abc", "abc"] {
            assert!(of(wrong).unwrap_err().contains("Bearer <token>"), "{wrong}");
        }
        let missing = bearer(&HeaderMap::new()).unwrap_err();
        assert!(missing.message().starts_with("a token is needed"), "{missing}");
    }
}
