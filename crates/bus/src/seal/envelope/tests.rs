//! Who opens what is sealed, and what is refused.

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
