//! Playing a scenario on clusters, real or simulated, while Sluice runs beside it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::{Gvk, ObjectKey, object};

use super::expected::difference;
use super::said::Said;
use super::{Build, Examiner, Expected, MANAGEMENT, Scenario, Step, comes_first, differences};
use crate::fleet::Fleet;

/// How long a change may take to have its effect on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);
/// What is true must stay true for this long.
const STAYS: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);

/// Kinds of the management cluster that scenarios and Sluice write, in the order in which they are cleared.
const SVELTOS: [(&str, &str); 9] = [
    ("lib.projectsveltos.io/v1beta1", "EventTrigger"),
    ("lib.projectsveltos.io/v1alpha1", "EventBasedAddOn"),
    ("lib.projectsveltos.io/v1beta1", "EventSource"),
    ("lib.projectsveltos.io/v1beta1", "RoleRequest"),
    ("lib.projectsveltos.io/v1beta1", "EventReport"),
    ("config.projectsveltos.io/v1beta1", "ClusterProfile"),
    ("config.projectsveltos.io/v1beta1", "Profile"),
    ("config.projectsveltos.io/v1beta1", "ClusterSummary"),
    ("lib.projectsveltos.io/v1beta1", "SveltosCluster"),
];

/// Plays one scenario on one fleet.
pub struct Player<'a> {
    scenario: &'a Scenario,
    fleet: &'a Fleet,
    kinds: Vec<Gvk>,
}

// === impl Player ===

impl<'a> Player<'a> {
    /// A player that has not begun.
    pub fn new(scenario: &'a Scenario, fleet: &'a Fleet) -> Self {
        Self { scenario, fleet, kinds: scenario.kinds() }
    }

    /// Plays all steps, and compares after each: with the scenario, and with `sluice build` of the same state, also what triggers and
    /// profiles say of themselves. Then the Inspect service at this address, if there is one, explains what there is and what there is not.
    ///
    /// # Errors
    /// The step, and what is different after it.
    pub async fn play(&self, inspect: Option<&str>) -> anyhow::Result<()> {
        let mut examiner = inspect.map(|server| Examiner::new(self.scenario, server));
        let states = self.scenario.states()?;
        self.begin().await.with_context(|| format!("{}, input", self.scenario.name))?;
        for (number, (state, expected)) in states.iter().zip(&self.scenario.expected).enumerate() {
            let step = number.checked_sub(1).and_then(|index| self.scenario.steps.get(index));
            let name = step.map_or("input", |step| step.name.as_str());
            let named = || format!("{}, {name}", self.scenario.name);
            if let Some(step) = step {
                self.step(step).await.with_context(named)?;
            }
            self.wait(&state.build()?, expected).await.with_context(named)?;
            let said = Said::of(state, &state.explained()?, expected);
            self.wait_until_said(&said).await.with_context(named)?;
            if let Some(examiner) = &mut examiner {
                examiner.ask(number, state, expected).await.with_context(named)?;
            }
        }
        examiner.map_or(Ok(()), |examiner| examiner.end())
    }

    /// Removes what the scenario and Sluice left, so that the next one can begin. Sluice must not run any more.
    ///
    /// # Errors
    /// What cannot be removed.
    pub async fn clear(&self) -> anyhow::Result<()> {
        for (version, kind) in SVELTOS {
            for object in self.fleet.management.list(&Gvk::parse(version, kind)).await? {
                self.fleet.management.delete(&object).await?;
            }
        }
        for state in self.scenario.states()? {
            for place in state.places() {
                // Without a controller of namespaces, a deleted one would never be usable again; and CloudEvents went with
                // their bus.
                let is_left = |object: &&Value| {
                    object::text(object, &["kind"]) != "Namespace" && !CloudEvent::is_meant(object)
                };
                let cluster = self.fleet.at(place)?;
                for object in state.at(place).filter(is_left) {
                    if object::at(object, &["metadata", "finalizers"]).is_some() {
                        cluster.delete_held(object).await?;
                    } else {
                        cluster.delete(object).await?;
                    }
                }
            }
        }
        let clients =
            self.fleet.members.values().map(|member| &member.client).chain([&self.fleet.management]);
        for client in clients {
            let mut left = client.deployed(&self.kinds).await?;
            for kind in ["ConfigMap", "Secret"] {
                let found = client.list(&Gvk::new("", "v1", kind)).await?;
                left.extend(found.into_iter().filter(|object| object::namespace(object) == "projectsveltos"));
            }
            for object in &left {
                client.delete(object).await?;
            }
        }
        Ok(())
    }

    /// Puts the input into place; clusters that it does not register are not registered.
    async fn begin(&self) -> anyhow::Result<()> {
        let start = &self.scenario.start;
        let registered: Vec<Option<ObjectKey>> = start.at(MANAGEMENT).map(ObjectKey::of).collect();
        let kind = Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster");
        for cluster in self.fleet.management.list(&kind).await? {
            if !registered.contains(&ObjectKey::of(&cluster)) {
                self.fleet.management.delete(&cluster).await?;
            }
        }
        for place in start.places() {
            let (first, rest): (Vec<&Value>, Vec<&Value>) =
                start.at(place).partition(|object| comes_first(object));
            for object in first.into_iter().chain(rest) {
                self.fleet.apply(place, object).await?;
            }
        }
        Ok(())
    }

    async fn step(&self, step: &Step) -> anyhow::Result<()> {
        for (place, object) in &step.apply {
            self.fleet.apply(place, object).await?;
        }
        for (place, object) in &step.delete {
            self.fleet.delete(place, object).await?;
        }
        Ok(())
    }

    /// Waits until everything is as it should be, and looks whether it stays so.
    async fn wait(&self, build: &Build, expected: &Expected) -> anyhow::Result<()> {
        let (deadline, mut since) = (Instant::now() + TIMEOUT, None::<Instant>);
        loop {
            let differences = self.differences(build, expected).await?;
            if differences.is_empty() {
                let first = *since.get_or_insert_with(Instant::now);
                if first.elapsed() > STAYS {
                    return Ok(());
                }
            } else if since.is_some() {
                bail!("it was as it should be, and then:\n{}", differences.join("\n"));
            } else if Instant::now() > deadline {
                bail!("after {TIMEOUT:?}:\n{}", differences.join("\n"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until triggers, profiles and ClusterSummaries say what became of them.
    async fn wait_until_said(&self, said: &Said) -> anyhow::Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let differences = said.differences(self.fleet).await?;
            if differences.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("after {TIMEOUT:?}:\n{}", differences.join("\n"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn differences(&self, build: &Build, expected: &Expected) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        let members = self.fleet.members.iter().map(|(name, member)| (name.as_str(), &member.client));
        for (cluster, client) in members.chain([(MANAGEMENT, &self.fleet.management)]) {
            let held = client.deployed(&self.kinds).await?;
            found.extend(differences(cluster, &expected.of(cluster, true), &held));
            let built = live_part(build, expected, cluster);
            let built = differences(cluster, &built, &held);
            found.extend(built.into_iter().map(|text| format!("{text} (as sluice build says)")));
            for kept in expected.kept.get(cluster).into_iter().flatten() {
                let key = ObjectKey::of(kept).context("a kept object has no kind or name")?;
                let there = client.get(&key).await?;
                let changed = match &there {
                    None => Some("is gone and must not be".to_owned()),
                    Some(there) => difference("", kept, Some(there)),
                };
                found.extend(changed.map(|text| format!("{cluster}: {key} of somebody else {text}")));
            }
        }
        Ok(found)
    }
}

/// What `sluice build` prints for a cluster, without the kinds that the cluster does not know.
fn live_part(build: &Build, expected: &Expected, cluster: &str) -> Vec<Value> {
    let pending: Vec<Option<ObjectKey>> =
        expected.pending.get(cluster).into_iter().flatten().map(ObjectKey::of).collect();
    let built = build.clusters.get(cluster).into_iter().flatten();
    built.filter(|object| !pending.contains(&ObjectKey::of(object))).cloned().collect()
}
