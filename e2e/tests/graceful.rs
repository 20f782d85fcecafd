//! Each stage stops in good order: a replica that is asked to end does so without an error, the other one takes its
//! shards, and what was under way is neither lost nor withdrawn.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use sluice_e2e::survival::Installation;
use sluice_testbed::{Options, STAGES};

/// Few enough to be cheap; all of them are under way while one stage after the other is stopped.
const CHANGES: u64 = 300;
/// How long the other replica may take to own all shards.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_of_each_stage_stops_in_good_order_amid_changes() {
    let options = Options { clusters: 3, replicas: 2, ..Options::default() };
    let mut installation = Installation::start_on(options).await.unwrap();
    let storm = installation.storm(CHANGES, &[]);
    for (number, stage) in (1_u8..).zip(STAGES) {
        storm.part(0.2 * f64::from(number)).await.unwrap();
        let all = owned(&installation, stage, 1).await + owned(&installation, stage, 2).await;
        let status = installation.stack.stop_replica(&format!("{stage}-1")).await.unwrap();
        assert!(status.success(), "{stage} ended with {status}, logs in {}", installation.keep());
        let deadline = Instant::now() + PATIENCE;
        while owned(&installation, stage, 2).await < all {
            assert!(
                Instant::now() < deadline,
                "{stage}-2 does not own all shards, logs in {}",
                installation.keep()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    storm.finish().await.unwrap();
    installation.wait_until_equal(&[]).await.unwrap();
    installation.watcher.verdict(|_| 0).await.unwrap();
    for replica in installation.stack.replicas().values() {
        let ends = replica.series("sluice_task_ends_total").await.unwrap();
        assert!(ends.is_empty(), "{}: {ends:?}", replica.name());
    }
}

/// How many shards a replica works on.
async fn owned(installation: &Installation, stage: &str, number: usize) -> f64 {
    let replica = installation.stack.replica(&format!("{stage}-{number}")).unwrap();
    replica.metric("sluice_shards_owned", &[&format!("stage=\"{stage}\"")]).await.unwrap()
}
