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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn identity() -> Identity {
        Identity::read(&Identity::generate()).unwrap()
    }

    /// Both parts in one context.
    fn sealed(plain: &[u8], context: &[u8], whom: &[&Identity]) -> Vec<u8> {
        let recipients: Vec<_> = whom.iter().map(|identity| identity.recipient()).collect();
        let sealed = encrypt(plain, context).unwrap();
        let mut out = Vec::new();
        sealed.wrap(&recipients, context, &mut out).unwrap();
        out.extend_from_slice(&sealed.content);
        out
    }

    fn opened(sealed: &[u8], context: &[u8], whose: &Identity) -> Result<Vec<u8>, SealError> {
        let (wraps, content) = split(sealed)?;
        open((wraps, context), (content, context), |id| (id == whose.id).then_some(whose))
    }

    #[test]
    fn each_recipient_opens_it_and_nobody_else() {
        let (one, other, stranger) = (identity(), identity(), identity());
        let text = sealed(b"hunter2", b"here", &[&one, &other]);
        assert!(!text.windows(7).any(|part| part == b"hunter2"));
        assert_ne!(
            text,
            sealed(b"hunter2", b"here", &[&one, &other]),
            "equal content cannot be told by its text"
        );
        for identity in [&one, &other] {
            assert_eq!(opened(&text, b"here", identity).unwrap(), b"hunter2");
        }
        let refused = opened(&text, b"here", &stranger).unwrap_err();
        assert_eq!(refused, SealError::NotForUs(vec![one.id, other.id]));
        assert_eq!(refused.to_string(), format!("it is sealed for {},{}", one.id, other.id));
    }

    #[test]
    fn what_is_moved_or_put_together_from_two_is_refused() {
        let one = identity();
        let (first, second) = (sealed(b"first", b"here", &[&one]), sealed(b"second", b"here", &[&one]));
        assert_eq!(opened(&first, b"there", &one), Err(SealError::Broken));
        let (wraps, content) = (split(&first).unwrap().0, split(&second).unwrap().1);
        let mixed = open((wraps, b"here"), (content, b"here"), |_| Some(&one));
        assert_eq!(mixed, Err(SealError::Broken));
        // The key of somebody else under the id of this one.
        let other = Identity { id: one.id, ..identity() };
        assert_eq!(opened(&first, b"here", &other), Err(SealError::Broken));
    }

    #[test]
    fn keys_and_ids_are_read_back_and_nothing_else_is_one() {
        let one = identity();
        assert_eq!(Recipient::parse(&one.recipient().text()), Ok(one.recipient()));
        assert_eq!(one.id.to_string().parse(), Ok(one.id));
        for text in ["", "0", "zz", "00", "é0", &"0".repeat(63)] {
            assert!(Recipient::parse(text).is_err() && text.parse::<KeyId>().is_err(), "{text}");
        }
        assert!(Identity::read(b"short").is_err());
        assert!(!format!("{one:?}").contains(&one.recipient().text()[..8]));
    }

    #[test]
    fn a_public_key_that_makes_every_secret_the_same_is_refused() {
        let zero = Recipient::parse(&"00".repeat(32));
        let refused = match zero {
            Err(_) => true,
            Ok(zero) => encrypt(b"x", b"").unwrap().wrap(&[zero], b"", &mut Vec::new()).is_err(),
        };
        assert!(refused);
    }

    #[test]
    fn nobody_seals_for_more_than_readers_read_past() {
        let whom: Vec<Recipient> = (0..=MOST).map(|_| identity().recipient()).collect();
        let sealed = encrypt(b"x", b"").unwrap();
        let mut out = Vec::new();
        assert_eq!(sealed.wrap(&whom[..MOST], b"", &mut out), Ok(()));
        assert_eq!(out.len(), 1 + MOST * WRAP);
        assert!(matches!(sealed.wrap(&whom, b"", &mut Vec::new()), Err(SealError::Impossible(_))));
    }

    #[test]
    fn more_wraps_than_anybody_writes_are_refused_before_they_are_read() {
        let counted = |count: usize| [vec![u8::try_from(count).unwrap()], vec![0; count * WRAP]].concat();
        assert!(split(&counted(MOST)).is_ok());
        assert_eq!(split(&counted(MOST + 1)), Err(SealError::Broken));
    }

    #[test]
    fn wraps_end_where_their_number_says_and_the_content_follows() {
        let one = identity();
        let text = sealed(b"x", b"here", &[&one, &one]);
        let (wraps, content) = split(&text).unwrap();
        assert_eq!((wraps.len(), content.len()), (2 * WRAP, NONCE + 1 + 16));
        assert_eq!(split(&text[..2 * WRAP]), Err(SealError::Broken), "one byte is missing");
    }

    #[test]
    fn what_is_sealed_for_nobody_is_opened_by_nobody() {
        let text = sealed(b"x", b"here", &[]);
        assert_eq!(opened(&text, b"here", &identity()), Err(SealError::NotForUs(Vec::new())));
    }

    #[test]
    fn a_key_is_called_by_the_begin_of_its_digest() {
        let one = identity();
        let public = bytes(&one.recipient().text()).unwrap();
        assert!(Digest::of(&[&public]).to_string().starts_with(&one.id.to_string()));
    }

    #[test]
    fn digits_are_read_in_either_case_and_only_in_pairs() {
        assert_eq!(bytes("00fFa9"), Some(vec![0, 255, 169]));
        for none in ["0", "0g", "+1", " 00", "0x00"] {
            assert_eq!(bytes(none), None, "{none}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_sealed_is_read_back(plain in proptest::collection::vec(any::<u8>(), 0..3000), context in any::<Vec<u8>>()) {
            let one = identity();
            prop_assert_eq!(opened(&sealed(&plain, &context, &[&one]), &context, &one), Ok(plain));
        }

        #[test]
        fn what_is_changed_or_cut_anywhere_is_refused(
            at in any::<prop::sample::Index>(),
            bit in 0_u8..8,
            keep in any::<prop::sample::Index>(),
        ) {
            let one = identity();
            let whole = sealed(b"what a Secret holds", b"here", &[&one]);
            let mut changed = whole.clone();
            changed[at.index(whole.len())] ^= 1 << bit;
            prop_assert!(opened(&changed, b"here", &one).is_err());
            prop_assert!(opened(&whole[..keep.index(whole.len())], b"here", &one).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), count in 0_u8..4) {
            let one = identity();
            let counted: Vec<u8> = [count].into_iter().chain(bytes.iter().copied()).collect();
            for bytes in [&bytes, &counted] {
                if let Ok((wraps, content)) = split(bytes) {
                    prop_assert!(open((wraps, b""), (content, b""), |_| Some(&one)).is_err());
                }
            }
        }
    }
}
