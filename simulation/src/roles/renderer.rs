//! The renderer of one shard.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng as _;
use sluice_api::ObjectKey;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Head, Incarnation, Now, Revision, Row, Sequence, Shard, Step, Subject, Table};
use sluice_renderer_core as renderer;

use super::{FORGET_AFTER, Interests, SHARDS};
use crate::checks::LATE;
use crate::coverage::Fault;
use crate::manifests;
use crate::role::{Link, Role};
use crate::world::{STEP, World};

/// How long the view of the management cluster lags behind at most when a renderer begins: longer than it takes to notice that
/// the former one has gone.
const STALE: i64 = 150 * STEP;

/// The renderer of one shard.
pub(crate) struct RendererRole {
    shard: Shard,
    interests: Interests,
    /// Position in the log of the management cluster: also a replica that owns nothing follows it.
    management: usize,
    /// It learns nothing new of it before.
    late_until: i64,
    status: Sequence,
    status_incarnation: Incarnation,
    /// What it watches because templates read it, and what it was told of it last.
    watched: BTreeMap<ObjectKey, Option<Option<u64>>>,
}

impl RendererRole {
    pub(crate) fn new(shard: Shard) -> Self {
        Self {
            shard,
            interests: Interests::default(),
            management: 0,
            late_until: 0,
            status: Sequence::NONE,
            status_incarnation: Incarnation::NONE,
            watched: BTreeMap::new(),
        }
    }

    fn status(&mut self, world: &mut World) -> Option<renderer::ExternalInput> {
        let stream = world.store.stream(Table::Status, Shard::FIRST);
        if stream.incarnation() != self.status_incarnation {
            (self.status, self.status_incarnation) = (Sequence::NONE, stream.incarnation());
        }
        let (sequence, stored) = stream.next(self.status)?;
        let read = stored.value.read_by(self.interests.newer);
        if !world.mishap(Fault::Duplicate, 0.01) {
            self.status = sequence;
        }
        world.rollbacks.heard(self.shard, &read.0, &read.2);
        Some(status_row(sequence, read))
    }

    fn change(&mut self, world: &mut World) -> Option<renderer::ExternalInput> {
        if world.now < self.late_until {
            return None;
        }
        let change = world.management.log.get(self.management)?.1.clone();
        if !world.mishap(Fault::Duplicate, 0.02) {
            self.management += 1;
        }
        Some(renderer::ExternalInput::Management(change))
    }
}

impl RendererRole {
    /// The only object that there is to watch, when it is not what was told last.
    fn resource(&mut self, world: &World) -> Option<renderer::ExternalInput> {
        let now = world.management.thing();
        let (key, told) = self.watched.iter_mut().find(|(_, told)| **told != Some(now))?;
        *told = Some(now);
        let there = |size: u64| renderer::Resource::There(Arc::new(manifests::thing(size)));
        let resource = now.map_or(renderer::Resource::Absent, there);
        Some(renderer::ExternalInput::Resource(key.clone(), resource))
    }
}

fn status_row(
    sequence: Sequence,
    (subject, head, body): (Subject, Head, Arc<[u8]>),
) -> renderer::ExternalInput {
    renderer::ExternalInput::Status(Arc::new(Row { subject, head, body, sequence }))
}

impl Role for RendererRole {
    type Core = renderer::Renderer;

    fn name(&self) -> String {
        format!("renderer {}", self.shard)
    }

    fn core(&self, world: &World, now: i64) -> renderer::Renderer {
        let config = renderer::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Reports, self.shard).incarnation(),
            outputs: world.store.incarnations(Table::Desired),
            tombstone_ttl: world.tombstone_ttl,
            limits: sluice_template::Limits::default(),
            salt: renderer::Salt::default(),
            forget_after: FORGET_AFTER,
            mark: 389 * (world.now / STEP).unsigned_abs(),
        };
        // Everything that is withdrawn is gathered, and goes: what would wait for people could not be predicted.
        let guard = renderer::WithdrawGuard { few: 0, percent: 100 };
        let mut core = renderer::Renderer::with_caches(config, &world.caches).guarded_by(Some(guard));
        // The shell lets a renderer begin only when it has read the management cluster, the interest rows and the status rows.
        let mut step = Step::at(Now { wall: now, steady: world.now });
        for object in world.management.at(self.management) {
            let change = renderer::Change::Upsert(object);
            sluice_protocol::Core::external(
                &mut core,
                renderer::ExternalInput::Management(change),
                &mut step,
            );
        }
        for (kind, version) in world.management.versions_at(self.management) {
            let change = renderer::Change::Listed(kind, Revision::new(version));
            sluice_protocol::Core::external(
                &mut core,
                renderer::ExternalInput::Management(change),
                &mut step,
            );
        }
        for (cluster, row) in world.store.present_interests(self.interests.newer) {
            let side = renderer::ExternalInput::Interest(cluster.clone(), row.clone());
            sluice_protocol::Core::external(&mut core, side, &mut step);
        }
        for (sequence, stored) in world.store.stream(Table::Status, Shard::FIRST).rows() {
            let row = status_row(sequence, stored.value.read_by(self.interests.newer));
            sluice_protocol::Core::external(&mut core, row, &mut step);
        }
        sluice_protocol::Core::external(&mut core, renderer::ExternalInput::Told, &mut step);
        core
    }

    fn output(&self) -> Table {
        Table::Desired
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Desired { origin, .. } | Subject::AllDesired { origin, .. } => *origin == self.shard,
            Subject::Complete { table: Table::Desired, origin, .. } => *origin == Some(self.shard),
            _ => false,
        }
    }

    fn input(&self) -> Option<(Table, Shard)> {
        Some((Table::Reports, self.shard))
    }

    fn reset(&mut self, world: &mut World, newer: bool) {
        let (log, fresh) = (&world.management.log, world.random.random_bool(0.7));
        let seen = |at: i64| at < world.now - STALE || at == 0;
        let from = if fresh { log.len() } else { log.partition_point(|(at, _)| seen(*at)) };
        let interests = Interests { at: world.store.interests_end(), ..Interests::of(newer) };
        // What it has read before it begins it does not read again: meanwhile it would hear nothing new.
        let World { store, rollbacks, .. } = world;
        let (stream, mut status) = (store.stream(Table::Status, Shard::FIRST), Sequence::NONE);
        for (sequence, stored) in stream.rows() {
            status = status.max(sequence);
            rollbacks.heard(self.shard, &stored.value.subject, &stored.value.body);
        }
        let status_incarnation = stream.incarnation();
        let management = self.management.max(from);
        *self = Self { interests, management, status, status_incarnation, ..Self::new(self.shard) };
        if !fresh && world.mishap(Fault::OldView, 0.5) {
            self.late_until = world.now + world.random.random_range(20..150) * STEP;
        }
    }

    fn external(&mut self, world: &mut World, link: Link) -> Option<renderer::ExternalInput> {
        match world.random.random_range(0..4) {
            0 => self.change(world),
            3 => self.resource(world),
            _ if !link.online => None,
            1 => self
                .interests
                .next(world)
                .map(|(cluster, row)| renderer::ExternalInput::Interest(cluster, row)),
            _ => self.status(world),
        }
    }

    fn has_news(&self, world: &World) -> bool {
        let stream = world.store.stream(Table::Status, Shard::FIRST);
        let unread = stream.incarnation() != self.status_incarnation || stream.next(self.status).is_some();
        (self.management < world.management.log.len() && self.late_until <= world.now)
            || self.interests.has_news(world)
            || self.watched.values().any(|told| *told != Some(world.management.thing()))
            || (unread && stream.next(Sequence::NONE).is_some())
    }

    fn effect(&mut self, world: &mut World, effect: renderer::Effect) {
        match effect {
            renderer::Effect::WriteInterest(cluster, row) => {
                world.tell(|| {
                    let names: Vec<_> = row.sources.iter().map(|source| source.name.as_str()).collect();
                    format!("{} wants interest {} of {cluster}: {names:?}", self.name(), row.revision)
                });
                let since = world.management.registered_since(&cluster.name);
                if row.gone && since.is_some_and(|since| world.now - since > LATE) {
                    let violation = format!("{cluster} is said to be gone, and is registered");
                    world.violation.get_or_insert(violation);
                }
                world.store.write_interest(&cluster, &row, self.interests.newer);
            }
            renderer::Effect::Watch(key) => drop(self.watched.insert(key, None)),
            renderer::Effect::Unwatch(key) => drop(self.watched.remove(&key)),
            _ => {}
        }
    }
}
