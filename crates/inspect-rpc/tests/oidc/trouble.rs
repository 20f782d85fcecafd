//! An issuer that is away, or answers what it should not: nobody is let in, and it is said why.
#![allow(clippy::disallowed_methods, reason = "they end with the test")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sluice_inspect_rpc::{Oidc, OidcSettings};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::common::certificates;
use super::issuer::{Issuer, Key};
use super::tokens::{asked, server};

const DISCOVERY: &str = "/.well-known/openid-configuration";

#[tokio::test]
async fn while_the_issuer_is_away_nobody_is_let_in() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let token = key.signed("one", &issuer.claims());
    // Somebody listened there, and has gone.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (address, _tasks) =
        server(OidcSettings { issuer: format!("http://{gone}"), ..issuer.settings() }).await;
    let said = asked(address, &token).await;
    assert!(
        said.starts_with("nobody can tell whether this token counts: ") && said.contains("refused"),
        "{said}"
    );
    assert!(said.contains(DISCOVERY), "{said}");
}

#[tokio::test]
async fn keys_that_are_known_count_while_the_issuer_fails() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (address, _tasks) = server(OidcSettings { again: Duration::ZERO, ..issuer.settings() }).await;
    let token = key.signed("one", &issuer.claims());
    assert_eq!(asked(address, &token).await, "let in");
    issuer.now().instead = Some(Box::new(|_| Some((503, "{}".to_owned()))));
    assert_eq!(asked(address, &token).await, "let in");
    // Whether another one counts is for the issuer to say.
    let said = asked(address, &key.signed("two", &issuer.claims())).await;
    assert!(said.contains("answers 503"), "{said}");
}

#[tokio::test]
async fn an_answer_that_is_not_meant_lets_nobody_in() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let token = key.signed("one", &issuer.claims());
    let url = issuer.url();
    let discovery = |issuer: &str, keys: &str, token: &str| {
        json!({"issuer": issuer, "jwks_uri": keys, "token_endpoint": token}).to_string()
    };
    let good = format!("{url}/keys");
    for (path, code, body, why) in [
        (DISCOVERY, 500, String::new(), "answers 500"),
        (DISCOVERY, 302, String::new(), "answers 302"),
        (DISCOVERY, 200, "<html>log in</html>".to_owned(), "something else than is meant, in line 1"),
        (DISCOVERY, 200, "{}".to_owned(), "something else"),
        (DISCOVERY, 200, format!("{{\"issuer\": \"{}\"}}", "x".repeat(1 << 20)), "more than 262144 bytes"),
        (DISCOVERY, 200, "[".repeat(100_000), "something else"),
        (DISCOVERY, 200, discovery("https://evil.example", &good, &url), "names another issuer"),
        (DISCOVERY, 200, discovery(&url, "http://evil.example/keys", &url), "use https://"),
        (DISCOVERY, 200, discovery(&url, &good, "file:///etc/passwd"), "token_endpoint"),
        ("/keys", 200, "null".to_owned(), "something else"),
        ("/keys", 200, json!({"keys": []}).to_string(), "has no key"),
        (
            "/keys",
            200,
            json!({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "one"}]}).to_string(),
            "has no key",
        ),
        ("/keys", 404, String::new(), "answers 404"),
    ] {
        let said = (path.to_owned(), (code, body.clone()));
        issuer.now().instead = Some(Box::new(move |asked| (asked == said.0).then(|| said.1.clone())));
        let (address, _tasks) = server(issuer.settings()).await;
        let said = asked(address, &token).await;
        let shown = &body[..body.len().min(60)];
        assert!(said.starts_with("nobody can tell") && said.contains(why), "{path} {shown}: {said}");
        assert!(said.len() < 1_000, "{said}");
    }
}

#[tokio::test]
async fn an_issuer_that_thinks_for_ever_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let settings = OidcSettings {
        issuer: format!("http://{}", listener.local_addr().unwrap()),
        patience: Duration::from_millis(50),
        ..issuer.settings()
    };
    let (address, _tasks) = server(settings).await;
    let said = asked(address, &key.signed("one", &issuer.claims())).await;
    assert!(said.starts_with("nobody can tell") && said.contains("does not answer in 50ms"), "{said}");
    drop(listener);
}

/// An issuer with a certificate of its own authority.
#[tokio::test]
async fn an_encrypted_issuer_is_believed_by_who_knows_its_authority() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let read = |file: &str| std::fs::read(dir.path().join(file)).unwrap();
    let chain = CertificateDer::pem_slice_iter(&read("server.pem")).collect::<Result<Vec<_>, _>>().unwrap();
    let own = PrivateKeyDer::from_pem_slice(&read("server-key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let acceptor = TlsAcceptor::from(Arc::new(config.with_single_cert(chain, own).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let plain = issuer.url().trim_start_matches("http://").to_owned();
    issuer.now().url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, plain) = (acceptor.clone(), plain.clone());
            tokio::spawn(async move {
                // Who does not believe the certificate goes.
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(plain).await.unwrap();
                drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
            });
        }
    });
    let token = key.signed("one", &issuer.claims());
    let known = OidcSettings { ca: Some(dir.path().join("ca.pem")), ..issuer.settings() };
    let (address, _tasks) = server(known).await;
    assert_eq!(asked(address, &token).await, "let in");
    let (address, _tasks) = server(issuer.settings()).await;
    let said = asked(address, &token).await;
    assert!(said.starts_with("nobody can tell") && said.contains("certificate"), "{said}");
    let (address, _tasks) =
        server(OidcSettings { ca: Some(dir.path().join("ca.pem")), ..issuer.settings() }).await;
    std::fs::write(dir.path().join("ca.pem"), "nothing").unwrap();
    let said = asked(address, &token).await;
    assert!(said.contains("--oidc-ca") && said.contains("write PEM"), "{said}");
}

#[test]
fn settings_that_cannot_be_meant_are_refused_with_their_flag() {
    let good = || OidcSettings::new("https://id.example", "sluice");
    let refused = |settings: OidcSettings| Oidc::new(settings).unwrap_err();
    for (issuer, why) in [
        ("http://id.example", "use https://"),
        ("id.example", "--oidc-issuer id.example"),
        ("https://a:b@id.example", "leave user and password out"),
        ("https://id.example?tenant=a", "leave out what follows the path"),
    ] {
        let said = refused(OidcSettings { issuer: issuer.to_owned(), ..good() });
        assert!(said.starts_with("--oidc-issuer ") && said.contains(why), "{issuer}: {said}");
    }
    let page = |page: &str| refused(OidcSettings { page: Some(page.to_owned()), ..good() });
    for wrong in ["https://inspect.example", "http://inspect.example/ui/", "/ui/", "https://h/?a=/ui/"] {
        assert!(page(wrong).starts_with("--oidc-page-url "), "{wrong}");
    }
    assert!(
        refused(OidcSettings { scopes: vec!["email".to_owned()], ..good() }).starts_with("--oidc-scopes")
    );
    assert!(refused(OidcSettings { client: String::new(), ..good() }).starts_with("--oidc-client-id"));
    let ca = Some("/nowhere/ca.pem".into());
    assert!(refused(OidcSettings { ca, ..good() }).contains("/nowhere/ca.pem"));
}
