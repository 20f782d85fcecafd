//! Which rows are sealed.

use super::*;

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
        "metadata": {"namespace": "default", "name": name},
        "data": {"a.yaml": "YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnTWFwCm1ldGFkYXRhOiB7bmFtZTogeH0K"}})
}

/// Content with an object of this kind, as it is.
fn plain(kind: &str) -> Value {
    let text = format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: x, namespace: default}}\n");
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content"}, "data": {"a.yaml": text}})
}

fn profile(references: Value) -> Value {
    let mut spec = json!({"clusterSelector": {"matchLabels": {"env": "fv"}}});
    spec.as_object_mut().unwrap().extend(references.as_object().unwrap().clone());
    json!({"kind": "ClusterProfile", "apiVersion": "config.projectsveltos.io/v1beta1", "metadata": {"name": "p"}, "spec": spec})
}

fn refers_to(kind: &str) -> Value {
    json!({"policyRefs": [{"kind": kind, "namespace": "default", "name": "content"}]})
}

#[test]
fn content_without_a_secret_is_in_clear() {
    let mut fixture = Fixture::new(vec![profile(refers_to("ConfigMap")), plain("ConfigMap")]);
    fixture.ready(&[]);
    assert_eq!(fixture.secrecies, [false]);
}

#[test]
fn content_of_a_secret_or_with_a_secret_in_it_is_sealed() {
    for objects in [
        vec![profile(refers_to("Secret")), secret("content")],
        vec![profile(refers_to("ConfigMap")), plain("Secret")],
    ] {
        let mut fixture = Fixture::new(objects);
        fixture.ready(&[]);
        assert_eq!(fixture.secrecies, [true]);
    }
}

#[test]
fn what_was_made_while_a_secret_was_read_is_sealed() {
    let reference = json!({"templateResourceRefs": [{"identifier": "it", "resource":
        {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "s"}}]});
    let mut references = refers_to("ConfigMap");
    references.as_object_mut().unwrap().extend(reference.as_object().unwrap().clone());
    let mut fixture = Fixture::new(vec![profile(references), plain("ConfigMap"), secret("s")]);
    fixture.ready(&[]);
    assert_eq!(fixture.secrecies, [true]);
}

#[test]
fn what_an_event_leads_to_that_is_a_secret_is_sealed() {
    for (one, kind, sealed) in
        [(true, "Secret", true), (false, "Secret", true), (true, "Service", false), (false, "Service", false)]
    {
        let mut fixture = Fixture::new(vec![trigger(one, json!({})), content(one, "")]);
        let mut row = report("x", false);
        let Subject::Report { object, .. } = &mut row.subject else { unreachable!("it is a report") };
        object.gvk = Gvk::new("", "v1", kind);
        fixture.row(row);
        fixture.row(complete(fixture.revision()));
        fixture.caught_up();
        assert_eq!(fixture.secrecies, [sealed], "{one} {kind}");
    }
}
