//! What profiles refer to, and what destinations get of it.

use sluice_api::model::SECRET_TYPE;
use sluice_template::{Engine, Request, TextError};

use super::*;

/// A profile of a user for clusters `a` and `b`, with these references.
fn profile(refs: Value) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "a"},
            {"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "b"}],
        "policyRefs": refs}})
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "namespace": "default", "name": name})
}

/// A ConfigMap with this text and one annotation.
fn annotated(name: &str, annotation: &str, value: &str, text: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name, "annotations": {annotation: value}},
        "data": {"a.yaml": text}})
}

fn manifest(names: &str, mark: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{names}\", mark: \"{mark}\"}}\n"
    )
}

fn deployed(objects: Vec<Value>) -> Fixture {
    let mut fixture = Fixture::new(objects);
    fixture.caught_up();
    fixture
}

#[test]
fn a_template_of_the_destination_is_rendered_for_each_of_them() {
    let text = manifest("{{ .Cluster.metadata.name }}", "m");
    let annotated = annotated("c", "projectsveltos.io/template", "ok", &text);
    let fixture = deployed(vec![profile(json!([reference("ConfigMap", "c")])), annotated]);
    assert_eq!(fixture.wanted(), ["a a m", "b b m"]);
}

#[test]
fn a_script_makes_the_text_for_each_destination() {
    let script = "function evaluate()\n local hs = {}\n local cluster = resources.Cluster\n \
        hs.resources = 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: x}\\ndata: {names: \"' .. cluster.metadata.name .. '\", mark: \"lua\"}'\n return hs\nend";
    let made = annotated("c", "projectsveltos.io/lua", "ok", script);
    let mut fixture = deployed(vec![profile(json!([reference("ConfigMap", "c")])), made]);
    assert_eq!(fixture.wanted(), ["a a lua", "b b lua"]);
    fixture.put(annotated("c", "projectsveltos.io/lua", "ok", "function evaluate() error('no luck') end"));
    assert_eq!(fixture.wanted(), ["a a lua", "b b lua"], "what is there stays");
    let error = &fixture.problems["ClusterProfile p"];
    assert!(error.contains("ConfigMap default/c: data.a.yaml:") && error.contains("no luck"), "{error}");
    assert!(error.contains("(on sveltos:default/a, sveltos:default/b)"), "{error}");
}

#[test]
fn a_mistake_on_many_clusters_is_told_once_with_some_of_their_names() {
    let broken = annotated("c", "projectsveltos.io/template", "ok", "{{ .Cluster.nope.nope }}");
    let selecting = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterSelector": {"matchLabels": {"many": "yes"}}, "policyRefs": [reference("ConfigMap", "c")]}});
    let clusters = (0..8).map(|number| registration(&format!("m{number}"), json!({"many": "yes"})));
    let fixture = deployed(clusters.chain([selecting, broken]).collect());
    let error = &fixture.problems["ClusterProfile p"];
    assert!(error.contains("sveltos:default/m4 and 3 more)") && !error.contains("m5"), "{error}");
    assert_eq!(error.matches("data.a.yaml").count(), 1, "{error}");
}

#[test]
fn what_is_optional_may_be_missing_and_is_deployed_once_it_is_there() {
    let mut optional = reference("ConfigMap", "later");
    optional["optional"] = json!(true);
    let plain = annotated("c", "note", "", &manifest("c", "m"));
    let mut fixture = deployed(vec![profile(json!([reference("ConfigMap", "c"), optional])), plain]);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a c m".into(), "b c m".into()], 0));
    fixture.put(annotated("later", "note", "", &manifest("later", "m")));
    assert_eq!(fixture.wanted(), ["a c m", "a later m", "b c m", "b later m"]);
}

/// The profile of another maker may have the name there.
#[test]
fn a_profile_without_content_yet_says_that_it_wants_its_name() {
    let mut fixture = deployed(vec![profile(json!([reference("ConfigMap", "c")]))]);
    assert_eq!(fixture.take_log(), ["?a", "?b"]);
    fixture.put(registration("b", json!({"dep": "other"})));
    assert!(fixture.take_log().is_empty(), "it is said once");
    let there = annotated("c", "note", "", &manifest("c", "m"));
    fixture.put(there.clone());
    assert_eq!((fixture.take_log(), fixture.problems.len()), (vec!["+a".into(), "+b".into()], 0));
    fixture.delete(there);
    assert_eq!((fixture.take_log(), fixture.problems.len()), (vec![], 1), "what is there stays");
    fixture.delete(profile(json!([])));
    assert_eq!(fixture.take_log(), ["-a", "-b"]);
}

/// What a cluster holds of it was rendered once; its row was lost with the stream.
#[test]
fn a_profile_whose_row_was_lost_says_that_it_wants_its_name() {
    let objects = vec![profile(json!([reference("ConfigMap", "c")]))];
    let mut fixture = Fixture::with(objects, |renderer| {
        let place = (cluster("a"), ProfileId::cluster("p"));
        renderer.planning.ledger.hold(place, Cause::Profile(ProfileId::cluster("p")), true);
    });
    fixture.caught_up();
    assert_eq!(fixture.take_log(), ["?a", "?b"]);
}

#[test]
fn of_a_trigger_only_names_that_others_may_have_are_said_to_be_wanted() {
    for (extra, said) in [(json!({"profileNameFormat": "p"}), vec!["?a", "-a"]), (json!({}), vec![])] {
        let broken = annotated("content", "projectsveltos.io/template", "ok", "{{ .Cluster.nope.nope }}");
        let mut fixture = Fixture::new(vec![trigger(true, extra), broken]);
        fixture.ready(&["x"]);
        assert_eq!(fixture.problems.len(), 1);
        fixture.row(report("x", true));
        assert_eq!(fixture.take_log(), said);
    }
}

#[test]
fn secrets_are_deployed_when_their_type_says_so() {
    // `manifest("s", "m")` in base64.
    let encoded = "YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnTWFwCm1ldGFkYXRhOiB7bmFtZTogeH0KZGF0YToge25hbWVzOiAicyIsIG1hcms6ICJtIn0K";
    let secret = |kind: &str| json!({"kind": "Secret", "type": kind, "metadata": {"namespace": "default", "name": "s"}, "data": {"a": encoded}});
    let mut fixture = deployed(vec![profile(json!([reference("Secret", "s")])), secret("Opaque")]);
    assert!(fixture.wanted().is_empty());
    assert!(fixture.problems["ClusterProfile p"].contains("Secret default/s: unsupported secret type"));
    fixture.put(secret(SECRET_TYPE));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a s m".into(), "b s m".into()], 0));
}

/// Puts a word into every template.
#[derive(Debug)]
struct Marking;

impl Engine for Marking {
    fn render(&self, request: &Request<'_>) -> Result<String, TextError> {
        Ok(request.text.replace("{% word %}", "tera"))
    }
}

#[test]
fn content_in_tera_is_rendered_by_the_engine_that_was_given_and_a_problem_without_one() {
    let mut text = annotated("content", "sluice.dev/engine", "tera", &manifest("{% word %}", "m"));
    text["metadata"]["annotations"]["projectsveltos.io/instantiate"] = json!("ok");
    let mut without = Fixture::new(vec![trigger(true, json!({})), text.clone()]);
    without.ready(&["x"]);
    assert!(without.wanted().is_empty());
    assert!(
        without.problems["EventTrigger t, EventSource s, Service default/x"].contains("data.a.yaml"),
        "{:?}",
        without.problems
    );
    let give = |renderer: &mut Renderer| renderer.rendering.templates.set_tera(Arc::new(Marking));
    let mut with = Fixture::with(vec![trigger(true, json!({})), text], give);
    with.ready(&["x"]);
    assert_eq!((with.wanted(), with.problems.len()), (vec!["a tera m".to_owned()], 0));
}

#[test]
fn a_profile_of_a_namespace_reads_and_reaches_nothing_outside_it() {
    let elsewhere = json!({"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1",
        "metadata": {"namespace": "other", "name": "z", "labels": {"env": "fv"}}, "spec": {}});
    let own = json!({"kind": "Profile", "metadata": {"namespace": "default", "name": "p"}, "spec": {
        "clusterSelector": {"matchLabels": {"env": "fv"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "other", "name": "c"}]}});
    let mut foreign = annotated("c", "note", "", &manifest("foreign", "m"));
    foreign["metadata"]["namespace"] = json!("other");
    let mut fixture = deployed(vec![elsewhere, own, foreign]);
    assert!(fixture.wanted().is_empty());
    assert!(fixture.problems["Profile default/p"].contains("ConfigMap default/c does not exist"));
    fixture.put(annotated("c", "note", "", &manifest("own", "m")));
    assert_eq!(fixture.wanted(), ["a own m"]);
}
