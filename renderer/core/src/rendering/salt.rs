//! Random values that every renderer and every restart draw alike, and that nobody else can reckon.

use std::fmt;

use sluice_api::Digest;

/// The secret of an installation that its random values begin with. The default is no secret: dry runs have it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Salt([u8; 32]);

// === impl Salt ===

impl Salt {
    /// Of random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// What random functions begin with, for everything that these parts name, within a scope.
    pub(crate) fn seed(&self, scope: Option<Digest>, parts: &[&[u8]]) -> [u8; 32] {
        let scope = scope.as_ref().map(|scope| scope.as_bytes() as &[u8]);
        let parts = [scope.as_slice(), parts].concat();
        let mut seed = [0; 32];
        for (half, number) in seed.chunks_exact_mut(16).zip([&b"0"[..], b"1"]) {
            let digest = Digest::of(&[&[&self.0[..]], &parts[..], &[number]].concat());
            half.copy_from_slice(digest.as_bytes());
        }
        seed
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_follows_from_the_salt_and_all_parts() {
        let (one, other) = (Salt::default(), Salt::new([1; 32]));
        let scoped = one.seed(Some(Digest::of(&[b"x"])), &[b"a", b"b"]);
        let parts: [&[u8]; 2] = [b"a", b"b"];
        assert_eq!(one.seed(None, &parts), one.seed(None, &parts));
        for different in
            [other.seed(None, &parts), one.seed(None, &[b"ab"]), one.seed(None, &[b"a", b"c"]), scoped]
        {
            assert_ne!(one.seed(None, &parts), different);
        }
        assert_ne!(one.seed(None, &parts)[..16], one.seed(None, &parts)[16..]);
        assert_eq!(format!("{other:?}"), "Salt(..)");
    }
}
