//! Asking a service of a cloud for something, over HTTP. Addresses are logged nowhere: signatures and lent keys are in them.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;

use crate::outside::{Reach, client_of};

/// A service that takes longer does not answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// No answer with a token is so large, bytes.
const MOST: usize = 256 << 10;

/// What is asked.
pub(super) struct Question {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: String,
}

// === impl Question ===

impl Question {
    /// A question without a body.
    pub(super) fn get(url: impl Into<String>) -> Self {
        Self { method: Method::GET, url: url.into(), headers: HeaderMap::new(), body: String::new() }
    }

    /// A form.
    pub(super) fn form(url: impl Into<String>, fields: &[(&str, &str)]) -> Self {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let question =
            Self { method: Method::POST, url: url.into(), headers: HeaderMap::new(), body: fields.join("&") };
        question.header("content-type", "application/x-www-form-urlencoded")
    }

    /// A document of JSON.
    pub(super) fn json(url: impl Into<String>, body: &serde_json::Value) -> Self {
        let question =
            Self { method: Method::POST, url: url.into(), headers: HeaderMap::new(), body: body.to_string() };
        question.header("content-type", "application/json")
    }

    /// With a header. A value that is none is left out: the service says what it misses.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.headers.insert(name, value);
        }
        self
    }

    /// What the service answers.
    ///
    /// # Errors
    /// Which service does not answer, or refuses it, in words that hold nothing of the question.
    pub(super) async fn ask(self) -> Result<String, String> {
        let uri: Uri = self.url.parse().map_err(|_| "the address of the service is none".to_owned())?;
        let service = uri.authority().map(ToString::to_string).unwrap_or_default();
        match tokio::time::timeout(TIMEOUT, self.send(uri)).await {
            Ok(answer) => answer.map_err(|error| format!("{service}: {error}")),
            Err(_) => Err(format!("{service}: no answer within {} s", TIMEOUT.as_secs())),
        }
    }

    async fn send(self, uri: Uri) -> Result<String, String> {
        let client = client_of(uri.clone(), Reach::All).map_err(|error| error.to_string())?;
        let mut request = Request::new(Body::from(self.body.into_bytes()));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        let response = client(request).await.map_err(|error| root(&error))?;
        let status = response.status();
        let body =
            Limited::new(response.into_body(), MOST).collect().await.map_err(|error| error.to_string())?;
        let text = body.to_bytes();
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.is_success() { Ok(text) } else { Err(refusal(status.as_u16(), &text)) }
    }
}

/// Why a service refuses: its code, and what it says of the reason. Nobody knows what else is in its answer.
fn refusal(code: u16, text: &str) -> String {
    let of_json = serde_json::from_str::<serde_json::Value>(text).ok().and_then(|answer| {
        let said =
            [&answer["error_description"], &answer["error"]["message"], &answer["error"], &answer["message"]];
        said.into_iter().find_map(|said| said.as_str().map(str::to_owned))
    });
    let said = of_json.or_else(|| element(text, "Message").map(str::to_owned)).unwrap_or_default();
    let said: String = said.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if said.is_empty() { format!("it answers {code}") } else { format!("it answers {code}: {said}") }
}

/// What is in the first element of this name of a document of XML. Services answer without attributes, and with letters that need no
/// escapes.
pub(super) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner)
}

/// A text as part of a query.
pub(super) fn escaped(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const OTHERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, OTHERS).to_string()
}

fn root(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
