//! What is deployed to the management cluster: where it is printed, why, and what comes of it.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_dryrun::{Input, Options, Output, build, build_with, make};

fn cluster() -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": "c1", "labels": {"env": "fv"}}, "spec": {}})
}

/// A profile whose content is for the management cluster.
fn profile(name: &str, content: &str) -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": content, "deploymentType": "Local"}]}})
}

fn content(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.yaml": text},
        "metadata": {"namespace": "default", "name": name, "annotations": {"projectsveltos.io/template": "ok"}}})
}

fn input(objects: impl IntoIterator<Item = Value>) -> Input {
    Input { management: [cluster()].into_iter().chain(objects).collect(), ..Input::default() }
}

fn names(output: &Output, place: &str) -> Vec<String> {
    let objects = output.clusters.get(place).into_iter().flatten();
    objects.map(|object| sluice_api::object::name(object).to_owned()).collect()
}

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\n";

#[test]
fn it_is_printed_under_a_heading_of_its_own_with_its_reason() {
    let input = input([profile("p", "c"), content("c", OBJECT)]);
    let output = build_with(&input, &Options { because: true, ..Options::default() });
    let because = &output.clusters["management"][0]["because"];
    assert_eq!(
        because,
        &json!({"profile": "ClusterProfile p", "reference": "ConfigMap default/c", "key": "a.yaml"})
    );
    let mut text = Vec::new();
    make(input, &Options::default()).write_yaml(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("---\n# management, deployed to it\n"), "{text}");
}

#[test]
fn where_nothing_is_for_it_the_management_cluster_is_not_mentioned() {
    let mut remote = profile("p", "c");
    remote["spec"]["policyRefs"][0]["deploymentType"] = "Remote".into();
    let output = build(&input([remote, content("c", OBJECT)]));
    assert_eq!((names(&output, "default/c1"), output.clusters.len()), (vec!["made".to_owned()], 1));
}

#[test]
fn what_is_deployed_there_leads_to_what_it_says() {
    let inner = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: inner}\nspec:\n  \
                 clusterSelector: {matchLabels: {env: fv}}\n  policyRefs: [{kind: ConfigMap, namespace: default, name: last}]\n";
    let output = build(&input([profile("p", "c"), content("c", inner), content("last", OBJECT)]));
    assert_eq!(
        (names(&output, "management"), names(&output, "default/c1")),
        (vec!["inner".into()], vec!["made".into()])
    );
    assert!(output.problems.is_empty());
}

#[test]
fn what_never_settles_is_a_problem() {
    let grows = r#"{{ $n := 0 }}{{ with .MgmtResources.made }}{{ $n = int .data.n }}{{ end }}apiVersion: v1
kind: ConfigMap
metadata: {name: made, namespace: default}
data: {n: "{{ add1 $n }}"}
"#;
    let mut reads_itself = profile("p", "c");
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "made"});
    reads_itself["spec"]["templateResourceRefs"] = json!([{"identifier": "made", "resource": made}]);
    let first = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "made"}, "data": {"n": "0"}});
    let output = build(&input([reads_itself, content("c", grows), first]));
    let error = output.problems[0]["error"].as_str().unwrap();
    assert!(error.contains("still changes after 10 rounds"), "{error}");
}

#[test]
fn what_is_sluices_own_is_refused_as_it_is_live() {
    let summary = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterSummary\n\
                   metadata: {name: p-sveltos-c1, namespace: default}\nspec: {}\n";
    let text = format!("{summary}---\n{OBJECT}");
    let output = build(&input([profile("p", "c"), content("c", &text)]));
    assert_eq!(names(&output, "management"), ["made"]);
    let [problem] = &output.problems[..] else { panic!("{:?}", output.problems) };
    let error = problem["error"].as_str().unwrap();
    assert!(error.starts_with("ClusterSummary default/p-sveltos-c1 is made by Sluice itself"), "{problem}");
}
