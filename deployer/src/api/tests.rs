#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use sluice_api::model::INVENTORY;
use sluice_api::{Digest, ProfileId};
use sluice_deployer_core::KeptBody;
use sluice_kube::fake_api::FakeApi;

use super::*;

/// A server that answers everything with a status of 404 and this.
fn mk_not_found(answer: &'static str) -> Arc<Site> {
    drop(sluice_runtime::install_defaults());
    mk_site_of(FakeApi::start(move |_| (404, answer.to_owned())).client())
}

/// A cluster whose server nobody is at home in.
fn mk_site() -> Arc<Site> {
    drop(sluice_runtime::install_defaults());
    mk_site_of(Client::try_from(kube::Config::new("http://127.0.0.1:9".parse().unwrap())).unwrap())
}

fn mk_site_of(client: Client) -> Arc<Site> {
    let site = Site::new(client);
    let resource = ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
    };
    site.resources.insert(Gvk::new("", "v1", "ConfigMap"), (resource, true));
    site
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}})
}

fn class(reply: &Reply) -> Option<Class> {
    if let Reply::Failed(failure) = reply { Some(failure.class) } else { None }
}

/// As a name it cannot be: what it says after the first segment is asked of nobody.
#[tokio::test]
async fn a_name_is_one_segment_of_the_path_whatever_it_is() {
    drop(sluice_runtime::install_defaults());
    let answer = |request: &sluice_kube::fake_api::Request| {
        let (code, reason) = if request.method == "PATCH" { (422, "Invalid") } else { (404, "NotFound") };
        let status = json!({"kind": "Status", "status": "Failure", "message": "configmaps \"c\" not found", "reason": reason, "code": code});
        (code, status.to_string())
    };
    let server = FakeApi::start(answer);
    let site = mk_site_of(server.client());
    for object in [config_map("default", "front p1/../x"), config_map("kube-system/secrets?x=", "c")] {
        let read = site.call(Request::Read(ObjectKey::of(&object).unwrap()), || true).await;
        assert_eq!(read, Reply::Read(None), "it can be withdrawn");
        let apply = site
            .call(
                Request::Apply {
                    object: object.into(),
                    against: None,
                    subresources: Vec::new(),
                    make_namespace: true,
                    excluded: Vec::new(),
                    watched: false,
                    account: None,
                },
                || true,
            )
            .await;
        assert_eq!(class(&apply), Some(Class::Refused), "{apply:?}");
    }
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    let path = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    let [first, second] = [0, 2].map(|at| path(&paths[at]));
    assert_eq!(first, "/api/v1/namespaces/default/configmaps/front%20p1%2F..%2Fx");
    assert_eq!(second, "/api/v1/namespaces/kube-system%2Fsecrets%3Fx%3D/configmaps/c");
}

#[tokio::test]
async fn a_kind_that_cannot_be_asked_for_is_none() {
    let site = mk_site();
    let kind = json!({"apiVersion": "exa mple/v1", "kind": "Thing", "metadata": {"name": "t"}});
    let apply = site
        .call(
            Request::Apply {
                object: kind.into(),
                against: None,
                subresources: Vec::new(),
                make_namespace: true,
                excluded: Vec::new(),
                watched: false,
                account: None,
            },
            || true,
        )
        .await;
    assert_eq!(class(&apply), Some(Class::NoKind), "{apply:?}");
}

#[tokio::test]
async fn nothing_is_sent_once_the_lease_has_lapsed_while_it_waited() {
    let (connected, waits) = tokio::sync::oneshot::channel::<()>();
    let (lapsed, sent) = (Cell::new(false), Cell::new(false));
    let work = async {
        waits.await.unwrap();
        sent.set(true);
    };
    let stopped = async {
        lapsed.set(true);
        connected.send(()).unwrap();
    };
    let (result, ()) = tokio::join!(while_allowed(|| !lapsed.get(), work), stopped);
    assert!(result.is_none() && !sent.get());
}

#[tokio::test]
async fn without_a_lease_nothing_is_written_and_everything_read() {
    let apply = Request::Apply {
        object: config_map("default", "c").into(),
        against: None,
        subresources: Vec::new(),
        make_namespace: true,
        excluded: Vec::new(),
        watched: false,
        account: None,
    };
    let Reply::Failed(failure) = mk_site().call(apply, || false).await else { panic!("applied") };
    assert!(failure.message.contains("membership has lapsed"), "{failure:?}");
    let key = ObjectKey::of(&config_map("default", "c")).unwrap();
    let Reply::Failed(failure) = mk_site().call(Request::Read(key), || false).await else { panic!("read") };
    assert!(failure.message.contains("cannot be reached"), "{failure:?}");
}

#[tokio::test]
async fn only_the_server_says_that_an_object_is_deleted() {
    let key = ObjectKey::of(&config_map("default", "c")).unwrap();
    let delete = Request::Delete { key, against: ("u".into(), "1".into()), account: None };
    let server =
        r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}"#;
    assert_eq!(mk_not_found(server).call(delete.clone(), || true).await, Reply::Done);
    let proxy = mk_not_found("404 page not found");
    assert_eq!(class(&proxy.call(delete.clone(), || true).await), Some(Class::NoKind));
    assert!(proxy.resources.is_empty(), "discovery is asked");
    let proxy = mk_not_found("<html>Not Found</html>");
    assert_eq!(class(&proxy.call(delete, || true).await), Some(Class::Conflict));
}

#[tokio::test]
async fn whoever_finds_that_a_kind_has_gone_asks_discovery_the_next_time() {
    let key = ObjectKey::of(&config_map("default", "c")).unwrap();
    let against = ("u".into(), "1".into());
    for request in [
        Request::List(key.gvk.clone()),
        Request::Read(key.clone()),
        Request::Delete { key: key.clone(), against: against.clone(), account: None },
        Request::Release { key, against, account: None },
    ] {
        let site = mk_not_found("404 page not found");
        let reply = site.call(request.clone(), || true).await;
        assert_eq!(class(&reply), Some(Class::NoKind), "{request:?}");
        assert!(site.resources.is_empty(), "{request:?}");
    }
}

#[tokio::test]
async fn what_is_to_be_created_is_a_conflict_with_what_is_there() {
    drop(sluice_runtime::install_defaults());
    let there =
        r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}"#;
    let server = FakeApi::start(move |_| (409, there.to_owned()));
    let object = config_map("default", "c").into();
    let apply = Request::Apply {
        object,
        against: None,
        subresources: Vec::new(),
        make_namespace: true,
        excluded: Vec::new(),
        watched: false,
        account: None,
    };
    let reply = mk_site_of(server.client()).call(apply, || true).await;
    assert_eq!(class(&reply), Some(Class::Conflict));
    let asked: Vec<Value> =
        server.requests().iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    assert_eq!(asked.len(), 1);
    let metadata = &asked[0]["metadata"];
    assert_eq!((&metadata["resourceVersion"], metadata.get("uid")), (&json!("1"), None));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_fault_of_the_object() {
    let apply = Request::Apply {
        object: config_map("default", "c").into(),
        against: None,
        subresources: Vec::new(),
        make_namespace: true,
        excluded: Vec::new(),
        watched: false,
        account: None,
    };
    assert_eq!(class(&mk_site().call(apply, || true).await), Some(Class::Transient));
}

#[tokio::test]
async fn a_namespace_that_is_to_be_left_missing_is_not_made() {
    let server = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
        "message": "namespaces \"shop\" not found"}"#;
    let object = config_map("shop", "c").into();
    let apply = Request::Apply {
        object,
        against: None,
        subresources: Vec::new(),
        make_namespace: false,
        excluded: Vec::new(),
        watched: false,
        account: None,
    };
    let reply = mk_not_found(server).call(apply, || true).await;
    let Reply::Failed(failure) = reply else { panic!("{reply:?}") };
    assert!(
        failure.class == Class::Refused && failure.message.contains("there is no namespace \"shop\""),
        "{failure:?}"
    );
}

#[tokio::test]
async fn what_is_written_for_a_tenant_is_written_as_its_account_and_nothing_else_is() {
    drop(sluice_runtime::install_defaults());
    let answer = |request: &sluice_kube::fake_api::Request| match (request.method.as_str(), &*request.path) {
        ("PATCH", path) if path.contains("/namespaces/shop/") => (
            404,
            r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
            "message": "namespaces \"shop\" not found"}"#
                .to_owned(),
        ),
        _ => (200, config_map("default", "c").to_string()),
    };
    let server = FakeApi::start(answer);
    let site = mk_site_of(server.client());
    let account = || Some(ServiceAccount { namespace: "team-a".into(), name: "deployer".into() });
    let (object, version) = (config_map("default", "c"), ("u".to_owned(), "1".to_owned()));
    let key = ObjectKey::of(&object).unwrap();
    let apply = |object: Value| Request::Apply {
        object: object.into(),
        against: None,
        subresources: Vec::new(),
        make_namespace: true,
        excluded: Vec::new(),
        watched: false,
        account: account(),
    };
    let (profile, release) = (ProfileId::cluster("p"), key.clone());
    for request in [
        apply(object),
        apply(config_map("shop", "c")),
        Request::Delete { key: key.clone(), against: version.clone(), account: account() },
        Request::Release { key: release, against: version.clone(), account: account() },
        Request::Read(key.clone()),
        Request::ReadInventory(profile.clone()),
        Request::DeleteInventory { profile, against: version.clone() },
        Request::Delete { key, against: version, account: None },
    ] {
        site.call(request, || true).await;
    }
    let tenant = "system:serviceaccount:projectsveltos:team-a--deployer";
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|request| (request.method.clone(), request.header("impersonate-user").map(str::to_owned)))
        .collect();
    let own = ["GET", "GET", "DELETE", "DELETE"].map(|method| (method.to_owned(), None));
    // The second one makes the namespace, and is sent once more.
    let for_it = ["PATCH", "PATCH", "PATCH", "PATCH", "DELETE", "PATCH"];
    let for_it = for_it.map(|method| (method.to_owned(), Some(tenant.to_owned())));
    assert_eq!(asked, for_it.into_iter().chain(own).collect::<Vec<_>>());
}

/// An object with a part for a subresource, and the server that takes it; it answers with a later version each time, and with 404 to
/// what `is_missing` says of a path.
fn applying(is_missing: fn(&str) -> bool) -> (FakeApi, Request) {
    drop(sluice_runtime::install_defaults());
    let version = std::sync::atomic::AtomicU64::new(1);
    let server = FakeApi::start(move |request| {
        if is_missing(&request.path) {
            return (404, "404 page not found".to_owned());
        }
        let mut object: Value = serde_json::from_str(&request.body).unwrap();
        let next = version.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        object["metadata"]["resourceVersion"] = next.to_string().into();
        object["metadata"]["uid"] = "u".into();
        (200, object.to_string())
    });
    let mut object = config_map("default", "c");
    object["metadata"]["annotations"] = json!({"projectsveltos.io/hash": "h"});
    object["status"] = json!({"phase": "Ready"});
    let subresources = vec!["status".to_owned()];
    let object = object.into();
    (
        server,
        Request::Apply {
            object,
            against: None,
            subresources,
            make_namespace: false,
            excluded: Vec::new(),
            watched: false,
            account: None,
        },
    )
}

#[tokio::test]
async fn parts_of_an_object_are_written_to_subresources_before_it_says_its_hash() {
    let (server, apply) = applying(|_| false);
    let reply = mk_site_of(server.client()).call(apply, || true).await;
    let Reply::Applied(live) = reply else { panic!("{reply:?}") };
    assert_eq!(live.hash.as_deref(), Some("h"));
    let asked = server.requests();
    let is_part: Vec<bool> =
        asked.iter().map(|request| request.path.contains("/configmaps/c/status?")).collect();
    assert_eq!(is_part, [false, true, false]);
    let bodies: Vec<Value> =
        asked.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    let said = |body: &Value| body["metadata"]["annotations"]["projectsveltos.io/hash"].clone();
    assert_eq!([said(&bodies[0]), said(&bodies[2])], [json!("incomplete"), json!("h")]);
    assert_eq!((&bodies[1]["status"], said(&bodies[1])), (&json!({"phase": "Ready"}), Value::Null));
    let versions: Vec<_> = bodies.iter().map(|body| body["metadata"]["resourceVersion"].clone()).collect();
    assert_eq!(versions, ["1", "2", "3"], "each against what the one before has left");
}

#[tokio::test]
async fn a_kind_without_the_subresource_is_told_and_the_object_stays_incomplete() {
    let (server, apply) = applying(|path| path.contains("/status?"));
    let Reply::Failed(failure) = mk_site_of(server.client()).call(apply, || true).await else {
        panic!("applied")
    };
    assert_eq!(failure.class, Class::Refused);
    assert!(failure.message.contains("no subresource status; take it out"), "{failure:?}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_content_is_kept_in_a_secret_and_those_that_are_not_wanted_go() {
    drop(sluice_runtime::install_defaults());
    let (profile, row, good) = (ProfileId::cluster("p"), Digest::of(&[b"row"]), Digest::of(&[b"good"]));
    let inventory = Kept::Registered.object_name(&profile);
    let names = ["old".to_owned(), format!("{inventory}-{good}")];
    let items: Vec<Value> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
    let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": items});
    let stored = std::sync::Mutex::new(String::new());
    let server = FakeApi::start(move |request| match request.method.as_str() {
        "POST" => {
            stored.lock().unwrap().clone_from(&request.body);
            (201, request.body.clone())
        }
        "GET" if request.path.contains('?') => (200, list.to_string()),
        "GET" => (200, stored.lock().unwrap().clone()),
        _ => (200, "{}".to_owned()),
    });
    let site = mk_site_of(server.client());
    let body = KeptBody(br#"{"policies":[]}"#.as_slice().into());
    let keep = Request::Keep { profile: profile.clone(), row, body: body.clone(), good: Some(good) };
    assert_eq!(site.call(keep, || true).await, Reply::Done);
    let read = Request::ReadKept { profile: profile.clone(), row };
    assert_eq!(site.call(read, || true).await, Reply::Kept(Some(body)));
    assert_eq!(site.call(Request::DropKept(profile), || true).await, Reply::Done);
    let asked = server.requests();
    let deleted = asked.iter().filter(|request| request.method == "DELETE");
    let deleted: Vec<_> =
        deleted.map(|request| request.path.rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(deleted.len(), 3);
    assert!(deleted[0].starts_with("old") && deleted[2].starts_with(&names[1]), "{deleted:?}");
    let secret: Value =
        serde_json::from_str(&asked.iter().find(|request| request.method == "POST").unwrap().body).unwrap();
    assert_eq!((&secret["kind"], &secret["metadata"]["namespace"]), (&json!("Secret"), &json!(NAMESPACE)));
    assert_eq!(secret["metadata"]["name"], format!("{inventory}-{row}"));
    assert!(secret["metadata"]["labels"][INVENTORY] == "kept" && !secret.to_string().contains("policies"));
}
