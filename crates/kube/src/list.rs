//! Objects of a kind, page by page, or one of them, for who asks once.

use kube::api::{ListParams, ObjectList, Request};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sluice_api::Gvk;

use crate::path::{only, segment};
use crate::raw::Raw;
use crate::watch::resource_of;

/// Objects of one answer of the API server.
const PAGE: u32 = 500;

/// Which objects of a kind are listed: all, unless it says less.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing<'a> {
    /// Only those of this namespace.
    pub namespace: Option<&'a str>,
    /// Only those of this name.
    pub name: Option<&'a str>,
    /// Objects of one answer, 500 unless it is said: fewer where they are large.
    pub page: Option<u32>,
}

/// The objects of a kind, of one namespace or of all; `None` when the server does not have the kind.
///
/// # Errors
/// When the server does not answer, or refuses it.
pub async fn list(
    client: &Client,
    gvk: &Gvk,
    namespace: Option<&str>,
) -> Result<Option<Vec<Value>>, kube::Error> {
    let Some((resource, _)) = resource_of(client, gvk).await? else { return Ok(None) };
    let (mut found, listing) = (Vec::new(), Listing { namespace, ..Listing::default() });
    let each = |object: Raw| found.push(object.complete(&resource));
    Ok(list_each(client, gvk, listing, each).await?.then_some(found))
}

/// Hands over what is listed, one after the other, as it is read: no more than one answer of the server is held. `false` when
/// the server does not have the kind.
///
/// # Errors
/// When the server does not answer, refuses it, or an object has another form than `T`.
pub async fn list_each<T: Clone + DeserializeOwned>(
    client: &Client,
    gvk: &Gvk,
    listing: Listing<'_>,
    mut each: impl FnMut(T),
) -> Result<bool, kube::Error> {
    let Some((resource, namespaced)) = resource_of(client, gvk).await? else { return Ok(false) };
    let path = Raw::url_path(&resource, listing.namespace.filter(|_| namespaced));
    let mut params = ListParams::default().limit(listing.page.unwrap_or(PAGE));
    if let Some(name) = listing.name {
        params = params.fields(&only(name));
    }
    loop {
        let request = Request::new(path.as_str()).list(&params).map_err(kube::Error::BuildRequest)?;
        let page: ObjectList<T> = client.request(request).await?;
        page.items.into_iter().for_each(&mut each);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(true),
        }
    }
}

/// One object as it is now; `None` when the server says that it has none, or not its kind.
///
/// # Errors
/// When the server does not answer, or refuses it. A 404 of a proxy in between is an error too.
pub async fn read(
    client: &Client,
    gvk: &Gvk,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, kube::Error> {
    let Some((resource, namespaced)) = resource_of(client, gvk).await? else { return Ok(None) };
    let api: Api<Raw> = match namespaced {
        true => Api::namespaced_with(client.clone(), namespace, &resource),
        false => Api::all_with(client.clone(), &resource),
    };
    match api.get(&segment(name)).await {
        Ok(object) => Ok(Some(object.complete(&resource))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::fake_api::{FakeApi, Request};

    fn answer(request: &Request) -> (u16, String) {
        let page = |names: &[&str], more: &str| {
            let items: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
            json!({"kind": "ServiceList", "metadata": {"resourceVersion": "1", "continue": more}, "items": items})
        };
        let body = match request.path.as_str() {
            "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": "services", "singularName": "", "namespaced": true, "kind": "Service", "verbs": ["list"]}]}),
            path if path.contains("continue=next") => page(&["c"], ""),
            "/api/v1/namespaces/n/services/one" => json!({"metadata": {"name": "one"}}),
            "/api/v1/namespaces/n/services/none" => {
                let status =
                    json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
                return (404, status.to_string());
            }
            path if path.starts_with("/api/v1/namespaces/n/services?") => page(&["n"], ""),
            path if path.contains("fieldSelector=metadata.name%3Db") => page(&["b"], ""),
            path if path.starts_with("/api/v1/services") => page(&["a", "b"], "next"),
            "/apis" => json!({"kind": "APIGroupList", "groups": [{"name": "example.com",
                "versions": [{"groupVersion": "example.com/v1", "version": "v1"}, {"groupVersion": "example.com/v2", "version": "v2"}],
                "preferredVersion": {"groupVersion": "example.com/v2", "version": "v2"}}]}),
            "/apis/example.com/v2" => {
                json!({"kind": "APIResourceList", "groupVersion": "example.com/v2", "resources": [
                {"name": "things", "singularName": "", "namespaced": true, "kind": "Thing", "verbs": ["list"]}]})
            }
            path if path.starts_with("/apis/example.com/v2/things") => page(&["t"], ""),
            _ => return (404, json!({"kind": "Status", "code": 404, "message": "none"}).to_string()),
        };
        (200, body.to_string())
    }

    #[tokio::test]
    async fn a_kind_without_a_version_is_the_one_that_the_server_prefers() {
        let client = FakeApi::start(answer).client();
        let found = list(&client, &Gvk::new("example.com", "", "Thing"), None).await.unwrap().unwrap();
        assert_eq!(found[0]["apiVersion"], "example.com/v2");
        assert!(list(&client, &Gvk::new("other.com", "", "Thing"), None).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn every_page_is_read_and_every_object_says_what_it_is() {
        let api = FakeApi::start(answer);
        let names = |found: Option<Vec<Value>>| -> Vec<String> {
            let name =
                |object: Value| format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', "");
            found.unwrap().into_iter().map(name).collect()
        };
        let gvk = Gvk::new("", "v1", "Service");
        assert_eq!(
            names(list(&api.client(), &gvk, None).await.unwrap()),
            ["Service a", "Service b", "Service c"]
        );
        assert_eq!(names(list(&api.client(), &gvk, Some("n")).await.unwrap()), ["Service n"]);
        assert!(list(&api.client(), &Gvk::new("", "v1", "Pod"), None).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn of_one_name_only_that_is_asked_for() {
        let client = FakeApi::start(answer).client();
        let mut found = Vec::new();
        let listing = Listing { name: Some("b"), page: Some(2), ..Listing::default() };
        let each = |service: Value| found.push(service["metadata"]["name"].clone());
        assert!(list_each(&client, &Gvk::new("", "v1", "Service"), listing, each).await.unwrap());
        assert_eq!(found, ["b"]);
        let nothing = |_: Value| unreachable!("the server does not have the kind");
        assert!(!list_each(&client, &Gvk::new("", "v1", "Pod"), listing, nothing).await.unwrap());
    }

    #[tokio::test]
    async fn what_has_another_form_is_an_error() {
        let client = FakeApi::start(answer).client();
        let each = |_: u32| unreachable!("no object is a number");
        let listed = list_each(&client, &Gvk::new("", "v1", "Service"), Listing::default(), each).await;
        assert!(matches!(listed, Err(kube::Error::SerdeError(_))), "{listed:?}");
    }

    #[tokio::test]
    async fn that_there_is_no_object_only_the_server_says() {
        let client = FakeApi::start(answer).client();
        let service = Gvk::new("", "v1", "Service");
        let found = read(&client, &service, "n", "one").await.unwrap().unwrap();
        assert_eq!((&found["kind"], &found["metadata"]["name"]), (&json!("Service"), &json!("one")));
        assert!(read(&client, &service, "n", "none").await.unwrap().is_none());
        assert!(read(&client, &Gvk::new("", "v1", "Pod"), "n", "one").await.unwrap().is_none());
        assert!(read(&client, &service, "n", "behind-a-proxy").await.is_err());
    }
}
