//! Query parameters.

use std::time::Duration;

use crate::cluster::{ListOptions, Validation, WriteOptions};
use crate::kinds::Endpoint;
use crate::selectors::{FieldSelector, LabelSelector};
use crate::status::ApiError;

/// The query parameters of a request.
#[derive(Debug, Default)]
pub struct Params(Vec<(String, String)>);

// === impl Params ===

impl Params {
    /// Reads the query part of a URL.
    pub fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&name.replace('+', " ")), decode(&value.replace('+', " ")))
        });
        Self(pairs.collect())
    }

    /// A parameter; empty when missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Whether a parameter is set to true.
    pub fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), "true" | "1")
    }

    fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!("invalid value {text:?} of {name}: a number is expected"))
            }),
        }
    }

    /// How long a watch may last.
    pub fn timeout(&self) -> Result<Option<Duration>, ApiError> {
        Ok(self.number("timeoutSeconds")?.map(Duration::from_secs))
    }

    /// The parameters of a list.
    pub fn list(&self, endpoint: &Endpoint, namespace: &str) -> Result<ListOptions, ApiError> {
        let kind = &endpoint.def.kind;
        let resource_version = self.number("resourceVersion").map_err(|_| {
            ApiError::bad_request(format!(
                "resourceVersion: Invalid value: {:?}",
                self.get("resourceVersion")
            ))
        })?;
        let unset = resource_version.is_none();
        match self.get("resourceVersionMatch") {
            "" | "NotOlderThan" | "Exact" => {}
            other => {
                return Err(ApiError::bad_request(format!(
                    "resourceVersionMatch: Unsupported value: {other:?}"
                )));
            }
        }
        let initial = self.is_true("sendInitialEvents");
        if unset && !initial && !self.get("resourceVersionMatch").is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return Err(ApiError::new(422, "Invalid", why));
        }
        Ok(ListOptions {
            namespace: namespace.to_owned(),
            labels: LabelSelector::parse(self.get("labelSelector")).map_err(ApiError::bad_request)?,
            fields: FieldSelector::parse(self.get("fieldSelector"), kind).map_err(ApiError::bad_request)?,
            limit: usize::try_from(self.number("limit")?.unwrap_or(0)).unwrap_or(usize::MAX),
            continue_token: self.get("continue").to_owned(),
            resource_version,
            exact: self.get("resourceVersionMatch") == "Exact",
        })
    }

    /// The parameters of a write; `agent` names the writer when nothing else does.
    pub fn write(&self, agent: &str) -> Result<WriteOptions, ApiError> {
        let validation = match self.get("fieldValidation") {
            "Strict" => Validation::Strict,
            "Ignore" => Validation::Ignore,
            "" | "Warn" => Validation::Warn,
            other => {
                return Err(ApiError::bad_request(format!("fieldValidation: Unsupported value: {other:?}")));
            }
        };
        let dry_run = match self.get("dryRun") {
            "" => false,
            "All" => true,
            other => {
                let message = format!("dryRun: Unsupported value: {other:?}: supported values: \"All\"");
                return Err(ApiError::new(422, "Invalid", message));
            }
        };
        let manager = self.get("fieldManager");
        let from_agent = agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown");
        let field_manager = if manager.is_empty() { from_agent } else { manager }.to_owned();
        Ok(WriteOptions { dry_run, field_manager, validation, force: self.is_true("force") })
    }
}

/// Decodes percent escapes; broken ones stay as they are.
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escaped = bytes.get(index + 1..index + 3).and_then(|hex| {
            let hex = std::str::from_utf8(hex)
                .ok()
                .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            u8::from_str_radix(hex, 16).ok()
        });
        match escaped.filter(|_| bytes[index] == b'%') {
            Some(byte) => {
                out.push(byte);
                index += 3;
            }
            None => {
                out.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_decoded() {
        let params = Params::parse("labelSelector=a%3Db%2Cc+in+%28d%29&watch=1&flag&force=true");
        assert_eq!(params.get("labelSelector"), "a=b,c in (d)");
        assert!(params.is_true("watch") && params.is_true("force") && !params.is_true("flag"));
        assert_eq!(params.get("missing"), "");
    }

    #[test]
    fn the_writer_is_named_by_parameter_or_agent() {
        assert_eq!(Params::parse("fieldManager=m").write("kubectl/1").unwrap().field_manager, "m");
        assert_eq!(Params::parse("").write("kubectl/1").unwrap().field_manager, "kubectl");
        assert!(Params::parse("dryRun=Some").write("").is_err());
    }

    proptest! {
        #[test]
        fn decoding_never_panics(text in ".{0,20}", broken in "[%0-9a-f]{0,8}") {
            prop_assert!(decode(&text).len() <= text.len().max(1) * 3);
            prop_assert!(decode(&broken).len() <= broken.len() * 3);
        }
    }
}
