//! What a cause leads to, from what is known: a function of the knowledge, the cause and the time, which says also what it has read.
//!
//! ```text
//! trigger, event ─► generators ─► content ─┐
//!                                          ├─► rendered profile ─► parts ─► a row for each destination
//! profile of a user ───────────────────────┘                          └──► one for the management cluster
//! ```
//!
//! Nothing is planned, published or said here, and nothing of `planning` or the renderer is used. What is kept between renders are
//! caches alone: what is compiled, parsed and drawn is a function of its text.

pub(crate) mod chart_outputs;
pub(crate) mod charts;
pub(crate) mod content;
pub(crate) mod destination;
pub(crate) mod draws;
pub(crate) mod event;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod jobs;
pub(crate) mod language;
pub(crate) mod management_row;
pub(crate) mod part;
pub(crate) mod patches;
pub(crate) mod policies;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod projection;
pub(crate) mod provider;
pub(crate) mod references;
pub(crate) mod render;
pub(crate) mod rendered;
pub(crate) mod resources;
pub(crate) mod roles;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod salt;
pub(crate) mod syntax;
pub(crate) mod templates;
pub(crate) mod text;
pub(crate) mod union;
pub(crate) mod veil;

pub(crate) use render::Rendering;
