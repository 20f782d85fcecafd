//! Which profile: the identity that rows, inventories and problems carry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What the name of a profile begins with that a RoleRequest is. No object of an API server has a `:` in a name like theirs.
const ROLE_REQUEST: &str = "rolerequest:";

/// A profile by its kind and name. Its text form is `ClusterProfile name`, `Profile namespace/name`, or `RoleRequest name`: that is one
/// more profile, of the rights of a tenant.
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

    /// The one that a RoleRequest is.
    pub fn role_request(name: &str) -> Self {
        Self::cluster(format!("{ROLE_REQUEST}{name}"))
    }

    /// The one that a user's object of this kind is.
    pub fn of_object(kind: &str, namespace: &str, name: &str) -> Self {
        if kind == "RoleRequest" { Self::role_request(name) } else { Self::new(namespace, name) }
    }

    /// `ClusterProfile`, `Profile` or `RoleRequest`.
    pub fn kind(&self) -> &'static str {
        match self.requested_by() {
            Some(_) => "RoleRequest",
            None if self.namespace.is_empty() => "ClusterProfile",
            None => "Profile",
        }
    }

    /// The name that users gave to the object.
    pub fn object_name(&self) -> &str {
        self.requested_by().unwrap_or(&self.name)
    }

    /// Whether it is a RoleRequest.
    pub fn is_role_request(&self) -> bool {
        self.requested_by().is_some()
    }

    fn requested_by(&self) -> Option<&str> {
        self.name.strip_prefix(ROLE_REQUEST).filter(|_| self.namespace.is_empty())
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
        match self.requested_by() {
            Some(name) => write!(f, "RoleRequest {name}"),
            None => write!(f, "{} {}", self.kind(), self.path()),
        }
    }
}

/// The text is none of the three forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "profile {0:?} is not written as \"ClusterProfile <name>\", \"Profile <namespace>/<name>\" or \"RoleRequest <name>\""
)]
pub struct NotAProfile(String);

impl FromStr for ProfileId {
    type Err = NotAProfile;

    fn from_str(text: &str) -> Result<Self, NotAProfile> {
        let id = match text.split_once(' ') {
            Some(("RoleRequest", name)) => Some(Self::role_request(name)),
            Some((_, path)) => Some(Self::of_path(path)),
            None => None,
        };
        id.filter(|id| id.to_string() == text && !id.object_name().is_empty() && !id.name.contains('/'))
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
    fn all_forms_are_read_back_and_no_other() {
        for id in [ProfileId::cluster("p"), ProfileId::new("team", "p"), ProfileId::role_request("p")] {
            assert_eq!((ProfileId::of_path(&id.path()), id.to_string().parse()), (id.clone(), Ok(id)));
        }
        for text in ["", "p", "Profile p", "ClusterProfile team/p", "ClusterProfile ", "Pod team/p"] {
            assert!(text.parse::<ProfileId>().is_err(), "{text:?}");
        }
        for text in ["RoleRequest ", "RoleRequest a/b", "ClusterProfile rolerequest:p"] {
            assert!(text.parse::<ProfileId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_role_request_is_no_profile_of_the_same_name() {
        let (request, profile) = (ProfileId::role_request("p"), ProfileId::cluster("p"));
        assert_ne!((request.path(), request.to_string()), (profile.path(), profile.to_string()));
        assert_eq!(
            (request.kind(), request.object_name(), request.to_string()),
            ("RoleRequest", "p", "RoleRequest p".into())
        );
        assert_eq!(ProfileId::of_object("RoleRequest", "", "p"), request);
        assert_eq!(ProfileId::of_object("ClusterProfile", "", "p"), profile);
        assert_eq!(ProfileId::new("team", "rolerequest:p").kind(), "Profile");
    }
}
