//! Which replicas live, for people: they are heard for a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use sluice_protocol::subject::{all_members_subject, member_of};
use tokio::time::{Instant, timeout_at};

use crate::bus::Bus;
use crate::error::BusError;

/// Everybody says within this time that it lives.
const LISTEN: Duration = Duration::from_millis(1200);

/// The replicas that live, by their group: a stage, or a cluster that has an agent of its own.
///
/// # Errors
/// When the server does not answer.
pub async fn roll_call(bus: &Bus) -> Result<BTreeMap<String, BTreeSet<String>>, BusError> {
    let named = BusError::request("listen who lives");
    let mut said = bus.js.client().subscribe(all_members_subject()).await.map_err(named)?;
    let (until, mut heard) = (Instant::now() + LISTEN, BTreeMap::<_, BTreeSet<_>>::new());
    while let Ok(Some(message)) = timeout_at(until, said.next()).await {
        if let Some((group, name)) = member_of(&message.subject) {
            heard.entry(group).or_default().insert(name);
        }
    }
    Ok(heard)
}
