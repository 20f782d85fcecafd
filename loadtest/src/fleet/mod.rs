//! The load's view of the clusters: objects go in, add-ons come out.

mod arrivals;
mod repository;
mod sender;

pub use arrivals::{Arrival, Arrivals};
pub use repository::Repository;
pub use sender::Sender;
