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
//! A *cause* is one object (or all together) that matches one EventSource, seen by one trigger; or a profile
//! that a user wrote. Each cause owns the rows it leads to. A cause goes when the management cluster says so,
//! when its report is withdrawn, or when the cluster's set is complete and does not hold it; never otherwise.

#![forbid(unsafe_code)]

mod agenda;
mod bindings;
mod charts;
mod content;
mod draws;
mod event;
mod generate;
mod knowledge;
mod language;
mod listens;
mod local;
mod messages;
mod patches;
mod profile;
mod project;
mod provider;
mod rates;
mod render;
mod renderer;
mod renderings;
mod resources;
mod roles;
mod row_ledger;
mod salt;
mod syntax;
mod templates;
mod veil;

pub use knowledge::capabilities::ClusterCapabilities;
pub use knowledge::catalog::{Change, KINDS, Resource};
pub use knowledge::chart_request::{Access, ChartRequest, ChartState, LoadedChart};
pub use knowledge::choices::chosen_among;
pub use knowledge::labels::{generated_for, is_generator_output};
pub use knowledge::rights::{Question, Right};
pub use listens::{Listener, listeners, listens};
pub use messages::{Effect, ExternalInput};
pub use project::Projection;
pub use renderer::{Config, Explanation, Origin, Renderer};
pub use salt::Salt;
pub use syntax::{broken_templates, check_source};
pub use templates::Caches;
pub use veil::{Held, Veil};
