//! The bus: NATS JetStream streams as compacted tables. The only crate that talks to NATS.
//!
//! ```text
//! Bus::connect ─► layout (streams, buckets, versions) ─► Follower (incarnations, leaders; audits what was acknowledged)
//!   Supervisor ─► for each shard this replica owns: runner::drive
//!                   │ commands of protocol::Owner            ▲ events
//!                   ▼                                        │
//!              claim, load, groups under the fence     rows, answers
//!   Membership ─► LeaseKeeper: says that this replica lives and hears the others, beside all work
//!   Feed ◄─ interest, status (whole small tables that every shard wants to know)
//! ```
//!
//! Streams can be lost at any time; they are made again, and everybody restarts. A node of the bus can be lost at
//! any time; groups are sent again, readers go on where they were, and nobody restarts.

#![forbid(unsafe_code)]

mod accounts;
mod admin;
mod answer;
mod audit;
mod bare;
mod bus;
mod clock;
mod codec;
mod connection;
mod consumers;
mod content_refs;
mod contents;
mod credentials;
mod end;
mod error;
mod feed;
mod fence;
mod follow;
mod heads;
mod health;
mod incarnation_watch;
mod incarnations;
mod interest;
mod journal;
mod layout;
mod lease_keeper;
mod ledger;
mod membership;
mod observer;
mod own_agents;
mod problems;
mod read_spec;
mod reader;
#[cfg(test)]
mod real_server;
mod replay;
mod runner;
mod seed;
mod shard_spec;
mod shipping;
mod streams;
mod supervisor;
mod tls;
mod users;
mod wipe;
mod writer;

pub use accounts::{accounts, variable};
pub use admin::{BusReport, ServerReport, StreamReport, check, scale};
pub use bare::{BareForm, BareRun, bare_loop};
pub use bus::Bus;
pub use clock::{mono_micros, now_micros};
pub use connection::Connection;
pub use credentials::Credentials;
pub use error::BusError;
pub use feed::Feed;
pub use follow::{Follower, follow};
pub use interest::{InterestWriter, interest_feed, interest_feed_of};
pub use journal::{Journal, journal};
pub use layout::BusOptions;
pub use membership::{Lease, MEMBER_TTL, Membership};
pub use observer::{Effects, Observer};
pub use own_agents::OwnAgents;
pub use problems::{ProblemSource, Problems, problem_feed};
pub use read_spec::ReadSpec;
pub use reader::{ReadEvent, Reader, read};
pub use replay::replay;
pub use runner::drive;
pub use seed::Seed;
pub use shard_spec::{Outputs, ShardSpec};
pub use supervisor::{Supervisor, Tally};
pub use tls::Tls;
pub use users::Rights;
pub use wipe::wipe;
