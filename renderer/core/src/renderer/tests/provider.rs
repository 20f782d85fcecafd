//! `.KubeadmControlPlane` and `.InfrastructureProvider`, and Cluster API clusters.

use sluice_api::ClusterKind;

use super::*;

/// A Cluster API cluster for the profile.
fn capi(initialised: bool, refs: Value) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"namespace": "team", "name": "w", "labels": {"in": "yes"}},
        "spec": refs, "status": {"initialization": {"controlPlaneInitialized": initialised}}})
}

fn refs() -> Value {
    json!({"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "w-plane"},
        "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerCluster", "namespace": "team", "name": "w"}})
}

fn plane() -> ObjectKey {
    let gvk = Gvk::new("controlplane.cluster.x-k8s.io", "", "KubeadmControlPlane");
    ObjectKey { gvk, namespace: "team".into(), name: "w-plane".into() }
}

fn provider() -> ObjectKey {
    let gvk = Gvk::new("infrastructure.cluster.x-k8s.io", "v1beta1", "DockerCluster");
    ObjectKey { gvk, namespace: "team".into(), name: "w".into() }
}

fn there(spec: Value) -> Resource {
    Resource::There(Arc::new(json!({"spec": spec})))
}

/// Content with this in it, rendered for each destination.
fn content_of(names: &str) -> Value {
    let text =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{names}\"}}\n");
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/template": "ok"}}, "data": {"a.yaml": text}})
}

fn mk_fixture(cluster: Value, names: &str) -> Fixture {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterSelector": {"matchLabels": {"in": "yes"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    Fixture::new(vec![cluster, profile, content_of(names)])
}

impl Fixture {
    fn read(&mut self, key: ObjectKey, resource: Resource) {
        self.run(|renderer, step| renderer.external(ExternalInput::Resource(key, resource), step));
    }
}

const VERSION: &str = "{{ .KubeadmControlPlane.spec.version }}";

#[test]
fn templates_see_what_the_cluster_is_made_of_once_it_is_known() {
    let both = format!("{VERSION} {{{{ .InfrastructureProvider.spec.region }}}}");
    let mut fixture = mk_fixture(capi(true, refs()), &both);
    assert_eq!(fixture.watched, [plane(), provider()].into());
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty());
    fixture.read(plane(), there(json!({"version": "v1.33.0"})));
    assert!(fixture.wanted().is_empty());
    fixture.read(provider(), there(json!({"region": "eu"})));
    assert_eq!(fixture.wanted(), ["w v1.33.0 eu "]);
    fixture.read(plane(), there(json!({"version": "v1.34.0"})));
    assert_eq!(fixture.wanted(), ["w v1.34.0 eu "]);
}

#[test]
fn what_nothing_mentions_is_not_read_and_a_change_of_the_content_begins_to() {
    let mut fixture = mk_fixture(capi(true, refs()), "{{ .Cluster.metadata.name }}");
    assert_eq!((fixture.wanted(), fixture.watched.len()), (vec!["w w ".to_owned()], 0));
    fixture.put(content_of(VERSION));
    assert_eq!((fixture.wanted(), fixture.watched.clone()), (vec!["w w ".to_owned()], [plane()].into()));
    fixture.put(content_of("again"));
    assert!(fixture.watched.is_empty());
}

#[test]
fn without_a_reference_there_is_no_variable() {
    let guarded =
        "{{ if hasKey . \\\"KubeadmControlPlane\\\" }}yes{{ else }}no{{ end }}".replace("\\\"", "`");
    let fixture = mk_fixture(capi(true, json!({})), &guarded);
    assert_eq!((fixture.wanted(), fixture.watched.len()), (vec!["w no ".to_owned()], 0));
    let fixture = mk_fixture(capi(true, json!({})), VERSION);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("KubeadmControlPlane"), "{error}");
}

#[test]
fn what_is_named_and_missing_is_a_problem_that_withdraws_nothing() {
    let mut fixture = mk_fixture(capi(true, refs()), VERSION);
    fixture.read(plane(), there(json!({"version": "v1.33.0"})));
    fixture.read(plane(), Resource::Absent);
    assert_eq!(fixture.wanted(), ["w v1.33.0 "]);
    let error = fixture.problems.values().next().unwrap();
    assert!(
        error.starts_with(
            "spec.controlPlaneRef of capi:team/w: KubeadmControlPlane team/w-plane: does not exist"
        ),
        "{error}"
    );
}

#[test]
fn a_cluster_counts_from_the_time_on_when_its_control_plane_is_initialised() {
    let mut fixture = mk_fixture(capi(false, json!({})), "same");
    assert!(fixture.wanted().is_empty());
    fixture.put(capi(true, json!({})));
    assert_eq!(fixture.wanted(), ["w same "]);
    let capi_cluster = ClusterRef { kind: ClusterKind::Capi, namespace: "team".into(), name: "w".into() };
    assert!(fixture.renderer.knowledge.catalog.fleet.clusters().contains_key(&capi_cluster));
    fixture.delete(capi(true, json!({})));
    assert!(fixture.wanted().is_empty());
}

/// Content of this name.
fn plain(name: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}, "data":
        {"a.yaml": format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: of-{name}}}\n")}})
}

/// A profile with this in its spec.
fn profile(more: Value) -> Value {
    let mut spec = json!({"clusterSelector": {"matchLabels": {"in": "yes"}}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec})
}

#[test]
fn names_of_references_see_what_the_cluster_is_made_of_once_it_is_known() {
    let refs_by_name =
        json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": VERSION}]});
    let objects = vec![capi(true, refs()), profile(refs_by_name), plain("v1"), plain("v2")];
    let mut fixture = Fixture::new(objects);
    assert_eq!(fixture.watched, [plane()].into());
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
    fixture.read(plane(), there(json!({"version": "v1"})));
    assert_eq!(fixture.wanted(), ["w of-v1 "]);
    fixture.read(plane(), there(json!({"version": "v2"})));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["w of-v2 ".to_owned()], 0));
    fixture.read(plane(), Resource::Absent);
    assert_eq!(fixture.wanted(), ["w of-v2 "], "an error withdraws nothing");
    let error = fixture.problems.values().next().unwrap();
    assert!(error.starts_with("spec.controlPlaneRef of capi:team/w: "), "{error}");
}

#[test]
fn a_name_that_begins_to_ask_for_what_is_not_known_yet_withdraws_nothing() {
    let named =
        |name: &str| json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]});
    let mut fixture = Fixture::new(vec![capi(true, refs()), profile(named("v1")), plain("v1"), plain("v2")]);
    assert_eq!((fixture.wanted(), fixture.watched.len()), (vec!["w of-v1 ".to_owned()], 0));
    fixture.put(profile(named(VERSION)));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["w of-v1 ".to_owned()], 0));
    fixture.read(plane(), there(json!({"version": "v2"})));
    assert_eq!(fixture.wanted(), ["w of-v2 "]);
    fixture.put(profile(named("v1")));
    assert_eq!((fixture.wanted(), fixture.watched.len()), (vec!["w of-v1 ".to_owned()], 0));
}

#[test]
fn names_of_resources_see_what_the_cluster_is_made_of() {
    let pod = ObjectKey { gvk: Gvk::new("", "v1", "Pod"), namespace: "team".into(), name: "eu".into() };
    let by_region = json!({"templateResourceRefs": [{"identifier": "i", "resource":
            {"apiVersion": "v1", "kind": "Pod", "name": "{{ .InfrastructureProvider.spec.region }}"}}],
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]});
    let objects =
        vec![capi(true, refs()), profile(by_region), content_of("{{ .MgmtResources.i.spec.mark }}")];
    let mut fixture = Fixture::new(objects);
    assert_eq!(fixture.watched, [provider()].into());
    fixture.read(provider(), there(json!({"region": "eu"})));
    assert_eq!(fixture.watched, [provider(), pod.clone()].into());
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
    fixture.read(pod, there(json!({"mark": "seen"})));
    assert_eq!(fixture.wanted(), ["w seen "]);
}

#[test]
fn what_is_left_of_a_name_of_a_trigger_sees_what_the_destination_is_made_of() {
    let patches = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "v1"},
        "data": {"p": "- {op: replace, path: /data/mark, value: patched}"}});
    let late = "{{ `{{ .KubeadmControlPlane.spec.version }}` }}";
    let trigger = trigger(
        true,
        json!({"destinationClusterSelector": {"matchLabels": {"in": "yes"}},
            "patchesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": late}]}),
    );
    let mut fixture = Fixture::new(vec![capi(true, refs()), trigger, content(true, "1"), patches]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.watched, [plane()].into());
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
    fixture.read(plane(), there(json!({"version": "v1"})));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["w x patched".to_owned()], 0));
}
