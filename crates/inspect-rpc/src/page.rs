//! The page: the same answers for people with a browser, over HTTP on the address of the service.
//!
//! Its files are part of the program and name nothing outside of this server. They need no token; every answer does.

mod fleet;
mod login;
mod questions;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use futures::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::json;
use sluice_inspect::{InspectError, Inspector, Listed};
use tokio::sync::Semaphore;

use crate::auth::{Caller, Oidc};

use self::questions::{Cluster, Namespace, Object};

/// Answers that are made at the same time, and journals that are open.
const AT_ONCE: usize = 16;
const JOURNALS: usize = 64;
/// How long an answer may take.
const LONGEST: Duration = Duration::from_secs(60);
/// Lines of the journal that are sent together.
const TOGETHER: usize = 100;
/// Where answers are: what is below needs a token.
pub(crate) const ANSWERS: &str = "/ui/api/";
/// Where browsers log in and out, which needs none.
pub(crate) const LOGIN: [&str; 3] = ["/ui/login", "/ui/callback", "/ui/logout"];
/// The page itself, which needs none. Whatever is not here does.
pub(crate) const FILES: [&str; 5] = ["/", "/ui", "/ui/", "/ui/page.css", "/ui/page.js"];

/// Scripts, styles and answers of this server, and nothing else; in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// What answers.
#[derive(Clone)]
struct Answers {
    inspector: Inspector,
    turns: Arc<Semaphore>,
    journals: Arc<Semaphore>,
}

/// Why there is no answer, as a status of HTTP.
struct Refusal(StatusCode, String);

type Answered<T> = Result<Json<T>, Refusal>;

/// The page and its answers. Where nobody needs a token, only a browser that was sent to this machine by its name or address is answered:
/// a page of somebody else could give its own name our address.
pub(crate) fn router(inspector: Inspector, needs_token: bool, oidc: Option<Arc<Oidc>>) -> Router {
    let (turns, journals) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Semaphore::new(JOURNALS)));
    let answers = Router::new()
        .route("/fleet", get(fleet::fleet))
        .route("/clusters", get(clusters))
        .route("/profiles", get(profiles))
        .route("/triggers", get(triggers))
        .route("/addons", get(addons))
        .route("/problems", get(problems))
        .route("/shards", get(shards))
        .route("/explain", get(explain))
        .route("/trace", get(trace))
        .route("/journal", get(journal))
        .route("/session", get(login::session))
        .with_state(Answers { inspector, turns, journals });
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/ui/") }))
        .route("/ui", get(|| async { Redirect::temporary("/ui/") }))
        .route("/ui/", get(|| async { file("text/html; charset=utf-8", include_str!("../page/index.html")) }))
        .route(
            "/ui/page.css",
            get(|| async { file("text/css; charset=utf-8", include_str!("../page/page.css")) }),
        )
        .route(
            "/ui/page.js",
            get(|| async { file("text/javascript; charset=utf-8", include_str!("../page/page.js")) }),
        )
        .nest(ANSWERS.trim_end_matches('/'), answers)
        .merge(oidc.map(login::router).unwrap_or_default())
        .layer(from_fn(guarded))
        .layer(from_fn(move |request, next| meant(needs_token, request, next)))
}

/// A refusal of a caller without a token that counts, for the page.
pub(crate) fn refused(status: &tonic::Status, may_log_in: bool) -> Response {
    let code = match status.code() {
        tonic::Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        tonic::Code::PermissionDenied => StatusCode::FORBIDDEN,
        tonic::Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, Json(json!({"error": status.message(), "login": may_log_in}))).into_response()
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

async fn meant(needs_token: bool, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host =
        host.or_else(|| request.uri().authority().map(|authority| authority.as_str())).unwrap_or_default();
    if needs_token || is_this_machine(host) {
        return next.run(request).await;
    }
    Refusal(StatusCode::MISDIRECTED_REQUEST, "ask for this machine as 127.0.0.1 or localhost".into())
        .into_response()
}

fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What browsers are told with every answer.
async fn guarded(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

// === impl Answers ===

impl Answers {
    /// Makes an answer in its turn and in time.
    async fn make<T>(&self, work: impl Future<Output = Result<T, InspectError>>) -> Answered<T> {
        let Ok(_turn) = self.turns.try_acquire() else {
            return Err(Refusal::busy(
                "too many answers are made at the same time; ask again a little later",
            ));
        };
        match tokio::time::timeout(LONGEST, Box::pin(work)).await {
            Ok(made) => made.map(Json).map_err(Refusal::from),
            Err(_) => {
                Err(Refusal(StatusCode::GATEWAY_TIMEOUT, "the answer takes too long; ask for less".into()))
            }
        }
    }

    async fn list<T: Serialize>(
        &self,
        work: impl Future<Output = Result<Listed<T>, InspectError>>,
    ) -> Answered<serde_json::Value> {
        let Json(Listed { found, missing }) = self.make(work).await?;
        Ok(Json(json!({"found": found, "missing": missing})))
    }
}

type Asked = State<Answers>;

async fn clusters(State(answers): Asked) -> Answered<serde_json::Value> {
    answers.list(Box::pin(answers.inspector.clusters(None))).await
}

async fn profiles(State(answers): Asked) -> Answered<serde_json::Value> {
    answers.list(answers.inspector.profiles(None)).await
}

async fn triggers(State(answers): Asked) -> Answered<serde_json::Value> {
    answers.list(answers.inspector.triggers()).await
}

async fn addons(State(answers): Asked, Query(asked): Query<Namespace>) -> Answered<serde_json::Value> {
    answers.list(answers.inspector.addons(&asked.filter())).await
}

async fn problems(State(answers): Asked, Query(asked): Query<Cluster>) -> Answered<serde_json::Value> {
    let filter = asked.problems()?;
    answers.list(Box::pin(answers.inspector.problems(&filter))).await
}

async fn shards(State(answers): Asked) -> Answered<serde_json::Value> {
    let Json(found) = answers.make(answers.inspector.shards(None)).await?;
    Ok(Json(json!({ "found": found })))
}

async fn explain(State(answers): Asked, Query(asked): Query<Object>) -> Answered<sluice_inspect::Explained> {
    let question = sluice_inspect::Question::Object(asked.target()?);
    answers.make(answers.inspector.explain(&question)).await
}

async fn trace(State(answers): Asked, Query(asked): Query<Object>) -> Answered<serde_json::Value> {
    let target = asked.target()?;
    let Json(found) = answers.make(answers.inspector.trace(&target)).await?;
    Ok(Json(json!({ "found": found })))
}

/// What happens from now on, one JSON object a line, until the reader goes.
async fn journal(
    State(answers): Asked,
    caller: Option<Extension<Caller>>,
    Query(asked): Query<Cluster>,
) -> Result<Response, Refusal> {
    let Ok(turn) = answers.journals.clone().try_acquire_owned() else {
        return Err(Refusal::busy("too many journals are open; close one"));
    };
    let told = answers.inspector.journal(asked.journal()?).await?;
    let lines = stream::unfold((told, turn), |(mut told, turn)| async move {
        let lines = told.next(TOGETHER).await;
        let text: String = lines
            .iter()
            .filter_map(|line| serde_json::to_string(line).ok())
            .map(|line| line + "\n")
            .collect();
        (!lines.is_empty()).then_some((Ok::<_, Infallible>(text), (told, turn)))
    });
    let expires = async move { Caller::expires(caller.as_deref()).await };
    let lines = lines.take_until(Box::pin(expires));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

// === impl Refusal ===

impl Refusal {
    fn busy(text: &str) -> Self {
        Self(StatusCode::TOO_MANY_REQUESTS, text.to_owned())
    }
}

impl From<InspectError> for Refusal {
    fn from(error: InspectError) -> Self {
        let code = match error {
            InspectError::NotFound(_) => StatusCode::NOT_FOUND,
            InspectError::Invalid(_) => StatusCode::BAD_REQUEST,
            InspectError::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
            InspectError::TooMuch(_) => StatusCode::TOO_MANY_REQUESTS,
            InspectError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(code, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered_without_a_token() {
        for host in ["127.0.0.1:8090", "localhost:8090", "localhost", "[::1]:8090", "127.0.0.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil.example:1", "10.0.0.1:80"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn the_page_names_nothing_outside_of_this_server() {
        for text in [
            include_str!("../page/index.html"),
            include_str!("../page/failed.html"),
            include_str!("../page/page.css"),
            include_str!("../page/page.js"),
        ] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("innerHTML"));
            assert!(!text.contains(" style=") && !text.contains("onclick"));
        }
    }
}
