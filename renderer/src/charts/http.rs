//! Asking a server, with the TLS that Kubernetes is spoken to with, limits on size and time, and redirections, which take no
//! password to another host.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, ETAG, HeaderName, IF_NONE_MATCH, LOCATION};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::Config;
use kube::client::Body;
use sluice_kube::outside::{HttpClient, OwnHosts, Reach, Refused, http_client};
use sluice_renderer_core::Access;

use super::failure::Failure;
use super::turns::{Bytes, Rooms};

/// So many redirections are followed.
const REDIRECTIONS: usize = 10;
/// So many connections to different servers are kept.
const KEPT: usize = 64;
/// One answer takes no longer.
const DEADLINE: Duration = Duration::from_secs(60);

/// What is asked for besides the address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) accept: Option<&'static str>,
    /// Who asks. It is said to its own server alone.
    pub(crate) authorization: Option<Authorization>,
    /// An answer that is known already.
    pub(crate) known: Option<String>,
    /// Bytes of an answer.
    pub(crate) limit: usize,
}

/// Who asks, for one server.
#[derive(Clone)]
pub(crate) struct Authorization {
    /// Scheme, host and port.
    origin: String,
    /// The whole header.
    header: String,
}

/// What a server says.
#[derive(Debug)]
pub(crate) struct ServerResponse {
    /// The address that it was got from, after all redirections.
    pub(crate) from: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Clients by server and the way it is reached.
pub(crate) struct Http {
    kept: Mutex<HashMap<(String, Access), HttpClient>>,
    /// Whom tenants may name.
    hosts: OwnHosts,
    rooms: Rooms,
}

// === impl Authorization ===

impl Authorization {
    /// This header, for the server of this address.
    pub(crate) fn new(url: &str, header: String) -> Self {
        Self { origin: origin(url).to_owned(), header }
    }

    fn header(&self, url: &str) -> Option<&str> {
        (origin(url) == self.origin).then_some(self.header.as_str())
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("origin", &self.origin).finish_non_exhaustive()
    }
}

// === impl Http ===

impl Http {
    pub(crate) fn new(hosts: OwnHosts, rooms: Rooms) -> Self {
        Self { kept: Mutex::default(), hosts, rooms }
    }

    /// Asks, and follows redirections.
    ///
    /// # Errors
    /// Why there is no answer. That the server refuses is one.
    pub(crate) async fn get(&self, url: &str, access: &Access, ask: &Ask) -> Result<ServerResponse, Failure> {
        let mut at = url.to_owned();
        let mut ask = ask.clone();
        for _ in 0..REDIRECTIONS {
            let answer = tokio::time::timeout(DEADLINE, self.once(&at, access, &ask)).await;
            let slow = |_| Failure::server(&at, format!("{} does not answer in time", shown(&at)));
            let answer = answer.map_err(slow)??;
            let Some(next) = answer.redirection() else { return Ok(answer) };
            let next = joined(&at, next);
            if origin(&next) != origin(&at) {
                // Nor is it said to the own server where another one leads back to it.
                ask.authorization = None;
            }
            at = next;
        }
        Err(Failure::content(format!("{} redirects too often", shown(url))))
    }

    async fn once(&self, url: &str, access: &Access, ask: &Ask) -> Result<ServerResponse, Failure> {
        let uri =
            url.parse::<Uri>().map_err(|_| Failure::content(format!("{} is no address", shown(url))))?;
        let reach = self.hosts.reach(&uri, access.of_tenant).map_err(|error| failure(url, &error))?;
        let client = self.client(url, access, reach)?;
        let mut request = Request::get(uri);
        let headers: [(HeaderName, Option<&str>); 3] = [
            (ACCEPT, ask.accept),
            (AUTHORIZATION, ask.authorization.as_ref().and_then(|who| who.header(url))),
            (IF_NONE_MATCH, ask.known.as_deref()),
        ];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::empty()).map_err(|_| {
            Failure::content("what the credentials say is no header; remove line breaks from them")
        })?;
        let answer = client(request).await.map_err(|error| failure(url, &error))?;
        let (head, body) = answer.into_parts();
        let mut body = Limited::new(body, ask.limit);
        let mut bytes = Bytes::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Failure::content(format!("{} has more than {} bytes", shown(url), ask.limit))
                } else {
                    failure(url, error.as_ref())
                }
            })?;
            if let Some(data) = frame.data_ref() {
                self.rooms.add(&mut bytes, data).await;
            }
        }
        Ok(ServerResponse { from: url.to_owned(), status: head.status, headers: head.headers, body: bytes })
    }

    fn client(&self, url: &str, access: &Access, reach: Reach) -> Result<HttpClient, Failure> {
        let key = (origin(url).to_owned(), Access { login: None, ..access.clone() });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = kept.get(&key) {
            return Ok(client.clone());
        }
        let failed = || Failure::content(format!("{} is no address of a server", shown(url)));
        let mut config = Config::new(key.0.parse::<Uri>().map_err(|_| failed())?);
        config.accept_invalid_certs = access.insecure_skip_tls_verify;
        config.root_cert = access.ca.as_deref().map(certificates);
        let no_authority = |why: &str| {
            let what = "the authority (registryCredentialsConfig.ca) holds no certificate that can be used";
            Failure::content(format!("{}: {what}{why}; correct its ca.crt", shown(url)))
        };
        if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
            return Err(no_authority(""));
        }
        let client = http_client(&config, reach).map_err(|error| match &access.ca {
            Some(_) => no_authority(&format!(" ({})", reason(&error))),
            None => Failure::content(format!("{}: {error}", shown(url))),
        })?;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, client.clone());
        Ok(client)
    }
}

// === impl ServerResponse ===

impl ServerResponse {
    fn redirection(&self) -> Option<&str> {
        let is_one = self.status.is_redirection() && self.status != StatusCode::NOT_MODIFIED;
        is_one.then(|| self.header(&LOCATION)).flatten()
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What the answer is called when it is asked for again.
    pub(crate) fn etag(&self) -> Option<String> {
        self.header(&ETAG).map(str::to_owned)
    }

    /// The content, if it was given.
    ///
    /// # Errors
    /// What the server says, and what to do.
    pub(crate) fn content(self, url: &str) -> Result<Bytes, Failure> {
        let (status, url) = (self.status, shown(url));
        match status.as_u16() {
            200 => Ok(self.body),
            401 | 403 => Err(Failure::content(format!(
                "{url} answers {status}; correct user and password (registryCredentialsConfig.credentials)"
            ))),
            404 => Err(Failure::content(format!(
                "{url} answers {status}; correct the address, the name or the version"
            ))),
            429 | 500.. => Err(Failure::server(&self.from, format!("{url} answers {status}"))),
            _ => Err(Failure::content(format!("{url} answers {status}"))),
        }
    }
}

/// That a server cannot be asked. Where it may not be, is not trusted, or does not speak TLS, that is not because it does not do its
/// work.
fn failure(url: &str, error: &(dyn Error + 'static)) -> Failure {
    let text = format!("{}: {}", shown(url), reason(error));
    if is_of_tls(error) || Refused::is_reason_of(error) {
        Failure::content(text)
    } else {
        Failure::server(url, text)
    }
}

/// Whether it is the TLS library that has refused. It says so as an error of data, within errors of the transport.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>();
    inner.is_some_and(|error| error.kind() == io::ErrorKind::InvalidData)
        || inner.and_then(io::Error::get_ref).is_some_and(|error| is_of_tls(error))
        || error.source().is_some_and(is_of_tls)
}

/// The last of an error's reasons: it says what has happened.
fn reason(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// The header of a user and a password.
pub(crate) fn basic((user, password): &(String, String)) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// An address without what may be secret in it.
pub(crate) fn shown(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Scheme, host and port.
pub(crate) fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..].find(['/', '?', '#']).map_or(url, |end| &url[..start + end])
}

/// An address as it stands on a page.
pub(crate) fn joined(page: &str, link: &str) -> String {
    if link.contains("://") {
        link.to_owned()
    } else if link.starts_with('/') {
        format!("{}{link}", origin(page))
    } else {
        let page = shown(page);
        let folder = page.rfind('/').filter(|at| *at >= origin(page).len()).map_or(page, |at| &page[..at]);
        format!("{folder}/{link}")
    }
}

/// The certificates of a PEM text; what is none is left to the TLS library to refuse.
fn certificates(pem: &str) -> Vec<Vec<u8>> {
    let parts = pem.split("-----BEGIN CERTIFICATE-----").skip(1);
    let bodies = parts.filter_map(|part| part.split("-----END CERTIFICATE-----").next());
    let plain = bodies.map(|body| body.split_whitespace().collect::<String>());
    plain.filter_map(|body| STANDARD.decode(body).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_from_their_page_and_nothing_secret_is_shown() {
        let page = "https://h:1/a/index.yaml?token=x";
        assert_eq!(joined(page, "c.tgz"), "https://h:1/a/c.tgz");
        assert_eq!(joined(page, "/c.tgz"), "https://h:1/c.tgz");
        assert_eq!(joined(page, "http://o/c.tgz"), "http://o/c.tgz");
        assert_eq!(joined("https://h", "c.tgz"), "https://h/c.tgz");
        assert_eq!((shown(page), origin(page)), ("https://h:1/a/index.yaml", "https://h:1"));
    }
}
