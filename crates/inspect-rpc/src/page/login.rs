//! Logging in and out with a browser: it goes to the issuer and comes back here, and nothing of it stands in an address of the page.

use std::fmt::Display;
use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use http::HeaderValue;
use serde::Deserialize;
use serde_json::{Value, json};
use tonic::Status;

use super::LOGIN;
use crate::auth::{Caller, Cookies, Oidc, Refused, Secret, shown};
use crate::front::peer;

/// What browsers say of who has made them ask.
const SITE: &str = "sec-fetch-site";

/// With what a browser comes back.
#[derive(Debug, Default, Deserialize)]
struct Back {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Why nobody was logged in.
struct Failed(StatusCode, String);

type Logging = Result<Response, Failed>;

pub(super) fn router(oidc: Arc<Oidc>) -> Router {
    let [login, callback, logout] = LOGIN;
    Router::new()
        .route(login, get(begin))
        .route(callback, get(complete))
        .route(logout, post(end))
        .with_state(oidc)
}

/// Who asks, where that is known: the page offers to log out then.
pub(super) async fn session(caller: Option<Extension<Caller>>) -> Json<Value> {
    Json(match caller {
        Some(Extension(Caller { name, until })) => json!({"name": name, "until": until}),
        None => json!({}),
    })
}

async fn begin(State(oidc): State<Arc<Oidc>>) -> Logging {
    let secret =
        Secret::random().map_err(|error| Failed(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let place = oidc.begin(&secret).await?;
    Ok(with(cookies(&oidc)?.begin(&secret), Redirect::to(&place)))
}

async fn complete(State(oidc): State<Arc<Oidc>>, Query(back): Query<Back>, request: Request) -> Logging {
    let cookies = cookies(&oidc)?;
    let (Some(secret), Some(state)) = (cookies.secret(request.headers()), &back.state) else {
        return Err(Failed::other(
            "this browser is in no login, or it took more than ten minutes; log in again, at the address that the page has everywhere",
        ));
    };
    if !secret.is_of(state) {
        return Err(Failed::other("this answer belongs to another login; log in again"));
    }
    // The issuer alone knows the state, so this is its word.
    let Some(code) = &back.code else {
        return Err(Failed::other(format!("the issuer let nobody in{}", shown(back.error.as_deref()))));
    };
    let (token, _) = oidc.complete(&secret, code, peer(&request)).await?;
    Ok(with(cookies.end(&token), Redirect::to("./")))
}

/// No other page logs anybody out.
async fn end(State(oidc): State<Arc<Oidc>>, headers: HeaderMap) -> Logging {
    if headers.get(SITE).is_some_and(|site| site != "same-origin") {
        return Err(Failed(StatusCode::FORBIDDEN, "another page has asked for this".to_owned()));
    }
    Ok(with(cookies(&oidc)?.end(""), StatusCode::NO_CONTENT))
}

fn cookies(oidc: &Oidc) -> Result<Cookies<'_>, Failed> {
    oidc.page()
        .map(Cookies::of)
        .ok_or_else(|| Failed(StatusCode::NOT_FOUND, "nobody logs in here".to_owned()))
}

fn with(cookies: Vec<HeaderValue>, answer: impl IntoResponse) -> Response {
    let mut answer = answer.into_response();
    for cookie in cookies {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    answer
}

// === impl Failed ===

impl Failed {
    fn other(why: impl Display) -> Self {
        Self(StatusCode::BAD_REQUEST, why.to_string())
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        let code = match &refused {
            Refused::Token(_) => StatusCode::UNAUTHORIZED,
            Refused::Caller(_) => StatusCode::FORBIDDEN,
            Refused::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refused::Busy => StatusCode::TOO_MANY_REQUESTS,
        };
        Self(code, Status::from(refused).message().to_owned())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let Self(code, why) = self;
        tracing::info!(%code, why, "a login did not succeed");
        let page = include_str!("../../page/failed.html").replace("{why}", &escaped(&why));
        (code, [(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_as_a_text() {
        assert_eq!(escaped("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
    }
}
