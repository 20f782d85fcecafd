//! Saying in the status of users' objects what became of them: a shard's part of it.

use std::time::Duration;

use sluice_bus::{Feed, now_micros};
use sluice_protocol::subject::NameHash;
use sluice_protocol::{ProblemRow, Shard};
use sluice_renderer_core::Change;
use sluice_runtime::Projector;
use sluice_status_core::{Statuses, concerned_by_problem};
use sluice_tasks::End;

use crate::capabilities::Known;
use crate::management::{Generated, Made, Management};
use crate::status;

/// So many changes are taken before it is looked whether something is due.
const AT_ONCE: usize = 1024;

/// Problems by their subjects.
pub(crate) type Problems = Feed<String, ProblemRow>;

/// What decides for a shard.
fn core(shard: Shard, shards: u16, auto_deploys: bool) -> Statuses {
    let core = Statuses::new(shard, shards);
    if auto_deploys { core } else { core.without_dependents() }
}

/// Waits until this time, microseconds since 1970; without one for ever.
async fn until(time: Option<i64>) {
    match time.map(|at| u64::try_from(at - now_micros()).unwrap_or(0)) {
        Some(micros) => tokio::time::sleep(Duration::from_micros(micros)).await,
        None => std::future::pending().await,
    }
}

/// Keeps the status of this shard's objects in step with what is known of them, until it is cancelled.
pub(crate) async fn keep(
    (written, generated): (Management, Generated),
    problems: Problems,
    statuses: status::Statuses,
    (capabilities, auto_deploys): (Known, bool),
    projector: Projector,
    (shard, shards): (Shard, u16),
) -> End {
    let mut core = core(shard, shards, auto_deploys);
    // There are many rows, and each counts for one or two shards: the others are not woken for it.
    let is_here = move |name: NameHash| name.shard(shards) == shard;
    let mut errors = problems.subscribe_where(move |_, row| concerned_by_problem(row).is_some_and(is_here));
    let mut rows = statuses.subscribe_where(move |_, row| row.concerned.into_iter().flatten().any(is_here));
    let is_made_here = move |made: &Made| made.profile.as_ref().is_some_and(|made| is_here(made.place));
    let mut made = generated.subscribe_where(move |_, made| is_made_here(made));
    let (mut changes, mut known) = (written.subscribe(), capabilities.subscribe());
    let (mut some_changes, mut some_errors, mut some_rows) = (Vec::new(), Vec::new(), Vec::new());
    let (mut some_known, mut some_made) = (Vec::new(), Vec::new());
    loop {
        let due = until(core.next());
        let count = tokio::select! {
            count = changes.recv_many(&mut some_changes, AT_ONCE) => count,
            count = errors.recv_many(&mut some_errors, AT_ONCE) => count,
            count = rows.recv_many(&mut some_rows, AT_ONCE) => count,
            count = known.recv_many(&mut some_known, AT_ONCE) => count,
            count = made.recv_many(&mut some_made, AT_ONCE) => count,
            () = due => 1,
        };
        if count == 0 {
            return End::Early;
        }
        let now = now_micros();
        for change in some_changes.drain(..) {
            match change {
                Change::Upsert(object) => core.change(&object, false, now),
                Change::Delete(object) => core.change(&object, true, now),
                Change::Listed(..) => {}
            }
        }
        some_errors.drain(..).for_each(|row| core.problem(row, now));
        some_rows.drain(..).for_each(|status| core.row(&status.row, now));
        some_made.drain(..).filter_map(|made| made.profile).for_each(|profile| core.made(&profile, now));
        for (cluster, can) in some_known.drain(..) {
            core.capabilities(&cluster, can.as_ref().map(|can| can.version()), now);
        }
        let mut writes = core.take_due(now);
        for (key, status) in writes.statuses {
            let labels = writes.labels.remove(&key);
            projector.project_status(key, status, labels);
        }
        for (key, labels) in writes.labels {
            projector.project_labels(key, &labels);
        }
        for (key, event) in writes.events {
            projector.project(key, Some(event));
        }
    }
}
