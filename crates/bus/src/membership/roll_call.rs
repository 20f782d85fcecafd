//! Which replicas live, for people: they are asked, and heard for a moment.

// D-0211: whoever wants to know which replicas live asks them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use sluice_protocol::subject::{ROLL_CALL, all_members_subject, member_of};
use tokio::time::{Instant, timeout_at};

use crate::bus::Bus;
use crate::error::BusError;

/// Everybody says within this time that it lives, also who has not heard the question.
const LISTEN: Duration = Duration::from_millis(1200);
/// Once enough were heard, others answer within this time.
const QUIET: Duration = Duration::from_millis(50);

/// The replicas that live, by their group: a stage, or a cluster that has an agent of its own. When those that were heard
/// are `enough` it ends soon; else it takes as long as replicas that do not answer.
///
/// # Errors
/// When the server does not answer.
pub async fn roll_call(
    bus: &Bus,
    enough: impl Fn(&BTreeMap<String, BTreeSet<String>>) -> bool,
) -> Result<BTreeMap<String, BTreeSet<String>>, BusError> {
    let (listens, asks) = (BusError::request("listen who lives"), BusError::request("ask who lives"));
    let client = bus.js.client();
    let mut said = client.subscribe(all_members_subject()).await.map_err(listens)?;
    client.publish(ROLL_CALL, Vec::new().into()).await.map_err(asks)?;
    let (end, mut heard) = (Instant::now() + LISTEN, BTreeMap::<_, BTreeSet<_>>::new());
    let mut until = end;
    while let Ok(Some(message)) = timeout_at(until, said.next()).await {
        let Some((group, name)) = member_of(&message.subject) else { continue };
        heard.entry(group).or_default().insert(name);
        if enough(&heard) {
            until = end.min(Instant::now() + QUIET);
        }
    }
    Ok(heard)
}
