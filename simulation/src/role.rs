//! What a replica has to be told about its stage.

use sluice_protocol::{Core, OwnerConfig, Subject, Table};

use crate::world::World;

/// The shell of one stage over one shard, in memory.
pub(crate) trait Role {
    type Core: Core;

    /// Name of the role: the key of its ownership.
    fn name(&self) -> String;

    /// A core that knows nothing.
    fn core(&self, world: &World) -> Self::Core;

    /// What it writes.
    fn output(&self) -> Table;

    /// Name of the owner in fence rows.
    fn fence(&self) -> String;

    /// Whether a row of its output table is its own.
    fn owns(&self, subject: &Subject) -> bool;

    /// The shard it reads.
    fn input(&self) -> Option<(Table, u16)>;

    /// Forgets everything that came with the former owner.
    fn reset(&mut self, world: &World);

    /// The next thing it learns besides rows, if there is one.
    fn side(&mut self, world: &mut World) -> Option<<Self::Core as Core>::Side>;

    /// Something its core wants.
    fn effect(&mut self, world: &mut World, effect: <Self::Core as Core>::Effect);
}

/// The configuration of every owner in the simulation.
pub(crate) fn owner_config(role: &impl Role, world: &World) -> OwnerConfig {
    OwnerConfig {
        outputs: world.store.incarnations(role.output()).len(),
        reads: role.input().is_some(),
        patience: 200 * crate::world::STEP,
        max_lag: crate::world::TOMBSTONE_TTL / 2,
    }
}
