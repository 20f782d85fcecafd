//! Waiting for what comes.

use std::time::{Duration, Instant};

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
