//! Reviews: nothing is forbidden in a simulated cluster, and clients may ask.

use ::http::Method;
use serde_json::{Value, json};

use super::respond::{self, Response};
use super::route::Target;
use super::{Call, body};
use crate::kinds::api_version;
use crate::status::ApiError;

/// Answers a `create` of a review.
pub fn answer(target: &Target, call: &Call) -> Result<Response, ApiError> {
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let mut review = body::parse(&call.body, &call.content_type)?;
    let Value::Object(map) = &mut review else {
        return Err(ApiError::bad_request("the body of the request is not a JSON object"));
    };
    let user = if call.user.is_empty() { "admin" } else { &call.user };
    let (kind, status) = match target.plural.as_str() {
        "selfsubjectaccessreviews" => ("SelfSubjectAccessReview", json!({"allowed": true})),
        "subjectaccessreviews" => ("SubjectAccessReview", json!({"allowed": true})),
        "selfsubjectrulesreviews" => {
            let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
            (
                "SelfSubjectRulesReview",
                json!({"resourceRules": all, "nonResourceRules": [], "incomplete": false}),
            )
        }
        _ => {
            ("SelfSubjectReview", json!({"userInfo": {"username": user, "groups": ["system:authenticated"]}}))
        }
    };
    map.insert("apiVersion".into(), api_version(&target.group, &target.version).into());
    map.insert("kind".into(), kind.into());
    map.insert("status".into(), status);
    Ok(respond::json(201, &review))
}
