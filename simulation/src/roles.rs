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
        // A bucket keeps the newest row of each key: older ones cannot be read any more.
        loop {
            let (cluster, row) = world.store.interests.get(self.0)?.clone();
            self.0 += 1;
            if world.store.interests[self.0..].iter().all(|(newer, _)| *newer != cluster) {
                return Some((cluster, row));
            }
        }
    }
}
