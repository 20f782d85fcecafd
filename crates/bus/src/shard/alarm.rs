//! The one timer of a shard.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::clock::now_micros;

/// Rings once at a time. It is set anew only when that is another time: a row that comes meanwhile costs no timer.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// When it rings, microseconds since 1970; nothing once it has rung.
    set: Option<i64>,
}

impl Alarm {
    /// Waits until `wake`, microseconds since 1970; for ever without one.
    pub(crate) async fn rings(&mut self, wake: Option<i64>) {
        let Some(at) = wake else { return std::future::pending().await };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(Duration::ZERO)));
        if self.set != Some(at) {
            let pause = Duration::from_micros(u64::try_from(at - now_micros()).unwrap_or(0));
            sleep.as_mut().reset(Instant::now() + pause);
            self.set = Some(at);
        }
        sleep.await;
        // Where the clock was set back meanwhile, the same time is still to come.
        self.set = None;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn in_millis(millis: i64) -> Option<i64> {
        Some(now_micros() + millis * 1000)
    }

    #[tokio::test]
    async fn it_is_set_once_for_a_time_and_anew_for_an_earlier_one() {
        let (mut alarm, later) = (Alarm::default(), in_millis(60_000));
        assert!(alarm.rings(later).now_or_never().is_none());
        let deadline = alarm.sleep.as_ref().map(|sleep| sleep.deadline());
        assert!(alarm.rings(later).now_or_never().is_none());
        assert_eq!(alarm.sleep.as_ref().map(|sleep| sleep.deadline()), deadline);
        assert!(alarm.rings(None).now_or_never().is_none(), "without a time it never rings");
        alarm.rings(in_millis(-5)).await;
    }

    #[tokio::test]
    async fn a_time_that_is_asked_for_again_is_looked_at_by_the_clock_again() {
        let (mut alarm, past) = (Alarm::default(), in_millis(-5));
        alarm.rings(past).await;
        assert_eq!(alarm.set, None);
        alarm.rings(past).await;
    }
}
