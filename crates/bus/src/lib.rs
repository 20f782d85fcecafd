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

mod bare;
mod buckets;
mod bus;
mod clock;
mod codec;
mod connection;
mod error;
#[cfg(any(test, feature = "test-kit"))]
pub mod kit;
mod layout;
mod membership;
mod relay;
mod seal;
mod shard;
#[cfg(test)]
mod tests;

pub use bare::{BareForm, BareRun, bare_loop};
pub use buckets::cloud_events::{Message, read_cloud_events, send_cloud_event};
pub use buckets::feed::Feed;
pub use buckets::follow::{Follower, follow};
pub use buckets::interest::{InterestFeed, InterestRemover, InterestWriter, interest_feed, interest_feed_of};
pub use buckets::journal::{Journal, journal};
pub use buckets::problems::{ProblemSource, Problems, problem_feed};
pub use bus::Bus;
pub use clock::{mono_micros, now_micros};
pub use connection::Connection;
pub use connection::accounts::{Alone, accounts, accounts_for, variable};
pub use connection::credentials::Credentials;
pub use connection::seed::Seed;
pub use connection::tls::Tls;
pub use connection::users::Rights;
pub use error::BusError;
pub use layout::BusOptions;
pub use layout::admin::{BusReport, ServerReport, StreamReport, check, scale};
pub use layout::wipe::wipe;
pub use membership::own_agents::OwnAgents;
pub use membership::roll_call::roll_call;
pub use membership::{Lease, MEMBER_TTL, Membership};
pub use relay::Relay;
pub use seal::BusKeys;
pub use seal::keys::{KeyFiles, KeyStore, Stored as StoredKeys, key_file, make_keys};
pub use seal::rotate::{Rotation, SEALED_FOR, retire, rotate, seal};
pub use shard::look::{FenceHolder, Stored, look, look_each, look_until, owner, owners};
pub use shard::observer::{Effects, Observer, Span};
pub use shard::read_spec::ReadSpec;
pub use shard::reader::{ReadEvent, Reader, read};
pub use shard::replay::replay;
pub use shard::runner::drive;
pub use shard::shard_spec::{Outputs, ShardSpec};
pub use shard::supervisor::{Supervisor, Tally};
