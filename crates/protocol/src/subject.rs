//! Subjects: the key of every row, as a typed value with one encoder and one decoder.

use std::str::FromStr;

use sluice_api::{ClusterRef, ObjectKey, ProfileId};

use crate::Shard;
use crate::token;

pub mod own_rows;
mod parse;
mod print;
mod shown;

use self::print::{is_of_cluster, push_object, push_shard};
pub use self::shown::Shown;

/// The tables of the pipeline. Each has `N` shards; `Status` keeps them in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Objects of managed clusters, written by agents.
    Changes,
    /// Objects that are events, written by matchers.
    Reports,
    /// What each cluster should hold, written by renderers.
    Desired,
    /// What each cluster holds, written by deployers.
    Status,
}

// D-0109: subjects are typed values with one encoder and one decoder.
/// The key of a row. Its text form is the NATS subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An object of a managed cluster.
    Change {
        /// Shard of the row, from [`change_shard`].
        shard: Shard,
        /// Where the object is.
        cluster: ClusterRef,
        /// The tenant ServiceAccount whose watch saw it; empty for the agent's own.
        viewer: String,
        /// Which object.
        object: ObjectKey,
    },
    /// An object that is an event of one EventSource.
    Report {
        /// Shard of the row, from [`cluster_shard`].
        shard: Shard,
        /// Where the object is.
        cluster: ClusterRef,
        /// Name of the EventSource.
        source: String,
        /// Shard of the change it was made from: who owns that, owns this row.
        origin: Shard,
        /// Which object.
        object: ObjectKey,
    },
    /// One profile on one cluster.
    Desired {
        /// Shard of the row, from [`cluster_shard`].
        shard: Shard,
        /// Where it goes.
        cluster: ClusterRef,
        /// Shard of the renderer that made it: who owns that, owns this row.
        origin: Shard,
        /// Which profile.
        profile: ProfileId,
    },
    /// What came of one profile on one cluster.
    Status {
        /// Shard of the deployer that wrote it, from [`cluster_shard`].
        shard: Shard,
        /// Where it is.
        cluster: ClusterRef,
        /// Shard of the renderer that made it, for which the row is.
        origin: Shard,
        /// Which profile.
        profile: ProfileId,
    },
    /// The fence row: who wrote it last may write rows, with its sequence as the proof.
    Owner {
        /// The table that is written.
        table: Table,
        /// The shard that is written.
        shard: Shard,
        /// The owner's shard or cluster.
        owner: String,
    },
    /// All rows of a cluster, as far as their writer is concerned, are in the table.
    Complete {
        /// The table that is complete.
        table: Table,
        /// The shard that is complete.
        shard: Shard,
        /// The cluster that is complete.
        cluster: ClusterRef,
        /// The writer's shard; `None` when the writer is an agent.
        origin: Option<Shard>,
    },
    /// All rows of one renderer are in this shard of `desired`.
    AllDesired {
        /// Shard of the rows.
        shard: Shard,
        /// Shard of the renderer.
        origin: Shard,
    },
    /// What the deployer in a cluster shows of a profile, or of all of them: an object of the management cluster, which others write.
    Shown {
        /// Shard of the row, from [`cluster_shard`].
        shard: Shard,
        /// Where the deployer is.
        cluster: ClusterRef,
        /// What kind of object.
        what: Shown,
        /// Of which profile; nameless where it is of all of them.
        profile: ProfileId,
    },
    /// Written by who may read the rows of one cluster only, to see by its coming that all before it have come.
    Mark {
        /// Shard of `desired`.
        shard: Shard,
        /// Who reads.
        cluster: ClusterRef,
    },
}

/// Shard of an object's change: a hot cluster spreads over all of them.
pub fn change_shard(cluster: &ClusterRef, object: &ObjectKey, shards: u16) -> Shard {
    hash_shard(&[&cluster.to_string(), &object.gvk.kind, &object.namespace, &object.name], shards)
}

/// Shard of everything that belongs to one cluster.
pub fn cluster_shard(cluster: &ClusterRef, shards: u16) -> Shard {
    hash_shard(&[&cluster.to_string()], shards)
}

/// Shard of a thing by its name, for example a user-written profile.
pub fn hash_shard(parts: &[&str], shards: u16) -> Shard {
    NameHash::of(parts).shard(shards)
}

/// The hash of a name, from which its shard follows for any number of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameHash(u64);

impl NameHash {
    /// Of a name that has these parts.
    pub fn of(parts: &[&str]) -> Self {
        Self(crate::members::fnv(parts))
    }

    /// The shard of the name.
    pub fn shard(self, shards: u16) -> Shard {
        Shard::new((self.0 % u64::from(shards.max(1))) as u16)
    }
}

/// Where a member of a group says that it lives; without a name, the filter for all of them.
pub fn members_subject(group: &str, name: Option<&str>) -> String {
    let mut out = "members.".to_owned();
    token::push(&mut out, group);
    out.push('.');
    match name {
        Some(name) => token::push(&mut out, name),
        None => out.push('*'),
    }
    out
}

/// Where it is asked who lives; members answer by saying that they do.
pub const ROLL_CALL: &str = "rollcall";

/// Filter for the members of all groups.
pub fn all_members_subject() -> &'static str {
    "members.*.*"
}

/// The group and the name of a member, by where it says that it lives.
pub fn member_of(subject: &str) -> Option<(String, String)> {
    let (group, name) = subject.strip_prefix("members.")?.split_once('.')?;
    Some((token::read(group)?, token::read(name)?))
}

/// The group of a member, by where it says that it lives.
pub fn group_of_member(subject: &str) -> Option<String> {
    member_of(subject).map(|(group, _)| group)
}

/// A text as one token of a subject; `-` for the empty one.
pub fn token(text: &str) -> String {
    let mut out = String::new();
    token::push(&mut out, text);
    out
}

/// The token of a cluster.
pub fn cluster_token(cluster: &ClusterRef) -> String {
    token(&cluster.to_string())
}

/// First token of the subjects that CloudEvents are sent to.
pub const CLOUD_EVENTS: &str = "cloudevents";

/// Where a CloudEvent for a cluster is sent to. The channel is the message's own subject, which criteria look at.
pub fn cloud_event(cluster: &ClusterRef, channel: &str) -> String {
    format!("{CLOUD_EVENTS}.{}.{channel}", cluster_token(cluster))
}

/// Filter for the CloudEvents of a cluster.
pub fn cloud_events_of(cluster: &ClusterRef) -> String {
    cloud_event(cluster, ">")
}

/// The channel of a message that was sent there.
pub fn channel_of(subject: &str) -> Option<&str> {
    let (_, channel) = subject.strip_prefix(CLOUD_EVENTS)?.strip_prefix('.')?.split_once('.')?;
    Some(channel).filter(|channel| is_channel(channel))
}

/// Whether a text can be the channel of a message: tokens without wildcards and white space.
pub fn is_channel(text: &str) -> bool {
    let is_token = |token: &str| {
        !token.is_empty()
            && !token.contains(|c: char| c.is_whitespace() || c.is_control() || c == '*' || c == '>')
    };
    text.split('.').all(is_token)
}

// === impl Table ===

impl Table {
    /// First token of its subjects.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Reports => "reports",
            Self::Desired => "desired",
            Self::Status => "status",
        }
    }

    /// Name of the stream of one shard.
    pub fn stream(self, shard: Shard) -> String {
        match self {
            Self::Status => "STATUS".to_owned(),
            table => format!("{}-{shard:02}", table.name().to_uppercase()),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Changes, Self::Reports, Self::Desired, Self::Status]
            .into_iter()
            .find(|table| table.name() == text)
    }
}

// === impl Subject ===

impl Subject {
    /// The table it is in.
    pub fn table(&self) -> Table {
        match self {
            Self::Change { .. } => Table::Changes,
            Self::Report { .. } => Table::Reports,
            Self::Desired { .. } | Self::AllDesired { .. } | Self::Mark { .. } => Table::Desired,
            Self::Status { .. } | Self::Shown { .. } => Table::Status,
            Self::Owner { table, .. } | Self::Complete { table, .. } => *table,
        }
    }

    /// The cluster that it is about; nothing where it is about a whole table or owner.
    pub fn cluster(&self) -> Option<&ClusterRef> {
        match self {
            Self::Change { cluster, .. }
            | Self::Report { cluster, .. }
            | Self::Desired { cluster, .. }
            | Self::Status { cluster, .. }
            | Self::Shown { cluster, .. }
            | Self::Mark { cluster, .. }
            | Self::Complete { cluster, .. } => Some(cluster),
            Self::Owner { .. } | Self::AllDesired { .. } => None,
        }
    }

    /// Whether it is about a Secret of a managed cluster.
    pub fn is_of_secret(&self) -> bool {
        let (Self::Change { object, .. } | Self::Report { object, .. }) = self else { return false };
        object.gvk.is_secret()
    }

    /// The fence row of `owner` in one of its output streams. `status` is one stream for all: there a fence row is in the
    /// owner's own shard, as its rows are.
    pub fn fence(table: Table, output: usize, owner: &str) -> Self {
        let shard = match table {
            Table::Status => owner.parse().unwrap_or(Shard::FIRST),
            _ => Shard::of_output(output),
        };
        Self::Owner { table, shard, owner: owner.to_owned() }
    }

    /// The filter that selects the fence rows of a table's first stream.
    pub fn fences(table: Table) -> String {
        match table {
            Table::Changes => format!("{}.00.*.~owner", table.name()),
            // Those of deployers in their clusters too; no other row has as few tokens.
            Table::Status => format!("{}.*.*.*", table.name()),
            Table::Reports | Table::Desired => format!("{}.00.~owner.*", table.name()),
        }
    }

    /// The shard it is in.
    pub fn shard(&self) -> Shard {
        match self {
            Self::Change { shard, .. }
            | Self::Report { shard, .. }
            | Self::Desired { shard, .. }
            | Self::Status { shard, .. }
            | Self::Owner { shard, .. }
            | Self::Complete { shard, .. }
            | Self::Shown { shard, .. }
            | Self::Mark { shard, .. }
            | Self::AllDesired { shard, .. } => *shard,
        }
    }
}

/// The text is not a subject of these tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("subject {0:?} is not one of the pipeline's")]
pub struct NotASubject(String);

impl FromStr for Subject {
    type Err = NotASubject;

    fn from_str(text: &str) -> Result<Self, NotASubject> {
        let tokens: Vec<&str> = text.split('.').collect();
        parse::subject(&tokens).ok_or_else(|| NotASubject(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
