//! What comes before every call: whether the caller may ask, and until when the answer counts.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::body::Body;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use tower::{Layer, Service};

use crate::auth::Authentication;
use crate::deadline::deadline;
use crate::page::{self, ANSWERS, FILES, LOGIN};

/// Paths of the health service: whoever looks after the process has no token.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// Puts [`Front`] before all services.
#[derive(Clone, Debug)]
pub(crate) struct Fronted {
    pub(crate) authentication: Arc<Authentication>,
    /// Whether there is a page, whose files everybody may have.
    pub(crate) page: bool,
}

/// Lets those through who may ask.
#[derive(Clone, Debug)]
pub(crate) struct Front<S> {
    authentication: Arc<Authentication>,
    page: bool,
    inner: S,
}

impl<S> Layer<S> for Fronted {
    type Service = Front<S>;

    fn layer(&self, inner: S) -> Front<S> {
        Front { authentication: self.authentication.clone(), page: self.page, inner }
    }
}

impl<S> Service<Request<Body>> for Front<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The one that is ready is the one that is called.
        let other = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, other);
        let (authentication, page) = (self.authentication.clone(), self.page);
        Box::pin(async move {
            if let Some(deadline) = deadline(request.headers()) {
                request.extensions_mut().insert(deadline);
            }
            let path = request.uri().path();
            let is_of_page = page && path.starts_with(ANSWERS);
            let is_login = || authentication.page().is_some() && LOGIN.contains(&path);
            let needs_none = path.starts_with(HEALTH) || (page && (FILES.contains(&path) || is_login()));
            if !needs_none {
                match authentication.check(request.headers(), peer(&request), is_of_page).await {
                    Ok(Some(caller)) => drop(request.extensions_mut().insert(caller)),
                    Ok(None) => {}
                    Err(refused) if is_of_page => {
                        return Ok(page::refused(&refused, authentication.page().is_some()).map(Body::new));
                    }
                    Err(refused) => return Ok(refused.into_http()),
                }
            }
            inner.call(request).await
        })
    }
}

/// The address that a connection comes from.
pub(crate) fn peer<B>(request: &Request<B>) -> Option<IpAddr> {
    let parts = request.extensions();
    let encrypted = parts.get::<TlsConnectInfo<TcpConnectInfo>>().map(TlsConnectInfo::get_ref);
    let connection = parts.get::<TcpConnectInfo>().or(encrypted)?;
    connection.remote_addr().map(|address| address.ip())
}
