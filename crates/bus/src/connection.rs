//! A connection to the bus: where it is, who we are, and how the server proves that it is the one.
//!
//! ```text
//! Connection ─► check: every file can be used, and says which flag to mend where not
//!            ─► client: waits for the server ─► async_nats, which comes back here for the credentials of every reconnect
//! ```
//!
//! Files are read anew for every connection, so that one that is rotated is used from the next connection on. What they
//! hold is kept nowhere else.

pub(crate) mod accounts;
pub(crate) mod credentials;
pub(crate) mod health;
#[cfg(test)]
mod rights_tests;
pub(crate) mod seed;
pub(crate) mod tls;
pub(crate) mod users;

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event};
use sluice_protocol::Role;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::connection::credentials::Credentials;
use crate::connection::health::ConnectionHealth;
use crate::connection::tls::Tls;
use crate::error::BusError;

/// How long the server may take to answer before a publish counts as refused.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);
/// A server that answers none of three of these is not there any more.
const PING: Duration = Duration::from_secs(1);
/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Pause between attempts.
const AGAIN: Duration = Duration::from_millis(250);
/// How long the first connection may be refused: one server of a cluster may know a new user before another does.
const REFUSED: Duration = Duration::from_secs(5);

/// How to reach the bus. Holds the names of files with secrets, never a secret.
#[derive(Clone, Debug)]
pub struct Connection {
    /// One or more `nats://host:port`, separated by commas.
    pub url: String,
    /// How the server knows who we are.
    pub credentials: Credentials,
    /// How we know who the server is.
    pub tls: Tls,
    /// What we are on the bus.
    pub role: Role,
}

impl Connection {
    /// To a server that asks for nothing: what tests and tools use.
    pub fn plain(url: impl Into<String>) -> Self {
        Self { url: url.into(), credentials: Credentials::None, tls: Tls::default(), role: Role::Operator }
    }

    /// Looks at everything that can be wrong before a server is asked.
    ///
    /// # Errors
    /// When the address or a file cannot be used; names the flag and the remedy.
    pub fn check(&self) -> Result<(), BusError> {
        self.servers()?;
        self.credentials.check()?;
        self.tls.check()
    }

    /// A connection, once there is a server; it is made again for as long as the client lives.
    ///
    /// # Errors
    /// When the address or a file cannot be used, or the server goes on refusing us.
    pub async fn client(&self, name: &str) -> Result<Client, BusError> {
        self.connect(|| self.options(name)).await
    }

    /// The same, to the servers of this address and no other. A client moves to any server that it has heard of, and back
    /// never: after a while connections to each server would all be to one.
    pub(crate) async fn staying(&self, name: &str) -> Result<Client, BusError> {
        self.connect(|| self.options(name).ignore_discovered_servers()).await
    }

    /// As [`Connection::client`], and `health` is told whenever the connection is lost.
    pub(crate) async fn watched(&self, name: &str, health: &ConnectionHealth) -> Result<Client, BusError> {
        let options = || {
            let health = health.clone();
            self.options(name).event_callback(move |event| {
                if event == Event::Disconnected {
                    health.lost();
                }
                tell(&event);
                std::future::ready(())
            })
        };
        self.connect(options).await
    }

    /// One connection for each server.
    pub(crate) fn to_each(&self) -> Vec<Self> {
        self.url.split(',').map(|url| Self { url: url.trim().to_owned(), ..self.clone() }).collect()
    }

    async fn connect(&self, options: impl Fn() -> ConnectOptions) -> Result<Client, BusError> {
        self.check()?;
        let (mut told, mut refused_since) = (false, None);
        loop {
            let error = match options().connect(self.servers()?).await {
                Ok(client) => return Ok(client),
                Err(error) => error,
            };
            if let Some(refusal) = self.refusal(&error) {
                if refused_since.get_or_insert_with(Instant::now).elapsed() > REFUSED {
                    return Err(BusError::Unsuitable(refusal));
                }
            } else {
                refused_since = None;
            }
            if !told {
                tracing::info!(url = self.url, %error, "waiting for the bus");
                told = true;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// As [`Connection::client`], for requests to JetStream.
    ///
    /// # Errors
    /// Those of [`Connection::client`].
    pub async fn jetstream(&self, name: &str) -> Result<Context, BusError> {
        Ok(jetstream(self.client(name).await?))
    }

    fn options(&self, name: &str) -> ConnectOptions {
        let options = self.tls.apply(self.credentials.options());
        options
            .name(name)
            .ping_interval(PING)
            .connection_timeout(ATTEMPT)
            .reconnect_delay_callback(reconnect_delay)
            .custom_inbox_prefix(self.role.inbox())
            .event_callback(|event| {
                tell(&event);
                std::future::ready(())
            })
    }

    fn servers(&self) -> Result<Vec<async_nats::ServerAddr>, BusError> {
        let addresses = self.url.split(',').map(|address| self.server(address.trim()));
        addresses.collect::<Result<_, _>>().map_err(|reason| {
            BusError::Unsuitable(format!("--nats-url: {reason}; write nats://host:port or tls://host:port"))
        })
    }

    /// Errors do not repeat the address: somebody may have written a password into it.
    fn server(&self, address: &str) -> Result<async_nats::ServerAddr, String> {
        let server: async_nats::ServerAddr =
            address.parse().map_err(|error: std::io::Error| error.to_string())?;
        if server.host().is_empty() {
            return Err("an address is empty".to_owned());
        }
        if address.contains('@') {
            return Err(
                "credentials in an address are seen by everybody who lists processes; use --nats-user with --nats-password-file, --nats-creds or --nats-nkey"
                    .to_owned(),
            );
        }
        Ok(server)
    }

    /// Why the server, or we, will not have this connection, however often it is tried; `None` when time may heal it.
    fn refusal(&self, error: &ConnectError) -> Option<String> {
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation => Some(self.credentials.refused(&self.role)),
            ConnectErrorKind::Authentication | ConnectErrorKind::Tls | ConnectErrorKind::Io => {
                tls::refusal(error)
            }
            _ => None,
        }
        .map(|reason| format!("the bus at {}: {reason}", self.url))
    }
}

/// Pause before another attempt: none for the first, since another server may be there.
fn reconnect_delay(attempts: usize) -> Duration {
    if attempts <= 1 { Duration::ZERO } else { AGAIN }
}

/// What a user has no right to is never answered: this is the only sign of it.
fn tell(event: &Event) {
    if let Event::ServerError(error) = event {
        tracing::warn!(%error, "the bus says no; `sluice nats users` prints the rights that each role needs");
    }
}

/// JetStream over a connection.
pub(crate) fn jetstream(client: Client) -> Context {
    ContextBuilder::new()
        .timeout(ACK_TIMEOUT)
        .ack_timeout(ACK_TIMEOUT)
        // Who publishes limits itself. A limit here is shared by all shards, and what waits for it would wait for
        // acknowledgements that it does not read meanwhile.
        .max_ack_inflight(Semaphore::MAX_PERMITS)
        .build(client)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_are_checked_and_never_repeated_with_a_password_in_them() {
        let check = |url: &str| Connection::plain(url).check().map_err(|error| error.to_string());
        for good in ["nats://a:4222", "a", "nats://a:1, tls://b:2,c", "nats://[::1]:4222"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "nats://a,", "http://a:1", "nats://a:port", "nats://me:secret@a:1"] {
            let error = check(bad).unwrap_err();
            assert!(error.contains("--nats-url: ") && error.contains("nats://host:port"), "{bad}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn there_is_a_connection_to_each_node_of_a_bus() {
        let urls: Vec<_> =
            Connection::plain("nats://a:1, nats://b:2").to_each().into_iter().map(|one| one.url).collect();
        assert_eq!(urls, ["nats://a:1", "nats://b:2"]);
    }

    #[test]
    fn another_server_is_tried_at_once_and_the_same_one_after_a_pause() {
        assert_eq!(
            (reconnect_delay(0), reconnect_delay(1), reconnect_delay(2)),
            (Duration::ZERO, Duration::ZERO, AGAIN)
        );
    }

    #[test]
    fn what_time_may_heal_is_no_refusal() {
        let connection = Connection::plain("nats://a");
        for kind in [ConnectErrorKind::Dns, ConnectErrorKind::TimedOut, ConnectErrorKind::MaxReconnects] {
            assert_eq!(connection.refusal(&ConnectError::new(kind)), None, "{kind}");
        }
        let away = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(connection.refusal(&ConnectError::with_source(ConnectErrorKind::Io, away)), None);
    }

    #[test]
    fn who_is_refused_is_told_where_and_as_whom() {
        let connection = Connection { role: Role::Deployer(None), ..Connection::plain("nats://a:1") };
        let told = connection.refusal(&ConnectError::new(ConnectErrorKind::AuthorizationViolation)).unwrap();
        assert!(told.starts_with("the bus at nats://a:1: "), "{told}");
        assert!(told.contains("prints one for deployer"), "{told}");
    }

    #[test]
    fn a_connection_to_one_node_is_as_the_one_to_all_in_everything_else() {
        let all = Connection {
            credentials: Credentials::Nkey("seed".into()),
            tls: Tls { first: true, ..Tls::default() },
            role: Role::Matcher,
            ..Connection::plain("a,b")
        };
        for one in all.to_each() {
            assert_eq!((&one.credentials, &one.tls, &one.role), (&all.credentials, &all.tls, &all.role));
        }
    }

    #[test]
    fn the_address_is_looked_at_before_any_file() {
        let both = Connection {
            credentials: Credentials::Nkey("/nowhere/at/all".into()),
            ..Connection::plain("http://a")
        };
        assert!(both.check().unwrap_err().to_string().contains("--nats-url"));
        let file = Connection { url: "nats://a".into(), ..both };
        assert!(file.check().unwrap_err().to_string().contains("--nats-nkey"));
    }
}
