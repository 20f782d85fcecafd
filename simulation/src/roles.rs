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

use crate::world::World;

/// Shards of every table in the simulation.
pub(crate) const SHARDS: u16 = 2;

/// A position in the interest rows.
#[derive(Default)]
struct Interests(usize);

impl Interests {
    fn next(&mut self, world: &World) -> Option<(ClusterRef, sluice_protocol::interest::Interest)> {
        let (next, position) = world.store.next_interest(self.0);
        self.0 = position;
        next.cloned()
    }
}
