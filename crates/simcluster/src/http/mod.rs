//! The HTTP side: connections, authentication, faults, and the way from a path to an answer.

mod admin;
mod body;
mod objects;
mod params;
mod respond;
mod reviews;
mod route;
mod stream;
mod tokens;

use std::convert::Infallible;
use std::sync::Arc;

use ::http::{Method, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::Cluster;
use crate::faults::Fate;
use crate::fleet::Shared;
use crate::status::ApiError;
use crate::{discovery, openapi};
use params::Params;
pub use respond::Format;
use respond::Response;
use route::{Route, Target};

/// A connection that is to be closed without an answer.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the simulated cluster is unreachable")
    }
}

impl std::error::Error for Dropped {}

/// What every handler gets.
pub struct Call {
    cluster: Arc<Cluster>,
    method: Method,
    params: Params,
    format: Format,
    content_type: String,
    user: String,
    agent: String,
    body: bytes::Bytes,
}

/// Accepts connections until `stop`.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tasks.spawn(connection(stream, shared.clone(), stop.clone()));
            }
            // Out of file descriptors, most likely: others must be closed first.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let service = service_fn(move |request| answer(shared.clone(), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        () = stop.cancelled() => {}
        done = served => if let Err(error) = done {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response, Dropped> {
    let path = request.uri().path().to_owned();
    if let Some(rest) = path.strip_prefix("/_sim") {
        return Ok(admin::answer(&shared, rest, request).await);
    }
    let mut parts = path.strip_prefix("/clusters/").unwrap_or_default().splitn(2, '/');
    let Some(cluster) = parts.next().and_then(|id| shared.find(id)) else {
        return Ok(respond::error(&ApiError::unknown_path()));
    };
    let rest = format!("/{}", parts.next().unwrap_or_default());
    let (delay, fate) = cluster.faults().draw();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    match fate {
        Fate::Drop => return Err(Dropped),
        Fate::Unauthorized => return Ok(respond::error(&ApiError::unauthorized())),
        Fate::TooMany(seconds) => return Ok(respond::too_many(seconds)),
        Fate::Fail(code) => return Ok(respond::injected(code)),
        Fate::Serve => {}
    }
    if !is_authorized(&request, &cluster) {
        return Ok(respond::error(&ApiError::unauthorized()));
    }
    Ok(match read(cluster, request).await {
        Ok(call) => dispatch(&rest, call).await.unwrap_or_else(|error| respond::error(&error)),
        Err(error) => respond::error(&error),
    })
}

/// A wrong token is refused. A missing one is not: `kubectl` never sends a token over plain HTTP.
fn is_authorized(request: &Request<Incoming>, cluster: &Cluster) -> bool {
    let Some(value) = request.headers().get(header::AUTHORIZATION) else { return true };
    let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    let is_good = |token: &str| token == cluster.token() || tokens::is_given(cluster, token);
    token.is_some_and(|token| is_good(token.trim()))
}

async fn read(cluster: Arc<Cluster>, request: Request<Incoming>) -> Result<Call, ApiError> {
    let text = |name: &str| {
        request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let content_type = text("content-type").split(';').next().unwrap_or_default().trim().to_owned();
    let format = Format::parse(&text("accept"))?;
    let (user, agent) = (text("impersonate-user"), text("user-agent"));
    let params = Params::parse(request.uri().query().unwrap_or_default());
    let method = request.method().clone();
    let body = body::read(request.into_body()).await?;
    Ok(Call { cluster, method, params, format, content_type, user, agent, body })
}

/// Whether a request may change an object: a review is posted, too, and a dry run changes nothing.
fn writes(target: &Target, call: &Call) -> bool {
    call.method != Method::GET && !objects::is_answered_alone(target) && call.params.get("dryRun").is_empty()
}

async fn dispatch(path: &str, call: Call) -> Result<Response, ApiError> {
    let route = Route::parse(path).ok_or_else(ApiError::unknown_path)?;
    match route {
        Route::Object(target) if writes(&target, &call) => {
            let cluster = call.cluster.clone();
            cluster.faults().begin_write().await;
            let answered = objects::answer(&target, call);
            cluster.faults().end_write().await;
            answered
        }
        Route::Object(target) => objects::answer(&target, call),
        _ if call.method != Method::GET => Err(ApiError::method_not_allowed()),
        Route::Health => Ok(respond::text("ok")),
        Route::Version => Ok(respond::json(200, &discovery::version())),
        Route::Core => Ok(respond::bytes(
            200,
            respond::discovery_type(&call.format),
            discovery::core(&call.cluster, &call.format),
        )),
        Route::Groups => Ok(respond::bytes(
            200,
            respond::discovery_type(&call.format),
            discovery::groups(&call.cluster, &call.format),
        )),
        Route::Group(group) => discovery::group(&call.cluster, &group)
            .map(|value| respond::json(200, &value))
            .ok_or_else(ApiError::page_not_found),
        Route::Resources(group, version) => {
            let found = discovery::resources(&call.cluster, &group, &version);
            found.map(|value| respond::json(200, &value)).ok_or_else(ApiError::unknown_path)
        }
        Route::OpenApiV2 => {
            let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
            Ok(respond::bytes(200, content_type, openapi::DOCUMENT_V2))
        }
        Route::OpenApiIndex => Ok(respond::json(200, &openapi::index(&call.cluster))),
        Route::OpenApi(group, version) => {
            let found = openapi::document(&call.cluster, &group, &version);
            found.map(|value| respond::json(200, &value)).ok_or_else(ApiError::unknown_path)
        }
    }
}

/// Bodies that cannot fail.
type NoError = Infallible;
