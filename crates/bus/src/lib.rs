//! The bus: NATS JetStream streams as compacted tables. The only crate that talks to NATS.
//!
//! ```text
//! Bus::connect ─► bootstrap (streams, buckets, versions, incarnations)
//!   Supervisor ─► for each shard this replica owns: runner::drive
//!                   │ commands of protocol::Owner            ▲ events
//!                   ▼                                        │
//!              claim, load, publish under the fence     rows, acks, refusals
//!   Membership ─► heart: refreshes this replica's row and hears of others, beside all work
//!   Feed ◄─ interest, status (whole small tables that every shard wants to know)
//! ```
//!
//! Streams can be lost at any time; they are made again, and everybody begins again.

#![forbid(unsafe_code)]

mod accounts;
mod bare;
mod clock;
mod codec;
mod connection;
mod contents;
mod credentials;
mod end;
mod error;
mod feed;
mod follow;
mod heads;
mod heart;
mod incarnations;
mod interest;
mod journal;
mod layout;
mod lives;
mod marks;
mod membership;
mod observer;
mod problems;
mod pulse;
mod reader;
#[cfg(test)]
mod real_server;
mod replay;
mod runner;
mod seed;
mod supervisor;
mod tls;
mod users;
mod wipe;
mod writer;

pub use accounts::{accounts, variable};
pub use bare::{BareForm, BareRun, bare_loop};
pub use clock::{mono_micros, now_micros};
pub use connection::Connection;
pub use credentials::Credentials;
pub use error::BusError;
pub use feed::Feed;
pub use follow::{Follower, follow};
pub use interest::{InterestWriter, interest_feed};
pub use journal::{Journal, journal};
pub use layout::{Bus, BusOptions};
pub use membership::{Lease, MEMBER_TTL, Membership};
pub use observer::{Effects, Observer};
pub use problems::{Problems, Voice, problem_feed};
pub use reader::{Load, ReadEvent, Reader, read};
pub use replay::replay;
pub use runner::{Outputs, ShardSpec, drive};
pub use seed::Seed;
pub use supervisor::{Supervisor, Tally};
pub use tls::Tls;
pub use users::Rights;
pub use wipe::wipe;
