//! Losses that agents of single clusters tell of.
//!
//! Whoever says that a stream of `changes` has lost rows makes everybody read it again. The agent of a cluster may say so
//! for reasons of its own, and as often as it likes; so it says it in its own place, and a renderer, which is there
//! always, believes it for each stream once in a while.

use std::time::Duration;

use async_nats::jetstream::Context;
use futures::TryStreamExt as _;

use crate::clock::now_micros;
use crate::error::BusError;
use crate::layout::CONFIG;
use crate::layout::audit::{EpochRow, epoch_subject, raise, read_epoch};

// D-0309: the agent of one cluster only reports a loss.
/// A stream is another one so often at most because of what agents say.
const APART: Duration = Duration::from_secs(300);

/// The subject in which the agent of a cluster, a token, says that a stream has lost rows.
pub(crate) fn subject(stream: &str, cluster: &str) -> String {
    format!("{PREFIX}{stream}.{cluster}")
}

const PREFIX: &str = "$KV.sluice.lost.";

/// Says that a stream has lost rows.
pub(crate) async fn claim(js: &Context, stream: &str, cluster: &str) -> Result<(), BusError> {
    let subject = subject(stream, cluster);
    let named = || format!("write {subject}");
    let sent = js.publish(subject.clone(), "1".into()).await.map_err(BusError::request(named()))?;
    sent.await.map_err(BusError::request(named())).map(drop)
}

/// Believes what agents have said since the epoch of a stream was written, when that was long enough ago; whether something
/// is left that is to be believed later.
///
/// # Errors
/// When the server does not answer.
pub(crate) async fn believe(js: &Context) -> Result<bool, BusError> {
    let named = "read what agents say of losses";
    let bucket = js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named))?;
    let subjects = bucket.info_with_subjects(format!("{PREFIX}>")).await.map_err(BusError::request(named))?;
    let subjects: Vec<(String, usize)> = subjects.try_collect().await.map_err(BusError::request(named))?;
    let mut later = false;
    for (subject, _) in subjects {
        let Some((stream, _)) = subject.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.')) else {
            continue;
        };
        let Some(claim) = read_epoch(js, &subject).await? else { continue };
        let known = read_epoch(js, &epoch_subject(stream)).await?;
        match verdict(&claim, known.as_ref(), now_micros()) {
            Judgement::Old => {}
            Judgement::Later => later = true,
            Judgement::Now => {
                tracing::warn!(subject, "an agent says that the stream has lost rows");
                raise(js, &epoch_subject(stream), known.unwrap_or_default().value).await?;
            }
        }
    }
    Ok(later)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// The stream has been another one since.
    Old,
    Now,
    Later,
}

fn verdict(claim: &EpochRow, known: Option<&EpochRow>, now: i64) -> Judgement {
    let apart = i64::try_from(APART.as_micros()).unwrap_or(i64::MAX);
    match known {
        Some(known) if known.sequence > claim.sequence => Judgement::Old,
        Some(known) if now.saturating_sub(known.time) < apart => Judgement::Later,
        _ => Judgement::Now,
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::{Epoch, Sequence};

    use super::*;

    #[test]
    fn what_agents_say_counts_once_in_a_while() {
        let at = |sequence, time| EpochRow { sequence, time, value: Epoch::new(1) };
        let minutes = |minutes: i64| minutes * 60_000_000;
        assert_eq!(verdict(&at(Sequence::new(5), 0), None, 0), Judgement::Now, "the first loss of all");
        assert_eq!(
            verdict(&at(Sequence::new(5), 0), Some(&at(Sequence::new(6), 0)), minutes(60)),
            Judgement::Old
        );
        assert_eq!(
            verdict(&at(Sequence::new(7), minutes(1)), Some(&at(Sequence::new(6), 0)), minutes(1)),
            Judgement::Later
        );
        assert_eq!(
            verdict(&at(Sequence::new(7), minutes(1)), Some(&at(Sequence::new(6), 0)), minutes(5)),
            Judgement::Now
        );
    }

    #[test]
    fn an_agent_is_believed_from_five_minutes_after_the_last_loss_on() {
        let at = |sequence, time| EpochRow { sequence, time, value: Epoch::new(1) };
        let apart = i64::try_from(APART.as_micros()).unwrap_or(0);
        assert_eq!(
            verdict(&at(Sequence::new(7), 0), Some(&at(Sequence::new(6), 0)), apart - 1),
            Judgement::Later
        );
        assert_eq!(verdict(&at(Sequence::new(7), 0), Some(&at(Sequence::new(6), 0)), apart), Judgement::Now);
    }

    #[test]
    fn a_loss_of_the_future_waits_whatever_the_clock_of_the_server_says() {
        let at = |sequence, time| EpochRow { sequence, time, value: Epoch::new(1) };
        assert_eq!(
            verdict(&at(Sequence::new(7), 0), Some(&at(Sequence::new(6), i64::MAX)), i64::MIN),
            Judgement::Later
        );
    }

    #[test]
    fn agents_of_different_clusters_speak_in_different_places() {
        let places = [subject("CHANGES-00", "a"), subject("CHANGES-00", "b"), subject("CHANGES-01", "a")];
        assert_eq!(places[0], "$KV.sluice.lost.CHANGES-00.a");
        assert!(places[0] != places[1] && places[0] != places[2]);
    }
}
