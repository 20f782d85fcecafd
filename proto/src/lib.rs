//! The public contract of Sluice as protobuf: the types that are generated from the files beside this crate.
//!
//! ```text
//! proto/sluice/inspect/v1/inspect.proto ─► build.rs (protox, no protoc) ─► types, client and server of `Inspect`
//!                                                  └─► descriptors ─► reflection
//!                                                             └─ compared with proto/sluice.binpb
//! ```
//!
//! `proto/sluice.binpb` holds the contract as it was promised. A test fails when something of it is gone, has another number
//! or another type. What is added is promised too once `make proto` has written it into that file, and the same test says so
//! until it has.

#![forbid(unsafe_code)]

pub mod contract;

/// Answers about a running Sluice.
pub mod inspect {
    /// Version 1.
    #[allow(missing_docs, clippy::all, reason = "generated; the comments are those of the .proto file")]
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/sluice.inspect.v1.rs"));
    }
}

/// The small rows of the bus, for a measurement: nobody speaks it, and nothing is promised of it.
#[cfg(feature = "bus-rows")]
pub mod bus {
    /// Version 1.
    #[allow(missing_docs, clippy::all, reason = "generated; the comments are those of the .proto file")]
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/sluice.bus.v1.rs"));
    }
}

#[cfg(feature = "bus-rows")]
pub use prost::Message;

/// The compiled files with all that they import, as a `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sluice.binpb"));
