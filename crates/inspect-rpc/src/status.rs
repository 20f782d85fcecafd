//! Errors as codes of gRPC, and back.

use sluice_inspect::InspectError;
use tonic::{Code, Status};

/// A status travels in headers, which have a limit.
const LONGEST: usize = 4_000;

pub(crate) fn status(error: &InspectError) -> Status {
    let code = match error {
        InspectError::NotFound(_) => Code::NotFound,
        InspectError::Invalid(_) => Code::InvalidArgument,
        InspectError::Away(_) => Code::Unavailable,
        InspectError::TooMuch(_) => Code::ResourceExhausted,
        InspectError::Failed(_) => Code::Internal,
    };
    Status::new(code, shortened(error.to_string()))
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate((0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0));
        text.push('…');
    }
    text
}

pub(crate) fn error(status: &Status) -> InspectError {
    let message = status.message().to_owned();
    match status.code() {
        Code::NotFound => InspectError::NotFound(message),
        Code::InvalidArgument => InspectError::Invalid(message),
        Code::Unavailable => InspectError::Away(message),
        Code::DeadlineExceeded => InspectError::Away(format!("the server took too long: {message}")),
        Code::ResourceExhausted => InspectError::TooMuch(message),
        Code::Internal => InspectError::Failed(message),
        Code::Unauthenticated => {
            InspectError::Failed(format!("{message}; name the file of a token with --token-file"))
        }
        code => InspectError::Failed(format!("{code:?}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_back_as_they_were() {
        let text = || "what, where, what to do".to_owned();
        for kept in [
            InspectError::NotFound(text()),
            InspectError::Invalid(text()),
            InspectError::Away(text()),
            InspectError::TooMuch(text()),
            InspectError::Failed(text()),
        ] {
            assert_eq!(error(&status(&kept)), kept);
        }
    }

    #[test]
    fn a_long_error_is_cut_between_two_letters() {
        let cut = shortened("é".repeat(LONGEST));
        assert!(cut.len() <= LONGEST + 3 && cut.ends_with('…'));
    }
}
