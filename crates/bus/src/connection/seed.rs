//! The secret half of a user's nkey.

use nkeys::{KeyPair, KeyPairType};

/// A key that proves who a user is. Its text is a secret and is not in its `Debug` output.
#[derive(Debug)]
pub struct Seed(KeyPair);

impl Seed {
    /// A new one.
    #[expect(clippy::new_without_default, reason = "two of them are never equal")]
    pub fn new() -> Self {
        Self(KeyPair::new_user())
    }

    /// The one on the first line of a file that is neither empty nor a comment; `None` when that is no user's.
    pub fn read(text: &str) -> Option<Self> {
        let seed = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        // The library's error could quote what it was given.
        let pair = KeyPair::from_seed(seed).ok()?;
        (pair.key_pair_type() == KeyPairType::User).then_some(Self(pair))
    }

    /// What the server knows the user by.
    pub fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// Its text, for a file that nobody else may read.
    pub fn secret(&self) -> String {
        self.0.seed().expect("a pair that was made or read from a seed has one")
    }

    /// Proof of having it.
    pub(crate) fn sign(&self, nonce: &[u8]) -> Option<Vec<u8>> {
        self.0.sign(nonce).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_seed_is_the_first_line_that_is_no_comment_and_stays_a_secret() {
        let seed = Seed::new();
        let text = format!("\n  # who we are\n\n  {}  \n# the end\n", seed.secret());
        let read = Seed::read(&text).unwrap();
        assert_eq!(read.public_key(), seed.public_key());
        assert_eq!(read.sign(b"nonce"), seed.sign(b"nonce"));
        assert_ne!(read.sign(b"nonce"), Seed::new().sign(b"nonce"));
        assert!(!format!("{read:?}").contains(&seed.secret()), "{read:?}");
    }

    #[test]
    fn what_is_no_users_seed_is_refused() {
        let account = KeyPair::new_account().seed().unwrap();
        for text in ["", "# nothing", "SU", "no seed", &account, &Seed::new().public_key()] {
            assert!(Seed::read(text).is_none(), "{text}");
        }
    }
}
