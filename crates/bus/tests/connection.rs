//! Credentials and TLS against a real nats-server: what is used, what is refused, and what is used after a change.
#![allow(clippy::unwrap_used)]

mod server;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use async_nats::Client;
use server::Server;
use sluice_bus::{Connection, Credentials, Seed, Tls};

/// What has not happened by now will not.
const PATIENCE: Duration = Duration::from_secs(20);

fn user(name: &str, file: &Path) -> Credentials {
    Credentials::User { name: name.into(), password_file: file.to_owned() }
}

fn connection(server: &Server, credentials: Credentials, tls: Tls) -> Connection {
    Connection { credentials, tls, ..Connection::plain(server.url()) }
}

async fn connect(connection: &Connection) -> Client {
    tokio::time::timeout(PATIENCE, connection.client("test")).await.expect("a server").unwrap()
}

async fn refused(connection: &Connection) -> String {
    match tokio::time::timeout(PATIENCE, connection.client("test")).await {
        Ok(ended) => ended.unwrap_err().to_string(),
        Err(_) => format!("{connection:?} waits for the server"),
    }
}

/// Answered by the server itself.
async fn is_served(client: &Client) -> bool {
    client.request("$JS.API.INFO", "".into()).await.is_ok_and(|answer| answer.payload.starts_with(b"{"))
}

async fn served_again(client: &Client) {
    let again = async {
        while !is_served(client).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the client connects again");
}

fn passwords(password: &str) -> String {
    format!("accounts {{ A {{ jetstream: enabled, users: [ {{ user: me, password: {password} }} ] }} }}\n")
}

#[tokio::test]
async fn a_password_that_is_rotated_is_used_at_the_next_connection() {
    let mut server = Server::start(&passwords("first"));
    let file = server.dir.path().join("password");
    std::fs::write(&file, "first\n").unwrap();
    let connection = connection(&server, user("me", &file), Tls::default());
    let client = connect(&connection).await;
    assert!(is_served(&client).await);
    std::fs::write(&file, "second\n").unwrap();
    server.restart(&passwords("second"));
    served_again(&client).await;
    // Who was wrong from the beginning is told so, without what was wrong.
    std::fs::write(&file, "third").unwrap();
    let said = refused(&connection).await;
    assert!(said.contains("--nats-user me") && said.contains("--nats-password-file"), "{said}");
    assert!(!said.contains("third") && !format!("{connection:?}").contains("third"));
    let said = refused(&Connection::plain(server.url())).await;
    assert!(said.contains("--nats-creds, --nats-nkey"), "{said}");
}

#[tokio::test]
async fn an_nkey_that_is_rotated_is_used_at_the_next_connection() {
    let config = |seed: &Seed| {
        format!("accounts {{ A {{ jetstream: enabled, users: [ {{ nkey: {} }} ] }} }}\n", seed.public_key())
    };
    let (first, second) = (Seed::new(), Seed::new());
    let mut server = Server::start(&config(&first));
    let file = server.dir.path().join("seed");
    std::fs::write(&file, format!("# who we are\n{}\n", first.secret())).unwrap();
    let connection = connection(&server, Credentials::Nkey(file.clone()), Tls::default());
    let client = connect(&connection).await;
    assert!(is_served(&client).await);
    std::fs::write(&file, second.secret()).unwrap();
    server.restart(&config(&second));
    served_again(&client).await;
    std::fs::write(&file, first.secret()).unwrap();
    let said = refused(&connection).await;
    assert!(said.contains("--nats-nkey") && !said.contains(&first.secret()), "{said}");
}

#[tokio::test]
async fn a_creds_file_that_is_rotated_is_used_at_the_next_connection() {
    let (first, second) = (Issuer::new(), Issuer::new());
    let mut server = Server::start(&first.config());
    let file = server.dir.path().join("me.creds");
    std::fs::write(&file, first.creds()).unwrap();
    let connection = connection(&server, Credentials::Creds(file.clone()), Tls::default());
    let client = connect(&connection).await;
    let answers = |client: Client| async move { client.flush().await.is_ok() };
    assert!(answers(client.clone()).await);
    std::fs::write(&file, second.creds()).unwrap();
    server.restart(&second.config());
    let mut echo = client.subscribe("echo").await.unwrap();
    let again = async {
        loop {
            client.publish("echo", "".into()).await.unwrap();
            let heard = tokio::time::timeout(Duration::from_millis(200), futures::StreamExt::next(&mut echo));
            if client.connection_state() == async_nats::connection::State::Connected && heard.await.is_ok() {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the client connects again");
    std::fs::write(&file, first.creds()).unwrap();
    let said = refused(&connection).await;
    assert!(said.contains("--nats-creds") && said.contains("me.creds"), "{said}");
}

/// Who signs users: an operator and an account, as `nsc` makes them.
struct Issuer {
    operator: nkeys::KeyPair,
    account: nkeys::KeyPair,
    system: nkeys::KeyPair,
}

impl Issuer {
    fn new() -> Self {
        let [account, system] = [(); 2].map(|()| nkeys::KeyPair::new_account());
        Self { operator: nkeys::KeyPair::new_operator(), account, system }
    }

    fn config(&self) -> String {
        let operator =
            signed(&self.operator, &self.operator.public_key(), r#"{"type":"operator","version":2}"#);
        let limits = r#"{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1}"#;
        let claim = format!(r#"{{"type":"account","version":2,"limits":{limits}}}"#);
        let accounts = [&self.account, &self.system].map(|account| {
            let account = account.public_key();
            format!("{account}: {}", signed(&self.operator, &account, &claim))
        });
        let (system, accounts) = (self.system.public_key(), accounts.join("\n"));
        format!(
            "operator: {operator}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{ {accounts} }}\n"
        )
    }

    fn creds(&self) -> String {
        let user = Seed::new();
        let claim = r#"{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1}"#;
        let jwt = signed(&self.account, &user.public_key(), claim);
        let (begin, end) = ("-----BEGIN", "------END");
        format!(
            "{begin} NATS USER JWT-----\n{jwt}\n{end} NATS USER JWT------\n\n*** secret ***\n\n{begin} USER NKEY SEED-----\n{}\n{end} USER NKEY SEED------\n",
            user.secret()
        )
    }
}

fn signed(by: &nkeys::KeyPair, subject: &str, claim: &str) -> String {
    use base64::Engine as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let issuer = by.public_key();
    let claims = format!(
        r#"{{"jti":"X","iat":1700000000,"iss":"{issuer}","name":"test","sub":"{subject}","nats":{claim}}}"#
    );
    let text = format!("{}.{}", encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#), encode(claims.as_bytes()));
    let signature = by.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", encode(&signature))
}

/// A folder with an authority and certificates.
fn certificates(dir: &Path, name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/dev-certificates.sh");
    let folder = dir.join(name);
    let made = Command::new(script).arg(&folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

fn tls_config(folder: &Path, more: &str) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", {more} }}\n",
        file("server.pem"),
        file("server-key.pem"),
        file("ca.pem")
    )
}

fn identity(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    Some((folder.join("client.pem"), folder.join("client-key.pem")))
}

#[tokio::test]
async fn tls_is_used_and_what_is_wrong_with_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (good, other) = (certificates(dir.path(), "good"), certificates(dir.path(), "other"));
    let ca = Some(good.join("ca.pem"));
    let server = Server::start(&tls_config(&good, "verify: true"));
    let with = |tls: Tls| connection(&server, Credentials::None, tls);
    let right = with(Tls { ca: ca.clone(), identity: identity(&good), first: false });
    assert!(is_served(&connect(&right).await).await);

    let wrong_ca = with(Tls { ca: Some(other.join("ca.pem")), identity: identity(&good), first: false });
    let wrong_client = with(Tls { ca: ca.clone(), identity: identity(&other), first: false });
    let no_client = with(Tls { ca: ca.clone(), ..Tls::default() });
    let no_ca = with(Tls::default());
    let swapped = identity(&good).map(|(_, key)| (good.join("ca.pem"), key));
    let swapped = with(Tls { ca: ca.clone(), identity: swapped, first: false });
    let empty = with(Tls { ca: Some(good.join("client-key.pem")), ..Tls::default() });
    let said = tokio::join!(
        refused(&wrong_ca),
        refused(&wrong_client),
        refused(&no_client),
        refused(&no_ca),
        refused(&swapped),
        refused(&empty)
    );
    assert!(said.0.contains("--nats-ca"), "{}", said.0);
    assert!(said.1.contains("--nats-cert"), "{}", said.1);
    assert!(said.2.contains("--nats-cert"), "{}", said.2);
    assert!(said.3.contains("--nats-ca"), "{}", said.3);
    assert!(said.4.contains("--nats-key"), "{}", said.4);
    assert!(said.5.contains("--nats-ca") && said.5.contains("certificates"), "{}", said.5);
}

#[tokio::test]
async fn tls_comes_first_where_the_server_wants_it() {
    let dir = tempfile::tempdir().unwrap();
    let good = certificates(dir.path(), "good");
    let tls = |first| Tls { ca: Some(good.join("ca.pem")), identity: None, first };
    let server = Server::start(&tls_config(&good, "handshake_first: true"));
    let client = connect(&connection(&server, Credentials::None, tls(true))).await;
    assert!(is_served(&client).await);
    // Where it does not, and where there is no TLS at all, we do not speak without it.
    let plain = Server::start("");
    let [early, late] = [true, false].map(|first| connection(&plain, Credentials::None, tls(first)));
    let said = tokio::join!(refused(&early), refused(&late));
    assert!(said.0.contains("--nats-tls-first"), "{}", said.0);
    assert!(said.1.contains("does not speak TLS"), "{}", said.1);
}

#[tokio::test]
async fn certificates_that_are_rotated_are_used_at_the_next_connection() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (certificates(dir.path(), "first"), certificates(dir.path(), "second"));
    let ours = dir.path().join("ours");
    std::fs::create_dir(&ours).unwrap();
    let take = |from: &Path| {
        for name in ["ca.pem", "client.pem", "client-key.pem"] {
            std::fs::copy(from.join(name), ours.join(name)).unwrap();
        }
    };
    take(&first);
    let mut server = Server::start(&tls_config(&first, "verify: true"));
    let tls = Tls { ca: Some(ours.join("ca.pem")), identity: identity(&ours), first: false };
    let client = connect(&connection(&server, Credentials::None, tls)).await;
    assert!(is_served(&client).await);
    take(&second);
    server.restart(&tls_config(&second, "verify: true"));
    served_again(&client).await;
}
