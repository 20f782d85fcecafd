//! Ports for servers that are stopped and started again on the same address.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::bail;

/// The system gives outgoing connections ports above these: one of them could take the port of a server that is away
/// for a moment.
const FIRST: u16 = 16_000;
const COUNT: u16 = 12_000;

/// Where this process looks next.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of the loopback address that nobody uses now, and no outgoing connection will take by chance.
///
/// # Errors
/// When all are in use.
pub fn steady_port() -> anyhow::Result<u16> {
    // Tests that run at the same time begin at different places.
    let begin = (std::process::id().wrapping_mul(2_654_435_761) >> 16) as u16;
    for _ in 0..COUNT {
        let step = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + step % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port of the loopback address between {FIRST} and {} is free", FIRST + COUNT)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn ports_differ_and_are_below_those_of_outgoing_connections() {
        let (one, other) = (steady_port().unwrap(), steady_port().unwrap());
        assert_ne!(one, other);
        assert!([one, other].iter().all(|port| (FIRST..FIRST + COUNT).contains(port)));
    }
}
