//! Subjects from their tokens: only what is written for a row is read as one.

use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId};

use super::{Shown, Subject, Table, is_of_cluster};
use crate::Shard;
use crate::token;

pub(super) fn subject(tokens: &[&str]) -> Option<Subject> {
    let (&[table, shard, cluster], rest) = tokens.split_first_chunk::<3>()?;
    let (table, shard) = (Table::parse(table)?, parse_shard(shard)?);
    let fence = |owner: &str, is_in_cluster| {
        let owner = token::read(owner).filter(|owner| is_of_cluster(table, owner) == is_in_cluster)?;
        Some(Subject::Owner { table, shard, owner })
    };
    match (table, cluster, rest) {
        (Table::Changes | Table::Status, owner, ["~owner"]) => return fence(owner, true),
        (Table::Reports | Table::Desired | Table::Status, "~owner", [owner]) => return fence(owner, false),
        (Table::Desired, "~complete", [origin]) => {
            return Some(Subject::AllDesired { shard, origin: parse_shard(origin)? });
        }
        _ => {}
    }
    let cluster: ClusterRef = token::read(cluster)?.parse().ok()?;
    match (table, rest) {
        (Table::Changes, ["~complete"]) => Some(Subject::Complete { table, shard, cluster, origin: None }),
        (Table::Reports | Table::Desired, ["~complete", origin]) => {
            Some(Subject::Complete { table, shard, cluster, origin: Some(parse_shard(origin)?) })
        }
        (Table::Desired, ["~mark"]) => Some(Subject::Mark { shard, cluster }),
        (Table::Changes, [viewer, object @ ..]) => Some(Subject::Change {
            shard,
            cluster,
            viewer: token::read(viewer)?,
            object: parse_object(object)?,
        }),
        (Table::Reports, [source, origin, object @ ..]) => Some(Subject::Report {
            shard,
            cluster,
            source: token::read(source)?,
            origin: parse_shard(origin)?,
            object: parse_object(object)?,
        }),
        (Table::Desired, [origin, profile]) => Some(Subject::Desired {
            shard,
            cluster,
            origin: parse_shard(origin)?,
            profile: parse_profile(profile)?,
        }),
        (Table::Status, ["~shown", what, profile]) => Some(Subject::Shown {
            shard,
            cluster,
            what: Shown::ALL.into_iter().find(|one| one.token() == *what)?,
            profile: parse_profile(profile)?,
        }),
        (Table::Status, [origin, profile]) => Some(Subject::Status {
            shard,
            cluster,
            origin: parse_shard(origin)?,
            profile: parse_profile(profile)?,
        }),
        _ => None,
    }
}

/// Only what [`push_shard`] writes: two digits, more where they are needed.
fn parse_shard(token: &str) -> Option<Shard> {
    let digits = token.bytes().all(|c| c.is_ascii_digit());
    let canonical = token.len() == 2 || token.len() > 2 && !token.starts_with('0');
    (digits && canonical).then(|| token.parse().ok())?
}

fn parse_profile(token: &str) -> Option<ProfileId> {
    let path = token::read(token)?;
    Some(ProfileId::of_path(&path)).filter(|profile| profile.path() == path)
}

fn parse_object(tokens: &[&str]) -> Option<ObjectKey> {
    let [group, version, kind, namespace, name] = tokens else { return None };
    let gvk = Gvk { group: token::read(group)?, version: token::read(version)?, kind: token::read(kind)? };
    Some(ObjectKey { gvk, namespace: token::read(namespace)?, name: token::read(name)? })
}
