//! The matcher of one shard.

use std::collections::VecDeque;

use rand::Rng as _;
use sluice_matcher_core as matcher;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Row, Shard, Subject, Table};

use super::{Interests, SHARDS};
use crate::role::{Link, Role};
use crate::world::World;

/// The matcher of one shard.
pub(crate) struct MatcherRole {
    shard: Shard,
    interests: Interests,
    replays: VecDeque<matcher::ExternalInput>,
    /// How many interest rows there were when it began, until all of them have been told.
    untold: Option<usize>,
}

impl MatcherRole {
    pub(crate) fn new(shard: Shard) -> Self {
        Self { shard, interests: Interests::default(), replays: VecDeque::new(), untold: None }
    }
}

impl Role for MatcherRole {
    type Core = matcher::Matcher;

    fn name(&self) -> String {
        format!("matcher {}", self.shard)
    }

    fn core(&self, world: &World, _: i64) -> matcher::Matcher {
        matcher::Matcher::new(matcher::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Changes, self.shard).incarnation(),
            outputs: world.store.incarnations(Table::Reports),
            limits: sluice_script::Limits::default(),
        })
    }

    fn output(&self) -> Table {
        Table::Reports
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Report { origin, .. } | Subject::Complete { origin: Some(origin), .. } => {
                *origin == self.shard
            }
            _ => false,
        }
    }

    fn input(&self) -> Option<(Table, Shard)> {
        Some((Table::Changes, self.shard))
    }

    fn reset(&mut self, world: &mut World, newer: bool) {
        let (untold, interests) = (Some(world.store.interests_end()), Interests::of(newer));
        *self = Self { untold, interests, ..Self::new(self.shard) };
    }

    fn external(&mut self, world: &mut World, link: Link) -> Option<matcher::ExternalInput> {
        if !link.online {
            return None;
        }
        if world.random.random_bool(0.5)
            && let Some(replayed) = self.replays.pop_front()
        {
            return Some(replayed);
        }
        if self.untold.is_some_and(|count| self.interests.at >= count) {
            self.untold = None;
            return Some(matcher::ExternalInput::Told);
        }
        self.interests.next(world).map(|(cluster, row)| matcher::ExternalInput::Interest(cluster, row))
    }

    fn has_news(&self, world: &World) -> bool {
        self.untold.is_some() || !self.replays.is_empty() || self.interests.has_news(world)
    }

    fn effect(&mut self, world: &mut World, effect: matcher::Effect) {
        let matcher::Effect::Replay(cluster, id) = effect else { return };
        for (sequence, stored) in world.store.stream(Table::Changes, self.shard).rows() {
            let (subject, head, body) = stored.value.read_by(self.interests.newer);
            if matches!(&subject, Subject::Change { cluster: of, .. } if *of == cluster) {
                let row = Row { subject, head, body, sequence };
                self.replays.push_back(matcher::ExternalInput::Replayed(row));
            }
        }
        self.replays.push_back(matcher::ExternalInput::ReplayDone(cluster, id));
    }
}
