//! Errors of the API, in the wording and with the codes of the real API server, so that clients
//! which branch on `reason`, `code` or `details` behave the same.

use serde_json::{Value, json};

use crate::kinds::ResourceDef;

/// One refused request: rendered as a `Status` object of kind `Failure`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine readable reason, for example `NotFound`.
    pub reason: &'static str,
    /// Text for people.
    pub message: String,
    /// The object and the causes, when known.
    pub details: Option<Value>,
}

/// One field at fault, reported in `details.causes`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Machine readable reason, for example `FieldValueInvalid`.
    pub reason: &'static str,
    /// Text for people.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.reason, self.code, self.message)
    }
}

impl std::error::Error for ApiError {}

// === impl ApiError ===

impl ApiError {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    /// 400: the request itself is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: no token, or not the token of this cluster.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: understood and refused.
    pub fn forbidden(def: &ResourceDef, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", def.qualified());
        Self::new(403, "Forbidden", message).about(def, name)
    }

    /// 404 for a path of a known group that no resource serves.
    pub fn unknown_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// 404 for a path of which nothing is known, answered with a text.
    pub fn page_not_found() -> Self {
        Self::new(404, "", "404 page not found")
    }

    /// Whether the answer is a text instead of a `Status`.
    pub fn is_text(&self) -> bool {
        self.code == 404 && self.reason.is_empty()
    }

    /// 404 for an object.
    pub fn not_found(def: &ResourceDef, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", def.qualified())).about(def, name)
    }

    /// 405: the resource does not serve this verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(json!({}))
    }

    /// 409: a create of a name that is taken.
    pub fn already_exists(def: &ResourceDef, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", def.qualified()))
            .about(def, name)
    }

    /// 409: optimistic lock or precondition failed.
    pub fn conflict(def: &ResourceDef, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", def.qualified());
        Self::new(409, "Conflict", message).about(def, name)
    }

    /// 409 of a precondition, which names the kind instead of the resource.
    pub fn conflict_of_kind(def: &ResourceDef, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", def.qualified_kind());
        let details = json!({"name": name, "group": &*def.group, "kind": &*def.kind});
        Self::new(409, "Conflict", message).with_details(without_empty(details))
    }

    /// 409: the object changed since the client read it.
    pub fn stale(def: &ResourceDef, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(def, name, why)
    }

    /// 409 of a server-side apply: other managers own fields with other values.
    pub fn apply_conflict(causes: &[Cause]) -> Self {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for cause in causes {
            match groups.iter_mut().find(|(message, _)| *message == cause.message) {
                Some((_, fields)) => fields.push(&cause.field),
                None => groups.push((&cause.message, vec![&cause.field])),
            }
        }
        let lines: Vec<String> = groups
            .iter()
            .map(|(message, fields)| match fields.as_slice() {
                [field] => format!("{message}: {field}"),
                many => {
                    let message = message.replacen("conflict with", "conflicts with", 1);
                    format!("{message}:\n- {}", many.join("\n- "))
                }
            })
            .collect();
        let (count, plural) = (causes.len(), if causes.len() == 1 { "" } else { "s" });
        let joined =
            if lines.len() == 1 { format!(": {}", lines[0]) } else { format!(": {}", lines.join("\n")) };
        Self::new(409, "Conflict", format!("Apply failed with {count} conflict{plural}{joined}"))
            .with_details(json!({ "causes": causes.iter().map(Cause::to_json).collect::<Vec<_>>() }))
    }

    /// 410: the resourceVersion or continue token is no longer served.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 415: a body this server does not read.
    pub fn unsupported_media_type(found: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml; got {found}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422: well formed but not valid.
    pub fn invalid(def: &ResourceDef, name: &str, causes: &[Cause]) -> Self {
        let list: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let text = if list.len() == 1 { list[0].clone() } else { format!("[{}]", list.join(", ")) };
        let qualified = def.qualified_kind();
        let details = json!({
            "name": name, "group": &*def.group, "kind": &*def.kind,
            "causes": causes.iter().map(Cause::to_json).collect::<Vec<_>>(),
        });
        Self::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {text}"))
            .with_details(without_empty(details))
    }

    /// 422 of a PUT of a custom resource without a resourceVersion, which names the resource.
    pub fn version_required(def: &ResourceDef, name: &str) -> Self {
        let cause = Cause::invalid("metadata.resourceVersion", "0", "must be specified for an update");
        let message =
            format!("{} \"{name}\" is invalid: {}: {}", def.qualified(), cause.field, cause.message);
        let causes = [cause.to_json()];
        let details = json!({"name": name, "group": &*def.group, "kind": &*def.plural, "causes": causes});
        Self::new(422, "Invalid", message).with_details(details)
    }

    /// 504 for a resourceVersion from the future.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        Self::new(504, "Timeout", format!("Too large resource version: {asked}, current: {current}"))
            .with_details(json!({
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            }))
    }

    /// Adds `details`.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Adds one cause to `details`.
    pub fn with_cause(mut self, cause: &Cause) -> Self {
        if let Some(Value::Object(details)) = &mut self.details {
            details.insert("causes".into(), json!([cause.to_json()]));
        }
        self
    }

    fn about(self, def: &ResourceDef, name: &str) -> Self {
        self.with_details(without_empty(json!({"name": name, "group": &*def.group, "kind": &*def.plural})))
    }

    /// The `Status` object.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(map) = status.as_object_mut() {
            if let Some(details) = &self.details {
                map.insert("details".into(), details.clone());
            }
            if self.reason.is_empty() {
                map.remove("reason");
            }
        }
        status
    }
}

// === impl Cause ===

impl Cause {
    /// A value that is not accepted.
    pub fn invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", message, field: field.into() }
    }

    /// What must not be done.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.into() }
    }

    /// A field that must be there.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".into() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    fn to_json(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

fn without_empty(mut details: Value) -> Value {
    if let Some(map) = details.as_object_mut() {
        map.retain(|_, value| value.as_str() != Some(""));
    }
    details
}

/// The `Status` of a successful deletion that leaves nothing to show.
pub fn success(def: &ResourceDef, name: &str, uid: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": without_empty(json!({"name": name, "group": &*def.group, "kind": &*def.plural, "uid": uid})),
    })
}
