//! Where a table ends.

use super::*;

/// The server's count of what is pending is an estimate while rows are being replaced: the end of a table must not be
/// told from it alone, since absence at the end is a reason to withdraw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_table_is_not_told_while_a_row_is_being_replaced() {
    const ROWS: usize = 40;
    let server = Server::start();
    let bus = bus(&server).await;
    let fence = fence("00");
    let sequence = claim(&bus, &fence).await;
    for profile in 0..ROWS {
        put(&bus, &row(&format!("p{profile}"), Some("0")), &fence, sequence).await.unwrap();
    }
    let (writes, reads) = (bus.clone(), CancellationToken::new());
    let done = reads.clone();
    #[expect(clippy::disallowed_methods, reason = "the test awaits it")]
    let writer = tokio::spawn(async move {
        let mut version = 0;
        while !done.is_cancelled() {
            version += 1;
            let profile = format!("p{}", (version * 7) % ROWS);
            put(&writes, &row(&profile, Some(&version.to_string())), &fence, sequence).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for _ in 0..100 {
        let found = rows(&bus).await;
        let profiles: std::collections::BTreeSet<_> = found.iter().map(|(profile, ..)| profile).collect();
        assert_eq!(profiles.len(), ROWS, "rows that exist all the time are missing at the end of the table");
    }
    reads.cancel();
    writer.await.unwrap();
}
