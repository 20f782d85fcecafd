//! What the scheduler and the faults do with a replica.

use crate::world::World;

/// What can be done with a replica, whatever its stage.
pub(crate) trait Replica {
    /// Name of its role.
    fn name(&self) -> &str;
    /// Does one micro step.
    fn step(&mut self, world: &mut World);
    /// Whether a micro step could do anything; else the time passes for it as if it had done one.
    fn rest(&mut self, world: &World) -> bool;
    /// Says that it lives, and hears of others; once in every step.
    fn keep_membership(&mut self, world: &mut World);
    /// Loses everything but its name.
    fn crash(&mut self);
    /// Ends in good order, and begins anew then.
    fn leave(&mut self, world: &mut World, until: i64);
    /// Does nothing until then; a long pause makes others take its work over.
    fn pause(&mut self, until: i64);
    /// Has no connection to the bus until then.
    fn cut(&mut self, until: i64);
    /// Hears nothing of other replicas until then.
    fn deafen(&mut self, until: i64);
    /// A node of the bus has died: a reader that was on it goes on over another one.
    fn lose_node(&mut self, node: usize, other: usize);
    /// The clock of its machine is set, by so much.
    fn set_clock(&mut self, by: i64);
    /// Is replaced by one of the newer version, or of the older one.
    fn upgrade(&mut self, newer: bool);
    /// Whether it is in its cluster.
    fn is_inside(&self) -> bool;
    /// Cuts its watches, when it has any: they list again.
    fn relist(&mut self) -> bool;
}
