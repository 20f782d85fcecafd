//! Plain HTTP with as little work as possible: what the client costs is taken from the same cores.

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An answer, read completely.
#[derive(Clone, Debug)]
pub struct ServerResponse {
    /// The status code.
    pub code: u16,
    /// As it came, whatever the code is.
    pub body: Bytes,
}

/// One connection; requests follow one another on it.
#[derive(Debug)]
pub struct Connection {
    authority: String,
    sender: SendRequest<Full<Bytes>>,
}

// === impl Response ===

impl ServerResponse {
    /// The answer, when it is a success.
    ///
    /// # Errors
    /// What the server says instead.
    pub fn success(self) -> anyhow::Result<Self> {
        if (200..300).contains(&self.code) {
            return Ok(self);
        }
        bail!("answer {}: {}", self.code, String::from_utf8_lossy(&self.body))
    }
}

// === impl Connection ===

impl Connection {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(authority: &str) -> anyhow::Result<Self> {
        let stream =
            TcpStream::connect(authority).await.with_context(|| format!("cannot connect to {authority}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "its end is the end of the connection, which whoever asks notices"
        )]
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
        Ok(Self { authority: authority.to_owned(), sender })
    }

    /// Reads a path; no token is sent when it is empty.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn get(&mut self, path: &str, token: &str) -> anyhow::Result<ServerResponse> {
        self.call(Method::GET, path, token, "", Bytes::new()).await
    }

    /// Sends a request and reads the answer completely.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn call(
        &mut self,
        method: Method,
        path: &str,
        token: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<ServerResponse> {
        let response = self.send(method, path, token, content_type, body).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok(ServerResponse { code, body })
    }

    /// Sends a request; the body of the answer comes as it is sent.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        token: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        let mut request =
            Request::builder().method(method).uri(path).header(header::HOST, self.authority.as_str());
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if !content_type.is_empty() {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        self.sender.ready().await?;
        Ok(self.sender.send_request(request.body(Full::new(body))?).await?)
    }
}
