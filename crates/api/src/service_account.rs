//! For whom a manifest acts: the tenant's ServiceAccount, and what it is called in the clusters that it deploys to.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::FieldError;
use crate::model::NAMESPACE as SYSTEM;
use crate::{names, object};

const NAME: &str = "projectsveltos.io/serviceaccount-name";
const NAMESPACE: &str = "projectsveltos.io/serviceaccount-namespace";
const ADMIN: &str = "projectsveltos.io/admin-name";

/// A ServiceAccount, of the management cluster where nothing else is said.
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
        let wrong = |key: &str, reason: &str| {
            FieldError::new(object::describe(manifest), format!("metadata.labels.{key}"), reason)
        };
        let read = |key: &str, value: Option<&str>| {
            let value = value.unwrap_or_default();
            let reason = "must name the tenant's ServiceAccount; set both labels, or remove both";
            names::is_object_name(value).then(|| value.to_owned()).ok_or_else(|| wrong(key, reason))
        };
        let account = Self { name: read(NAME, name)?, namespace: read(NAMESPACE, namespace)? };
        account.check().map_err(|reason| wrong(NAMESPACE, reason))?;
        Ok(Some(account))
    }

    /// Whether it can be told from every other account by its name in managed clusters.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.namespace.contains("--") {
            return Err(
                "must not have \"--\" in it: in managed clusters the account is called <namespace>--<name>, and \
                        another one could be called the same; take a ServiceAccount of another namespace",
            );
        }
        Ok(())
    }

    /// What stands for it in managed clusters: that is who has rights there.
    pub fn in_clusters(&self) -> Self {
        Self { namespace: SYSTEM.to_owned(), name: format!("{}--{}", self.namespace, self.name) }
    }

    /// The labels that name it.
    pub fn labels(&self) -> [(&'static str, &str); 2] {
        [(NAME, &self.name), (NAMESPACE, &self.namespace)]
    }

    // D-0816: a tenant's EventSource sees what the tenant may see.
    /// The account in managed clusters that the objects of an EventSource are watched as: what stands for the account that its labels
    /// name, or the one that `admin-name` names. `None` without these labels: the agent watches with its own rights.
    ///
    /// # Errors
    /// As [`ServiceAccount::of`].
    pub fn watching(source: &Value) -> Result<Option<Self>, FieldError> {
        if let Some(account) = Self::of(source)? {
            return Ok(Some(account.in_clusters()));
        }
        let Some(name) = object::label(source, ADMIN) else { return Ok(None) };
        if !names::is_object_name(name) {
            let reason = "must name a ServiceAccount in the namespace projectsveltos of managed clusters";
            return Err(FieldError::new(
                object::describe(source),
                format!("metadata.labels.{ADMIN}"),
                reason,
            ));
        }
        Ok(Some(Self { namespace: SYSTEM.to_owned(), name: name.to_owned() }))
    }

    /// The labels of an EventSource that say who watches, as an object; `None` where it has none of them.
    pub fn watching_labels(source: &Value) -> Option<Value> {
        let labels = [NAME, NAMESPACE, ADMIN].into_iter();
        let labels = labels.filter_map(|key| Some((key.to_owned(), object::label(source, key)?.into())));
        let labels: serde_json::Map<String, Value> = labels.collect();
        (!labels.is_empty()).then_some(Value::Object(labels))
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

    #[test]
    fn a_source_is_watched_as_what_stands_for_its_tenant_in_the_cluster() {
        let watching = |labels: Value| {
            ServiceAccount::watching(
                &json!({"kind": "EventSource", "metadata": {"name": "s", "labels": labels}}),
            )
        };
        let user = |labels| watching(labels).map(|account| account.map(|account| account.user()));
        assert_eq!(user(json!({"team": "a"})), Ok(None));
        let both = json!({NAME: "deployer", NAMESPACE: "team-a"});
        let stands = "system:serviceaccount:projectsveltos:team-a--deployer".to_owned();
        assert_eq!(user(both), Ok(Some(stands.clone())));
        let named = "system:serviceaccount:projectsveltos:eng".to_owned();
        assert_eq!(user(json!({ADMIN: "eng"})), Ok(Some(named)));
        let all = json!({NAME: "deployer", NAMESPACE: "team-a", ADMIN: "eng"});
        assert_eq!(user(all), Ok(Some(stands)), "the account counts where both are named");
        let wrong = user(json!({ADMIN: "A b"})).unwrap_err();
        assert_eq!(wrong.field, format!("metadata.labels.{ADMIN}"));
        assert!(user(json!({NAME: "deployer", ADMIN: "eng"})).is_err(), "half an account is none");
    }

    #[test]
    fn of_the_labels_of_a_source_those_are_kept_that_say_who_watches() {
        let labels =
            |labels: Value| ServiceAccount::watching_labels(&json!({"metadata": {"labels": labels}}));
        assert_eq!(labels(json!({"team": "a"})), None);
        assert_eq!(labels(json!({"team": "a", ADMIN: "eng"})), Some(json!({ADMIN: "eng"})));
    }

    #[test]
    fn no_two_accounts_are_the_same_one_in_a_managed_cluster() {
        let account = of(json!({NAME: "c--b", NAMESPACE: "a"})).unwrap().unwrap().in_clusters();
        assert_eq!(account.user(), "system:serviceaccount:projectsveltos:a--c--b");
        let other = of(json!({NAME: "b", NAMESPACE: "a--c"})).unwrap_err();
        assert_eq!(other.field, format!("metadata.labels.{NAMESPACE}"));
        assert!(other.to_string().contains("another namespace"), "{other}");
    }
}
