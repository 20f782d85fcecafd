//! Signatures of tokens, verified by the library that TLS is made of. Nothing is signed here, and what is signed with a shared
//! secret is not verified: whoever could verify it could make it.

use std::fmt;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature as of_ring;
use ring::signature::{EcdsaVerificationAlgorithm, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// What is verified. Everything else is refused before a key is looked for.
pub(super) const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

static RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// How an algorithm verifies.
#[derive(Clone, Copy)]
enum Way {
    Rsa(&'static RsaParameters),
    Ec(&'static EcdsaVerificationAlgorithm),
}

struct Signature {
    algorithm: Algorithm,
    way: Way,
    key: DecodingKey,
}

/// Has the library of tokens verify in this way. It is done once; another time changes nothing.
pub(super) fn install() {
    if RING.install_default().is_err() {
        tracing::debug!("signatures of tokens are verified already");
    }
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let way = way(*algorithm).ok_or(ErrorKind::UnsupportedAlgorithm)?;
    Ok(Box::new(Signature { algorithm: *algorithm, way, key: key.clone() }))
}

fn way(algorithm: Algorithm) -> Option<Way> {
    Some(match algorithm {
        Algorithm::RS256 => Way::Rsa(&of_ring::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Way::Rsa(&of_ring::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Way::Rsa(&of_ring::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Way::Rsa(&of_ring::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Way::Rsa(&of_ring::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Way::Rsa(&of_ring::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Way::Ec(&of_ring::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Way::Ec(&of_ring::ECDSA_P384_SHA384_FIXED),
        _ => return None,
    })
}

// === impl Signature ===

impl Verifier<Vec<u8>> for Signature {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (self.way, self.key.kind()) {
            (Way::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Way::Ec(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(algorithm, point).verify(message, signature)
            }
            _ => return Err(Error::new()),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for Signature {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signature").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_through_is_verified_and_nothing_else() {
        assert!(ALGORITHMS.iter().all(|one| way(*one).is_some()));
        for other in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512, Algorithm::EdDSA] {
            assert!(way(other).is_none() && !ALGORITHMS.contains(&other), "{other:?}");
        }
    }
}
