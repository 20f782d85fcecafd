//! What no client of ours sends: the server answers others all the same.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use sluice_bus::Journal;
use sluice_inspect::InspectError;
use sluice_inspect_rpc::Settings;
use sluice_proto::inspect::v1 as proto;
use sluice_protocol::JournalEntry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::body::Body;
use tonic::{Code, Request};
use tower::{Service as _, ServiceExt as _};

mod common;

use common::{PATIENCE, channel, client, raw, settings, start, start_alone};

async fn still_answers(address: SocketAddr) {
    let error = client(address).await.shards(None).await.unwrap_err();
    assert_eq!(error, InspectError::Away("of a test".to_owned()));
}

/// The code of gRPC that comes for a body, whatever it is.
async fn sent(address: SocketAddr, path: &str, body: &'static [u8]) -> Option<i32> {
    let request =
        http::Request::post(format!("http://{address}{path}")).header("content-type", "application/grpc");
    let request =
        request.header("te", "trailers").body(Body::new(Full::new(Bytes::from_static(body)))).unwrap();
    let mut channel = channel(address).await;
    let answer = channel.ready().await.unwrap().call(request).await.ok()?;
    let mut codes = answer.headers().get("grpc-status").cloned();
    let collected = http_body_util::BodyExt::collect(answer.into_body()).await.ok()?;
    codes = codes.or_else(|| collected.trailers()?.get("grpc-status").cloned());
    codes?.to_str().ok()?.parse().ok()
}

#[tokio::test]
async fn what_is_no_message_ends_its_call_and_nothing_else() {
    let (address, _tasks) = start_alone(settings()).await;
    let path = "/sluice.inspect.v1.Inspect/ListShards";
    // A length that is not there, a length without limit, a flag for a compression that was not agreed upon, no protobuf.
    let bodies: [&[u8]; 5] = [
        b"",
        b"\x00\x00\x00\x00\x09ab",
        b"\x00\xff\xff\xff\xff",
        b"\x01\x00\x00\x00\x01a",
        b"\x00\x00\x00\x00\x03\xff\xff\xff",
    ];
    for body in bodies {
        let code = sent(address, path, body).await;
        assert!(code.is_some_and(|code| code != 0 && code != Code::Unavailable as i32), "{body:?}: {code:?}");
    }
    assert_eq!(
        sent(address, "/sluice.inspect.v1.Inspect/Delete", b"").await,
        Some(Code::Unimplemented as i32)
    );
    still_answers(address).await;
}

#[tokio::test]
async fn bytes_that_are_no_http_end_their_connection_and_nothing_else() {
    let (address, _tasks) = start_alone(settings()).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let with_preface = |frame: &[u8]| [preface.as_slice(), frame].concat();
    let sent = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 4_096],
        // A frame of 16 MiB, headers that cannot be unpacked, a frame for a stream that was never opened.
        with_preface(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"),
        with_preface(
            b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x01\x05\x00\x00\x00\x01\xff\xff\xff\xff",
        ),
        with_preface(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x05a"),
    ];
    for bytes in sent {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        let mut answer = Vec::new();
        // It is closed, with or without a word.
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "{bytes:?} keeps its connection");
    }
    still_answers(address).await;
}

#[tokio::test]
async fn a_question_that_is_too_large_is_refused() {
    let (address, _tasks) = start_alone(settings()).await;
    let file = proto::File { name: "a".into(), content: "a".repeat(17 << 20) };
    let question = proto::DiffRequest { files: vec![file], ..Default::default() };
    let refused = raw(address).await.diff(question).await.unwrap_err();
    assert!(matches!(refused.code(), Code::OutOfRange | Code::ResourceExhausted), "{refused:?}");
    still_answers(address).await;
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_and_is_sent_away() {
    let patience = Duration::from_millis(300);
    let fixture = start(Settings { patience, ..settings() }).await;
    let mut slow = raw(fixture.address).await;
    let mut unread = slow.watch_journal(proto::WatchJournalRequest::default()).await.unwrap().into_inner();
    let journal = Journal::start(&fixture.bus);
    let line = JournalEntry::new("matcher", "matched", "sveltos:default/a", "x".repeat(500), 2, 1);
    let reader = client(fixture.address).await;
    let mut lines = reader.journal(&sluice_inspect::JournalFilter::default()).await.unwrap();
    let (mut told, all) = (0, 4_000);
    let reads = async {
        while told < all {
            let together = lines.next().await.unwrap();
            assert!(!together.is_empty());
            told += together.len();
        }
    };
    let writes = async {
        for _ in 0..all {
            journal.record(line.clone());
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(reads, writes) }).await.unwrap();
    let end = async {
        loop {
            if let Err(status) = unread.message().await {
                return status;
            }
        }
    };
    let end = tokio::time::timeout(PATIENCE, end).await.unwrap();
    assert_eq!(end.code(), Code::ResourceExhausted, "{end:?}");
}

#[tokio::test]
async fn a_stream_ends_at_the_deadline_of_its_reader() {
    let fixture = start(settings()).await;
    let mut question = Request::new(proto::WatchJournalRequest::default());
    question.set_timeout(Duration::from_millis(1_500));
    let mut stream = raw(fixture.address).await.watch_journal(question).await.unwrap().into_inner();
    let end = tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap_err();
    assert_eq!(end.code(), Code::DeadlineExceeded);
}
