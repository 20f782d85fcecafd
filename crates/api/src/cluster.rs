//! Which cluster: the identity that rows, subjects and problems carry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the cluster is registered in the management cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ClusterKind {
    /// A `SveltosCluster`.
    Sveltos,
    /// A Cluster API `Cluster`.
    Capi,
}

/// A managed cluster by its registration. Its text form is `sveltos:namespace/name`.
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
    /// `sveltos` or `capi`, as object names and labels have it.
    pub fn lower(self) -> &'static str {
        match self {
            Self::Sveltos => "sveltos",
            Self::Capi => "capi",
        }
    }

    /// `Sveltos` or `Capi`, as specs have it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sveltos => "Sveltos",
            Self::Capi => "Capi",
        }
    }
}

// === impl ClusterRef ===

impl ClusterRef {
    /// A cluster registered by a `SveltosCluster`.
    pub fn sveltos(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: ClusterKind::Sveltos, namespace: namespace.into(), name: name.into() }
    }

    /// `namespace/name`, as people write it.
    pub fn path(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for ClusterRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.kind.lower(), self.namespace, self.name)
    }
}

/// The text is not `sveltos:namespace/name` or `capi:namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cluster {0:?} is not written as sveltos:<namespace>/<name> or capi:<namespace>/<name>")]
pub struct NotACluster(String);

impl FromStr for ClusterRef {
    type Err = NotACluster;

    fn from_str(text: &str) -> Result<Self, NotACluster> {
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
}
