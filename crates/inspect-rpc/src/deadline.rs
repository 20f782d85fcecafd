//! The time that a client gives for an answer: header `grpc-timeout`, a number of at most eight digits and a unit.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

const HEADER: &str = "grpc-timeout";
/// The library ends what is late as well, and then says that it was cancelled: this is a little earlier.
const EARLIER: Duration = Duration::from_millis(10);

/// Until when an answer counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(pub(crate) Instant);

/// The deadline of a call that comes now; none where the client gives none, or one that cannot be read.
pub(crate) fn deadline(headers: &HeaderMap) -> Option<Deadline> {
    let given = given(headers.get(HEADER)?.to_str().ok()?)?;
    Some(Deadline(Instant::now() + given.saturating_sub(EARLIER.min(given / 10))))
}

fn given(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let digits = !number.is_empty() && number.len() <= 8 && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| digits)?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3_600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        assert_eq!(given("2S"), Some(Duration::from_secs(2)));
        assert_eq!(given("99999999H"), Some(Duration::from_secs(99_999_999 * 3_600)));
        assert_eq!(given("150m"), Some(Duration::from_millis(150)));
        for wrong in ["", "S", "2", "2s", "-2S", "+2S", "123456789S", "2é", "é"] {
            assert_eq!(given(wrong), None, "{wrong}");
        }
    }
}
