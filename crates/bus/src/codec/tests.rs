//! What rows look like as messages, and what of a message is refused.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

#[test]
fn heads_are_read_back() {
    let value = Head {
        digest: Digest::of(&[b"x"]),
        time: 5,
        view: View::parse("a=1 b c=2"),
        meta: Meta::Unknown(r#"{"a":"é"}"#.into()),
        tombstone: false,
    };
    let gone = Head { time: 7, tombstone: true, ..Head::default() };
    for expected in [value, gone] {
        assert_eq!(head(Some(&headers(&expected))), expected);
    }
    assert_eq!(head(None), Head::default());
}

#[test]
fn large_bodies_are_smaller_on_the_wire() {
    let body = "kind: Service\n".repeat(1000);
    let message = encode(body.as_bytes());
    assert!(message.len() < body.len() / 10);
    assert_eq!(&*decode(&message, Limit::LARGEST).unwrap(), body.as_bytes());
    assert_eq!(size(&message[1..], Limit::LARGEST).unwrap(), body.len());
}

#[test]
fn no_frame_makes_more_than_the_limit() {
    let mut message = vec![ZSTD];
    message.extend(zstd::bulk::compress(&vec![0; MAX_BODY + 1], LEVEL).unwrap());
    assert!(message.len() < MAX_BODY / 1000);
    assert!(matches!(decode(&message, Limit::LARGEST), Err(CodecError::Size(..))));
    // One that does not say how large it is, and one that says less than it is.
    let unsaid = {
        let mut encoder = zstd::stream::Encoder::new(vec![ZSTD], LEVEL).unwrap();
        std::io::Write::write_all(&mut encoder, &vec![0; MAX_BODY]).unwrap();
        encoder.finish().unwrap()
    };
    assert!(matches!(decode(&unsaid, Limit::LARGEST), Err(CodecError::Size(..))));
    let noise: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut lies = encode(&noise).to_vec();
    assert_eq!(lies[0], ZSTD);
    let said = size(&lies[1..], Limit::LARGEST).unwrap();
    let at = lies.windows(4).position(|bytes| bytes == u32::try_from(said).unwrap().to_le_bytes()).unwrap();
    lies[at..at + 4].copy_from_slice(&1_000_u32.to_le_bytes());
    assert!(decode(&lies, Limit::LARGEST).is_err());
}

#[test]
fn what_would_become_far_larger_is_sent_as_it_is() {
    let body = vec![b' '; 1 << 20];
    let message = encode(&body);
    assert_eq!((message[0], message.len()), (PLAIN, body.len() + 1));
    assert_eq!(&*decode(&message, Limit::from(Table::Changes)).unwrap(), &body[..]);
    let mut bomb = vec![ZSTD];
    bomb.extend(zstd::bulk::compress(&body, LEVEL).unwrap());
    assert!(decode(&bomb, Limit::from(Table::Changes)).is_err());
}

#[test]
fn what_an_agent_sends_makes_no_more_than_an_object_may_have() {
    let message = |bytes| encode(&vec![b' '; bytes]);
    let (changes, desired) = (Limit::from(Table::Changes), Limit::from(Table::Desired));
    assert_eq!(decode(&message(MAX_CHANGE), changes).unwrap().len(), MAX_CHANGE);
    assert!(decode(&message(MAX_CHANGE + 1), changes).is_err());
    assert!(decode(&message(MAX_CHANGE + 1), desired).is_ok());
    assert!(changes.refuse(MAX_CHANGE).is_none() && changes.refuse(MAX_CHANGE + 1).is_some());
}

#[test]
fn nothing_is_an_empty_message_and_the_other_way_round() {
    assert!(encode(b"").is_empty());
    assert!(decode(b"", Limit::LARGEST).unwrap().is_empty());
}

#[test]
fn small_bodies_are_sent_as_they_are() {
    let format = |bytes: usize| encode(&vec![b'a'; bytes])[0];
    assert_eq!((format(COMPRESS_ABOVE), format(COMPRESS_ABOVE + 1)), (PLAIN, ZSTD));
    assert_eq!(&encode(b"{}")[..], b"\0{}");
}

#[test]
fn a_format_that_is_not_known_is_of_a_newer_version_and_sealed_is_none_of_a_body() {
    for format in [SEALED, 3, u8::MAX] {
        let refused = decode(&[format, b'{', b'}'], Limit::LARGEST).unwrap_err();
        assert!(matches!(refused, CodecError::Format(found) if found == format), "{refused}");
        assert!(refused.to_string().contains("newer version"), "{refused}");
    }
}

#[test]
fn who_writes_too_much_is_told_how_much_that_is_and_how_much_may_be() {
    let told = Limit::from(Table::Changes).refuse(MAX_CHANGE + 1).unwrap();
    assert!(told.contains(&(MAX_CHANGE + 1).to_string()) && told.contains(&MAX_CHANGE.to_string()));
    assert!(told.contains("split the object"), "{told}");
}

fn lines(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    lines.iter().for_each(|(name, value)| headers.insert(*name, *value));
    headers
}

#[test]
fn a_header_that_makes_no_sense_is_as_if_it_were_not_there() {
    let damaged = lines(&[(DIGEST, "no digest"), (TIME, "tomorrow"), (VIEW, ""), (META, "")]);
    assert_eq!(head(Some(&damaged)), Head::default());
}

#[test]
fn what_is_good_in_a_damaged_head_counts() {
    let digest = Digest::of(&[b"x"]);
    let read = head(Some(&lines(&[(DIGEST, &digest.to_string()), (TIME, "99999999999999999999")])));
    assert_eq!(read, Head { digest, ..Head::default() });
}

#[test]
fn what_the_server_writes_when_a_row_expires_is_a_tombstone() {
    for marker in [TOMBSTONE, "Nats-Marker-Reason", "KV-Operation"] {
        assert!(head(Some(&lines(&[(marker, "MaxAge")]))).tombstone, "{marker}");
        assert!(!head(Some(&lines(&[(marker, "")]))).tombstone, "{marker}");
    }
}

#[test]
fn a_head_has_no_header_for_what_is_empty() {
    let names = |head: &Head| {
        let mut names: Vec<_> = headers(head).iter().map(|(name, _)| name.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&Head::default()), [DIGEST, TIME]);
    assert_eq!(names(&Head { tombstone: true, ..Head::default() }), [TIME, TOMBSTONE]);
}

#[test]
fn no_line_break_of_a_meta_ends_its_header() {
    let meta = Meta::Unknown("{\"a\":\r\n1}".into());
    let sent = headers(&Head { meta, ..Head::default() });
    assert_eq!(sent.get(META).unwrap().as_str(), "{\"a\":  1}");
}

#[test]
fn a_body_apart_is_named_by_its_digest_and_by_nothing_else() {
    let digest = Digest::of(&[b"x"]);
    assert_eq!(content(Some(&lines(&[(CONTENT, &digest.to_string())]))), Some(digest));
    for none in [Some(lines(&[(CONTENT, "x")])), Some(lines(&[(DIGEST, &digest.to_string())])), None] {
        assert_eq!(content(none.as_ref()), None);
    }
}

const NAMES: &str = "Sluice-(Digest|Time|View|Meta|Tombstone|Content)|KV-Operation";

/// Values that are nearly right, and others. A message's headers are lines.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,20}",
        "[0-9a-f]{31,33}|[+-]?[0-9]{0,21}",
        "([a-z=/:]{0,4}=[0-9]{1,20} ){0,3}",
        r#"\{"(profile|event|incarnation|selectors)":("ClusterProfile p"|7|\[[0-9]{0,12}\]|null|\[{0,300})\}"#,
        any::<String>().prop_map(|text| one_line(&text)),
    ]
}

fn any_headers() -> impl Strategy<Value = HeaderMap> {
    proptest::collection::vec((NAMES, any_value()), 0..8).prop_map(|lines| {
        let mut headers = HeaderMap::new();
        lines.iter().for_each(|(name, value)| headers.append(name.as_str(), value.as_str()));
        headers
    })
}

proptest! {
    #[test]
    fn bodies_are_read_back(body in proptest::collection::vec(any::<u8>(), 0..6000)) {
        prop_assert_eq!(&*decode(&encode(&body), Limit::LARGEST).unwrap(), &body[..]);
    }

    #[test]
    fn no_message_panics(message in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&message, Limit::LARGEST).is_ok() || !message.is_empty());
    }

    #[test]
    fn no_damaged_frame_panics(
        text in "[a-c]{1,9}",
        at in any::<prop::sample::Index>(),
        with in any::<[u8; 4]>(),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut message = encode(text.repeat(5000).as_bytes()).to_vec();
        let at = at.index(message.len());
        message.iter_mut().skip(at).zip(with).for_each(|(old, new)| *old = new);
        message.truncate(keep.index(message.len()) + 1);
        if let Ok(body) = decode(&message, Limit::LARGEST) {
            prop_assert!(body.len() <= MAX_BODY);
        }
    }

    #[test]
    fn the_head_of_any_headers_is_read_back(hostile in any_headers()) {
        let read = head(Some(&hostile));
        let digest = if read.tombstone { Digest::default() } else { read.digest };
        prop_assert_eq!(head(Some(&headers(&read))), Head { digest, ..read });
        prop_assert!(content(Some(&hostile)).is_none() || hostile.get(CONTENT).is_some());
    }
}
