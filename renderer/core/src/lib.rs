//! What goes where, with what content: the renderer's decision, without IO or clock.
//!
//! ```text
//! reports rows ──► sets ──┐
//!                         ├──► cause ──► rendered profile ──► desired rows, one for each destination
//! management objects ─► catalog                        └──► projections (ClusterProfile, ConfigMap, EventReport)
//!                         └──► interest rows: which EventSources are live on which cluster
//! status rows ──► held: what clusters hold and nobody wants is withdrawn
//! ```
//!
//! Four floors over the errors, each of which uses those below it and nothing above (`scripts/check_floors.py` says so):
//!
//! ```text
//! renderer    what comes in and what follows: five fields, and one `act` for a cause
//! planning    which causes there are, and when they render
//! rendering   what a cause leads to: a function of what is known
//! knowledge   what is known
//! error       what can be wrong with it
//! ```
//!
//! A *cause* is one object (or all together) that matches one EventSource, seen by one trigger; or a profile
//! that a user wrote. Each cause owns the rows it leads to. A cause goes when the management cluster says so,
//! when its report is withdrawn, or when the cluster's set is complete and does not hold it; never otherwise.

#![forbid(unsafe_code)]

mod error;
mod knowledge;
mod messages;
mod planning;
mod renderer;
mod rendering;

pub use error::{Error, Result};
pub use knowledge::capabilities::ClusterCapabilities;
pub use knowledge::catalog::{Change, KINDS, Resource};
pub use knowledge::chart_request::{Access, ChartRequest, ChartState, LoadedChart};
pub use knowledge::choices::chosen_among;
pub use knowledge::labels::{generated_for, is_generator_output};
pub use knowledge::rights::{Question, Right};
pub use messages::{Effect, ExternalInput};
pub use planning::listens::{Listener, listeners, listens};
pub use planning::withdrawals::{NoWithdrawGuard, WithdrawGuard};
pub use renderer::{Config, Renderer};
pub use rendering::explain::{Explanation, Origin};
pub use rendering::projection::Projection;
pub use rendering::salt::Salt;
pub use rendering::syntax::{broken_templates, check_source};
pub use rendering::templates::Caches;
pub use rendering::veil::{ReadAs, Veil};
