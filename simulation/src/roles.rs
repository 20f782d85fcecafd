//! The four stages as roles.

mod agent;
mod deployer;
mod forbidden;
mod kind_watch;
mod matcher;
mod renderer;

use rand::Rng as _;
use sluice_api::ClusterRef;

pub(crate) use agent::AgentRole;
pub(crate) use deployer::DeployerRole;
pub(crate) use matcher::MatcherRole;
pub(crate) use renderer::RendererRole;

use crate::coverage::Fault;
use crate::world::{STEP, World};

/// Shards of every table in the simulation.
pub(crate) const SHARDS: u16 = 2;

/// How long a cluster is not registered before everything goes that is known of it.
pub(crate) const FORGET_AFTER: i64 = 200 * STEP;

/// A position in the interest rows.
#[derive(Default)]
struct Interests {
    at: usize,
    /// Whether its reader is of the newer version.
    newer: bool,
    /// How many rows its node has, and until when it has no more.
    lagging: (usize, i64),
}

/// For so many steps at most a node does not have the newest interest rows.
const LAG: i64 = 100;

impl Interests {
    /// From the first row on.
    fn of(newer: bool) -> Self {
        Self { newer, ..Self::default() }
    }

    /// How many rows its node has.
    fn there(&self, world: &World) -> usize {
        let (rows, until) = self.lagging;
        if world.now < until { rows } else { world.store.interests_end() }
    }

    fn has_news(&self, world: &World) -> bool {
        world.store.next_interest(self.at, self.there(world), self.newer).0.is_some()
    }

    fn next(&mut self, world: &mut World) -> Option<(ClusterRef, sluice_protocol::interest::Interest)> {
        if world.now >= self.lagging.1 && world.store.replicated && world.mishap(Fault::OldInterest, 0.003) {
            let steps = world.random.random_range(1..LAG);
            let rows = self.at - world.random.random_range(0..4).min(self.at);
            let end = rows.max(world.store.interests_made());
            *self = Self { at: 0, lagging: (end, world.now + steps * STEP), ..*self };
        }
        let (next, position) = world.store.next_interest(self.at, self.there(world), self.newer);
        let next = next.cloned();
        // A reader that begins again tells the same once more.
        if next.is_none() || !world.mishap(Fault::Duplicate, 0.01) {
            self.at = position;
        }
        next
    }
}
