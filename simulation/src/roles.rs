//! The four stages as roles.

mod agent;
mod deployer;
mod matcher;
mod renderer;

use sluice_api::ClusterRef;

pub(crate) use agent::AgentRole;
pub(crate) use deployer::DeployerRole;
pub(crate) use matcher::MatcherRole;
pub(crate) use renderer::RendererRole;

use crate::coverage::Fault;
use crate::world::World;

/// Shards of every table in the simulation.
pub(crate) const SHARDS: u16 = 2;

/// A position in the interest rows.
#[derive(Default)]
struct Interests {
    at: usize,
    /// Whether its reader is of the newer version.
    newer: bool,
}

impl Interests {
    fn has_news(&self, world: &World) -> bool {
        world.store.next_interest(self.at, self.newer).0.is_some()
    }

    fn next(&mut self, world: &mut World) -> Option<(ClusterRef, sluice_protocol::interest::Interest)> {
        let (next, position) = world.store.next_interest(self.at, self.newer);
        let next = next.cloned();
        // A reader that begins again tells the same once more.
        if next.is_none() || !world.mishap(Fault::Duplicate, 0.01) {
            self.at = position;
        }
        next
    }
}
