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
        severity: Severity::Error,
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
    let found = difference(vec![cluster, secret], ObjectsOfClusters::new(), meant, None);
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
        difference(deployed(good, clusters("a")), ObjectsOfClusters::new(), meant, None)
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
    let found = difference(deployed(good, local.clone()), ObjectsOfClusters::new(), meant(of_sveltos), None);
    assert!(found.changes.is_empty(), "{found:?}");
    assert!(found.problems[0].error.contains("is made by Sluice itself"), "{found:?}");
    // Without an error it goes.
    let found = of(good, json!({"clusterSelector": {"matchLabels": {"env": "none"}}}));
    assert!(text(&found).contains("-  name: x") && found.problems.is_empty(), "{found:?}");
}

const MARKER: &str = "hunter2";

/// A Secret with content.
fn holding(name: &str, texts: Value, annotations: Value) -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "type": sluice_api::model::SECRET_TYPE,
        "metadata": {"namespace": "default", "name": name, "annotations": annotations}, "stringData": texts});
    sluice_api::string_data::fold(&mut secret).unwrap();
    secret
}

/// What would change where a profile with this spec is applied.
fn of_profile(spec: Value, others: Vec<Value>) -> Difference {
    of_charts(spec, others, Sources::default())
}

fn of_charts(spec: Value, others: Vec<Value>, sources: Sources) -> Difference {
    let mut profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let meant = Meant {
        management: [vec![profile], others].concat(),
        sources,
        repositories: Arc::new(NoRepositories),
        tera: Arc::new(NoEngine),
    };
    difference(deployed("", json!({})), ObjectsOfClusters::new(), meant, None)
}

fn policy(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "namespace": "default", "name": name})
}

/// Each is a way for what a Secret with content holds to become something that is no Secret.
#[test]
fn of_what_a_secret_deploys_no_value_is_shown_however_it_is_written() {
    let (plain, none) =
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n", json!({}));
    let templated = format!("{plain}data: {{a: hunter2, '{{{{ .Cluster.metadata.name }}}}': b}}\n");
    let nested = format!("{plain}data:\n  c.yaml: |\n    kind: Pod # hunter2\n");
    let lua = format!("function evaluate() return {{resources = [[{plain}data: {{a: hunter2}}]]}} end");
    for (text, annotations) in [
        (format!("{plain}data: {{a: hunter2}}\n"), none.clone()),
        (nested, none),
        (templated, json!({"projectsveltos.io/template": "ok"})),
        (lua, json!({"projectsveltos.io/lua": "ok"})),
    ] {
        let found = of_profile(
            json!({"policyRefs": [policy("Secret", "s")]}),
            vec![holding("s", json!({"k": text}), annotations)],
        );
        let shown = text_of(&found);
        assert!(shown.contains("name: x") && shown.contains("masked-"), "{text}: {found:?}");
        assert!(!shown.contains(MARKER), "{shown}");
    }
}

fn text_of(difference: &Difference) -> String {
    format!("{}{:?}", text(difference), difference.problems)
}

#[test]
fn of_what_a_secret_holds_and_nobody_can_read_no_value_is_shown() {
    let said = |text: &str, annotations: Value| {
        let secret = holding("s", json!({"k": text}), annotations);
        let found = of_profile(json!({"policyRefs": [policy("Secret", "s")]}), vec![secret]);
        assert!(!text_of(&found).contains(MARKER), "{found:?}");
        assert!(
            found.problems.len() == 1 && found.problems[0].error.contains("data.k: masked-"),
            "{found:?}"
        );
    };
    said("a: [hunter2", json!({}));
    said("hunter2", json!({}));
    said("{{ hunter2 }}", json!({"projectsveltos.io/template": "ok"}));
    said("{{ fail \"hunter2\" }}", json!({"projectsveltos.io/template": "ok"}));
    said("hunter2 hunter2", json!({"projectsveltos.io/lua": "ok"}));
}

#[test]
fn a_patch_moves_no_value_of_a_secret_to_where_it_is_shown() {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\ndata: {a: hunter2}\n";
    let secret = || holding("s", json!({"k": text}), json!({}));
    let copy = json!([{"patch": "- {op: copy, from: /data/a, path: /metadata/name}"}]);
    let found = of_profile(json!({"policyRefs": [policy("Secret", "s")], "patches": copy}), vec![secret()]);
    assert!(text_of(&found).contains("name: masked-") && !text_of(&found).contains(MARKER), "{found:?}");

    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "c"},
        "data": {"k": text.replace("hunter2", "own")}});
    let patch = holding("patch", json!({"k": "[{op: replace, path: /data/a, value: hunter2}]"}), json!({}));
    let found = of_profile(
        json!({"policyRefs": [policy("ConfigMap", "c")], "patchesFrom": [policy("Secret", "patch")]}),
        vec![map, patch],
    );
    let shown = text_of(&found);
    assert!(shown.contains("a: masked-") && !shown.contains(MARKER) && !shown.contains("own"), "{shown}");
}

#[test]
fn a_template_finds_only_stand_ins_of_a_secret_with_content() {
    let read = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n\
        data: {a: '{{ (getResource \"S\").data.k | b64dec }}', b: '{{ (getResource \"S\").data.k }}'}\n";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "c",
        "annotations": {"projectsveltos.io/template": "ok"}}, "data": {"k": read}});
    for text in ["hunter2", "a: hunter2", "{{ hunter2"] {
        let refs = json!([{"resource": {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "s"}, "identifier": "S"}]);
        let found = of_profile(
            json!({"policyRefs": [policy("ConfigMap", "c")], "templateResourceRefs": refs}),
            vec![map.clone(), holding("s", json!({"k": text}), json!({}))],
        );
        let shown = text_of(&found);
        assert!(shown.contains("a: masked-") && !shown.contains(MARKER), "{shown}");
    }
}

#[test]
fn what_a_secret_brings_to_the_management_cluster_shows_nothing_where_it_is_used() {
    let inner =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inner, namespace: default}\ndata: {a: hunter2}\n";
    for (kind, data) in [("ConfigMap", "data"), ("Secret", "stringData")] {
        let outer = json!({"apiVersion": "v1", "kind": kind, "type": sluice_api::model::SECRET_TYPE,
            "metadata": {"name": "made", "namespace": "default"}, data: {"k": inner}});
        let mut local = policy("Secret", "s");
        local["deploymentType"] = "Local".into();
        let mut used = policy(kind, "made");
        used["optional"] = true.into();
        let found = of_profile(
            json!({"policyRefs": [local, used]}),
            vec![holding("s", json!({"k": outer.to_string()}), json!({}))],
        );
        let shown = text_of(&found);
        assert!(shown.contains("name: inner") && shown.contains("a: masked-"), "{kind}: {shown}");
        assert!(!shown.contains(MARKER), "{shown}");
    }
}

#[test]
fn what_an_event_makes_of_a_secret_shows_no_value() {
    let trigger = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "t"},
        "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s", "oneForEvent": true,
            "policyRefs": [policy("Secret", "s")]}});
    let source = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "s"},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]}});
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "default"}});
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .MatchingResource.Name }}', namespace: default}\ndata: {a: hunter2}\n";
    let held = || ObjectsOfClusters::from([(("default".to_owned(), "a".to_owned()), vec![service.clone()])]);
    for (text, part) in [(text, "name: x"), ("{{ hunter2", "masked-")] {
        let secret = holding("s", json!({"k": text}), json!({"projectsveltos.io/instantiate": "ok"}));
        let meant = Meant {
            management: vec![trigger.clone(), source.clone(), secret],
            sources: Sources::default(),
            repositories: Arc::new(NoRepositories),
            tera: Arc::new(NoEngine),
        };
        let found = difference(deployed("", json!({})), held(), meant, None);
        let shown = text_of(&found);
        assert!(shown.contains(part) && !shown.contains(MARKER), "{shown}");
    }
}

#[test]
fn a_chart_shows_no_value_that_a_secret_gives_it() {
    let template = "{{ if .Values.wanted }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n\
        data: {a: {{ .Values.secret | b64enc | b64dec | quote }}, b: {{ .Values.number | quote }}}\n{{ end }}\n";
    let files: BTreeMap<String, Vec<u8>> = [
        ("Chart.yaml".to_owned(), b"apiVersion: v2\nname: web\nversion: 1.0.0\n".to_vec()),
        ("templates/a.yaml".to_owned(), template.into()),
    ]
    .into();
    let said = |values: &str| {
        let mut sources = Sources::default();
        sources.add("https://charts.example.com", &files).unwrap();
        let chart = json!({"repositoryURL": "https://charts.example.com", "repositoryName": "r", "chartName": "r/web",
            "chartVersion": "1.0.0", "releaseName": "web", "releaseNamespace": "default", "valuesFrom": [policy("Secret", "s")]});
        let spec = json!({"helmCharts": [chart]});
        let found = of_charts(spec, vec![holding("s", json!({"k": values}), json!({}))], sources);
        assert!(!text_of(&found).contains(MARKER) && !text_of(&found).contains("1234567"), "{found:?}");
        text_of(&found)
    };
    let shown = said("wanted: true\nsecret: hunter2\nnumber: 1234567\n");
    assert!(shown.contains("name: x") && shown.contains("a: masked-"), "{shown}");
    assert!(!said("wanted: false\nsecret: hunter2\nnumber: 1\n").contains("name: x"));
    assert!(said("secret: [hunter2").contains("data.k: masked-"));
}
