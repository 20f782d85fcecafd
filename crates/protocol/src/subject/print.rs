//! The text forms of subjects.

use std::fmt;

use sluice_api::ObjectKey;

use super::{Subject, Table};
use crate::{Shard, token};

/// Whether the owner of rows is in the cluster whose they are: an agent, or a deployer that is named by it and not by a shard.
pub(super) fn is_of_cluster(table: Table, owner: &str) -> bool {
    match table {
        Table::Changes => true,
        Table::Status => owner.parse::<Shard>().is_err(),
        Table::Reports | Table::Desired => false,
    }
}

pub(super) fn push_shard(out: &mut String, shard: Shard) {
    let number = shard.get();
    if number < 10 {
        out.push('0');
    }
    push_number(out, number);
}

fn push_number(out: &mut String, number: u16) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

pub(super) fn push_object(out: &mut String, object: &ObjectKey) {
    for part in [&object.gvk.group, &object.gvk.version, &object.gvk.kind, &object.namespace, &object.name] {
        out.push('.');
        token::push(out, part);
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::with_capacity(128);
        out.push_str(self.table().name());
        out.push('.');
        push_shard(&mut out, self.shard());
        out.push('.');
        match self {
            // The fence row of who is in a cluster is among its rows, so that it needs no right to any others.
            Self::Owner { table, owner, .. } if is_of_cluster(*table, owner) => {
                token::push(&mut out, owner);
                out.push_str(".~owner");
            }
            Self::Owner { owner, .. } => {
                out.push_str("~owner.");
                token::push(&mut out, owner);
            }
            Self::AllDesired { origin, .. } => {
                out.push_str("~complete.");
                push_shard(&mut out, *origin);
            }
            _ => self.cluster().into_iter().for_each(|cluster| token::push(&mut out, &cluster.to_string())),
        }
        self.push_rest(&mut out);
        f.write_str(&out)
    }
}

impl Subject {
    /// What follows the cluster.
    fn push_rest(&self, out: &mut String) {
        match self {
            Self::Change { viewer, object, .. } => {
                out.push('.');
                token::push(out, viewer);
                push_object(out, object);
            }
            Self::Report { source, origin, object, .. } => {
                out.push('.');
                token::push(out, source);
                out.push('.');
                push_shard(out, *origin);
                push_object(out, object);
            }
            Self::Desired { origin, profile, .. } | Self::Status { origin, profile, .. } => {
                out.push('.');
                push_shard(out, *origin);
                out.push('.');
                token::push(out, &profile.path());
            }
            Self::Complete { origin, .. } => {
                out.push_str(".~complete");
                if let Some(origin) = origin {
                    out.push('.');
                    push_shard(out, *origin);
                }
            }
            Self::Shown { what, profile, .. } => {
                // One token more than the rows of profiles have: who reads these reads none of them.
                out.push_str(".~shown.");
                out.push_str(what.token());
                out.push('.');
                token::push(out, &profile.path());
            }
            Self::Mark { .. } => out.push_str(".~mark"),
            Self::Owner { .. } | Self::AllDesired { .. } => {}
        }
    }
}
