//! DSA keys of 2048 and 256 bits. They sign no certificates.

use num_bigint_dig::{BigUint, RandBigInt, RandPrime, prime::probably_prime};
use num_traits::One;

use super::{Source, der};

/// The parameters and the two halves of a key.
#[derive(Debug, Clone)]
pub(super) struct DsaKey {
    numbers: [Vec<u8>; 5],
}

/// A new key with parameters of its own.
pub(super) fn generate(source: &mut Source<'_>) -> DsaKey {
    let one = BigUint::one();
    let (p, q) = loop {
        let q = source.gen_prime(256);
        if let Some(p) = find_modulus(source, &q) {
            break (p, q);
        }
    };
    let exponent = (&p - &one) / &q;
    let mut h = BigUint::from(2u8);
    let g = loop {
        let g = h.modpow(&exponent, &p);
        if g != one {
            break g;
        }
        h += &one;
    };
    let x = source.gen_biguint_range(&one, &q);
    let y = g.modpow(&x, &p);
    DsaKey { numbers: [p, q, g, y, x].map(|n| n.to_bytes_be()) }
}

/// A prime of 2048 bits whose predecessor is a multiple of q.
fn find_modulus(source: &mut Source<'_>, q: &BigUint) -> Option<BigUint> {
    let one = BigUint::one();
    let lowest = &one << 2047;
    for _ in 0..4 * 2048 {
        let random = source.gen_biguint(2048) | &lowest | &one;
        let p = &random - (&random % (q << 1)) + &one;
        if p >= lowest && probably_prime(&p, 20) {
            return Some(p);
        }
    }
    None
}

// === impl DsaKey ===

impl DsaKey {
    pub(super) fn to_der(&self) -> Vec<u8> {
        let mut parts = vec![der::small(0)];
        parts.extend(self.numbers.iter().map(|n| der::integer(n)));
        der::sequence(&parts)
    }

    pub(super) fn from_der(bytes: &[u8]) -> Option<Self> {
        let mut inside = der::Reader(der::Reader(bytes).expect(0x30)?);
        inside.integer()?;
        let mut next = || inside.integer().map(<[u8]>::to_vec);
        Some(Self { numbers: [next()?, next()?, next()?, next()?, next()?] })
    }
}
