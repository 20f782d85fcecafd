//! Which causes there are and when they render: who listens to what, whether a cause is wanted, how fast its trigger acts, which rows
//! and names it has, what it has read, and what waits.
//!
//! Nothing is published or said here, and nothing of the renderer is used: what follows is returned, and the renderer does it.

pub(crate) mod agenda;
pub(crate) mod bindings;
pub(crate) mod causes;
pub(crate) mod listens;
pub(crate) mod loops;
pub(crate) mod pace;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod rates;
pub(crate) mod renderings;
mod returns;
pub(crate) mod rollbacks;
pub(crate) mod rollouts;
pub(crate) mod row_ledger;
pub(crate) mod wanted;
pub(crate) mod withdrawals;

pub(crate) use plan::Planning;
