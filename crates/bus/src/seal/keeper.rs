//! Says which keys a stage reads with, and takes those that come.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sluice_tasks::End;

use crate::bus::Bus;
use crate::clock::now_micros;
use crate::error::BusError;
use crate::seal::keys::{self, Keyring, stage_of};
use crate::seal::{Shared, recipients};

/// Pause between two looks, and before what failed is tried again.
const REST: Duration = Duration::from_secs(1);
/// How often keys are looked for while a row waits for one.
const LOOK: Duration = Duration::from_secs(5);

/// Until the process ends.
pub(super) async fn keep(bus: Bus, shared: Arc<Shared>) -> End {
    let (mut news, stop) = (shared.feed.subscribe(), bus.tasks.stop().clone());
    while !stop.is_cancelled() {
        while news.try_recv().is_ok() {}
        let in_order = look(&bus, &shared).await;
        shared.changed.send_modify(|count| *count += 1);
        tokio::select! {
            _ = news.recv() => continue,
            () = shared.lacking.notified() => {}
            () = tokio::time::sleep(LOOK), if shared.writers().is_locked() => {}
            () = tokio::time::sleep(REST), if !in_order => continue,
            () = stop.cancelled() => {}
        }
        tokio::time::sleep(REST).await;
    }
    End::Done
}

/// Once; whether everything could be done.
async fn look(bus: &Bus, shared: &Shared) -> bool {
    if let Some(store) = &shared.store {
        match store.load(&stage_of(&shared.role)).await.and_then(|kept| Keyring::read(&kept)) {
            Ok(ring) => take(shared, ring),
            Err(error) => {
                tracing::warn!(
                    error,
                    "the keys of {} cannot be read; it goes on with those it has",
                    shared.role
                );
                return false;
            }
        }
    }
    match say(bus, shared).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "nobody can be told which key {} reads with; it tries again", shared.role);
            false
        }
    }
}

/// What the store has by now.
fn take(shared: &Shared, mut ring: Keyring) {
    // Digests are compared with those of before: it never changes while a process lives.
    ring.digest = shared.keys().digest.clone().or(ring.digest);
    let ring = Arc::new(ring);
    *shared.keys.lock().unwrap_or_else(PoisonError::into_inner) = ring.clone();
    shared.writers().unlock(&ring);
}

/// Writes the keys of this stage that nobody knows of yet.
async fn say(bus: &Bus, shared: &Shared) -> Result<(), BusError> {
    if !keys::reads(&shared.role) {
        return Ok(());
    }
    let stage = stage_of(&shared.role);
    let lacks = |entries: &recipients::Entries| recipients::missing(entries, &shared.keys(), now_micros());
    if shared.feed.get(&stage).is_some_and(|(_, entries)| lacks(&entries).is_empty()) {
        return Ok(());
    }
    let (mut entries, sequence) = recipients::read(bus, &stage).await?;
    let new = lacks(&entries);
    if new.is_empty() {
        return Ok(());
    }
    entries.extend(new);
    recipients::write(bus, &stage, &entries, sequence).await
}
