//! `helmCharts`.

use sluice_chart::{Chart, LoadLimits};

use super::*;
use crate::knowledge::chart_request::LoadedChart;

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n\
    data: {names: '{{ .Values.who }}', mark: '{{ .Values.mark }}'}\n";

/// A chart of these templates, and of other files by their whole path.
pub(super) fn loaded(version: &str, files: &[(&str, &str)]) -> ChartState {
    let head = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    let mut all = BTreeMap::from([
        ("Chart.yaml".to_owned(), head.into_bytes()),
        ("values.yaml".to_owned(), b"{who: nobody, mark: none}".to_vec()),
    ]);
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    let chart = Chart::from_folder(&all, LoadLimits::default()).unwrap();
    ChartState::there(Arc::new(LoadedChart { digest: version.to_owned(), chart }))
}

fn settings(version: &str) -> ChartState {
    loaded(version, &[("templates/a.yaml", SETTINGS)])
}

fn chart(extra: Value) -> Value {
    let mut chart = json!({"repositoryURL": "https://charts.example.com/", "repositoryName": "example", "chartName": "example/web",
        "chartVersion": "1.x", "releaseName": "site", "releaseNamespace": "web"});
    chart.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    chart
}

pub(super) fn profile(extra: Value) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"},
            {"kind": "SveltosCluster", "namespace": "default", "name": "b"}],
        "helmCharts": [chart(extra)]}})
}

fn secret(name: &str, data: Value) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "default", "name": name}, "stringData": data})
}

impl Fixture {
    /// The one chart that is asked for.
    fn asked(&self) -> ChartRequest {
        assert_eq!(self.fetched.len(), 1, "{:?}", self.fetched);
        self.fetched.first().unwrap().clone()
    }

    pub(super) fn chart(&mut self, state: ChartState) {
        let request = self.asked();
        self.run(|renderer, step| renderer.external(ExternalInput::Chart(request, state), step));
    }

    fn problem(&self) -> String {
        self.problems.values().next().cloned().unwrap_or_default()
    }

    pub(super) fn objects(&self, place: &str) -> Vec<Value> {
        let desired = self.rows[place].as_ref().unwrap();
        desired.policies.iter().flat_map(|policy| policy.objects.clone()).collect()
    }
}

#[test]
fn nothing_is_rendered_before_its_chart_has_been_fetched() {
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    assert!(fixture.rows.is_empty() && fixture.problems.is_empty());
    assert!(!fixture.renderer.is_decided());
    assert_eq!(fixture.asked().to_string(), "chart web 1.x of https://charts.example.com");
    fixture.chart(settings("1.0.0"));
    assert_eq!(fixture.wanted(), ["a nobody none", "b nobody none"]);
    let object = &fixture.objects("a/p")[0];
    assert_eq!(
        object["metadata"],
        json!({"name": "site", "namespace": "web", "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "site", "meta.helm.sh/release-namespace": "web"}})
    );
    fixture.delete(profile(json!({})));
    assert!(fixture.wanted().is_empty() && fixture.fetched.is_empty());
}

#[test]
fn a_repository_that_is_away_is_a_problem_and_withdraws_nothing() {
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(ChartState::failed("the host does not answer; it is tried again"));
    assert!(fixture.rows.is_empty());
    assert!(fixture.problem().contains(
        "spec.helmCharts[0]: chart web 1.x of https://charts.example.com: the host does not answer"
    ));
    fixture.chart(settings("1.0.0"));
    assert!(fixture.problems.is_empty() && fixture.wanted().len() == 2);
    fixture.take_log();
    fixture.chart(ChartState { trouble: Some("the host is away".into()), ..settings("1.0.0") });
    assert!(fixture.problem().contains("the host is away; what was fetched before is used"));
    assert_eq!(fixture.wanted().len(), 2);
    fixture.chart(settings("1.0.0"));
    assert!(fixture.problems.is_empty());
}

#[test]
fn another_version_is_rendered_and_the_same_one_is_not() {
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(settings("1.0.0"));
    fixture.take_log();
    fixture.chart(settings("1.0.0"));
    assert!(fixture.take_log().is_empty());
    let newer = SETTINGS.replace(".Values.mark", ".Chart.Version");
    fixture.chart(loaded("1.1.0", &[("templates/a.yaml", &newer)]));
    assert_eq!(fixture.wanted(), ["a nobody 1.1.0", "b nobody 1.1.0"]);
}

#[test]
fn values_come_in_their_order_and_are_rendered_for_each_destination() {
    let from = |name: &str, annotations: Value, text: &str| {
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name, "annotations": annotations},
            "data": {"values.yaml": text}})
    };
    let mut fixture = Fixture::new(vec![
        from(
            "first",
            json!({"projectsveltos.io/template": "ok"}),
            "{who: '{{ .Cluster.metadata.name }}', mark: x}",
        ),
        from("second", json!({}), "mark: why"),
        profile(json!({"valuesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "first"},
            {"kind": "ConfigMap", "name": "second"}, {"kind": "ConfigMap", "name": "none", "optional": true}]})),
    ]);
    fixture.chart(settings("1.0.0"));
    assert_eq!(fixture.wanted(), ["a a why", "b b why"]);
    let own = json!({"values": "who: '{{ .Cluster.metadata.name }}!'",
        "valuesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "second"}]});
    fixture.put(profile(own));
    assert_eq!(fixture.wanted(), ["a a! why", "b b! why"]);
    fixture.put(from("second", json!({}), "mark: z"));
    assert_eq!(fixture.wanted(), ["a a! z", "b b! z"]);
    fixture.put(from("second", json!({}), "- mark"));
    assert!(fixture.problem().contains(
        "spec.helmCharts[0].valuesFrom: ConfigMap default/second: data.values.yaml: cannot unmarshal"
    ));
    assert_eq!(fixture.wanted(), ["a a! z", "b b! z"], "the last good content stays");
}

#[test]
fn fields_of_a_trigger_are_rendered_with_the_event_and_shown_in_its_profile() {
    let fields = json!({"releaseName": "{{ .Resource.metadata.name }}", "values": "{who: '{{ .Resource.metadata.name }}', mark: '{{ \"{{\" }} .Cluster.metadata.name }}'}",
        "valuesFrom": [{"kind": "ConfigMap", "name": "{{ .Resource.metadata.name }}", "optional": true}]});
    let mut fixture = Fixture::new(vec![
        trigger(true, json!({"helmCharts": [chart(fields)]})),
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content"}, "data": {}}),
    ]);
    fixture.ready(&["x"]);
    fixture.chart(settings("1.0.0"));
    assert_eq!(fixture.wanted(), ["a x a"]);
    let spec =
        fixture.projected.values().flatten().find(|object| object["kind"] == "ClusterProfile").unwrap();
    let shown = &spec["spec"]["helmCharts"][0];
    assert_eq!(
        (&shown["releaseName"], &shown["valuesFrom"][0]["name"], &shown["values"]),
        (&json!("x"), &json!("x"), &json!("{who: 'x', mark: '{{ .Cluster.metadata.name }}'}"))
    );
    let mut desired = fixture.rows.values().flatten();
    let kinds: Vec<_> = desired.next().unwrap().policies.iter().map(|policy| policy.kind.as_str()).collect();
    assert_eq!(kinds, ["HelmChart", "ConfigMap"], "charts come before what is referenced");
}

#[test]
fn what_is_random_is_drawn_once_for_each_input() {
    let drawn = SETTINGS.replace(".Values.who", "randAlphaNum 20").replace(".Values.mark", "now | unixEpoch");
    let drawn = loaded("1.0.0", &[("templates/a.yaml", &drawn)]);
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(drawn.clone());
    let before = fixture.wanted();
    assert_ne!(before[0][1..], before[1][1..], "each cluster gets its own");
    fixture.now += 3_600_000_000;
    fixture.put(profile(json!({"options": {"disableHooks": true}})));
    assert_eq!(fixture.wanted(), before);
    fixture.put(profile(json!({"values": "other: 1"})));
    assert_ne!(fixture.wanted(), before);
}

#[test]
fn whoever_renders_next_makes_the_same_certificates() {
    let drawn = SETTINGS
        .replace(".Values.who", "randAlphaNum 20")
        .replace(".Values.mark", "(genCAWithKey \"ca\" 365 (genPrivateKey \"ecdsa\")).Cert | b64enc");
    let drawn = loaded("1.0.0", &[("templates/a.yaml", &drawn)]);
    let after = |days: i64| {
        let mut fixture = Fixture::new(vec![profile(json!({}))]);
        fixture.now += days * 86_400_000_000;
        fixture.chart(drawn.clone());
        fixture.wanted()
    };
    let first = after(0);
    assert!(first[0].len() > 200, "{first:?}");
    assert!(after(1) == first || after(2) == after(1), "they are not those of the moment");
    assert_ne!(after(60), first, "an eighth of a year later they are renewed");
}

#[test]
fn definitions_are_apart_and_say_which_kinds_have_no_namespace() {
    let crd = |scope: &str, kind: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {kind}}}\n\
             spec: {{group: example.com, scope: {scope}, names: {{kind: {kind}}}}}\n"
        )
    };
    let object =
        |kind: &str| format!("apiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: x}}\n---\n");
    let both = object("Wide") + &object("Narrow");
    let (wide, narrow) = (crd("Cluster", "Wide"), crd("Namespaced", "Narrow"));
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";
    let files = [
        ("crds/a.yaml", wide.as_str()),
        ("crds/b.yaml", &narrow),
        ("crds/c.yaml", other),
        ("templates/c.yaml", &both),
    ];
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(loaded("1.0.0", &files));
    let brought = |fixture: &Fixture| {
        let policy = &fixture.rows["a/p"].as_ref().unwrap().policies[0];
        let names: Vec<_> =
            policy.brought().iter().map(|crd| sluice_api::object::name(crd).to_owned()).collect();
        (names, policy.upgrade_crds)
    };
    assert_eq!(brought(&fixture), (vec!["Wide".to_owned(), "Narrow".to_owned()], false));
    let note = fixture.problem();
    assert!(
        note.starts_with("note: ") && note.contains("defines no kind is not deployed (ConfigMap other)"),
        "{note}"
    );
    let shown = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["namespace"]);
    let objects: Vec<_> = fixture.objects("a/p").iter().map(shown).collect();
    let definition = "\"CustomResourceDefinition\" null";
    assert_eq!(objects, [definition, definition, "\"Narrow\" \"web\"", "\"Wide\" null"]);
    fixture.put(profile(json!({"options": {"upgradeOptions": {"upgradeCRDs": true}}})));
    assert!(brought(&fixture).1);
    fixture.put(profile(json!({"options": {"skipCRDs": true}})));
    assert_eq!((fixture.objects("a/p").len(), brought(&fixture).0.len()), (2, 0));
}

#[test]
fn what_a_chart_says_is_told_with_its_place_and_the_rest_stays() {
    let schema = r#"{"properties": {"who": {"type": "string"}}}"#;
    let files = [("templates/a.yaml", SETTINGS), ("values.schema.json", schema)];
    let mut fixture = Fixture::new(vec![profile(json!({"values": "who: [1]"}))]);
    fixture.chart(loaded("1.0.0", &files));
    let error = fixture.problem();
    assert!(
        error.contains("spec.helmCharts[0]: chart web 1.x of https://charts.example.com: values don't meet"),
        "{error}"
    );
    assert!(error.contains("at '/who'") && error.contains("correct the values"), "{error}");
    fixture.put(profile(json!({"values": "who: [1]", "options": {"skipSchemaValidation": true}})));
    assert_eq!(fixture.wanted(), ["a [1] none", "b [1] none"]);
    fixture.chart(loaded("1.0.1", &[("templates/a.yaml", "a: {{ fail \"no\" }}")]));
    assert!(fixture.problem().contains("web/templates/a.yaml:1:6"), "{}", fixture.problem());
    assert_eq!(fixture.wanted(), ["a [1] none", "b [1] none"]);
    fixture.chart(loaded("1.0.2", &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\n")]));
    assert!(fixture.problem().contains("web/templates/a.yaml: document 1: metadata.name is missing"));
}

#[test]
fn hooks_are_named_and_not_deployed() {
    let hook =
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\n";
    let hooked = loaded("1.0.0", &[("templates/a.yaml", SETTINGS), ("templates/h.yaml", hook)]);
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(hooked);
    let said = fixture.problem();
    assert!(said.starts_with("note: spec.helmCharts[0]: chart web 1.x of "), "{said}");
    assert!(
        said.ends_with(": hooks are not run (Job h); set options.disableHooks: true to hear no more of it")
    );
    assert_eq!(fixture.objects("a/p").len(), 1);
    fixture.put(profile(json!({"options": {"disableHooks": true}})));
    assert!(fixture.problems.is_empty());
}

#[test]
fn what_helm_would_warn_of_is_a_note_that_names_the_value_and_not_what_it_is() {
    let values = "{who: {first: hidden}, mark: x, secret: {word: y}}";
    let warning = loaded(
        "1.0.0",
        &[("templates/a.yaml", SETTINGS), ("values.yaml", "{who: nobody, secret: {word: {a: hidden}}}")],
    );
    let mut fixture = Fixture::new(vec![profile(json!({"values": values}))]);
    fixture.chart(warning);
    let said = fixture.problem();
    let place = "note: spec.helmCharts[0]: chart web 1.x of https://charts.example.com: Helm warns: ";
    assert!(said.contains(&format!("{place}skipped value for web.who: Not a table.")), "{said}");
    assert!(
        said.contains(&format!("{place}cannot overwrite table with non table for web.secret.word")),
        "{said}"
    );
    assert!(!said.contains("hidden"), "{said}");
    assert_eq!(fixture.objects("a/p").len(), 1, "it is rendered all the same");
    fixture.put(profile(json!({"values": "mark: x"})));
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
}

#[test]
fn a_release_that_is_to_be_gone_is_not_rendered() {
    let mut fixture = Fixture::new(vec![profile(json!({}))]);
    fixture.chart(settings("1.0.0"));
    fixture.put(profile(json!({"helmChartAction": "Uninstall"})));
    assert!(fixture.wanted().is_empty() && fixture.rows["a/p"].is_some());
    assert!(fixture.fetched.is_empty());
}

#[test]
fn credentials_are_those_of_a_secret_and_are_never_shown() {
    let access =
        json!({"registryCredentialsConfig": {"credentials": {"namespace": "default", "name": "login"}}});
    let mut fixture = Fixture::new(vec![profile(access.clone())]);
    assert!(
        fixture.problem().contains("credentials: Secret default/login does not exist"),
        "{}",
        fixture.problem()
    );
    fixture.put(secret("login", json!({"username": "me", "password": "hidden"})));
    assert_eq!(fixture.asked().access.login, Some(("me".into(), "hidden".into())));
    assert!(!format!("{:?}", fixture.asked()).contains("hidden"));
    fixture.chart(settings("1.0.0"));
    fixture.put(secret("login", json!({"username": "me", "password": "rotated"})));
    assert_eq!(fixture.asked().access.login.unwrap().1, "rotated");
    assert_eq!(fixture.wanted().len(), 2, "until it has been fetched again what is there stays");
    fixture.chart(ChartState::failed("401 Unauthorized"));
    assert!(
        !fixture.problem().contains("rotated") && fixture.problem().contains("401"),
        "{}",
        fixture.problem()
    );
    fixture.put(secret("login", json!({"other": "x"})));
    assert!(fixture.problem().contains("has neither username and password"), "{}", fixture.problem());
}

/// Where it is fetched from is not for a tenant to choose freely.
#[test]
fn a_request_says_whether_it_is_a_tenants() {
    let (whole, mut own, mut labelled) = (profile(json!({})), profile(json!({})), profile(json!({})));
    own["kind"] = json!("Profile");
    own["metadata"]["namespace"] = json!("default");
    labelled["metadata"]["labels"] = json!({"projectsveltos.io/serviceaccount-name": "deployer",
        "projectsveltos.io/serviceaccount-namespace": "team-a"});
    for (object, of_tenant) in [(whole, false), (own, true), (labelled, true)] {
        let fixture = Fixture::new(vec![object.clone()]);
        assert_eq!(fixture.asked().access.of_tenant, of_tenant, "{object}");
    }
}

#[test]
fn addresses_and_names_that_cannot_be_used_are_told() {
    for (fields, part) in [
        (json!({"repositoryURL": "gitrepository://a/b/c"}), "repositoryURL: is of another kind"),
        (json!({"repositoryURL": "charts.example.com"}), "repositoryURL: has no scheme"),
        (json!({"chartName": "../x"}), ""),
        (json!({"chartName": ".."}), "chartName: is no name of a chart"),
        (json!({"repositoryURL": "https://me:hidden@h/x"}), "name the user in registryCredentialsConfig"),
        (json!({"releaseName": "{{ .nope.x }}"}), "spec.helmCharts[0].releaseName: template: p:1"),
    ] {
        let fixture = Fixture::new(vec![profile(fields)]);
        let error = fixture.problem();
        assert!(error.contains(part) && !error.contains("hidden"), "{error}");
    }
    let mut fixture = Fixture::new(vec![profile(json!({"releaseNamespace": "A b"}))]);
    fixture.chart(settings("1.0.0"));
    assert!(fixture.problem().contains("spec.helmCharts[0].releaseNamespace: \"A b\" is no namespace"));
}

#[test]
fn patches_are_for_charts_too() {
    let mut patched = profile(json!({}));
    patched["spec"]["patches"] = json!([{"patch": "- {op: replace, path: /data/mark, value: patched}",
        "target": {"kind": "ConfigMap", "namespace": "web"}}]);
    let mut fixture = Fixture::new(vec![patched]);
    fixture.chart(settings("1.0.0"));
    assert_eq!(fixture.wanted(), ["a nobody patched", "b nobody patched"]);
}
