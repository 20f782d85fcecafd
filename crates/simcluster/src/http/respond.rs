//! Answers and their formats.

use ::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::NoError;
use crate::status::ApiError;
use crate::table::Include;

/// An answer.
pub type Response = ::http::Response<UnsyncBoxBody<Bytes, NoError>>;

/// How the client wants objects to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As they are.
    Json,
    /// As a table for people.
    Table,
    /// Their metadata only.
    Metadata,
    /// Discovery of all groups in one document.
    Aggregated,
}

// === impl Format ===

impl Format {
    /// The first acceptable format of an `Accept` header.
    pub fn parse(accept: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Json);
        }
        accept.split(',').find_map(Self::parse_one).ok_or_else(|| {
            let message = "only the following media types are accepted: application/json, application/yaml";
            ApiError::new(406, "NotAcceptable", message)
        })
    }

    fn parse_one(range: &str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next()?;
        // The document that is asked for so is in that form; everything else is JSON, which such a client takes too.
        if kind.starts_with("application/com.github.proto-openapi.spec.v2") {
            return Some(Self::Json);
        }
        if !matches!(kind, "application/json" | "*/*" | "application/*" | "text/plain") {
            return None;
        }
        let shown = parts.find_map(|part| part.strip_prefix("as="));
        match shown {
            None => Some(Self::Json),
            Some("Table") => Some(Self::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Self::Metadata),
            Some("APIGroupDiscoveryList") if range.contains("v=v2") && !range.contains("v=v2beta1") => {
                Some(Self::Aggregated)
            }
            Some(_) => None,
        }
    }
}

/// What table rows carry, by the `includeObject` parameter.
pub fn include(parameter: &str) -> Include {
    match parameter {
        "Object" => Include::Object,
        "None" => Include::None,
        _ => Include::Metadata,
    }
}

/// The content type of discovery documents.
pub fn discovery_type(format: &Format) -> &'static str {
    match format {
        Format::Aggregated => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json",
    }
}

/// An answer of ready bytes.
pub fn bytes(code: u16, content_type: &'static str, bytes: impl Into<Bytes>) -> Response {
    with_body(code, content_type, Full::new(bytes.into()).boxed_unsync())
}

/// An answer with any body.
pub fn with_body(code: u16, content_type: &'static str, body: UnsyncBoxBody<Bytes, NoError>) -> Response {
    let mut response = ::http::Response::new(body);
    *response.status_mut() =
        ::http::StatusCode::from_u16(code).unwrap_or(::http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A JSON answer.
pub fn json(code: u16, value: &Value) -> Response {
    let mut out = BytesMut::with_capacity(512).writer();
    let written = serde_json::to_writer(&mut out, value);
    debug_assert!(written.is_ok(), "JSON values always serialise");
    bytes(code, "application/json", out.into_inner())
}

/// A text answer.
pub fn text(text: &'static str) -> Response {
    bytes(200, "text/plain; charset=utf-8", text)
}

/// A failure.
pub fn error(error: &ApiError) -> Response {
    if error.is_text() {
        return bytes(error.code, "text/plain; charset=utf-8", format!("{}\n", error.message));
    }
    json(error.code, &error.to_json())
}

/// An injected 429.
pub fn too_many(retry_after: u64) -> Response {
    let error = ApiError::new(429, "TooManyRequests", "Too many requests, please try again later.")
        .with_details(json!({"retryAfterSeconds": retry_after}));
    let mut response = self::error(&error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
    response
}

/// An injected server error.
pub fn injected(code: u16) -> Response {
    let (code, reason) = match code {
        503 => (503, "ServiceUnavailable"),
        504 => (504, "Timeout"),
        500..=599 => (code, "InternalError"),
        _ => (500, "InternalError"),
    };
    error(&ApiError::new(code, reason, "an error injected by the simulation"))
}

/// Adds `Warning` headers.
pub fn warn(mut response: Response, warnings: &[String]) -> Response {
    for text in warnings {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_known_format_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(Format::parse(kubectl).unwrap(), Format::Table);
        let discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        assert_eq!(Format::parse(discovery).unwrap(), Format::Aggregated);
        assert_eq!(
            Format::parse("application/vnd.kubernetes.protobuf,application/json").unwrap(),
            Format::Json
        );
        assert_eq!(Format::parse("").unwrap(), Format::Json);
        let openapi = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        assert_eq!(Format::parse(openapi).unwrap(), Format::Json);
        assert_eq!(Format::parse("image/png").unwrap_err().code, 406);
    }
}
