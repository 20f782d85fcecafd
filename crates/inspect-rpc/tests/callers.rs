//! Who may ask: tokens, TLS, and what needs neither.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use sluice_inspect::InspectError;
use sluice_inspect_rpc::{Access, Authentication, Client, Reviews, Settings, TokenFile};
use sluice_kube::fake_api::FakeApi;
use tokio::sync::watch;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

mod common;

use common::{access, certificates, channel, client, file, settings, start_alone, with};

const GOOD: &str = "e30.eyJhIjoxfQ.Z29vZA";
const OLD: &str = "e30.eyJhIjoxfQ.b2xk";

/// What is answered to who comes with this token: away is what a server says that has nothing behind it.
async fn asked(address: SocketAddr, token: Option<&str>) -> InspectError {
    let dir = tempfile::tempdir().unwrap();
    let token_file = token.map(|token| file(dir.path(), token));
    let client = Client::connect(&Access { token_file, ..access(address) }).await.unwrap();
    client.shards(None).await.unwrap_err()
}

fn is_let_in(error: &InspectError) -> bool {
    *error == InspectError::Away("of a test".to_owned())
}

#[tokio::test]
async fn only_who_has_a_token_of_the_file_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "first\nsecond\n");
    let (address, _tasks) =
        start_alone(with(Authentication::TokenFile(TokenFile::open(&path).unwrap()))).await;
    assert!(is_let_in(&asked(address, Some("second")).await));
    let wrong = asked(address, Some("third")).await.to_string();
    assert!(wrong.starts_with("this token is not one that counts"), "{wrong}");
    let missing = asked(address, None).await.to_string();
    assert!(missing.starts_with("a token is needed") && missing.ends_with("--token-file"), "{missing}");
    // Taken out of the file, it has expired.
    std::fs::write(&path, "first\n").unwrap();
    assert!(!is_let_in(&asked(address, Some("second")).await));
}

#[tokio::test]
async fn the_management_cluster_says_which_tokens_count() {
    let api = FakeApi::start(|request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let status = match asked["spec"]["token"].as_str() {
            Some(GOOD) => json!({"authenticated": true}),
            _ => json!({"authenticated": false, "error": "token has expired"}),
        };
        (201, json!({"kind": "TokenReview", "status": status}).to_string())
    });
    let reviews = Reviews::new(watch::channel(Ok(api.client())).1);
    let (address, _tasks) = start_alone(with(Authentication::Kubernetes(reviews))).await;
    assert!(is_let_in(&asked(address, Some(GOOD)).await));
    let expired = asked(address, Some(OLD)).await.to_string();
    assert!(expired.contains("it may have expired") && !expired.contains(OLD), "{expired}");
}

#[tokio::test]
async fn while_nobody_can_say_whether_a_token_counts_nobody_is_let_in() {
    let reviews = Reviews::new(watch::channel(Err("it is away".to_owned())).1);
    let (address, _tasks) = start_alone(with(Authentication::Kubernetes(reviews))).await;
    let error = asked(address, Some(GOOD)).await;
    assert_eq!(error, InspectError::Away("nobody can tell whether this token counts: it is away".to_owned()));
}

/// One address sends as many tokens as it likes; the management cluster thinks about the first ones until the rest has its answer.
#[tokio::test]
async fn a_flood_of_tokens_is_a_few_questions_and_the_rest_is_refused() {
    const SENT: usize = 60;
    const KEPT: usize = 16;
    let (release, thinks) = std::sync::mpsc::channel::<()>();
    let thinks = std::sync::Mutex::new(thinks);
    let api = FakeApi::start(move |_| {
        assert!(thinks.lock().unwrap().recv().is_err(), "nothing is sent");
        (201, json!({"kind": "TokenReview", "status": {"authenticated": false}}).to_string())
    });
    let reviews = Reviews::new(watch::channel(Ok(api.client())).1);
    let (address, _tasks) = start_alone(with(Authentication::Kubernetes(reviews))).await;
    let tokens = (10..10 + SENT).map(|number| format!("e30.e30.YW{number}"));
    let mut asks: futures::stream::FuturesUnordered<_> =
        tokens.map(|token| async move { asked(address, Some(&token)).await.to_string() }).collect();
    for _ in 0..SENT - KEPT {
        let said = futures::StreamExt::next(&mut asks).await.unwrap();
        assert!(said.contains("too many unknown tokens"), "{said}");
    }
    assert!(api.requests().len() <= 2, "{:?}", api.requests().len());
    drop(release);
    let rest: Vec<String> = futures::StreamExt::collect(asks).await;
    assert_eq!(
        rest.iter().filter(|said| said.contains("does not know this token")).count(),
        KEPT,
        "{rest:?}"
    );
}

#[tokio::test]
async fn health_needs_no_token_and_reflection_does() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = TokenFile::open(&file(dir.path(), "first\n")).unwrap();
    let (address, _tasks) = start_alone(with(Authentication::TokenFile(tokens))).await;
    for service in ["", "sluice.inspect.v1.Inspect"] {
        let question = HealthCheckRequest { service: service.to_owned() };
        let health = HealthClient::new(channel(address).await).check(question).await.unwrap();
        assert_eq!(health.into_inner().status(), ServingStatus::Serving);
    }
    let mut reflection = tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient::new(
        channel(address).await,
    );
    let question = tonic_reflection::pb::v1::ServerReflectionRequest::default();
    let refused = reflection.server_reflection_info(futures::stream::iter([question])).await;
    assert_eq!(refused.map(drop).unwrap_err().code(), tonic::Code::Unauthenticated);
}

#[tokio::test]
async fn a_server_with_a_certificate_is_reached_by_who_knows_its_authority_only() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let tls = Some((dir.path().join("server.pem"), dir.path().join("server-key.pem")));
    let (address, _tasks) = start_alone(Settings { tls, ..settings() }).await;
    let url = format!("https://localhost:{}", address.port());
    let access = |url: &str, ca: Option<&str>| Access {
        url: url.to_owned(),
        token_file: None,
        ca: ca.map(|file| dir.path().join(file)),
    };
    let known = Client::connect(&access(&url, Some("ca.pem"))).await.unwrap();
    assert!(is_let_in(&known.shards(None).await.unwrap_err()));
    let stranger = Client::connect(&access(&url, None)).await.map(drop).unwrap_err().to_string();
    assert!(stranger.starts_with(&format!("--server {url}: ")), "{stranger}");
    let plain = client_error(&access(&format!("http://{address}"), None)).await;
    assert!(matches!(plain, InspectError::Away(_) | InspectError::Failed(_)), "{plain:?}");
}

#[tokio::test]
async fn a_certificate_is_renewed_by_replacing_its_files() {
    let (dir, newer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(dir.path());
    certificates(newer.path());
    let files = ["server.pem", "server-key.pem"].map(|name| dir.path().join(name));
    let tls = Some((files[0].clone(), files[1].clone()));
    let (address, _tasks) = start_alone(Settings { tls, ..settings() }).await;
    let url = format!("https://localhost:{}", address.port());
    let access =
        |folder: &Path| Access { url: url.clone(), token_file: None, ca: Some(folder.join("ca.pem")) };
    let former = Client::connect(&access(dir.path())).await.unwrap();
    std::fs::copy(newer.path().join("server.pem"), &files[0]).unwrap();
    let between = Client::connect(&access(dir.path())).await.unwrap();
    assert!(is_let_in(&between.shards(None).await.unwrap_err()), "the key is not there yet");
    std::fs::copy(newer.path().join("server-key.pem"), &files[1]).unwrap();
    let renewed = Client::connect(&access(newer.path())).await.unwrap();
    assert!(is_let_in(&renewed.shards(None).await.unwrap_err()));
    assert!(Client::connect(&access(dir.path())).await.is_err(), "nobody gets the former certificate");
    assert!(is_let_in(&former.shards(None).await.unwrap_err()), "connections stay");
}

async fn client_error(access: &Access) -> InspectError {
    match Client::connect(access).await {
        Ok(client) => client.shards(None).await.unwrap_err(),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_server_that_anybody_could_ask_listens_on_loopback_addresses_only() {
    let settings = Settings { listen: ([0, 0, 0, 0], 0).into(), ..settings() };
    let error = settings.check().unwrap_err().to_string();
    assert!(error.starts_with("--listen 0.0.0.0:0: ") && error.contains("--token-file FILE"), "{error}");
    let (address, _tasks) = start_alone(common::settings()).await;
    assert!(is_let_in(&client(address).await.shards(None).await.unwrap_err()));
}

#[tokio::test]
async fn a_certificate_that_is_none_is_said_with_its_flag() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = file(dir.path(), "nothing");
    for (tls, said) in [
        ((dir.path().join("none"), nothing.clone()), "--tls-cert "),
        ((nothing.clone(), nothing.clone()), "--tls-cert, --tls-key: write PEM"),
    ] {
        let settings = Settings { tls: Some(tls), ..settings() };
        let inspector = sluice_inspect::Inspector::new(Err(String::new()), Err(String::new()));
        let served = sluice_inspect_rpc::serve(settings, inspector, &sluice_tasks::Tasks::default()).await;
        let error = served.unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}
