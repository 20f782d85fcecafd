//! Sealing bytes for those who hold certain keys, and opening them. No cryptography of our own: [HPKE](hpke) (RFC 9180, X25519,
//! HKDF-SHA256) wraps one random key for each recipient, and ChaCha20-Poly1305 encrypts the content with it, once.
//!
//! ```text
//! wraps:   count ║ count × (key id 8 ║ encapsulated key 32 ║ wrapped content key 48)
//! content: nonce 12 ║ ciphertext
//! ```
//!
//! Both authenticate a context, which says what the bytes are of: elsewhere they are refused.

// D-1205: a sealed row is bound to its place.

// D-1202: secrets are sealed for the stages that read them.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use hpke::aead::ChaCha20Poly1305 as Wrap;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{
    Deserializable as _, Kem as _, OpModeR, OpModeS, Serializable as _, single_shot_open, single_shot_seal,
};
use sluice_api::Digest;

type Kem = X25519HkdfSha256;
type Private = <Kem as hpke::Kem>::PrivateKey;
type Public = <Kem as hpke::Kem>::PublicKey;

/// What wraps are for: the same keys used for anything else give nothing that is taken for one.
const INFO: &[u8] = b"sluice sealed row 1";
const ID: usize = 8;
const KEY: usize = 32;
const WRAPPED: usize = KEY + 16;
const WRAP: usize = ID + KEY + WRAPPED;
const NONCE: usize = 12;
/// The most recipients that anybody is asked to read past.
const MOST: usize = 16;

/// Why something cannot be sealed or opened. Says nothing of what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SealError {
    /// It is sealed, for others.
    #[error("it is sealed for {}", list(.0))]
    NotForUs(Vec<KeyId>),
    /// It was changed, cut, or belongs somewhere else.
    #[error(
        "it is sealed, and is not what its writer sealed, or not where; its owner writes it again when it changes"
    )]
    Broken,
    /// The machine gives no random numbers, or a key is none.
    #[error("it cannot be sealed: {0}")]
    Impossible(String),
}

/// Names a public key: the beginning of its digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyId([u8; ID]);

/// Who may open what is sealed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) id: KeyId,
    public: Public,
}

/// The private part of a recipient.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) id: KeyId,
    private: Private,
}

/// A random key for one content, and that content encrypted with it.
pub(crate) struct Sealed {
    key: [u8; KEY],
    /// Nonce and ciphertext.
    pub(crate) content: Vec<u8>,
}

/// Encrypts a content with a key of its own.
pub(crate) fn encrypt(plain: &[u8], context: &[u8]) -> Result<Sealed, SealError> {
    let (mut key, mut nonce) = ([0; KEY], [0; NONCE]);
    let random = getrandom::fill(&mut key).and_then(|()| getrandom::fill(&mut nonce));
    random.map_err(|error| SealError::Impossible(error.to_string()))?;
    let cipher = ChaCha20Poly1305::new(&key.into());
    let text = cipher.encrypt(&nonce.into(), Payload { msg: plain, aad: context });
    let text = text.map_err(|_| SealError::Impossible("it is too large".to_owned()))?;
    let mut content = Vec::with_capacity(NONCE + text.len());
    content.extend_from_slice(&nonce);
    content.extend_from_slice(&text);
    Ok(Sealed { key, content })
}

impl Sealed {
    /// Appends the content's key, wrapped for each of these in this context.
    pub(crate) fn wrap(
        &self,
        recipients: &[Recipient],
        context: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let too_many = || SealError::Impossible(format!("there are more than {MOST} recipients"));
        let count = u8::try_from(recipients.len()).ok().filter(|count| usize::from(*count) <= MOST);
        out.push(count.ok_or_else(too_many)?);
        for Recipient { id, public } in recipients {
            let wrapped =
                single_shot_seal::<Wrap, HkdfSha256, Kem>(&OpModeS::Base, public, INFO, &self.key, context);
            let (encapsulated, text) =
                wrapped.map_err(|error| SealError::Impossible(format!("key {id}: {error}")))?;
            out.extend_from_slice(&id.0);
            out.extend_from_slice(&encapsulated.to_bytes());
            out.extend_from_slice(&text);
        }
        Ok(())
    }
}

/// Splits wraps from what follows them.
pub(crate) fn split(sealed: &[u8]) -> Result<(&[u8], &[u8]), SealError> {
    let (&count, rest) = sealed.split_first().ok_or(SealError::Broken)?;
    if usize::from(count) > MOST {
        return Err(SealError::Broken);
    }
    rest.split_at_checked(usize::from(count) * WRAP).ok_or(SealError::Broken)
}

/// Decrypts a content whose key is wrapped for one of these identities; each part is authenticated with its context.
pub(crate) fn open<'i>(
    wraps: (&[u8], &[u8]),
    content: (&[u8], &[u8]),
    identity: impl Fn(KeyId) -> Option<&'i Identity>,
) -> Result<Vec<u8>, SealError> {
    let (wraps, context) = wraps;
    let ids = || wraps.chunks_exact(WRAP).filter_map(|wrap| KeyId::read(&wrap[..ID]));
    let ours = wraps.chunks_exact(WRAP).find_map(|wrap| Some((wrap, identity(KeyId::read(&wrap[..ID])?)?)));
    let (wrap, identity) = ours.ok_or_else(|| SealError::NotForUs(ids().collect()))?;
    let encapsulated = <Kem as hpke::Kem>::EncappedKey::from_bytes(&wrap[ID..ID + KEY]);
    let encapsulated = encapsulated.map_err(|_| SealError::Broken)?;
    let key = single_shot_open::<Wrap, HkdfSha256, Kem>(
        &OpModeR::Base,
        &identity.private,
        &encapsulated,
        INFO,
        &wrap[ID + KEY..],
        context,
    );
    let key: [u8; KEY] = key.ok().and_then(|key| key.try_into().ok()).ok_or(SealError::Broken)?;
    let (content, context) = content;
    let (nonce, text) = content.split_first_chunk::<NONCE>().ok_or(SealError::Broken)?;
    let plain =
        ChaCha20Poly1305::new(&key.into()).decrypt(&(*nonce).into(), Payload { msg: text, aad: context });
    plain.map_err(|_| SealError::Broken)
}

// === impl KeyId ===

impl KeyId {
    fn of(public: &[u8]) -> Self {
        let mut id = [0; ID];
        id.copy_from_slice(&Digest::of(&[public]).as_bytes()[..ID]);
        Self(id)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = SealError;

    fn from_str(text: &str) -> Result<Self, SealError> {
        let id = bytes(text).and_then(|bytes| Self::read(&bytes));
        id.ok_or_else(|| SealError::Impossible("a key id is 16 hexadecimal digits".to_owned()))
    }
}

/// Key ids as a header has them.
pub(crate) fn list(ids: &[KeyId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

// === impl Recipient ===

impl Recipient {
    /// Of a public key in hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Result<Self, SealError> {
        let none = || SealError::Impossible("a public key is 64 hexadecimal digits".to_owned());
        let bytes = bytes(text).ok_or_else(none)?;
        let public = Public::from_bytes(&bytes).map_err(|_| none())?;
        Ok(Self { id: KeyId::of(&bytes), public })
    }

    /// The public key in hexadecimal digits.
    pub(crate) fn text(&self) -> String {
        self.public.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

// === impl Identity ===

impl Identity {
    /// A new one, as it is kept.
    pub(crate) fn generate() -> Vec<u8> {
        let (private, _) = Kem::gen_keypair();
        private.to_bytes().to_vec()
    }

    /// One that was kept.
    pub(crate) fn read(kept: &[u8]) -> Result<Self, SealError> {
        let private = Private::from_bytes(kept);
        let private = private.map_err(|_| SealError::Impossible("a private key is 32 bytes".to_owned()))?;
        Ok(Self { id: KeyId::of(&Kem::sk_to_pk(&private).to_bytes()), private })
    }

    /// Whoever seals for it needs this.
    pub(crate) fn recipient(&self) -> Recipient {
        Recipient { id: self.id, public: Kem::sk_to_pk(&self.private) }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.id)
    }
}

/// What hexadecimal digits say.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits?;
    digits
        .len()
        .is_multiple_of(2)
        .then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
