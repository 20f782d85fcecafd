//! What an event costs with more clusters and more objects, and how soon everything works again when it is large.
//!
//! Each size is a pipeline of its own: three nodes, two replicas of each stage, clusters that are full before the stages come. The
//! largest one stays: it gets the add-ons, and then the outages.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::args::Plan;
use crate::measure::{Deaths, Lab, Phase, settled};
use crate::report::{Filled, Report};
use crate::run::say;
use crate::system::Usage;

/// A pipeline may take this long to read all objects.
const READING: Duration = Duration::from_secs(900);

/// How large it becomes.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Clusters, the largest number last.
    pub clusters: Vec<usize>,
    /// Watched objects over all clusters, the largest number last.
    pub objects: Vec<usize>,
    /// Add-ons of the largest.
    pub add_ons: usize,
    /// Events a second of each size.
    pub rate: u32,
    /// How long events flow after each outage.
    pub watched: Duration,
}

/// What was measured of one size.
#[derive(Debug)]
pub struct Point {
    /// Clusters.
    pub clusters: usize,
    /// Watched objects over all clusters.
    pub objects: usize,
    /// From the clusters being registered until every object is on the bus, and every cluster got its first add-on.
    pub read: Duration,
    /// The events.
    pub phase: Phase,
    /// Memory at rest before them.
    pub memory: BTreeMap<&'static str, Usage>,
}

/// All sizes.
#[derive(Debug, Default)]
pub struct Scale {
    /// One for each size.
    pub points: Vec<Point>,
    /// Memory of the largest with its add-ons.
    pub filled: Option<Filled>,
    /// How it came back.
    pub outages: Vec<Deaths>,
}

// === impl Sizes ===

impl Sizes {
    /// A small version.
    pub fn quick(self) -> Self {
        let small = |number: usize| (number / 10).clamp(1, 1000);
        Self {
            clusters: self.clusters.first().map(|clusters| *clusters.min(&10)).into_iter().collect(),
            objects: self.objects.into_iter().take(2).map(small).collect(),
            add_ons: self.add_ons.min(100),
            rate: self.rate.min(20),
            watched: self.watched.min(Duration::from_secs(8)),
        }
    }

    /// Clusters and objects of each point: the numbers of clusters with the fewest objects, then the numbers of objects with the
    /// most clusters.
    ///
    /// # Errors
    /// When there is no number.
    pub fn points(&self) -> anyhow::Result<Vec<(usize, usize)>> {
        let (Some(&clusters), Some(&objects)) = (self.clusters.last(), self.objects.first()) else {
            bail!("--scale-clusters and --scale-objects take at least one number each");
        };
        let of_clusters = self.clusters.iter().map(|clusters| (*clusters, objects));
        let of_objects = self.objects.iter().skip(1).map(|objects| (clusters, *objects));
        Ok(of_clusters.chain(of_objects).collect())
    }
}

// === impl Scale ===

impl Scale {
    /// Bytes of memory that a process has for each watched object: the largest number of objects beside the smallest, with the same
    /// clusters.
    pub fn bytes_per_object(&self, process: &str) -> Option<f64> {
        let large = self.points.last()?;
        let small = self.points.iter().find(|point| point.clusters == large.clusters)?;
        let more = large.objects.checked_sub(small.objects).filter(|more| *more > 0)?;
        let rss = |point: &Point| point.memory.get(process).map_or(0.0, |usage| usage.rss as f64);
        Some((rss(large) - rss(small)) / more as f64)
    }
}

/// Measures all sizes.
///
/// # Errors
/// When something cannot be started, or does not come back.
pub async fn scale(plan: &Plan, sizes: &Sizes, dir: &Path) -> anyhow::Result<Report> {
    let mut report = Report { clusters: 0, nodes: plan.nodes, ..Report::default() };
    let (mut scale, points) = (Scale::default(), sizes.points()?);
    for (index, (clusters, objects)) in points.iter().copied().enumerate() {
        say(&format!("{objects} objects in {clusters} clusters"));
        let place = dir.join(format!("scale-{clusters}-{objects}"));
        std::fs::create_dir_all(&place)?;
        let (mut lab, point) = Box::pin(point(plan, sizes, &place, (clusters, objects))).await?;
        scale.points.push(point);
        if index + 1 == points.len() {
            report.clusters = clusters;
            let measured = Box::pin(largest(plan, sizes, &mut lab, &mut scale)).await;
            // What took a quarter of an hour is told, whatever became of the rest.
            report.scale = Some(std::mem::take(&mut scale));
            measured.inspect_err(|_| eprintln!("{report}"))?;
        }
        drop(lab);
        // A million rows are gigabytes on the disk.
        std::fs::remove_dir_all(&place).with_context(|| format!("cannot delete {}", place.display()))?;
    }
    Ok(report)
}

async fn point(
    plan: &Plan,
    sizes: &Sizes,
    dir: &Path,
    (clusters, objects): (usize, usize),
) -> anyhow::Result<(Lab, Point)> {
    let plan = Plan {
        clusters,
        replicas: 2,
        services: objects / clusters.max(1),
        patience: READING,
        ..plan.clone()
    };
    let mut lab = Lab::start(dir, &plan).await?;
    let began = std::time::Instant::now();
    lab.warm_up().await?;
    lab.wait_for_rows("changes", (objects / clusters.max(1) * clusters) as u64, READING).await?;
    let read = began.elapsed();
    let memory = settled(&lab.stack, plan.settle).await;
    let phase = lab.paced(&format!("c{clusters}o{objects}"), sizes.rate, plan.phase).await?;
    say(&format!(
        "p50 {:.1} ms, p99 {:.1} ms, read in {:.0} s",
        phase.quantile(0.5),
        phase.quantile(0.99),
        read.as_secs_f64()
    ));
    Ok((lab, Point { clusters, objects, read, phase, memory }))
}

/// What is measured of the largest only.
async fn largest(plan: &Plan, sizes: &Sizes, lab: &mut Lab, scale: &mut Scale) -> anyhow::Result<()> {
    say(&format!("{} add-ons", sizes.add_ons));
    let events = lab.flood("fill", sizes.add_ons).await?;
    if events.applied() < events.sent {
        bail!("{} of {} add-ons did not come", events.sent - events.applied(), events.sent);
    }
    let before = scale.points.last().map_or(0, |point| point.phase.applied());
    let add_ons = before + events.applied();
    scale.filled = Some(Filled { add_ons, memory: settled(&lab.stack, plan.settle).await });
    say("outages");
    scale.outages = lab.outages(sizes.watched, |name| plan.wants(name)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn clusters_grow_with_the_fewest_objects_and_objects_with_the_most_clusters() {
        let mut sizes = Sizes {
            clusters: vec![10, 100],
            objects: vec![1000, 9000],
            add_ons: 1,
            rate: 1,
            watched: Duration::ZERO,
        };
        assert_eq!(sizes.points().unwrap(), [(10, 1000), (100, 1000), (100, 9000)]);
        sizes.objects.clear();
        assert!(sizes.points().unwrap_err().to_string().contains("--scale-objects"));
    }
}
