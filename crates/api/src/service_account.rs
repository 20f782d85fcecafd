//! For whom a manifest acts: the tenant's ServiceAccount.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::FieldError;
use crate::{names, object};

const NAME: &str = "projectsveltos.io/serviceaccount-name";
const NAMESPACE: &str = "projectsveltos.io/serviceaccount-namespace";

/// A ServiceAccount of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

// === impl ServiceAccount ===

impl ServiceAccount {
    /// The account that the labels of a trigger or profile name; `None` when there are none: then it may do what its stage may.
    ///
    /// # Errors
    /// One label without the other, or a text that no account is called by: for whom it acts cannot be guessed.
    pub fn of(manifest: &Value) -> Result<Option<Self>, FieldError> {
        let (name, namespace) = (object::label(manifest, NAME), object::label(manifest, NAMESPACE));
        if name.is_none() && namespace.is_none() {
            return Ok(None);
        }
        let read = |key: &str, value: Option<&str>| {
            let value = value.unwrap_or_default();
            let reason = "must name the tenant's ServiceAccount; set both labels, or remove both";
            let wrong =
                || FieldError::new(object::describe(manifest), format!("metadata.labels.{key}"), reason);
            names::is_object_name(value).then(|| value.to_owned()).ok_or_else(wrong)
        };
        Ok(Some(Self { name: read(NAME, name)?, namespace: read(NAMESPACE, namespace)? }))
    }

    /// The labels that name it.
    pub fn labels(&self) -> [(&'static str, &str); 2] {
        [(NAME, &self.name), (NAMESPACE, &self.namespace)]
    }

    /// What the API server calls it.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups that it is in.
    pub fn groups(&self) -> [String; 3] {
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
            "system:authenticated".to_owned(),
        ]
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(labels: Value) -> Result<Option<ServiceAccount>, FieldError> {
        ServiceAccount::of(&json!({"kind": "EventTrigger", "metadata": {"name": "t", "labels": labels}}))
    }

    #[test]
    fn both_labels_name_it_and_one_alone_is_refused() {
        assert_eq!(of(json!({"team": "a"})), Ok(None));
        let account = of(json!({NAME: "deployer", NAMESPACE: "team-a"})).unwrap().unwrap();
        assert_eq!(account.to_string(), "team-a/deployer");
        assert_eq!(account.user(), "system:serviceaccount:team-a:deployer");
        assert_eq!(account.groups()[1], "system:serviceaccounts:team-a");
        let alone = of(json!({NAME: "deployer"})).unwrap_err();
        assert_eq!(alone.field, format!("metadata.labels.{NAMESPACE}"));
        assert!(alone.to_string().contains("set both labels"), "{alone}");
        assert_eq!(
            of(json!({NAME: "", NAMESPACE: "a"})).unwrap_err().field,
            format!("metadata.labels.{NAME}")
        );
        assert!(of(json!({NAME: "A b", NAMESPACE: "a"})).is_err());
    }
}
