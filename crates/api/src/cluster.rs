//! Which cluster: the identity that rows, subjects and problems carry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::NAMESPACE;

/// What the management cluster is called: no registered cluster's text form is without a `:`, and no path without a `/`.
pub const MANAGEMENT: &str = "management";

/// How the cluster is registered in the management cluster, if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ClusterKind {
    /// A `SveltosCluster`.
    Sveltos,
    /// A Cluster API `Cluster`.
    Capi,
    /// It is not registered: it is the management cluster itself. There is one of it.
    Management,
}

/// A managed cluster by its registration, or the management cluster as a destination. Its text form is `sveltos:namespace/name`, or
/// `management`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterRef {
    /// Kind of the registration.
    pub kind: ClusterKind,
    /// Namespace of the registration in the management cluster.
    pub namespace: String,
    /// Name of the registration.
    pub name: String,
}

// === impl ClusterKind ===

impl ClusterKind {
    /// `sveltos`, `capi` or `local`, as object names and labels have it.
    pub fn lower(self) -> &'static str {
        match self {
            Self::Sveltos => "sveltos",
            Self::Capi => "capi",
            Self::Management => "local",
        }
    }

    /// `Sveltos`, `Capi` or `Local`, as specs have it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sveltos => "Sveltos",
            Self::Capi => "Capi",
            Self::Management => "Local",
        }
    }
}

// === impl ClusterRef ===

impl ClusterRef {
    /// A cluster registered by a `SveltosCluster`.
    pub fn sveltos(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: ClusterKind::Sveltos, namespace: namespace.into(), name: name.into() }
    }

    /// The management cluster. What is said of it is said in the namespace of everything that is generated.
    pub fn management() -> Self {
        let (namespace, name) = (NAMESPACE.to_owned(), MANAGEMENT.to_owned());
        Self { kind: ClusterKind::Management, namespace, name }
    }

    /// Whether it is the management cluster.
    pub fn is_management(&self) -> bool {
        self.kind == ClusterKind::Management
    }

    /// `namespace/name`, as people write it; `management` for the management cluster.
    pub fn path(&self) -> String {
        if self.is_management() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }
}

impl fmt::Display for ClusterRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_management() {
            return f.write_str(MANAGEMENT);
        }
        write!(f, "{}:{}/{}", self.kind.lower(), self.namespace, self.name)
    }
}

/// The text is none of the three forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cluster {0:?} is not written as sveltos:<namespace>/<name>, as capi:<namespace>/<name>, or as management for the management cluster"
)]
pub struct NotACluster(String);

impl FromStr for ClusterRef {
    type Err = NotACluster;

    fn from_str(text: &str) -> Result<Self, NotACluster> {
        if text == MANAGEMENT {
            return Ok(Self::management());
        }
        let error = || NotACluster(text.to_owned());
        let (kind, path) = text.split_once(':').ok_or_else(error)?;
        let kind = match kind {
            "sveltos" => ClusterKind::Sveltos,
            "capi" => ClusterKind::Capi,
            _ => return Err(error()),
        };
        let (namespace, name) = path.split_once('/').ok_or_else(error)?;
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err(error());
        }
        Ok(Self { kind, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl Serialize for ClusterRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClusterRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_read_back() {
        let cluster = ClusterRef::sveltos("default", "cluster-1");
        assert_eq!(cluster.to_string(), "sveltos:default/cluster-1");
        assert_eq!("sveltos:default/cluster-1".parse(), Ok(cluster));
        assert!("default/cluster-1".parse::<ClusterRef>().is_err());
        assert!("sveltos:default/".parse::<ClusterRef>().is_err());
    }

    #[test]
    fn the_management_cluster_is_one_and_called_as_no_registered_one_is() {
        let management = ClusterRef::management();
        assert_eq!((management.to_string(), management.path()), ("management".into(), "management".into()));
        assert_eq!("management".parse(), Ok(management));
        for other in ["local:projectsveltos/management", "management:a/b", "sveltos:management", "Management"]
        {
            assert!(other.parse::<ClusterRef>().is_err(), "{other}");
        }
        let namesake = ClusterRef::sveltos(NAMESPACE, MANAGEMENT);
        assert_ne!(namesake.to_string(), "management");
        assert_ne!(namesake.path(), "management");
    }
}
