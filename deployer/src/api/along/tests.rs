//! What is found in a simulated cluster, and what a server says who refuses.
#![allow(clippy::unwrap_used)]

use sluice_kube::fake_api::FakeApi;
use sluice_kube::{Trust, client_of_kubeconfig};
use sluice_simcluster::{FleetConfig, SimFleet};

use super::*;

struct Fixture {
    fleet: SimFleet,
    site: std::sync::Arc<Site>,
}

// === impl Fixture ===

impl Fixture {
    /// A cluster with a namespace `team` that the profile `p` has made, and some things of that in it.
    async fn start() -> Self {
        drop(sluice_runtime::install_defaults());
        let clusters = ["c".to_owned()].into();
        let fleet = SimFleet::start(FleetConfig { clusters, ..FleetConfig::default() }).await.unwrap();
        let client = client_of_kubeconfig(&fleet.kubeconfig(&["c"]), Trust::Own).await.unwrap();
        let fixture = Self { fleet, site: Site::new(client) };
        fixture.put(mk("v1", "Namespace", "", "other"));
        fixture.put(deployed("p", mk("v1", "Namespace", "", "team")));
        fixture.put(deployed("p", mk("v1", "ConfigMap", "team", "settings")));
        fixture
    }

    fn put(&self, object: Value) {
        self.fleet.apply("c", "test", object).unwrap();
    }

    async fn along(&self, holder: &Value) -> Option<String> {
        let reply = self.site.call(request(holder), || true).await;
        let Reply::Along(found) = reply else { panic!("{reply:?}") };
        found.map(String::from)
    }
}

fn request(holder: &Value) -> sluice_deployer_core::Request {
    let (holder, profile) = (ObjectKey::of(holder).unwrap(), ProfileId::cluster("p"));
    sluice_deployer_core::Request::Along { holder, profile }
}

fn mk(version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

fn deployed(profile: &str, mut object: Value) -> Value {
    object["metadata"]["annotations"] =
        json!({"projectsveltos.io/owner-kind": "ClusterProfile", "projectsveltos.io/owner-name": profile});
    object
}

fn definition() -> Value {
    let mut object = mk("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "boxes.example.com");
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    object["spec"] = json!({"group": "example.com", "scope": "Namespaced",
        "names": {"kind": "Box", "plural": "boxes", "singular": "box", "listKind": "BoxList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]});
    object
}

#[tokio::test]
async fn of_a_namespace_it_is_what_others_have_put_into_it() {
    let fixture = Fixture::start().await;
    let team = mk("v1", "Namespace", "", "team");
    for object in [
        mk("v1", "ConfigMap", "team", "kube-root-ca.crt"),
        mk("v1", "ServiceAccount", "team", "default"),
        mk("v1", "Endpoints", "team", "web"),
        mk("v1", "ConfigMap", "other", "notes"),
    ] {
        fixture.put(object);
    }
    let mut derived = mk("v1", "ConfigMap", "team", "of-an-owner");
    derived["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true}]);
    fixture.put(derived);
    assert_eq!(fixture.along(&team).await, None, "nobody has put anything of this into it");
    fixture.put(deployed("q", mk("v1", "Secret", "team", "keys")));
    assert_eq!(fixture.along(&team).await.as_deref(), Some("Secret team/keys"), "another profile has");
    fixture.put(mk("v1", "ConfigMap", "team", "notes"));
    assert_eq!(fixture.along(&team).await.as_deref(), Some("ConfigMap team/notes"));
}

#[tokio::test]
async fn of_a_definition_it_is_objects_of_its_kind() {
    let fixture = Fixture::start().await;
    assert_eq!(fixture.along(&definition()).await, None, "it is not there");
    fixture.put(definition());
    fixture.put(deployed("p", mk("example.com/v1", "Box", "team", "own")));
    assert_eq!(fixture.along(&definition()).await, None);
    assert_eq!(fixture.along(&mk("v1", "Namespace", "", "other")).await, None);
    fixture.put(mk("example.com/v1", "Box", "other", "one"));
    assert_eq!(fixture.along(&definition()).await.as_deref(), Some("Box other/one"));
    let other = fixture.along(&mk("v1", "Namespace", "", "other")).await;
    assert_eq!(other.as_deref(), Some("Box other/one"), "every kind counts");
}

#[tokio::test]
async fn of_a_claim_it_is_what_its_volume_holds() {
    let fixture = Fixture::start().await;
    let mut claim = deployed("p", mk("v1", "PersistentVolumeClaim", "team", "data"));
    fixture.put(claim.clone());
    assert_eq!(fixture.along(&claim).await, None, "it has no volume yet");
    claim["status"] = json!({"phase": "Bound"});
    fixture.put(claim.clone());
    assert_eq!(fixture.along(&claim).await.as_deref(), Some("what is in its volume"));
}

#[tokio::test]
async fn what_may_not_be_listed_is_named_unless_something_else_is_found() {
    drop(sluice_runtime::install_defaults());
    let kind = |kind: &str, plural: &str| {
        json!({"resource": plural, "responseKind": {"group": "", "version": "v1", "kind": kind}, "scope": "Namespaced",
            "singularResource": "", "verbs": ["list", "delete"]})
    };
    let items = |items: Value| json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": items});
    for (services, expected) in [
        (json!([]), None),
        (json!([{"metadata": {"name": "web", "namespace": "team"}}]), Some("Service team/web")),
    ] {
        let server = FakeApi::start(move |request| {
            let groups = |items: Value| json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items});
            let path = request.path.split('?').next().unwrap_or_default();
            let answer = match path {
                "/apis" => groups(json!([])),
                "/api" => groups(
                    json!([{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [kind("Role", "roles"), kind("Secret", "secrets"), kind("Service", "services")]}]}]),
                ),
                "/api/v1/namespaces/team/services" => items(services.clone()),
                _ => {
                    let message = "secrets is forbidden: User \"x\" cannot list resource \"secrets\"";
                    let status = json!({"kind": "Status", "status": "Failure", "message": message, "reason": "Forbidden", "code": 403});
                    return (403, status.to_string());
                }
            };
            (200, answer.to_string())
        });
        let site = Site::new(server.client());
        match site.call(request(&mk("v1", "Namespace", "", "team")), || true).await {
            Reply::Along(found) => assert_eq!(found.as_deref(), expected),
            Reply::Failed(failure) => {
                assert_eq!(expected, None);
                let text =
                    "cannot list resource \"secrets\"; allow it to the user of the cluster's kubeconfig";
                assert!(failure.message.ends_with(text), "{}", failure.message);
            }
            other => panic!("{other:?}"),
        }
    }
}
