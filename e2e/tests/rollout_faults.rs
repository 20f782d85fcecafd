//! A rollout goes on while the renderer that owns it is killed, paused and cut off: never do more clusters than allowed have a content
//! without being done with it, and in the end all have it, or what its failures lead to. `make survive` runs these.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::{Value, json};
use sluice_api::{Gvk, ProfileId, object};
use sluice_e2e::survival::{Installation, Limits, Problem, Rollout, problems};
use sluice_protocol::rows::Cause;
use sluice_testbed::{Options, Place, manifests};

const CLUSTERS: usize = 8;
/// 25 % of them.
const LIMITS: Limits = Limits { at_a_time: 2, soak: Duration::from_secs(2), failed_are_done: false };
/// Changes a second of something else.
const RATE: u32 = 10;
const SHARDS: u16 = 16;
/// The renderer that owns the profile.
const OWNER: &str = "renderer-1";
/// So many clusters have a content when the owner is damaged, and when it is well again.
const BEGUN: usize = 3;
const GOES_ON: usize = 6;
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);
/// What must not happen is waited for so long.
const STAYS: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Paused,
    CutOff,
    AllKilled,
}

/// An installation with a profile that goes to few clusters at a time.
struct Trial {
    // The stages end before the place of one of them goes.
    installation: Installation,
    place: Option<Place>,
    rollout: Rollout,
    name: String,
    annotations: Value,
    version: u64,
}

// === impl Trial ===

impl Trial {
    async fn start() -> anyhow::Result<Self> {
        let refused = Place::refused();
        let place = if refused.is_none() { Some(Place::make(1)?) } else { None };
        let mut options =
            Options { clusters: CLUSTERS, replicas: 2, nodes: 3, stream_replicas: 3, ..Options::default() };
        if let Some(place) = &place {
            options.bus_address = place.outside().to_owned();
            options.clusters_address = place.outside().to_owned();
            options.places.insert(OWNER.to_owned(), place.inside());
        }
        let installation = Installation::start_on(options).await?;
        let name = owned(&installation)?;
        if let Some(why) = refused {
            installation.say(&format!("nobody is cut off: {why}"));
        }
        let rollout = Rollout::watch(&installation.fleet, &name);
        let annotations = json!({"sluice.dev/rollout-soak": "2s"});
        let mut trial = Self { installation, place, rollout, name, annotations, version: 0 };
        trial.write(None).await?;
        trial.set_profile().await?;
        trial.all_are_well().await?;
        Ok(trial)
    }

    async fn set_profile(&mut self) -> anyhow::Result<()> {
        let script = "function evaluate()\n  return {healthy = obj.data.seen == obj.data.version, message = 'not seen yet'}\nend\n";
        let check = json!({"name": "it-was-seen", "featureID": "Resources", "group": "", "version": "v1", "kind": "ConfigMap",
            "namespace": "default", "labelFilters": [{"key": "rolled", "operation": "Has"}], "script": script});
        let profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
            "metadata": {"name": self.name, "annotations": self.annotations},
            "spec": {"clusterSelector": {"matchLabels": {manifests::CLUSTER_LABEL: "true"}}, "maxUpdate": "25%",
                "validateHealths": [check], "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": self.name}]}});
        self.installation.apply(profile).await
    }

    /// Writes the next content, which is never well on a cluster; the number of it.
    async fn write(&mut self, unwell: Option<&str>) -> anyhow::Result<u64> {
        self.version += 1;
        if let Some(cluster) = unwell {
            self.rollout.never_well(cluster, self.version);
        }
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": "default", "labels": {"rolled": "out"}},
            "data": {"version": self.version.to_string()}});
        let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name, "namespace": "default"},
            "data": {"object.yaml": object.to_string()}});
        self.installation.apply(content).await?;
        Ok(self.version)
    }

    /// Waits until this is so.
    async fn until(&self, what: &str, is_so: impl Fn(&Self) -> anyhow::Result<bool>) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self)? {
            if Instant::now() > deadline {
                let (version, rollout) = (self.version, &self.rollout);
                bail!(
                    "in vain: {what}; {:?} have {version}, well are {:?}",
                    rollout.having(version),
                    rollout.well(version)
                );
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn until_having(&self, clusters: usize) -> anyhow::Result<()> {
        let what = format!("{clusters} clusters have content {}", self.version);
        self.until(&what, |trial| Ok(trial.rollout.having(trial.version).len() >= clusters)).await
    }

    async fn all_are_well(&self) -> anyhow::Result<()> {
        let what = format!("content {} is well everywhere", self.version);
        self.until(&what, |trial| Ok(trial.rollout.well(trial.version).len() == CLUSTERS)).await
    }

    /// Nothing went beyond the limits, and the owner owns the profile again.
    async fn is_within(&self, limits: Limits) -> anyhow::Result<()> {
        let wrong = self.rollout.wrong(limits);
        ensure!(wrong.is_empty(), "{wrong:#?}");
        self.until("the owner is back", |trial| {
            Ok(trial.installation.owner("renderer", shard(&trial.name))? == OWNER)
        })
        .await
    }

    async fn until_another_owns(&self) -> anyhow::Result<()> {
        let owner = |trial: &Self| trial.installation.owner("renderer", shard(&trial.name));
        self.until("another one owns it", |trial| Ok(owner(trial)? != OWNER)).await
    }

    /// Its owner is killed in the midst of it, and is back later.
    async fn loses_its_owner(&mut self) -> anyhow::Result<()> {
        self.until_having(BEGUN).await?;
        self.strike(Fault::Killed).await?;
        self.until_another_owns().await?;
        self.mend(Fault::Killed).await
    }

    /// All renderers are killed and are back: for a while nothing changes.
    async fn stays(&mut self, version: u64) -> anyhow::Result<()> {
        let before = self.rollout.having(version);
        self.strike(Fault::AllKilled).await?;
        self.mend(Fault::AllKilled).await?;
        self.installation.stack.wait_until_ready().await?;
        tokio::time::sleep(STAYS).await;
        let after = self.rollout.having(version);
        ensure!(after == before, "{before:?} had content {version}, and {after:?} have it");
        Ok(())
    }

    async fn strike(&mut self, fault: Fault) -> anyhow::Result<()> {
        self.installation.say(&format!("{fault:?} while content {} goes out", self.version));
        let stack = &mut self.installation.stack;
        match fault {
            Fault::Killed => stack.kill_replica(OWNER),
            Fault::Paused => stack.replica(OWNER)?.signal("STOP"),
            Fault::CutOff => self.place.as_ref().map_or(Ok(()), Place::cut),
            Fault::AllKilled => self.installation.kill_stage("renderer"),
        }
    }

    async fn mend(&mut self, fault: Fault) -> anyhow::Result<()> {
        let stack = &mut self.installation.stack;
        match fault {
            Fault::Killed => stack.start_replica("renderer", 1),
            Fault::Paused => stack.replica(OWNER)?.signal("CONT"),
            Fault::CutOff => self.place.as_ref().map_or(Ok(()), Place::join),
            Fault::AllKilled => self.installation.start_stage("renderer"),
        }
    }

    /// What is told of the profile.
    fn told(&self) -> anyhow::Result<Vec<Problem>> {
        let stack = &self.installation.stack;
        let mut rows = problems(stack.programs(), &stack.nats_url())?;
        rows.retain(|row| row.object.ends_with(&self.name));
        Ok(rows)
    }

    async fn until_told(&self, text: &str) -> anyhow::Result<()> {
        let is_told = |trial: &Self| Ok(trial.told()?.iter().any(|row| row.error.contains(text)));
        self.until(&format!("{text:?} is told"), is_told).await
    }
}

/// The renderer's shard of a ClusterProfile.
fn shard(name: &str) -> usize {
    Cause::Profile(ProfileId::cluster(name)).origin(SHARDS).index()
}

/// A name of a profile that the owner owns.
fn owned(installation: &Installation) -> anyhow::Result<String> {
    for name in (b'a'..=b'z').map(|letter| format!("policy-{}", char::from(letter))) {
        if installation.owner("renderer", shard(&name))? == OWNER {
            return Ok(name);
        }
    }
    bail!("{OWNER} owns nothing")
}

/// How many contents are kept in all clusters together, to be gone back to.
async fn kept(installation: &Installation) -> anyhow::Result<usize> {
    let mut count = 0;
    for member in installation.fleet.members.values() {
        let secrets = member.client.list(&Gvk::new("", "v1", "Secret")).await?;
        let is_kept = |secret: &&Value| object::label(secret, "sluice.projectsveltos.io/kept").is_some();
        count += secrets.iter().filter(is_kept).count();
    }
    Ok(count)
}

async fn play(story: impl AsyncFnOnce(&mut Trial) -> anyhow::Result<()>) {
    let mut trial = Trial::start().await.unwrap();
    let pacer = trial.installation.pace(RATE, &[]);
    let mut done = Box::pin(story(&mut trial)).await;
    if done.is_ok() {
        done = pacer.finish().await.map(drop);
    }
    if done.is_ok() {
        done = trial.installation.watcher.verdict(|_| 0).await;
    }
    if let Err(error) = done {
        panic!("{error:#}; the logs are in {}", trial.installation.keep());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_rollout_goes_on_while_its_renderer_is_killed_paused_and_cut_off() {
    play(async |trial: &mut Trial| {
        for fault in [Fault::Killed, Fault::Paused, Fault::CutOff, Fault::AllKilled] {
            trial.write(None).await?;
            trial.until_having(BEGUN).await?;
            trial.strike(fault).await?;
            if !matches!(fault, Fault::AllKilled) {
                trial.until_another_owns().await?;
                trial.until_having(GOES_ON).await?;
            }
            trial.mend(fault).await?;
            trial.all_are_well().await?;
            trial.is_within(LIMITS).await?;
        }
        // Another content is written while one goes out and nobody is there.
        trial.write(None).await?;
        trial.until_having(BEGUN).await?;
        trial.strike(Fault::AllKilled).await?;
        trial.write(None).await?;
        trial.mend(Fault::AllKilled).await?;
        trial.all_are_well().await?;
        trial.is_within(LIMITS).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_rollout_whose_renderer_is_killed_passes_over_stops_and_goes_back_as_it_is_told() {
    play(async |trial: &mut Trial| {
        let with_failures = Limits { failed_are_done: true, ..LIMITS };
        // One may fail: all get it.
        trial.annotations["sluice.dev/rollout-failure-budget"] = "1".into();
        trial.set_profile().await?;
        let version = trial.write(Some("default/cluster-3")).await?;
        trial.loses_its_owner().await?;
        trial.until_having(CLUSTERS).await?;
        let is_well = |trial: &Trial| trial.rollout.well(version).len() == CLUSTERS - 1;
        trial.until("it is well but on one", |trial| Ok(is_well(trial))).await?;
        trial.write(None).await?;
        trial.all_are_well().await?;
        trial.is_within(with_failures).await?;

        // None may fail: it stops.
        trial.annotations["sluice.dev/rollout-failure-budget"] = "0".into();
        trial.set_profile().await?;
        let version = trial.write(Some("default/cluster-1")).await?;
        trial.loses_its_owner().await?;
        trial.until_told("more than the 0 of sluice.dev/rollout-failure-budget").await?;
        trial.stays(version).await?;
        ensure!(trial.rollout.having(version).len() < CLUSTERS, "it has not stopped");
        trial.until_told("more than the 0 of sluice.dev/rollout-failure-budget").await?;
        trial.write(None).await?;
        trial.all_are_well().await?;
        trial.is_within(with_failures).await?;

        // It goes back, once there is something to go back to.
        trial.annotations["sluice.dev/rollout-on-failure"] = "rollback".into();
        trial.set_profile().await?;
        while kept(&trial.installation).await? < CLUSTERS || !trial.told()?.is_empty() {
            tokio::time::sleep(LOOK).await;
        }
        let former = trial.version;
        let version = trial.write(Some("default/cluster-2")).await?;
        trial.loses_its_owner().await?;
        trial.until_told("back from").await?;
        trial.strike(Fault::AllKilled).await?;
        trial.mend(Fault::AllKilled).await?;
        trial.until("all went back", |trial| Ok(trial.rollout.having(former).len() == CLUSTERS)).await?;
        trial.until_told("it went back from").await?;
        trial.stays(former).await?;
        ensure!(trial.rollout.having(version).is_empty());
        trial.write(None).await?;
        trial.all_are_well().await?;
        trial.is_within(with_failures).await
    })
    .await;
}
