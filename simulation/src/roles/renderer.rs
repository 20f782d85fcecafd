//! The renderer of one shard.

use std::sync::Arc;

use rand::Rng as _;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Row, Subject, Table};
use sluice_renderer_core as renderer;

use super::{Interests, SHARDS};
use crate::role::Role;
use crate::world::{TOMBSTONE_TTL, World};

/// The renderer of one shard.
pub(crate) struct RendererRole {
    shard: u16,
    interests: Interests,
    management: usize,
    status: u64,
    status_incarnation: u64,
}

impl RendererRole {
    pub(crate) fn new(shard: u16) -> Self {
        Self { shard, interests: Interests::default(), management: 0, status: 0, status_incarnation: 0 }
    }
}

impl Role for RendererRole {
    type Core = renderer::Renderer;

    fn name(&self) -> String {
        format!("renderer {}", self.shard)
    }

    fn core(&self, world: &World) -> renderer::Renderer {
        let mut core = renderer::Renderer::new(renderer::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Reports, self.shard).incarnation(),
            tombstone_ttl: TOMBSTONE_TTL,
            limits: sluice_template::Limits::default(),
        });
        // The shell lets a renderer begin only when it has read the management cluster and the interest rows.
        let mut step = sluice_protocol::Step::at(world.now);
        for object in &world.management.objects {
            let change = renderer::Change::Upsert(object.clone());
            sluice_protocol::Core::side(&mut core, renderer::Side::Management(change), &mut step);
        }
        let mut interests = Interests::default();
        while let Some((cluster, row)) = interests.next(world) {
            sluice_protocol::Core::side(&mut core, renderer::Side::Interest(cluster, row), &mut step);
        }
        core
    }

    fn output(&self) -> Table {
        Table::Desired
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Desired { origin, .. } if *origin == self.shard)
    }

    fn input(&self) -> Option<(Table, u16)> {
        Some((Table::Reports, self.shard))
    }

    fn reset(&mut self, world: &World) {
        // The core is made from what is there now.
        let interests = Interests(world.store.interests_end());
        *self = Self { interests, management: world.management.log.len(), ..Self::new(self.shard) };
    }

    fn side(&mut self, world: &mut World) -> Option<renderer::Side> {
        match world.random.random_range(0..3) {
            0 => {
                let change = world.management.log.get(self.management)?.clone();
                self.management += 1;
                Some(renderer::Side::Management(change))
            }
            1 => self.interests.next(world).map(|(cluster, row)| renderer::Side::Interest(cluster, row)),
            _ => {
                let stream = world.store.stream(Table::Status, 0);
                if stream.incarnation() != self.status_incarnation {
                    (self.status, self.status_incarnation) = (0, stream.incarnation());
                }
                let (sequence, stored) = stream.next(self.status)?;
                self.status = sequence;
                let message = stored.value.clone();
                Some(renderer::Side::Status(Arc::new(Row {
                    subject: message.subject,
                    head: message.head,
                    body: message.body,
                    sequence,
                })))
            }
        }
    }

    fn effect(&mut self, world: &mut World, effect: renderer::Effect) {
        if let renderer::Effect::WriteInterest(cluster, row) = effect {
            world.store.write_interest(&cluster, &row);
        }
    }
}
