//! Checks of a cluster as a whole: whether it is ready for its first add-on, and whether it is well.

// D-1064: readiness checks are asked until a cluster holds something, liveness checks always.

use std::sync::Arc;

use serde_json::Value;

use super::event_source::{EventSource, ResourceSelector};
use super::read::Field;
use crate::error::FieldError;

/// What is asked of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterChecks {
    /// Before the first add-on.
    pub readiness: Vec<Arc<ClusterCheck>>,
    /// Always.
    pub liveness: Vec<Arc<ClusterCheck>>,
    /// After so many failures in a row it is called down.
    pub threshold: u32,
}

/// What a registration asks of its cluster, or why that cannot be read; most ask nothing.
pub type Guards = Option<Arc<Result<ClusterChecks, FieldError>>>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterCheck {
    /// What it is called in messages: the field, and its name.
    pub title: String,
    /// Which objects it looks at, selected as those of an EventSource.
    pub selectors: Vec<ResourceSelector>,
    /// Lua source with a function `evaluate` that says of `resources` whether they `pass`.
    pub condition: String,
    /// Path of the field with the source, for messages.
    pub condition_path: String,
}

/// Failures in a row, where nothing else is said.
const USUAL_THRESHOLD: u32 = 3;

// === impl ClusterChecks ===

impl ClusterChecks {
    /// Reads the registration of a cluster; nothing where it asks for nothing.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn read(object: &Value) -> Result<Option<Self>, FieldError> {
        let spec = Field::spec(object);
        let threshold = spec.get("consecutiveFailureThreshold");
        let checks = |field: &str| -> Result<Vec<_>, _> {
            let items = spec.get(field).items()?;
            items.iter().map(|item| ClusterCheck::read(item).map(Arc::new)).collect()
        };
        let count = || {
            let count = threshold.value()?.as_u64().and_then(|count| u32::try_from(count).ok());
            // None at all is the first one.
            Some(count.map(|count| count.max(1)).ok_or_else(|| {
                threshold.error("write how many failures in a row make the cluster Down, 1 or more")
            }))
        };
        let checks = Self {
            readiness: checks("readinessChecks")?,
            liveness: checks("livenessChecks")?,
            threshold: count().transpose()?.unwrap_or(USUAL_THRESHOLD),
        };
        let says_nothing = checks.readiness.is_empty() && checks.liveness.is_empty();
        Ok((!says_nothing || threshold.value().is_some()).then_some(checks))
    }
}

// === impl ClusterCheck ===

impl ClusterCheck {
    fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let (name, condition) = (item.get("name").required_text()?, item.get("condition"));
        let selectors = item.get("resourceSelectors");
        let items = selectors.items()?;
        let read = items.iter().map(|item| ResourceSelector::read(item, "evaluate"));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        if read.is_empty() {
            return Err(selectors.error("is missing; name at least one group, version and kind"));
        }
        Ok(Self {
            title: format!("{} {name:?}", item.path()),
            selectors: read,
            condition: condition.required_text()?,
            condition_path: condition.path().to_owned(),
        })
    }

    /// What selects its objects, as an EventSource would.
    pub fn source(&self) -> EventSource {
        EventSource {
            name: self.title.clone(),
            tenant: None,
            selectors: self.selectors.clone(),
            criteria: Vec::new(),
            collect: false,
            aggregate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(spec: Value) -> Result<Option<ClusterChecks>, FieldError> {
        ClusterChecks::read(
            &json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c"}, "spec": spec}),
        )
    }

    fn check() -> Value {
        json!({"name": "nodes", "resourceSelectors": [{"group": "", "version": "v1", "kind": "Node"}],
            "condition": "function evaluate() return {pass = true} end"})
    }

    #[test]
    fn what_is_asked_and_how_often_it_may_fail() {
        assert_eq!(read(json!({})).unwrap(), None);
        let some = read(json!({"readinessChecks": [check()]})).unwrap().unwrap();
        assert_eq!((some.readiness.len(), some.liveness.len(), some.threshold), (1, 0, 3));
        assert_eq!(some.readiness[0].title, "spec.readinessChecks[0] \"nodes\"");
        assert_eq!(some.readiness[0].selectors[0].gvk.kind, "Node");
        let threshold =
            |count: u32| read(json!({"consecutiveFailureThreshold": count})).unwrap().unwrap().threshold;
        assert_eq!((threshold(9), threshold(0)), (9, 1));
    }

    #[test]
    fn what_cannot_be_asked_names_its_field() {
        let without = |field: &str| {
            let mut check = check();
            check.as_object_mut().unwrap().remove(field);
            read(json!({"livenessChecks": [check]})).unwrap_err().field
        };
        assert_eq!(without("condition"), "spec.livenessChecks[0].condition");
        assert_eq!(without("name"), "spec.livenessChecks[0].name");
        assert_eq!(without("resourceSelectors"), "spec.livenessChecks[0].resourceSelectors");
        for threshold in [json!("3"), json!(-1), json!(1.5)] {
            let error = read(json!({"consecutiveFailureThreshold": threshold})).unwrap_err();
            assert_eq!(error.field, "spec.consecutiveFailureThreshold");
        }
    }
}
