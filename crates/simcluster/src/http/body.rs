//! Request bodies.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use serde_json::Value;

use crate::protobuf;
use crate::status::ApiError;

/// The largest body that is read, as in the real server.
const MAX_BYTES: usize = 3 * 1024 * 1024;

/// Reads a whole body.
pub async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match Limited::new(body, MAX_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => {
            let message = format!("Request entity too large: limit is {MAX_BYTES} ({error})");
            Err(ApiError::new(413, "RequestEntityTooLarge", message))
        }
    }
}

/// Parses a body by its content type; nothing at all is null.
pub fn parse(bytes: &Bytes, content_type: &str) -> Result<Value, ApiError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    match content_type {
        ""
        | "application/json"
        | "application/json-patch+json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => parse_json(bytes),
        // Clients send JSON as YAML, which is the faster way to read it.
        "application/yaml" | "application/apply-patch+yaml" => {
            parse_json(bytes).or_else(|_| parse_yaml(bytes))
        }
        "application/vnd.kubernetes.protobuf" => protobuf::decode(bytes).ok_or_else(|| {
            ApiError::unsupported_media_type(
                "application/vnd.kubernetes.protobuf of a kind that is only read as JSON",
            )
        }),
        other => Err(ApiError::unsupported_media_type(other)),
    }
}

fn parse_json(bytes: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| {
        ApiError::bad_request(format!("the object provided is unrecognized: the body is not JSON: {error}"))
    })
}

fn parse_yaml(bytes: &Bytes) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
    serde_saphyr::from_str(text)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}
