#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_template::NoEngine;

use super::*;

fn text(difference: &Difference) -> String {
    difference.changes.iter().map(|change| change.diff.as_str()).collect()
}

fn output(objects: Vec<Value>) -> Output {
    Output { clusters: [("default/a".to_owned(), objects)].into(), ..Output::default() }
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": name,
        "annotations": {"projectsveltos.io/hash": format!("of {value}")}}, "data": {"k": value}})
}

#[test]
fn what_changes_comes_and_goes_is_shown_and_nothing_else() {
    let before = output(vec![config_map("same", "1"), config_map("changed", "1"), config_map("gone", "1")]);
    let after = output(vec![config_map("same", "1"), config_map("changed", "2"), config_map("new", "1")]);
    let text = text(&between(&before, &after, None));
    let marked = |sign: char| -> Vec<&str> {
        text.lines()
            .filter(|line| line.starts_with(sign) && !line.starts_with(&sign.to_string().repeat(3)))
            .collect()
    };
    assert!(text.contains("--- cluster default/a: ConfigMap n/changed\n"), "{text}");
    assert!(marked('-').contains(&"-  k: \"1\"") && marked('+').contains(&"+  k: \"2\""), "{text}");
    assert!(marked('-').contains(&"-  name: gone") && marked('+').contains(&"+  name: new"), "{text}");
    assert!(!text.contains("same") && !text.contains("projectsveltos.io/"), "{text}");
    assert!(between(&before, &before, None).is_empty());
    assert!(between(&before, &after, Some("default/b")).is_empty());
}

#[test]
fn values_of_secrets_are_masked_and_say_whether_they_differ() {
    let secret = |value: &str| {
        output(vec![json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"same": "c2FtZQ==", "other": value}})])
    };
    let text = text(&between(&secret("b25l"), &secret("dHdv"), None));
    assert!(text.contains("-  other: (masked, before)\n+  other: (masked, after)"), "{text}");
    assert!(!["c2FtZQ", "b25l", "dHdv"].iter().any(|value| text.contains(value)), "{text}");
}

#[test]
fn new_problems_are_told_and_known_ones_are_not() {
    let with = |errors: &[&str]| {
        let problem = |error: &&str| json!({"stage": "renderer", "cluster": "default/a", "object": "EventTrigger t", "error": error});
        Output { problems: errors.iter().map(problem).collect(), ..Output::default() }
    };
    let found = between(&with(&["old"]), &with(&["old", "new"]), None);
    let problem = NewProblem {
        stage: "renderer".into(),
        cluster: "default/a".into(),
        object: "EventTrigger t".into(),
        error: "new".into(),
    };
    assert_eq!((found.changes.len(), found.problems), (0, vec![problem]));
}

#[test]
fn manifests_of_the_folder_go_over_those_that_are_there_in_any_version() {
    let trigger = |version: &str, source: &str| {
        json!({"apiVersion": format!("lib.projectsveltos.io/{version}"), "kind": "EventTrigger",
        "metadata": {"name": "t"}, "spec": {"eventSourceName": source}})
    };
    let there = [trigger("v1beta1", "old"), config_map("kept", "1")];
    let both = over(&there, vec![trigger("v1alpha1", "new")]);
    assert_eq!(both, [config_map("kept", "1"), trigger("v1alpha1", "new")]);
    let content = |namespace: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}});
    assert_eq!(over(&[content(json!("default"))], vec![content(Value::Null)]).len(), 1);
}

/// Whoever asks writes the templates, and could have them copy what they read.
#[test]
fn a_template_that_copies_a_secret_into_something_else_shows_nothing_of_it() {
    let cluster = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": "a", "labels": {"env": "fv"}}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "kubeconfig"},
        "data": {"value": "aHVudGVyMg=="}});
    let content = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy, namespace: default}\n\
        data: {got: '{{ index (getResource \"S\").data \"value\" }}', plain: '{{ index (getResource \"S\").data \"value\" | b64dec }}'}\n";
    let meant = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
            "templateResourceRefs": [{"resource": {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "kubeconfig"},
                "identifier": "S"}],
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/template": "true"}}, "data": {"c.yaml": content}});
    let meant = Meant {
        management: vec![meant, map],
        sources: Sources::default(),
        repositories: Arc::new(NoRepositories),
        tera: Arc::new(NoEngine),
    };
    let found = difference(vec![cluster, secret], Held::new(), meant, None);
    let text = text(&found);
    assert!(text.contains("name: copy") && text.contains("masked-"), "{found:?}");
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
}

/// What a profile of one ConfigMap deploys to cluster `a`, and what is registered.
fn deployed(content: &str, spec: Value) -> Vec<Value> {
    let cluster = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": "a", "labels": {"env": "fv"}}});
    let mut profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content"},
        "data": {"c.yaml": content}});
    vec![cluster, profile, content]
}

#[test]
fn what_an_error_keeps_is_not_shown_as_a_removal() {
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n";
    let clusters = |name: &str| json!({"clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": name}]});
    let of = |content: &str, spec: Value| {
        let meant = Meant {
            management: deployed(content, spec).split_off(1),
            sources: Sources::default(),
            repositories: Arc::new(NoRepositories),
            tera: Arc::new(NoEngine),
        };
        difference(deployed(good, clusters("a")), Held::new(), meant, None)
    };
    // It cannot be read, names what is not there, or is refused by the deployer.
    let of_sveltos = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterSummary\nmetadata: {name: p-sveltos-a, namespace: default}\n";
    for (content, spec, says) in [
        ("{{{{", clusters("a"), "data.c.yaml"),
        (good, clusters("typo"), "spec.clusterRefs[0]: sveltos:default/typo is not registered"),
        (&format!("{good}---\nkind: 1\n"), clusters("a"), "document 2"),
    ] {
        let found = of(content, spec);
        assert!(found.changes.is_empty() && found.problems.len() == 1, "{found:?}");
        assert!(found.problems[0].error.contains(says), "{found:?}");
    }
    let local = json!({"clusterRefs": clusters("a")["clusterRefs"],
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "deploymentType": "Local"}]});
    let meant = |content: &str| Meant {
        management: deployed(content, local.clone()).split_off(1),
        sources: Sources::default(),
        repositories: Arc::new(NoRepositories),
        tera: Arc::new(NoEngine),
    };
    let found = difference(deployed(good, local.clone()), Held::new(), meant(of_sveltos), None);
    assert!(found.changes.is_empty(), "{found:?}");
    assert!(found.problems[0].error.contains("is made by Sluice itself"), "{found:?}");
    // Without an error it goes.
    let found = of(good, json!({"clusterSelector": {"matchLabels": {"env": "none"}}}));
    assert!(text(&found).contains("-  name: x") && found.problems.is_empty(), "{found:?}");
}
