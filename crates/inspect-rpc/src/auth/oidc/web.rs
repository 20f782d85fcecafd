//! Asking an issuer: with limits on size and time, without following it anywhere else. Files are read for every question, and no
//! connection is kept: an issuer is asked seldom.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper_util::client::legacy::Builder;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt as _};
use serde::de::DeserializeOwned;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::address::Address;

/// The largest answer.
const LARGEST: usize = 256 << 10;

/// Asks.
#[derive(Clone, Debug)]
pub(super) struct Web {
    ca: Option<PathBuf>,
    patience: Duration,
}

/// What is sent to the issuer, beside the address.
#[derive(Default)]
pub(super) struct Form {
    pub(super) fields: String,
    pub(super) authorization: Option<HeaderValue>,
}

// === impl Web ===

impl Web {
    pub(super) fn new(ca: Option<PathBuf>, patience: Duration) -> Self {
        Self { ca, patience }
    }

    /// Gets what is to be there.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, String> {
        let request = Request::get(url).header(ACCEPT, "application/json").body(Body::empty());
        match self.send(url, request).await? {
            (StatusCode::OK, body) => read(url, &body),
            (status, _) => Err(format!("{url} answers {status}")),
        }
    }

    /// Sends a form. That it is refused is an answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        form: Form,
    ) -> Result<(StatusCode, T), String> {
        let mut request = Request::post(url)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = form.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Body::from(form.fields.into_bytes()));
        let (status, body) = self.send(url, request).await?;
        Ok((status, read(url, &body)?))
    }

    async fn send(
        &self,
        url: &str,
        request: http::Result<Request<Body>>,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        Address::of(url).map_err(|error| format!("{url}: {error}"))?;
        let request = request.map_err(|_| format!("{url} cannot be asked"))?;
        let asked = tokio::time::timeout(self.patience, self.answer(url, request)).await;
        asked.map_err(|_| format!("{url} does not answer in {:?}", self.patience))?
    }

    async fn answer(&self, url: &str, request: Request<Body>) -> Result<(StatusCode, Vec<u8>), String> {
        let mut config = Config::new(request.uri().clone());
        config.root_cert = self.authority()?;
        let connector = config.rustls_https_connector().map_err(|error| format!("{url}: {error}"))?;
        let client = Builder::new(TokioExecutor::new()).pool_max_idle_per_host(0).build::<_, Body>(connector);
        let answer = client.request(request).await.map_err(|error| format!("{url}: {}", reason(&error)))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, LARGEST).collect().await.map_err(|error| {
            match error.is::<LengthLimitError>() {
                true => format!("{url} answers more than {LARGEST} bytes"),
                false => format!("{url}: {}", reason(error.as_ref())),
            }
        })?;
        Ok((head.status, body.to_bytes().to_vec()))
    }

    fn authority(&self) -> Result<Option<Vec<Vec<u8>>>, String> {
        let Some(file) = &self.ca else { return Ok(None) };
        let failed = |why: &str| format!("--oidc-ca {}: {why}", file.display());
        let text = std::fs::read(file).map_err(|error| failed(&error.to_string()))?;
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        match read {
            Ok(found) if !found.is_empty() => Ok(Some(found.iter().map(|one| one.to_vec()).collect())),
            _ => Err(failed("there is no certificate in it; write PEM")),
        }
    }
}

fn read<T: DeserializeOwned>(url: &str, body: &[u8]) -> Result<T, String> {
    // What the issuer says may be secret, so nothing of it is told.
    serde_json::from_slice(body).map_err(|error| {
        format!(
            "{url} answers something else than is meant, in line {} column {}",
            error.line(),
            error.column()
        )
    })
}

/// The last of an error's reasons: it says what has happened.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
