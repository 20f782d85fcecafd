//! Which trigger: the identity that causes, names and problems carry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A trigger by its kind and name, as rows have it: `EventTrigger/name` or `EventBasedAddOn/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TriggerId(String);

/// The text is not `<kind>/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trigger {0:?} is not written as \"<kind>/<name>\"")]
pub struct NotATrigger(String);

// === impl TriggerId ===

impl TriggerId {
    /// The trigger of this kind and name.
    pub fn new(kind: &str, name: &str) -> Self {
        Self(format!("{kind}/{name}"))
    }

    /// `EventTrigger/name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `EventTrigger` or `EventBasedAddOn`.
    pub fn kind(&self) -> &str {
        self.0.split_once('/').map_or("", |(kind, _)| kind)
    }

    /// The name that its user gave to it.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }

    /// `EventTrigger name`: what problems call it.
    pub fn described(&self) -> String {
        self.0.replacen('/', " ", 1)
    }
}

impl fmt::Display for TriggerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TriggerId {
    type Err = NotATrigger;

    fn from_str(text: &str) -> Result<Self, NotATrigger> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(Self(text.to_owned())),
            _ => Err(NotATrigger(text.to_owned())),
        }
    }
}

impl Serialize for TriggerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TriggerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn its_text_is_read_back_and_anything_else_is_an_error() {
        let id = TriggerId::new("EventTrigger", "t");
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""EventTrigger/t""#);
        assert_eq!(serde_json::from_str::<TriggerId>(r#""EventTrigger/t""#).unwrap(), id);
        assert_eq!(id.described(), "EventTrigger t");
        for text in ["", "t", "/t", "EventTrigger/"] {
            assert_eq!(text.parse::<TriggerId>(), Err(NotATrigger(text.to_owned())));
        }
    }
}
