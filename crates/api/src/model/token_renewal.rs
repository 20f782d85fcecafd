//! How the token of a cluster's kubeconfig is renewed.

// D-1066: the deployer of a cluster renews its token.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::annotation::micros;
use super::cluster::KubeconfigRef;
use super::read::Field;
use crate::error::FieldError;
use crate::object;

/// `spec.tokenRequestRenewalOption` of a cluster. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRenewal {
    /// It is renewed so long after it was renewed last.
    pub interval: i64,
    /// So long a token is asked for.
    pub duration: i64,
    /// Namespace of the ServiceAccount; empty for that of the present token.
    pub namespace: String,
    /// Its name; empty for that of the present token.
    pub name: String,
    /// Where the kubeconfig is.
    pub kubeconfig: KubeconfigRef,
    /// When it was renewed last, or else when the cluster was registered; since 1970.
    pub last: i64,
}

/// How a cluster's token is renewed, or why that cannot be read; most are not.
pub type Renewal = Option<Arc<Result<TokenRenewal, FieldError>>>;

const MINUTE: i64 = 60_000_000;
/// API servers refuse to give a token for less.
const SHORTEST: i64 = 10 * MINUTE;
/// A token lives for so much longer than it is used, where nothing else is said.
const SPARE: i64 = 30 * MINUTE;

// === impl TokenRenewal ===

impl TokenRenewal {
    /// Reads the registration of a cluster whose kubeconfig is there; nothing where it asks for no renewal.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub(super) fn read(object: &Value, kubeconfig: &KubeconfigRef) -> Result<Option<Self>, FieldError> {
        let option = Field::spec(object).map("tokenRequestRenewalOption")?;
        if option.value().is_none() {
            return Ok(None);
        }
        let (interval, duration) = (option.get("renewTokenRequestInterval"), option.get("tokenDuration"));
        let every =
            time(&interval)?.ok_or_else(|| interval.error("is required; write how often, such as 24h"))?;
        if every < MINUTE {
            return Err(interval.error("is less than a minute; write how often, such as 24h"));
        }
        let asked = time(&duration)?.unwrap_or(every.saturating_add(SPARE));
        if asked < SHORTEST {
            return Err(duration.error(
                "is less than 10m: no API server gives such a token; write a longer time, or leave it out",
            ));
        }
        Ok(Some(Self {
            interval: every,
            duration: asked,
            namespace: option.get("saNamespace").text()?,
            name: option.get("saName").text()?,
            kubeconfig: kubeconfig.clone(),
            last: last(object),
        }))
    }
}

/// A time; nothing where none is written, or zero, which is how Go writes none.
fn time(field: &Field<'_>) -> Result<Option<i64>, FieldError> {
    let text = field.text()?;
    let is_digit = |letter: char| letter.is_ascii_digit();
    if text.is_empty() || text.contains(is_digit) && text.chars().filter(|c| is_digit(*c)).all(|c| c == '0') {
        return Ok(None);
    }
    let remedy =
        || field.error(format!("{text:?} is no time; write numbers with units, such as 24h or 1h30m"));
    micros(&text).map(Some).ok_or_else(remedy)
}

/// When it was renewed last. Nobody but Sluice writes that; where it cannot be read, the registration counts.
fn last(object: &Value) -> i64 {
    let paths = [["status", "lastReconciledTokenRequestAt"], ["metadata", "creationTimestamp"]];
    let time = |path: &[&str; 2]| object::text(object, path).parse::<Timestamp>().ok();
    paths.iter().find_map(time).map_or(0, |time| time.as_microsecond())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const HOUR: i64 = 60 * MINUTE;

    fn read_of(option: Value, status: Value) -> Result<Option<TokenRenewal>, FieldError> {
        let object = json!({"kind": "SveltosCluster",
            "metadata": {"namespace": "n", "name": "c", "creationTimestamp": "1970-01-01T00:00:07Z"},
            "spec": {"tokenRequestRenewalOption": option}, "status": status});
        TokenRenewal::read(&object, &KubeconfigRef { secret: "s".into(), renewed: None, key: None })
    }

    fn read(option: Value) -> Result<Option<TokenRenewal>, FieldError> {
        read_of(option, json!({}))
    }

    #[test]
    fn a_token_is_asked_for_somewhat_longer_than_it_is_used() {
        assert_eq!(read(json!(null)).unwrap(), None);
        let usual =
            read(json!({"renewTokenRequestInterval": "1h0m0s", "tokenDuration": "0s"})).unwrap().unwrap();
        assert_eq!((usual.interval, usual.duration, usual.last), (HOUR, HOUR + 30 * MINUTE, 7_000_000));
        assert_eq!((usual.namespace.as_str(), usual.name.as_str()), ("", ""));
        let own = json!({"renewTokenRequestInterval": "24h", "tokenDuration": "48h", "saNamespace": "a", "saName": "b"});
        let own = read(own).unwrap().unwrap();
        assert_eq!((own.duration, own.namespace.as_str(), own.name.as_str()), (48 * HOUR, "a", "b"));
    }

    #[test]
    fn it_was_renewed_last_when_the_status_says_so() {
        let last = |status: &str| {
            let status = json!({"lastReconciledTokenRequestAt": status});
            read_of(json!({"renewTokenRequestInterval": "1h"}), status).unwrap().unwrap().last
        };
        assert_eq!((last("1970-01-01T01:00:00Z"), last("soon")), (HOUR, 7_000_000));
    }

    #[test]
    fn what_cannot_be_used_names_its_field() {
        let of = |option: Value| read(option).unwrap_err().field;
        let path = |field: &str| format!("spec.tokenRequestRenewalOption.{field}");
        for interval in
            [json!({}), json!("often"), json!("10"), json!("0s"), json!("30s"), json!("1.5h"), json!(5)]
        {
            let option = json!({"renewTokenRequestInterval": interval});
            assert_eq!(of(option), path("renewTokenRequestInterval"), "{interval}");
        }
        assert_eq!(of(json!({"saName": "x"})), path("renewTokenRequestInterval"));
        for duration in [json!("9m"), json!("-1h"), json!("1y")] {
            let option = json!({"renewTokenRequestInterval": "1h", "tokenDuration": duration});
            assert_eq!(of(option), path("tokenDuration"), "{duration}");
        }
        assert_eq!(of(json!({"renewTokenRequestInterval": "1h", "saName": 1})), path("saName"));
        assert_eq!(of(json!("1h")), "spec.tokenRequestRenewalOption");
    }
}
