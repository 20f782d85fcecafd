//! Playing a scenario on clusters, real or simulated, while Sluice runs beside it.

// D-1306: a scenario is a story in files.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::{Gvk, ObjectKey, object};

use super::expected::difference;
use super::said::Said;
use super::{Build, Examiner, Expected, MANAGEMENT, Scenario, State, Step, comes_first, differences};
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
    /// Its clusters have the names that the scenario calls them by.
    fleet: Fleet,
    kinds: Vec<Gvk>,
}

// === impl Player ===

impl<'a> Player<'a> {
    /// A player that has not begun.
    pub fn new(scenario: &'a Scenario, fleet: &Fleet) -> Self {
        Self { scenario, fleet: fleet.called(&scenario.places()), kinds: scenario.kinds() }
    }

    /// The fleet, by the names of the scenario.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Plays all steps, and compares after each: with the scenario, and with `sluice build` of the same state, also what triggers and
    /// profiles say of themselves. Then the Inspect service at this address, if there is one, explains what there is and what there is not.
    ///
    /// # Errors
    /// The step, and what is different after it.
    pub async fn play(&self, inspect: Option<&str>) -> anyhow::Result<()> {
        let mut examiner = inspect.map(|server| Examiner::new(self.scenario, server));
        let states = self.scenario.states()?;
        for (number, (state, expected)) in states.iter().zip(&self.scenario.expected).enumerate() {
            self.reach(number, state, expected).await.with_context(|| self.named(number))?;
            if let Some(examiner) = &mut examiner {
                examiner.ask(number, state, expected).await.with_context(|| self.named(number))?;
            }
        }
        examiner.map_or(Ok(()), |examiner| examiner.end())
    }

    /// Plays these steps, 0 is the input, and compares after each; what is there then stays for whoever looks.
    ///
    /// # Errors
    /// The step, and what is different after it.
    pub async fn play_on(&self, steps: RangeInclusive<usize>) -> anyhow::Result<()> {
        let states = self.scenario.states()?;
        let numbered = states.iter().zip(&self.scenario.expected).enumerate();
        for (number, (state, expected)) in numbered.filter(|(number, _)| steps.contains(number)) {
            self.reach(number, state, expected).await.with_context(|| self.named(number))?;
        }
        Ok(())
    }

    /// Removes what the scenario and Sluice left, so that the next one can begin. Sluice must not run any more.
    ///
    /// # Errors
    /// What cannot be removed.
    pub async fn clear(&self) -> anyhow::Result<()> {
        for (version, kind) in SVELTOS {
            for object in self.fleet.management.list(&Gvk::parse(version, kind)).await? {
                // Nobody is there who would take a finalizer off.
                self.fleet.management.delete_held(&object).await?;
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

    /// Does what a step says, 0 is the input, and waits until all is as it should be.
    async fn reach(&self, number: usize, state: &State, expected: &Expected) -> anyhow::Result<()> {
        match number.checked_sub(1).and_then(|index| self.scenario.steps.get(index)) {
            None => self.begin().await?,
            Some(step) => self.step(step).await?,
        }
        self.wait(&state.build()?, expected).await?;
        self.wait_until_said(&Said::of(state, &state.explained()?, expected)).await
    }

    /// What a step is called.
    fn named(&self, number: usize) -> String {
        let step = number.checked_sub(1).and_then(|index| self.scenario.steps.get(index));
        format!("{}, {}", self.scenario.name, step.map_or("input", |step| step.name.as_str()))
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
        let registrations = step.delete.iter().filter(|(place, object)| {
            place == MANAGEMENT && object::text(object, &["kind"]) == "SveltosCluster"
        });
        for (_, object) in registrations {
            self.until_gone(object).await?;
        }
        Ok(())
    }

    /// Waits until a registration has gone: it may be kept until its add-ons are withdrawn.
    async fn until_gone(&self, registration: &Value) -> anyhow::Result<()> {
        let key = ObjectKey::of(registration).context("a registration has no kind or name")?;
        let deadline = Instant::now() + TIMEOUT;
        while self.fleet.management.get(&key).await?.is_some() {
            anyhow::ensure!(Instant::now() < deadline, "{key} is still there after {TIMEOUT:?}");
            tokio::time::sleep(LOOK).await;
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
            let differences = said.differences(&self.fleet).await?;
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
            let others = expected.unprinted(cluster);
            let held: Vec<_> =
                held.into_iter().filter(|object| !others.contains(&ObjectKey::of(object))).collect();
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
        for path in expected.reports.keys() {
            let (namespace, name) = path.split_once('/').context("a report is named namespace/name")?;
            let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterReport");
            let key = ObjectKey { gvk, namespace: namespace.to_owned(), name: name.to_owned() };
            let report = self.fleet.management.get(&key).await?;
            found.extend(expected.report_differences(path, report.as_ref()));
        }
        Ok(found)
    }
}

/// What `sluice build` prints for a cluster, without what waits there, and without what has fields of somebody else.
fn live_part(build: &Build, expected: &Expected, cluster: &str) -> Vec<Value> {
    let others = [&expected.pending, &expected.shared].into_iter().filter_map(|places| places.get(cluster));
    let others: Vec<Option<ObjectKey>> = others.flatten().map(ObjectKey::of).collect();
    let built = build.clusters.get(cluster).into_iter().flatten();
    built.filter(|object| !others.contains(&ObjectKey::of(object))).cloned().collect()
}
