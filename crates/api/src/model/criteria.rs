//! Which CloudEvents are events.

use super::read::Field;
use crate::cloud_event::EventKey;
use crate::error::FieldError;
use crate::pattern::Pattern;

/// One of the ways for a CloudEvent to be selected: all conditions must hold; what is empty selects every event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    /// The subject of the message, after the cluster.
    channel: Pattern,
    source: Pattern,
    kind: Pattern,
    subject: Pattern,
}

// === impl Criteria ===

impl Criteria {
    pub(super) fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let pattern = |field: &str| {
            let field = item.get(field);
            Pattern::read(&field.text()?).map_err(|reason| field.error(reason))
        };
        Ok(Self {
            channel: pattern("subject")?,
            source: pattern("cloudEventSource")?,
            kind: pattern("cloudEventType")?,
            subject: pattern("cloudEventSubject")?,
        })
    }

    /// The first condition that does not hold, in words; `None` when the event is selected.
    pub fn unmet(&self, key: &EventKey) -> Option<String> {
        let conditions = [
            ("message's subject", &self.channel, &key.channel),
            ("source", &self.source, &key.source),
            ("type", &self.kind, &key.kind),
            ("subject", &self.subject, &key.subject),
        ];
        let (what, pattern, text) =
            conditions.into_iter().find(|(_, pattern, text)| !pattern.matches(text))?;
        Some(format!("its {what} is {text:?}, which {:?} does not match", pattern.text()))
    }

    /// Whether the event is selected.
    pub fn selects(&self, key: &EventKey) -> bool {
        self.channel.matches(&key.channel)
            && self.source.matches(&key.source)
            && self.kind.matches(&key.kind)
            && self.subject.matches(&key.subject)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::model::EventSource;

    fn key() -> EventKey {
        let [source, subject, kind, channel] =
            ["/shop", "order-7", "com.shop.created", "orders.eu"].map(str::to_owned);
        EventKey { source, subject, kind, channel }
    }

    fn read(criteria: Value) -> Result<Criteria, FieldError> {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"messagingMatchCriteria": [criteria]}});
        EventSource::read(&manifest).map(|source| source.criteria[0].clone())
    }

    #[test]
    fn every_condition_looks_at_its_own_attribute_and_at_a_part_of_it() {
        let full = json!({"subject": "^orders", "cloudEventSource": "shop", "cloudEventType": "created$", "cloudEventSubject": "order-[0-9]"});
        assert!(read(full.clone()).unwrap().selects(&key()) && read(json!({})).unwrap().selects(&key()));
        for (field, named) in [
            ("subject", "its message's subject is \"orders.eu\", which \"nothing\" does not match"),
            ("cloudEventSource", "its source is \"/shop\""),
            ("cloudEventType", "its type is \"com.shop.created\""),
            ("cloudEventSubject", "its subject is \"order-7\""),
        ] {
            let mut other = full.clone();
            other[field] = "nothing".into();
            let criteria = read(other).unwrap();
            assert!(!criteria.selects(&key()), "{field}");
            assert!(criteria.unmet(&key()).unwrap().starts_with(named), "{field}");
        }
        assert_eq!(read(full).unwrap().unmet(&key()), None);
    }

    #[test]
    fn a_wrong_expression_is_named() {
        let error = read(json!({"cloudEventType": "a["})).unwrap_err();
        assert_eq!(error.field, "spec.messagingMatchCriteria[0].cloudEventType");
        assert!(error.reason.contains("no regular expression"), "{error}");
    }
}
