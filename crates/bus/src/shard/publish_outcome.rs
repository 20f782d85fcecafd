//! What the server's answer to a publish means.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::publish::PublishAck;
use sluice_protocol::Sequence;

/// What became of a message, or of an atomic batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublishOutcome {
    /// It is stored, with this sequence; of a batch that of the last message.
    Stored(Sequence),
    /// It is not stored and will not be; why. Later it may be.
    NotStored(String),
    /// It may be stored, and if not, it may still be; why.
    Unanswered(String),
    /// It is not stored since the compared row is another one, with this sequence; 0 when there is none.
    Replaced(Sequence),
}

impl PublishOutcome {
    /// The meaning of an error.
    pub(crate) fn of(error: &PublishError) -> Self {
        let api = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ApiError>());
        match error.kind() {
            PublishErrorKind::WrongLastSequence => {
                Self::Replaced(api.map_or(Sequence::NONE, |api| expected_sequence(&api.to_string())))
            }
            // Nobody listens: the stream has no leader now.
            PublishErrorKind::StreamNotFound => Self::NotStored("the stream has no leader".to_owned()),
            PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded => {
                Self::NotStored(error.to_string())
            }
            // The server has said why it does not store it.
            PublishErrorKind::Other if api.is_some() => Self::NotStored(error.to_string()),
            _ => Self::Unanswered(error.to_string()),
        }
    }

    /// Whether the server did not take the first message of a batch: too many are open, whoever opened them, or the leader is
    /// another one. Nothing of the batch is stored.
    pub(crate) fn is_unopened_batch(&self) -> bool {
        UNOPENED_BATCH.iter().any(|code| self.is_refused_with(*code))
    }

    /// Whether the server refused it because another message under the same fence is in process: the stream is
    /// replicated.
    pub(crate) fn is_in_process(&self) -> bool {
        self.is_refused_with(ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT.0)
    }

    /// Whether the server refused it with this code. Digits alone may be of anything, as of the digest of a body.
    fn is_refused_with(&self, code: u64) -> bool {
        matches!(self, Self::NotStored(why) if why.contains(&format!("error code {code})")))
    }
}

/// The server's codes for that: the second is what the last message of such a batch is answered.
const UNOPENED_BATCH: [u64; 2] = [10210, 10176];

type ApiError = async_nats::jetstream::Error;

impl From<Result<PublishAck, PublishError>> for PublishOutcome {
    fn from(answer: Result<PublishAck, PublishError>) -> Self {
        match answer {
            Ok(ack) => Self::Stored(Sequence::new(ack.sequence)),
            Err(error) => Self::of(&error),
        }
    }
}

/// The number in `wrong last sequence: 12`, 0 without one.
pub(crate) fn expected_sequence(text: &str) -> Sequence {
    let after = text.split("wrong last sequence: ").nth(1).unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(Sequence::NONE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// What the server answers with this code of its interface.
    fn api_error(code: u64, description: &str) -> ApiError {
        let error = json!({"code": 400, "err_code": code, "description": description});
        serde_json::from_value(error).unwrap()
    }

    fn refused(code: u64) -> PublishOutcome {
        PublishOutcome::of(&PublishError::with_source(PublishErrorKind::Other, api_error(code, "no")))
    }

    #[test]
    fn the_server_says_which_row_is_the_last() {
        assert_eq!(expected_sequence("wrong last sequence: 1234 (error code 10071)"), Sequence::new(1234));
        assert_eq!(expected_sequence("wrong last sequence"), Sequence::NONE);
        assert_eq!(expected_sequence("nothing of the kind: 7"), Sequence::NONE);
    }

    #[test]
    fn what_was_not_answered_may_still_be_stored() {
        let unanswered =
            |kind| matches!(PublishOutcome::of(&PublishError::new(kind)), PublishOutcome::Unanswered(_));
        assert!(unanswered(PublishErrorKind::TimedOut) && unanswered(PublishErrorKind::BrokenPipe));
        assert!(!unanswered(PublishErrorKind::StreamNotFound));
        let code = ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT.0;
        assert!(refused(code).is_in_process());
        assert!(!PublishOutcome::NotStored("no leader".to_owned()).is_in_process());
    }

    #[test]
    fn a_row_that_was_replaced_is_told_with_the_sequence_that_took_its_place() {
        let error = api_error(10071, "wrong last sequence: 42");
        let error = PublishError::with_source(PublishErrorKind::WrongLastSequence, error);
        assert_eq!(PublishOutcome::of(&error), PublishOutcome::Replaced(Sequence::new(42)));
    }

    #[test]
    fn a_row_that_is_not_there_is_replaced_by_none() {
        assert_eq!(
            PublishOutcome::of(&PublishError::new(PublishErrorKind::WrongLastSequence)),
            PublishOutcome::Replaced(Sequence::NONE)
        );
    }

    #[test]
    fn what_the_client_does_not_send_is_not_stored() {
        for kind in [PublishErrorKind::MaxAckPending, PublishErrorKind::MaxPayloadExceeded] {
            assert!(
                matches!(PublishOutcome::of(&PublishError::new(kind)), PublishOutcome::NotStored(_)),
                "{kind}"
            );
        }
    }

    #[test]
    fn an_error_counts_as_a_refusal_only_where_the_server_has_said_it() {
        assert!(matches!(refused(10077), PublishOutcome::NotStored(why) if why.contains("error code 10077")));
        let unexplained = PublishError::with_source(PublishErrorKind::Other, std::io::Error::other("cut"));
        assert!(matches!(PublishOutcome::of(&unexplained), PublishOutcome::Unanswered(_)));
    }

    #[test]
    fn a_batch_that_was_not_opened_is_told_by_the_code_alone() {
        assert!(refused(10210).is_unopened_batch() && refused(10176).is_unopened_batch());
        assert!(!refused(10199).is_unopened_batch(), "too large a batch is never opened");
        let text = refused(10210);
        let PublishOutcome::NotStored(why) = text else { panic!("{text:?}") };
        assert!(!PublishOutcome::Unanswered(why).is_unopened_batch(), "some of it may be stored");
    }

    #[test]
    fn digits_in_what_is_refused_are_no_code_of_the_server() {
        let why = "read content 0010164fb4 of desired: no answer".to_owned();
        assert!(!PublishOutcome::NotStored(why).is_in_process());
    }

    #[test]
    fn of_what_is_stored_the_sequence_counts() {
        let ack = json!({"stream": "DESIRED-00", "seq": 7, "domain": "", "duplicate": false});
        let answer = PublishOutcome::from(Ok(serde_json::from_value::<PublishAck>(ack).unwrap()));
        assert_eq!(answer, PublishOutcome::Stored(Sequence::new(7)));
    }
}
