//! What a replica has to be told about its stage.

use sluice_protocol::{Core, OwnerConfig, Shard, Subject, Table};

use crate::world::{STEP, World};

/// Which replica of which role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) role: usize,
    pub(crate) index: usize,
}

/// What a replica has at the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// A connection to the bus.
    pub(crate) online: bool,
    /// The lease with which it began.
    pub(crate) lease: bool,
}

/// The shell of one stage over one shard, in memory.
pub(crate) trait Role {
    type Core: Core;

    /// Name of the role.
    fn name(&self) -> String;

    /// A core that knows nothing, at a time of its replica's clock.
    fn core(&self, world: &World, now: i64) -> Self::Core;

    /// What it writes.
    fn output(&self) -> Table;

    /// Name of the owner in fence rows.
    fn fence(&self) -> String;

    /// Whether a row of its output table is its own.
    fn owns(&self, subject: &Subject) -> bool;

    /// The shard it reads.
    fn input(&self) -> Option<(Table, Shard)>;

    /// Whether it reads this row of that.
    fn reads(&self, _: &Subject) -> bool {
        true
    }

    /// Whether it began with what is not so any more: then it begins anew.
    fn is_outdated(&self, _: &World) -> bool {
        false
    }

    /// Its process has ended: what its shell has heard is forgotten.
    fn crash(&mut self) {}

    /// Whether there is what its shell waits for before it begins.
    fn may_begin(&self, _: &World) -> bool {
        true
    }

    /// Whether it is in its cluster.
    fn is_inside(&self) -> bool {
        false
    }

    /// Forgets everything that came with the former owner; from now on it is of the newer version, or of the older one.
    fn reset(&mut self, world: &mut World, newer: bool);

    /// The next thing it learns besides rows, if there is one.
    fn external(&mut self, world: &mut World, link: Link) -> Option<<Self::Core as Core>::External>;

    /// Whether there may be something to learn, or something to do besides commands.
    fn has_news(&self, world: &World) -> bool;

    /// Something its core wants.
    fn effect(&mut self, world: &mut World, effect: <Self::Core as Core>::Effect);

    /// What it has sent to others than the bus arrives there.
    fn arrive(&mut self, _: &mut World) {}

    /// Whether something is under way to others than the bus.
    fn is_calling(&self) -> bool {
        false
    }

    /// Whether what it has done was the last, so that it begins anew when there is something to do; said once.
    fn take_end(&mut self) -> bool {
        false
    }

    /// Cuts its watches, when it has any.
    fn relist(&mut self) -> bool {
        false
    }
}

/// The configuration of every owner in the simulation.
pub(crate) fn owner_config(role: &impl Role, outputs: usize, tombstone_ttl: i64) -> OwnerConfig {
    let (reads, max_lag) = (role.input().is_some(), tombstone_ttl / 2);
    OwnerConfig { outputs, reads, patience: 20 * STEP, max_lag, digest_key: None }
}
