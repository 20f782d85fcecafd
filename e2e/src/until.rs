//! Waiting for what comes.

use std::time::{Duration, Instant};

use anyhow::ensure;

const LOOK: Duration = Duration::from_millis(100);

/// Looks again and again until something is found.
///
/// # Panics
/// When it is not there within this time.
pub async fn until<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {limit:?}");
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until this is so.
///
/// # Errors
/// When it is not so within this time, or cannot be looked at.
pub async fn until_so(
    what: &str,
    limit: Duration,
    mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    while !is_so().await? {
        ensure!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
