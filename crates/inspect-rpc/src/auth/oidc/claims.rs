//! What a token says, once its signature is verified.

use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::signatures::ALGORITHMS;
use super::{LONGEST, Refused};

/// By how much the clocks of issuer and server may differ, in seconds.
const CLOCKS: u64 = 30;
/// What must stand in a token.
const NEEDED: [&str; 4] = ["iss", "aud", "exp", "sub"];
/// Kinds of tokens by `typ`; logout tokens and others are signed by the same keys.
const KINDS: [&str; 2] = ["jwt", "at+jwt"];

/// Claims of a token that counts.
#[derive(Debug)]
pub(super) struct Claims(Map<String, Value>);

/// What is asked of every token. Which algorithm counts is said by the key.
pub(super) fn validation<'a>(issuer: &str, audiences: impl Iterator<Item = &'a String>) -> Validation {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&audiences.collect::<Vec<_>>());
    validation.set_required_spec_claims(&NEEDED);
    validation.validate_nbf = true;
    validation.leeway = CLOCKS;
    validation
}

/// The header of a token that may count. Nothing of it is believed yet.
pub(super) fn header(token: &str) -> Result<Header, Refused> {
    let refused = |why: &str| Refused::Token(why.to_owned());
    if token.len() > LONGEST {
        return Err(refused("it is too long; have the issuer say less in it"));
    }
    let header = decode_header(token)
        .map_err(|_| refused("it is no JSON web token whose signature can be verified (RS256, ES256)"))?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(refused("its algorithm does not count; RS256 and ES256 do"));
    }
    let kind = header.typ.as_deref().unwrap_or("jwt").to_ascii_lowercase();
    if !KINDS.contains(&kind.as_str()) {
        return Err(refused("it is a token for something else (typ)"));
    }
    Ok(header)
}

/// Verifies all of it.
pub(super) fn read(
    token: &str,
    algorithm: Algorithm,
    key: &DecodingKey,
    validation: &Validation,
) -> Result<Claims, Refused> {
    let validation = Validation { algorithms: vec![algorithm], ..validation.clone() };
    let read = decode::<Map<String, Value>>(token, key, &validation).map_err(|error| refused(&error))?;
    Ok(Claims(read.claims))
}

/// Says what is wrong with a token, and nothing that stands in it.
fn refused(error: &Error) -> Refused {
    let text = match error.kind() {
        ErrorKind::ExpiredSignature => "it has expired; log in again",
        ErrorKind::ImmatureSignature => "it does not count yet (nbf); compare the clocks",
        ErrorKind::InvalidIssuer => "it is of another issuer than --oidc-issuer",
        ErrorKind::InvalidAudience => {
            "it is for somebody else; --oidc-client-id or --oidc-audience must be in its aud"
        }
        ErrorKind::MissingRequiredClaim(claim) => {
            return Refused::Token(format!("it does not say {claim}"));
        }
        _ => "its signature is not one of its issuer",
    };
    Refused::Token(text.to_owned())
}

// === impl Claims ===

impl Claims {
    pub(super) fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim).and_then(Value::as_str)
    }

    /// A claim that is a text or a list of texts.
    pub(super) fn list(&self, claim: &str) -> impl Iterator<Item = &str> {
        let value = self.0.get(claim);
        let one = value.and_then(Value::as_str);
        let many = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        one.into_iter().chain(many)
    }

    /// As people call who has the token.
    pub(super) fn name(&self) -> &str {
        let names = ["email", "preferred_username", "sub"];
        names.into_iter().find_map(|claim| self.text(claim)).unwrap_or_default()
    }

    /// In seconds since 1970.
    pub(super) fn until(&self) -> u64 {
        let until = self.0.get("exp");
        let whole = until.and_then(Value::as_u64);
        whole.or_else(|| until.and_then(Value::as_f64).map(|seconds| seconds as u64)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_a_text_or_a_list_and_a_time_may_have_parts() {
        let Value::Object(said) = json!({"a": "x", "b": ["x", 1, "y"], "c": 1, "exp": 12.9, "sub": "s"})
        else {
            unreachable!()
        };
        let claims = Claims(said);
        let list = |claim: &str| claims.list(claim).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((list("a"), list("b")), (vec!["x".to_owned()], vec!["x".to_owned(), "y".to_owned()]));
        assert_eq!((list("c"), list("d"), claims.until(), claims.name()), (vec![], vec![], 12, "s"));
    }

    #[test]
    fn what_is_no_token_of_ours_is_known_by_its_header() {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let token = |header: Value| format!("{}.e30.YQ", URL_SAFE_NO_PAD.encode(header.to_string()));
        assert!(header(&token(json!({"alg": "ES256"}))).is_ok());
        assert!(header(&token(json!({"alg": "RS256", "typ": "JWT", "kid": "a"}))).is_ok());
        for wrong in [
            json!({"alg": "none"}),
            json!({"alg": "HS256"}),
            json!({"alg": "EdDSA"}),
            json!({}),
            json!([]),
            json!({"alg": "RS256", "typ": "logout+jwt"}),
        ] {
            assert!(matches!(header(&token(wrong.clone())), Err(Refused::Token(_))), "{wrong}");
        }
        for wrong in ["", ".", "a.b", "a.b.c.d"] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
        assert!(header(&format!("{}{}", token(json!({"alg": "ES256"})), "a".repeat(LONGEST))).is_err());
    }
}
