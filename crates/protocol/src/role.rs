//! Who somebody on the bus is: what its user is called, and where the answers to its questions go.

use std::fmt;

use sluice_api::ClusterRef;

use crate::subject::cluster_token;

/// A part that a process plays on the bus. Its text form is what a server's operator reads: `matcher`, or `agent` with
/// the token of its cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The agent of one cluster, or of all that are registered.
    Agent(Option<ClusterRef>),
    /// Reads `changes`, writes `reports`.
    Matcher,
    /// Reads `reports`, writes `desired`.
    Renderer,
    /// Reads `desired`, writes `status`: of all clusters that can be reached from outside, or of the one that it is in.
    Deployer(Option<ClusterRef>),
    /// Somebody who looks and changes nothing.
    People,
    /// Who answers others about everything, and changes nothing.
    Inspect,
    /// Who lays out, scales and wipes the bus.
    Operator,
}

// === impl Role ===

impl Role {
    /// All but those that serve one cluster.
    pub const OF_ALL_CLUSTERS: [Self; 7] = [
        Self::Operator,
        Self::Renderer,
        Self::Matcher,
        Self::Deployer(None),
        Self::Agent(None),
        Self::People,
        Self::Inspect,
    ];

    /// One word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Matcher => "matcher",
            Self::Renderer => "renderer",
            Self::Deployer(_) => "deployer",
            Self::People => "people",
            Self::Inspect => "inspect",
            Self::Operator => "operator",
        }
    }

    /// Name of the replicas that share its work: those of one cluster's agent are among themselves.
    pub fn group(&self) -> String {
        match self {
            Self::Agent(Some(cluster)) | Self::Deployer(Some(cluster)) => {
                format!("{}-{cluster}", self.name())
            }
            role => role.name().to_owned(),
        }
    }

    /// The cluster whose agent's replicas share a group of this name; `None` for every other group.
    pub fn cluster_of_group(group: &str) -> Option<ClusterRef> {
        group.strip_prefix("agent-")?.parse().ok()
    }

    /// The same for the deployer that is in a cluster.
    pub fn cluster_of_deployers(group: &str) -> Option<ClusterRef> {
        group.strip_prefix("deployer-")?.parse().ok()
    }

    /// The cluster that it serves alone.
    pub fn only(&self) -> Option<&ClusterRef> {
        match self {
            Self::Agent(cluster) | Self::Deployer(cluster) => cluster.as_ref(),
            _ => None,
        }
    }

    /// Prefix of the subjects that its answers come to: nobody else may read below it.
    pub fn inbox(&self) -> String {
        format!("_INBOX.{self}")
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let Some(cluster) = self.only() else { return Ok(()) };
        write!(f, ".{}", cluster_token(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_an_inbox_of_its_own() {
        assert_eq!(Role::Matcher.inbox(), "_INBOX.matcher");
        let agent = Role::Agent(Some(ClusterRef::sveltos("default", "c.1")));
        assert_eq!(agent.inbox(), "_INBOX.agent.sveltos:default/c%2E1");
        assert_eq!(agent.group(), "agent-sveltos:default/c.1");
    }

    #[test]
    fn every_role_is_called_by_one_word_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Role::OF_ALL_CLUSTERS.iter().map(Role::name).collect();
        assert_eq!(names.len(), Role::OF_ALL_CLUSTERS.len());
        for role in &Role::OF_ALL_CLUSTERS {
            assert_eq!((role.to_string(), role.group()), (role.name().to_owned(), role.name().to_owned()));
        }
    }

    #[test]
    fn the_cluster_of_an_agent_is_known_by_its_group() {
        for cluster in [ClusterRef::sveltos("default", "c.1"), ClusterRef::management()] {
            let group = Role::Agent(Some(cluster.clone())).group();
            assert_eq!(Role::cluster_of_group(&group), Some(cluster));
        }
        for group in ["agent", "agent-", "agent-x", "matcher", "agent-sveltos:a"] {
            assert_eq!(Role::cluster_of_group(group), None, "{group}");
        }
    }
}
