//! Whose a fence row is, for all that can happen to a claim.

use sluice_protocol::Sequence;

use super::*;
use crate::codec;

fn holder(member: &str, number: u32) -> Holder {
    Holder { member: member.into(), life: member.len() as u64, number }
}

async fn claim_after(bus: &Bus, fence: &Fence, holder: &Holder, former: Option<Sequence>) -> Claimed {
    fence.claim(bus, holder, &Claim { output: 0, number: holder.number, former, delay: 0 }).await
}

#[tokio::test]
async fn a_claim_that_came_through_unanswered_is_recognised_as_ones_own() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    let first = claim_after(&bus, &fence, &holder("a", 1), None).await;
    let Claimed::At(first) = first else { panic!("{first:?}") };
    let renewed = claim_after(&bus, &fence, &holder("a", 2), Some(first)).await;
    let Claimed::At(renewed) = renewed else { panic!("{renewed:?}") };
    assert!(renewed > first);
    // Its answer was lost, and the same is claimed once more.
    assert_eq!(claim_after(&bus, &fence, &holder("a", 2), Some(first)).await, Claimed::At(renewed));
    assert_eq!(fence.last(&bus).await.unwrap(), Some((renewed, Some(holder("a", 2)))));
}

#[tokio::test]
async fn who_was_deposed_learns_by_whom_and_takes_nothing_back() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    let Claimed::At(first) = claim_after(&bus, &fence, &holder("a", 1), None).await else {
        panic!("refused")
    };
    let Claimed::At(taken) = claim_after(&bus, &fence, &holder("bb", 1), None).await else {
        panic!("refused")
    };
    let refused = claim_after(&bus, &fence, &holder("a", 2), Some(first)).await;
    assert_eq!(refused, Claimed::Refused(Stop::Deposed, Some("bb".into())));
    assert_eq!(fence.last(&bus).await.unwrap(), Some((taken, Some(holder("bb", 1)))));
}

#[tokio::test]
async fn a_fence_that_is_gone_is_a_loss_and_one_that_cannot_be_read_is_somebody_elses() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    assert_eq!(fence.last(&bus).await.unwrap(), None);
    let lost = claim_after(&bus, &fence, &holder("a", 2), Some(Sequence::new(7))).await;
    assert_eq!(lost, Claimed::Refused(Stop::Lost, None));
    // Of a newer version, for example.
    let body = codec::encode(b"{\"who\": 1}");
    bus.js.publish(fence.subject.clone(), body).await.unwrap().await.unwrap();
    let refused = claim_after(&bus, &fence, &holder("a", 2), Some(Sequence::new(7))).await;
    assert_eq!(refused, Claimed::Refused(Stop::Deposed, None));
    assert!(
        matches!(claim_after(&bus, &fence, &holder("a", 3), None).await, Claimed::At(_)),
        "a new owner takes it"
    );
}

#[tokio::test]
async fn a_group_is_stored_as_a_whole_or_not_at_all() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    let first = claim(&bus, &fence).await;
    let pair = |text: &str| [row("x", Some(text)), row("y", Some(text))];
    assert!(matches!(send(&bus, &pair("1"), &fence, first).await.answer, Some(PublishOutcome::Stored(_))));
    let second = claim(&bus, &fence).await;
    let refused = send(&bus, &pair("2"), &fence, first).await.answer;
    assert_eq!(refused, Some(PublishOutcome::Replaced(second)));
    let bodies: Vec<_> = rows(&bus).await.into_iter().map(|(_, body, _)| body).collect();
    assert_eq!(bodies, ["1", "1"]);
}

/// Anybody who may write to a stream may leave batches open, as many as the server keeps.
#[tokio::test]
async fn open_batches_of_others_keep_nobody_from_writing() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    bus.note_replicated(&fence.stream);
    let sequence = claim(&bus, &fence).await;
    let rows = ["x", "y", "z"].map(|profile| row(profile, Some("1")));
    for number in 0..60 {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Batch-Id", format!("open-{number}"));
        headers.insert("Nats-Batch-Sequence", "1");
        bus.js.client().publish_with_headers("desired.00.open", headers, "".into()).await.unwrap();
    }
    bus.js.client().flush().await.unwrap();
    let sent = send(&bus, &rows, &fence, sequence).await;
    assert!(matches!(sent.answer, Some(PublishOutcome::Stored(_))), "{sent:?}");
    assert_eq!(super::rows(&bus).await.len(), 3);
    // And never under another fence than the own.
    let _other = claim_as(&bus, &fence, "other", 1, None).await;
    let sent =
        send(&bus, &rows.map(|row| Publish { body: Body::value(*b"2"), ..row }), &fence, sequence).await;
    assert!(matches!(sent.answer, Some(PublishOutcome::Replaced(_))), "{sent:?}");
    assert!(super::rows(&bus).await.iter().all(|(_, body, _)| body == "1"));
}

/// So much of one process would only be answered when nobody waits for it any more.
#[tokio::test]
async fn large_groups_wait_for_those_before_them_and_single_rows_for_nobody() {
    let server = Server::start();
    let (bus, fence) = (bus(&server).await, fence("00"));
    let sequence = claim(&bus, &fence).await;
    bus.note_replicated(&fence.stream);
    let group = |count: u32| {
        let rows = (0..count).map(|number| row(&format!("x{number}"), Some("1")));
        let rows = rows.map(|row| Outgoing { id: 0, head: row.head(), row }).collect();
        Group { output: 0, fence: sequence, rows, delay: 0 }
    };
    let (large, two) = (group(1500), group(2));
    let prepared = async |group: &Group| writer::prepare(&bus, &fence, group).await;
    let [a, b] = [prepared(&large).await, prepared(&large).await];
    let first = a.turn(&bus, &fence).await;
    assert!(first.is_some());
    let mut second = Box::pin(b.turn(&bus, &fence));
    assert!(futures::poll!(&mut second).is_pending(), "by the number of rows");
    let one = prepared(&group(1)).await;
    assert!(futures::poll!(Box::pin(one.turn(&bus, &fence))).is_ready());
    drop(first);
    drop(second.await);
    let (last, mut all) = (prepared(&two).await, Vec::new());
    for _ in 0..8 {
        all.push(last.turn(&bus, &fence).await);
    }
    let mut ninth = Box::pin(last.turn(&bus, &fence));
    assert!(futures::poll!(&mut ninth).is_pending(), "by the number of batches");
    all.pop();
    assert!(ninth.await.is_some());
    let sent = last.send(&bus, &fence, &two).await;
    assert!(matches!(sent.answer, Some(PublishOutcome::Stored(_))));
}
