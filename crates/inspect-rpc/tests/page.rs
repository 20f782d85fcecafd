//! The page for browsers, as they ask for it: HTTP/1.1.
#![allow(clippy::unwrap_used)]

mod common;

use serde_json::json;
use sluice_inspect_rpc::{Authentication, Settings, TokenFile};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use self::common::browser::{Said, get};
use self::common::{client, file, settings, start, start_alone, with};

fn with_page(settings: Settings) -> Settings {
    Settings { page: true, ..settings }
}

#[tokio::test]
async fn a_browser_gets_the_page_and_the_answers_of_the_service() {
    let fixture = start(with_page(settings())).await;
    let to = fixture.address;
    assert_eq!(get(to, "/", "").await.code, 307);
    for (path, kind, words) in [
        ("/ui/", "text/html", "<main"),
        ("/ui/page.css", "text/css", "prefers-color-scheme"),
        ("/ui/page.js", "text/javascript", "use strict"),
    ] {
        let said = get(to, path, "").await;
        assert_eq!(said.code, 200, "{path}");
        assert!(said.headers.contains(kind) && said.body.contains(words), "{path}: {}", said.headers);
        for header in ["content-security-policy: default-src 'none'", "nosniff", "no-referrer", "no-store"] {
            assert!(said.headers.contains(header), "{path}: {}", said.headers);
        }
    }
    let found = |said: Said| said.json()["found"].as_array().unwrap().len();
    assert!(found(get(to, "/ui/api/clusters", "").await) > 0);
    assert!(found(get(to, "/ui/api/shards", "").await) > 0);
    let fleet = get(to, "/ui/api/fleet", "").await.json();
    assert_eq!((fleet["profiles"].as_u64(), fleet["triggers"].as_u64()), (Some(2), Some(1)), "{fleet}");
    assert_eq!(fleet["found"].as_array().unwrap().len(), 2, "{fleet}");
    assert!(
        fleet["of"].is_object() && fleet["problems"].is_u64() && fleet["missing"] == json!([]),
        "{fleet}"
    );
    let question = "cluster=default%2Fb&kind=ConfigMap&namespace=default&name=made";
    let traced = get(to, &format!("/ui/api/trace?{question}"), "").await.json();
    assert!(traced["found"][0]["hops"].as_array().unwrap().len() > 2, "{traced}");
    let explained = get(to, &format!("/ui/api/explain?{question}"), "").await.json();
    assert!(explained["steps"][0]["says"].is_string(), "{explained}");
    // Programs ask as before.
    assert!(client(to).await.shards(None).await.is_ok());
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said() {
    let fixture = start(with_page(settings())).await;
    for (path, code) in [
        ("/ui/api/trace?cluster=b&kind=ConfigMap&name=made", 400),
        ("/ui/api/trace?kind=ConfigMap&name=made", 400),
        ("/ui/api/trace?cluster=default%2Fb&kind=ConfigMap&name=none", 404),
        ("/ui/api/problems?cluster=%00", 400),
        ("/ui/other", 404),
        ("/ui/api/../../etc/passwd", 404),
    ] {
        let said = get(fixture.address, path, "").await;
        assert_eq!(said.code, code, "{path}: {}", said.body);
    }
}

#[tokio::test]
async fn an_answer_needs_a_token_and_the_page_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = Authentication::TokenFile(TokenFile::open(&file(dir.path(), "right\n")).unwrap());
    let (to, _tasks) = start_alone(with_page(with(tokens))).await;
    assert_eq!(get(to, "/ui/", "").await.code, 200);
    for more in ["", "authorization: Bearer wrong\r\n"] {
        let said = get(to, "/ui/api/clusters", more).await;
        assert_eq!(said.code, 401, "{}", said.body);
        assert!(said.json()["error"].as_str().unwrap().contains("token"), "{}", said.body);
    }
    // However an answer is asked for.
    for path in [
        "/ui/%61pi/clusters",
        "/ui//api/clusters",
        "/ui/./api/clusters",
        "/ui/page.js/../api/clusters",
        "/UI/api/clusters",
    ] {
        let said = get(to, path, "").await;
        assert!(
            said.code != 200 || said.headers.contains("grpc-status: 16"),
            "{path}: {} {}",
            said.code,
            said.headers
        );
    }
    // There is nothing behind it: it says so.
    assert_eq!(get(to, "/ui/api/clusters", "authorization: Bearer right\r\n").await.code, 503);
}

#[tokio::test]
async fn a_page_of_somebody_else_that_was_given_our_address_is_told_nothing() {
    let (to, _tasks) = start_alone(with_page(settings())).await;
    let said = get(to, "/ui/api/clusters", "host: evil.example\r\n").await;
    assert_eq!(said.code, 421, "{}", said.body);
    assert!(!said.headers.contains("access-control"), "{}", said.headers);
}

#[tokio::test]
async fn without_the_page_browsers_get_nothing() {
    let (to, _tasks) = start_alone(settings()).await;
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(b"GET /ui/ HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.ok();
    assert!(!String::from_utf8_lossy(&text).contains("<main"));
}
