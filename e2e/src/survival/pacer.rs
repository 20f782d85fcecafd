//! Changes on a schedule that nothing holds up, for as long as a test damages the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::changes::change;
use crate::fleet::Fleet;

/// So many changes a second in all clusters together, until [`Pacer::finish`].
pub struct Pacer {
    over: Arc<AtomicBool>,
    made: Arc<AtomicU64>,
    tasks: JoinSet<anyhow::Result<()>>,
}

// === impl Pacer ===

impl Pacer {
    /// Begins in all clusters but `except`; `next` numbers the changes of all storms and pacers of a test.
    pub(super) fn begin(fleet: &Fleet, next: Arc<AtomicU64>, rate: u32, except: &[&str]) -> Self {
        let (over, made, mut tasks) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default(), JoinSet::new());
        let chosen = fleet.members.iter().filter(|(name, _)| !except.contains(&name.as_str()));
        let members: Vec<_> = chosen.map(|(_, member)| member).collect();
        let count = members.len() as u64;
        let mut queues = Vec::new();
        for member in members {
            // Unbounded: the clock never waits for a cluster, and a test is over long before this matters.
            let (queue, mut numbers) = mpsc::unbounded_channel();
            queues.push(queue);
            let (client, made) = (member.client.clone(), made.clone());
            // Changes of one cluster follow one another in their own order.
            #[expect(clippy::disallowed_methods, reason = "every result is awaited")]
            tasks.spawn(async move {
                while let Some(number) = numbers.recv().await {
                    change(&client, number, count).await.with_context(|| format!("change {number}"))?;
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        let until = over.clone();
        #[expect(clippy::disallowed_methods, reason = "every result is awaited")]
        tasks.spawn(async move {
            let start = Instant::now();
            for tick in 0.. {
                tokio::time::sleep_until((start + Duration::from_secs(1) * tick / rate.max(1)).into()).await;
                if until.load(Ordering::Relaxed) {
                    break;
                }
                let number = next.fetch_add(1, Ordering::Relaxed);
                let queue =
                    queues.get(usize::try_from(number % count.max(1))?).context("there is no cluster")?;
                queue.send(number).ok().context("a cluster takes no more changes")?;
            }
            Ok(())
        });
        Self { over, made, tasks }
    }

    /// How many changes have been made so far.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Ends, when what is due has been made; says how many changes there were.
    ///
    /// # Errors
    /// The first change that could not be made.
    pub async fn finish(mut self) -> anyhow::Result<u64> {
        self.over.store(true, Ordering::Relaxed);
        while let Some(done) = self.tasks.join_next().await {
            done.context("the changes were interrupted")??;
        }
        Ok(self.made())
    }
}
