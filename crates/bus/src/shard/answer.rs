//! What the server's answer to a publish means.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::publish::PublishAck;

/// What became of a message, or of an atomic batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is stored, with this sequence; of a batch that of the last message.
    Stored(u64),
    /// It is not stored and will not be; why. Later it may be.
    Held(String),
    /// It may be stored, and if not, it may still be; why.
    Unanswered(String),
    /// It is not stored since the compared row is another one, with this sequence; 0 when there is none.
    Replaced(u64),
}

impl Answer {
    /// The meaning of an error.
    pub(crate) fn of(error: &PublishError) -> Self {
        let api = std::error::Error::source(error).and_then(|source| source.downcast_ref::<ApiError>());
        match error.kind() {
            PublishErrorKind::WrongLastSequence => {
                Self::Replaced(api.map_or(0, |api| expected_sequence(&api.to_string())))
            }
            // Nobody listens: the stream has no leader now.
            PublishErrorKind::StreamNotFound => Self::Held("the stream has no leader".to_owned()),
            PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded => {
                Self::Held(error.to_string())
            }
            // The server has said why it does not store it.
            PublishErrorKind::Other if api.is_some() => Self::Held(error.to_string()),
            _ => Self::Unanswered(error.to_string()),
        }
    }

    /// Whether the server did not take the first message of a batch: too many are open, whoever opened them, or the leader is
    /// another one. Nothing of the batch is stored.
    pub(crate) fn is_unopened_batch(&self) -> bool {
        let is = |code: &u64| matches!(self, Self::Held(why) if why.contains(&format!("error code {code}")));
        UNOPENED_BATCH.iter().any(is)
    }

    /// Whether the server refused it because another message under the same fence is in process: the stream is
    /// replicated.
    pub(crate) fn is_in_process(&self) -> bool {
        let code = ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT.0.to_string();
        matches!(self, Self::Held(why) if why.contains(&code))
    }
}

/// The server's codes for that: the second is what the last message of such a batch is answered.
const UNOPENED_BATCH: [u64; 2] = [10210, 10176];

type ApiError = async_nats::jetstream::Error;

impl From<Result<PublishAck, PublishError>> for Answer {
    fn from(answer: Result<PublishAck, PublishError>) -> Self {
        match answer {
            Ok(ack) => Self::Stored(ack.sequence),
            Err(error) => Self::of(&error),
        }
    }
}

/// The number in `wrong last sequence: 12`, 0 without one.
pub(crate) fn expected_sequence(text: &str) -> u64 {
    let after = text.split("wrong last sequence: ").nth(1).unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_which_row_is_the_last() {
        assert_eq!(expected_sequence("wrong last sequence: 1234 (error code 10071)"), 1234);
        assert_eq!(expected_sequence("wrong last sequence"), 0);
        assert_eq!(expected_sequence("nothing of the kind: 7"), 0);
    }

    #[test]
    fn what_was_not_answered_may_still_be_stored() {
        let unanswered = |kind| matches!(Answer::of(&PublishError::new(kind)), Answer::Unanswered(_));
        assert!(unanswered(PublishErrorKind::TimedOut) && unanswered(PublishErrorKind::BrokenPipe));
        assert!(!unanswered(PublishErrorKind::StreamNotFound));
        let code = ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT.0;
        assert!(Answer::Held(format!("error code {code}")).is_in_process());
        assert!(!Answer::Held("no leader".to_owned()).is_in_process());
    }
}
