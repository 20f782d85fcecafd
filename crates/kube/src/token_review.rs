//! Whether an API server knows a token.

use kube::Client;
use serde_json::{Value, json};

/// Asks by a TokenReview. The token is part of the request and of no error.
///
/// # Errors
/// When the server does not answer, or refuses the question.
pub async fn knows_token(client: &Client, token: &str) -> Result<bool, kube::Error> {
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let body = review.to_string().into_bytes();
    let request = http::Request::post("/apis/authentication.k8s.io/v1/tokenreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(kube::Error::HttpError)?;
    let answer: Value = client.request(request).await?;
    Ok(answer["status"]["authenticated"] == true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::fake_api::FakeApi;

    #[tokio::test]
    async fn only_a_yes_is_a_yes() {
        for (status, known) in [
            (json!({"authenticated": true, "user": {"username": "u"}}), true),
            (json!({"authenticated": false, "error": "expired"}), false),
            (json!({}), false),
        ] {
            let answer = json!({"kind": "TokenReview", "status": status}).to_string();
            let api = FakeApi::start(move |_| (201, answer.clone()));
            assert_eq!(knows_token(&api.client(), "secret").await.unwrap(), known);
            let asked = &api.requests()[0];
            assert_eq!((asked.method.as_str(), asked.path.contains("secret")), ("POST", false));
            assert!(asked.body.contains("\"token\":\"secret\""), "{}", asked.body);
        }
    }

    #[tokio::test]
    async fn a_server_that_refuses_the_question_has_not_said_no() {
        let api = FakeApi::start(|_| {
            (403, json!({"kind": "Status", "code": 403, "message": "tokenreviews is forbidden"}).to_string())
        });
        let error = knows_token(&api.client(), "secret").await.unwrap_err().to_string();
        assert!(error.contains("forbidden") && !error.contains("secret"), "{error}");
    }
}
