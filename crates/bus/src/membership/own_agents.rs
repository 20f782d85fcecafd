//! Which clusters have an agent or a deployer of their own (`--cluster`): the agents that serve all clusters leave those to it, and the
//! deployers tell which of those are silent that pull.
//!
//! Both agents would claim the fence of the cluster and depose each other for ever. Nothing has to be set: an agent that serves
//! all clusters hears that one of a single cluster lives.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use sluice_api::ClusterRef;
use sluice_protocol::Role;
use sluice_protocol::members::Members;
use sluice_protocol::subject::{all_members_subject, group_of_member};
use sluice_tasks::{End, Kept};

use crate::bus::Bus;
use crate::clock::mono_micros;
use crate::codec::ROW_FORMAT;
use crate::membership::MEMBER_TTL;

// D-0210: an agent for all clusters leaves those alone that have their own.
/// An agent of which nothing was heard for so many times the life of a member is gone: another one may take its time.
const LONGER: u32 = 3;

/// The clusters that others serve, as it was heard last; an agent that is silent is forgotten. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OwnAgents(Arc<Mutex<Members>>);

/// The cluster that a group of members serves alone, if it is one of those that are listened to.
type ClusterOf = fn(&str) -> Option<ClusterRef>;

impl OwnAgents {
    /// Begins to listen to agents, as a task of the process.
    pub fn listen(bus: &Bus) -> Self {
        Self::listen_to(bus, Role::cluster_of_group, MEMBER_TTL * LONGER)
    }

    /// Begins to listen to deployers, of which one is gone that says nothing for so long.
    pub fn listen_to_deployers(bus: &Bus, patience: Duration) -> Self {
        Self::listen_to(bus, Role::cluster_of_deployers, patience)
    }

    fn listen_to(bus: &Bus, of: ClusterOf, ttl: Duration) -> Self {
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        // It is no member itself: what others say is all that counts.
        let own = Self(Arc::new(Mutex::new(Members::new("", ttl, ROW_FORMAT))));
        let (bus, heard) = (bus.clone(), own.clone());
        bus.tasks.clone().keep(Kept::OwnAgents, move || heard.clone().follow(bus.clone(), of));
        own
    }

    async fn follow(self, bus: Bus, of: ClusterOf) -> End {
        let Ok(mut said) = bus.js.client().subscribe(all_members_subject()).await else { return End::Early };
        while let Some(message) = said.next().await {
            let Some(group) = group_of_member(&message.subject) else { continue };
            // Members of other groups are heard, too: that anything is heard is what silence is told from.
            let name = of(&group).map_or_else(String::new, |cluster| cluster.to_string());
            self.with(|members| members.heard(&name, mono_micros()));
        }
        End::Early
    }

    /// The clusters that have one now.
    pub fn clusters(&self) -> BTreeSet<ClusterRef> {
        self.with(|members| members.live_others().filter_map(|name| name.parse().ok()).collect())
    }

    fn with<R>(&self, f: impl FnOnce(&mut Members) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
