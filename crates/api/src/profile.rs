//! Which profile: the identity that rows, inventories and problems carry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A profile by its kind and name. Its text form is `ClusterProfile name` or `Profile namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfileId {
    /// Its namespace; empty for a ClusterProfile.
    pub namespace: String,
    /// Unique within its namespace, or among all ClusterProfiles.
    pub name: String,
}

impl ProfileId {
    /// A ClusterProfile where the namespace is empty, else a Profile.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// One without a namespace: it may select every cluster.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self::new("", name)
    }

    /// `ClusterProfile` or `Profile`.
    pub fn kind(&self) -> &'static str {
        if self.namespace.is_empty() { "ClusterProfile" } else { "Profile" }
    }

    /// `name` or `namespace/name`, as subjects and the objects that it deploys have it. No name has a `/` in it, so that
    /// this tells both kinds apart.
    pub fn path(&self) -> String {
        if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.namespace, self.name)
        }
    }

    /// Reads what [`path`](Self::path) has written.
    pub fn of_path(path: &str) -> Self {
        let (namespace, name) = path.split_once('/').unwrap_or(("", path));
        Self::new(namespace, name)
    }
}

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.path())
    }
}

/// The text is not `ClusterProfile name` or `Profile namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile {0:?} is not written as \"ClusterProfile <name>\" or \"Profile <namespace>/<name>\"")]
pub struct NotAProfile(String);

impl FromStr for ProfileId {
    type Err = NotAProfile;

    fn from_str(text: &str) -> Result<Self, NotAProfile> {
        let id = text.split_once(' ').map(|(_, path)| Self::of_path(path));
        id.filter(|id| id.to_string() == text && !id.name.is_empty())
            .ok_or_else(|| NotAProfile(text.to_owned()))
    }
}

impl Serialize for ProfileId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProfileId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_back_and_no_other() {
        for id in [ProfileId::cluster("p"), ProfileId::new("team", "p")] {
            assert_eq!((ProfileId::of_path(&id.path()), id.to_string().parse()), (id.clone(), Ok(id)));
        }
        for text in ["", "p", "Profile p", "ClusterProfile team/p", "ClusterProfile ", "Pod team/p"] {
            assert!(text.parse::<ProfileId>().is_err(), "{text:?}");
        }
    }
}
