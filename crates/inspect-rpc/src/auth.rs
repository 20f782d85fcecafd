//! Who may ask.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use tonic::Status;

pub use self::reviews::Reviews;
use self::reviews::Unsure;
pub use self::token_file::TokenFile;

mod jwt;
mod reviews;
mod token_file;
mod turns;

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
}

// === impl Authentication ===

impl Authentication {
    /// Whether this peer may ask with what it says of itself.
    pub(crate) async fn check(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<(), Status> {
        let known = match self {
            Self::None => return Ok(()),
            Self::TokenFile(file) => file.holds(&hash(bearer(headers)?)).map_err(Unsure::Away),
            Self::Kubernetes(reviews) => reviews.knows(bearer(headers)?, peer).await,
        };
        match known {
            Ok(true) => Ok(()),
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
