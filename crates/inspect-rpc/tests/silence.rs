//! Nothing that is logged, at whatever level, has a token in it.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sluice_inspect_rpc::{Access, Authentication, Client, Reviews};
use sluice_kube::fake_api::FakeApi;
use tokio::sync::watch;

mod common;

use common::{access, file, start_alone, with};

const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.c2lnbmF0dXJl";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_is_in_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let all =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    all.init();
    let review = |_: &_| (201, json!({"status": {"authenticated": false}}).to_string());
    let api = FakeApi::start(review);
    let reviews = Reviews::new(watch::channel(Ok(api.client())).1);
    let (address, _tasks) = start_alone(with(Authentication::Kubernetes(reviews))).await;
    let dir = tempfile::tempdir().unwrap();
    let token_file = Some(file(dir.path(), TOKEN));
    let client = Client::connect(&Access { token_file, ..access(address) }).await.unwrap();
    let refused = client.shards(None).await.unwrap_err().to_string();
    assert!(refused.contains("does not know this token") && !refused.contains(TOKEN), "{refused}");
    assert!(api.requests()[0].body.contains(TOKEN), "it was asked for");
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("h2"), "it is read");
    let line = log.lines().find(|line| line.contains(TOKEN));
    assert_eq!(line, None);
}
