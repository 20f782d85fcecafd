//! What is known: of the management cluster, of the matches on clusters and how complete they are, of charts, of what clusters can
//! do and of what tenants may read. Questions in, answers out.
//!
//! Nothing is rendered, planned or said here, and nothing of the other folders is used. What scripts of EventSources choose is
//! knowledge as well: it follows from the matches alone.

pub(crate) mod capabilities;
pub(crate) mod catalog;
pub(crate) mod causes;
pub(crate) mod chart_output;
pub(crate) mod chart_request;
pub(crate) mod choices;
pub(crate) mod chosen;
pub(crate) mod completeness;
pub(crate) mod labels;
pub(crate) mod reads;
pub(crate) mod rights;
pub(crate) mod sets;
pub(crate) mod store;

pub(crate) use causes::Basis;
pub(crate) use store::Knowledge;
