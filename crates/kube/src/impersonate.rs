//! Calls for somebody else: the API server asks whether that user may do it, and who calls only whether it may speak for that user.

use http::HeaderValue;
use http::header::HeaderName;
use kube::Client;
use kube::client::Body;

const USER: HeaderName = HeaderName::from_static("impersonate-user");

/// A client over the connections of `client` that does everything as `user`. Groups are named for nobody: of a ServiceAccount
/// the API server knows them.
///
/// # Errors
/// That no user can be called so.
pub fn impersonating(client: &Client, user: &str) -> Result<Client, String> {
    let header = HeaderValue::from_str(user).map_err(|_| format!("no user can be called {user:?}"))?;
    let (namespace, client) = (client.default_namespace().to_owned(), client.clone());
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        request.headers_mut().insert(USER, header.clone());
        let client = client.clone();
        async move { client.send(request).await }
    });
    Ok(Client::new(service, namespace))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;

    use super::*;
    use crate::fake_api::FakeApi;

    #[tokio::test]
    async fn everything_is_asked_as_that_user_and_what_is_answered_comes_as_it_is() {
        let answer = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"}"#;
        let server = FakeApi::start(move |_| (403, answer.to_owned()));
        let tenant = impersonating(&server.client(), "system:serviceaccount:a:b").unwrap();
        let error = Api::<ConfigMap>::namespaced(tenant, "n").get("c").await.unwrap_err();
        assert!(matches!(error, kube::Error::Api(status) if status.code == 403 && status.message == "no"));
        drop(Api::<ConfigMap>::namespaced(server.client(), "n").get("c").await);
        let users: Vec<_> = server
            .requests()
            .iter()
            .map(|request| request.header("impersonate-user").map(str::to_owned))
            .collect();
        assert_eq!(users, [Some("system:serviceaccount:a:b".to_owned()), None]);
    }

    #[tokio::test]
    async fn a_name_that_no_header_can_say_is_refused() {
        let server = FakeApi::start(|_| (404, String::new()));
        assert!(impersonating(&server.client(), "a\nb").is_err());
    }
}
