//! Private keys: making, reading, writing, signing.

use ed25519_dalek::Signer;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use rsa::{
    BigUint, Pkcs1v15Sign, RsaPrivateKey,
    rand_core::RngCore,
    traits::{PrivateKeyParts, PublicKeyParts},
};
use sha2::{Digest, Sha256};

use super::{Source, der, dsa::DsaKey, pem};
use crate::exec::Fail;

/// A private key of any supported kind.
pub(super) enum Key {
    Rsa(Box<RsaPrivateKey>),
    Ecdsa(p256::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
    Dsa(DsaKey),
}

const RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const RSA_SHA256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const EC_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const ECDSA_SHA256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const ED25519_OID: &[u8] = &[0x2b, 0x65, 0x70];
/// What precedes a SHA-256 digest in an RSA signature.
const DIGEST_INFO: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0, 4,
    0x20,
];

const MALFORMED: &str = "asn1: structure error: malformed key";

// === impl Key ===

impl Key {
    pub(super) fn new_rsa(source: &mut Source<'_>, bits: usize) -> Result<Self, Fail> {
        let key = RsaPrivateKey::new(source, bits).map_err(|e| format!("error generating rsa key: {e}"))?;
        Ok(Self::Rsa(Box::new(key)))
    }

    pub(super) fn new_ecdsa(source: &mut Source<'_>) -> Self {
        Self::Ecdsa(p256::ecdsa::SigningKey::random(source))
    }

    pub(super) fn new_ed25519(source: &mut Source<'_>) -> Self {
        let mut seed = [0; 32];
        source.fill_bytes(&mut seed);
        Self::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed))
    }

    /// Reads a key; the error is Go's text.
    pub(super) fn from_pem(text: &str) -> Result<Self, String> {
        let block = pem::decode(text).ok_or("no PEM data in input")?;
        if block.label == "PRIVATE KEY" {
            return from_pkcs8(&block.bytes).ok_or(format!("decoding PEM as PKCS#8: {MALFORMED}"));
        }
        let Some(kind) = block.label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {}", block.label));
        };
        let read = match kind {
            "RSA" => rsa_from_der(&block.bytes),
            "EC" => ec_from_der(&block.bytes),
            "DSA" => DsaKey::from_der(&block.bytes).map(Self::Dsa),
            // Go shows the whole label here.
            _ => return Err(format!("invalid private key type {}", block.label)),
        };
        read.ok_or(format!("parsing {kind} private key from PEM: {MALFORMED}"))
    }

    pub(super) fn to_pem(&self) -> Result<String, Fail> {
        Ok(match self {
            Self::Rsa(key) => pem::encode("RSA PRIVATE KEY", &rsa_to_der(key)?),
            Self::Ecdsa(key) => pem::encode("EC PRIVATE KEY", &ec_to_der(key)),
            Self::Dsa(key) => pem::encode("DSA PRIVATE KEY", &key.to_der()),
            Self::Ed25519(key) => {
                let inner = der::octets(&der::octets(&key.to_bytes()));
                let parts = [der::small(0), der::sequence(&[der::oid(ED25519_OID)]), inner];
                pem::encode("PRIVATE KEY", &der::sequence(&parts))
            }
        })
    }

    /// The public key's algorithm and bits, as in a certificate.
    pub(super) fn public(&self) -> Result<(Vec<u8>, Vec<u8>), Fail> {
        Ok(match self {
            Self::Rsa(key) => {
                let numbers = [der::integer(&key.n().to_bytes_be()), der::integer(&key.e().to_bytes_be())];
                (der::sequence(&[der::oid(RSA_OID), der::null()]), der::sequence(&numbers))
            }
            Self::Ecdsa(key) => {
                let point = key.verifying_key().to_encoded_point(false);
                (der::sequence(&[der::oid(EC_OID), der::oid(P256_OID)]), point.as_bytes().to_vec())
            }
            Self::Ed25519(key) => {
                (der::sequence(&[der::oid(ED25519_OID)]), key.verifying_key().to_bytes().to_vec())
            }
            Self::Dsa(_) => {
                let message = "x509: unsupported public key type: *dsa.PublicKey";
                return Err(format!("error creating certificate: {message}").into());
            }
        })
    }

    /// The algorithm of this key's signatures.
    pub(super) fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => der::sequence(&[der::oid(RSA_SHA256_OID), der::null()]),
            Self::Ecdsa(_) => der::sequence(&[der::oid(ECDSA_SHA256_OID)]),
            Self::Ed25519(_) | Self::Dsa(_) => der::sequence(&[der::oid(ED25519_OID)]),
        }
    }

    /// What a signature costs. RSA raises a number to a power modulo each prime, which grows with the cube of the
    /// primes' lengths; keys that somebody brings along may be long, and their primes need not be of the same length.
    /// Measured: 4.6 ms for 2048 bits, 37 ms for 4096, 300 ms for 8192.
    pub(super) fn signing_steps(&self) -> u64 {
        let Self::Rsa(key) = self else { return 500 };
        let words = |prime: &BigUint| prime.bits() as u64 / 64 + 1;
        key.primes().iter().map(|prime| words(prime).pow(3) * 4 / 7).sum()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Fail> {
        let digest = Sha256::digest(message);
        let failed = |e: &dyn std::fmt::Display| Fail::from(format!("error creating certificate: {e}"));
        match self {
            Self::Rsa(key) => {
                let info = [DIGEST_INFO, &digest].concat();
                key.sign(Pkcs1v15Sign::new_unprefixed(), &info).map_err(|e| failed(&e))
            }
            Self::Ecdsa(key) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(&digest).map_err(|e| failed(&e))?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::Ed25519(key) => Ok(key.sign(message).to_bytes().to_vec()),
            Self::Dsa(_) => Err(failed(&"x509: certificate private key does not implement crypto.Signer")),
        }
    }
}

fn rsa_to_der(key: &RsaPrivateKey) -> Result<Vec<u8>, Fail> {
    let [p, q, ..] = key.primes() else { return Err("rsa: a key of fewer than two primes".into()) };
    let one = BigUint::from(1u8);
    let (dp, dq) = (key.d() % (p - &one), key.d() % (q - &one));
    let inverse = q.modpow(&(p - BigUint::from(2u8)), p);
    let numbers = [key.n(), key.e(), key.d(), p, q, &dp, &dq, &inverse];
    let mut parts = vec![der::small(0)];
    parts.extend(numbers.iter().map(|n| der::integer(&n.to_bytes_be())));
    Ok(der::sequence(&parts))
}

fn rsa_from_der(bytes: &[u8]) -> Option<Key> {
    let mut inside = der::Reader(der::Reader(bytes).expect(0x30)?);
    inside.integer()?;
    let mut next = || inside.integer().filter(|n| n.len() <= 1024).map(BigUint::from_bytes_be);
    let (n, e, d, p, q) = (next()?, next()?, next()?, next()?, next()?);
    let key = RsaPrivateKey::from_components(n, e, d, vec![p, q]).ok()?;
    Some(Key::Rsa(Box::new(key)))
}

fn ec_to_der(key: &p256::ecdsa::SigningKey) -> Vec<u8> {
    let point = key.verifying_key().to_encoded_point(false);
    der::sequence(&[
        der::small(1),
        der::octets(&key.to_bytes()),
        der::tagged(0xa0, &der::oid(P256_OID)),
        der::tagged(0xa1, &der::bits(point.as_bytes())),
    ])
}

fn ec_from_der(bytes: &[u8]) -> Option<Key> {
    let mut inside = der::Reader(der::Reader(bytes).expect(0x30)?);
    inside.integer()?;
    let secret = inside.expect(0x04)?;
    if let Some((0xa0, curve, _)) = inside.next()
        && der::Reader(curve).expect(0x06)? != P256_OID
    {
        return None;
    }
    p256::ecdsa::SigningKey::from_slice(secret).ok().map(Key::Ecdsa)
}

fn from_pkcs8(bytes: &[u8]) -> Option<Key> {
    let mut inside = der::Reader(der::Reader(bytes).expect(0x30)?);
    inside.integer()?;
    let mut algorithm = der::Reader(inside.expect(0x30)?);
    let name = algorithm.expect(0x06)?;
    let key = inside.expect(0x04)?;
    match name {
        RSA_OID => rsa_from_der(key),
        EC_OID => ec_from_der(key),
        ED25519_OID => {
            let seed: [u8; 32] = der::Reader(key).expect(0x04)?.try_into().ok()?;
            Some(Key::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)))
        }
        _ => None,
    }
}
