//! Every way in which something secret comes in, as it should be and broken.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_api::model::SECRET_TYPE;

use super::write;

const MANAGEMENT: &str = "management";
const CLUSTER: &str = "default/cluster-1";
const REPOSITORY: &str = "https://charts.example.com";

/// Something secret and what reads it.
pub struct Case {
    pub name: &'static str,
    /// What no output may hold.
    pub marker: String,
    pub objects: Vec<(&'static str, Value)>,
    pub end: End,
}

/// How it ends.
pub enum End {
    /// A problem is about this.
    Problem(String),
    /// A ConfigMap of this name holds the marker.
    Deployed(String),
    /// Nobody has to wait for it.
    Sent,
}

// === impl Case ===

impl Case {
    /// Where the marker is, in clear or in base64.
    pub fn leaks(&self, told: &[(String, String)]) -> Vec<String> {
        let mut leaks = Vec::new();
        for (place, text) in told {
            for form in forms(&self.marker) {
                if let Some(at) = text.find(&form) {
                    let from =
                        (0..=at.saturating_sub(150)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                    let shown: String = text[from..].chars().take(400).collect();
                    leaks.push(format!("{}: {place}: …{shown}…", self.name));
                }
            }
        }
        leaks
    }
}

/// A text as it is, and in base64 wherever it begins in what is encoded.
fn forms(marker: &str) -> Vec<String> {
    let encoded = (0..3_usize).map(|before| {
        let text = STANDARD.encode(format!("{}{marker}", "x".repeat(before)));
        // What depends on what is around it is left out.
        let (from, to) = (before.div_ceil(3) * 4, text.trim_end_matches('=').len() - 2);
        text[from..to].to_owned()
    });
    encoded.chain([marker.to_owned()]).collect()
}

pub fn marker(name: &str) -> String {
    format!("hunter2-{name}-hunter2")
}

/// A profile for one cluster.
fn profile(name: &str, spec: Value) -> (&'static str, Value) {
    let mut profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": name}, "spec": {"clusterRefs": [{"kind": "SveltosCluster",
            "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "cluster-1"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    (MANAGEMENT, profile)
}

fn secret(name: &str, kind: &str, annotation: &str, values: Value) -> (&'static str, Value) {
    let encoded = |value: &Value| Value::from(STANDARD.encode(value.as_str().unwrap()));
    let data: Value =
        values.as_object().unwrap().iter().map(|(key, value)| (key.clone(), encoded(value))).collect();
    (
        MANAGEMENT,
        json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "data": data,
            "metadata": {"namespace": "default", "name": name, "annotations": {annotation: "ok"}}}),
    )
}

fn map(name: &str, annotation: &str, text: &str) -> (&'static str, Value) {
    (
        MANAGEMENT,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": text},
            "metadata": {"namespace": "default", "name": name, "annotations": {annotation: "ok"}}}),
    )
}

fn reference(kind: &str, name: &str) -> Value {
    json!([{"kind": kind, "namespace": "default", "name": name}])
}

/// A ConfigMap that holds this.
fn manifest(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{secret: {value}}}\n"
    )
}

fn deployed(name: &'static str, objects: Vec<(&'static str, Value)>) -> Case {
    Case { name, marker: marker(name), objects, end: End::Deployed(name.into()) }
}

fn broken(name: &'static str, objects: Vec<(&'static str, Value)>) -> Case {
    Case { name, marker: marker(name), objects, end: End::Problem(name.into()) }
}

pub fn cases() -> Vec<Case> {
    // Who asks Inspect sends it.
    let token = Case { name: "token", marker: marker("token"), objects: Vec::new(), end: End::Sent };
    let mut all = vec![token];
    all.extend(kubeconfigs());
    all.extend(contents());
    all.extend(charts());
    all.extend(resources());
    all.extend(events());
    all
}

/// A registration.
pub fn cluster(name: &str) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": name, "labels": {"env": "fv"}}, "spec": {}})
}

fn kubeconfigs() -> Vec<Case> {
    let of = |name: &'static str, text: &str| {
        let values = json!({"kubeconfig": text.replace("MARKER", &marker(name))});
        let held = secret(&format!("{name}-sveltos-kubeconfig"), "Opaque", "x", values);
        broken(name, vec![held, (MANAGEMENT, cluster(name))])
    };
    let with = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:1'}}}}]\nusers: [{{name: u, user: {user}}}]\n"
        )
    };
    vec![
        of("kubeconfig-yaml", "users: [MARKER"),
        of("kubeconfig-text", "MARKER"),
        of("kubeconfig-exec", &with("{exec: {command: MARKER}}")),
        of("kubeconfig-list", &with("{token: [MARKER]}")),
        of("kubeconfig-data", &with("{client-key-data: MARKER, client-certificate-data: MARKER}")),
        of("kubeconfig-away", &with("{token: MARKER}")),
    ]
}

fn contents() -> Vec<Case> {
    let of = |name: &str, annotation: &str, text: String| {
        let held = secret(&format!("held-{name}"), SECRET_TYPE, annotation, json!({"k": text}));
        vec![held, profile(name, json!({"policyRefs": reference("Secret", &format!("held-{name}"))}))]
    };
    let (template, lua) = ("projectsveltos.io/template", "projectsveltos.io/lua");
    let mark = marker;
    let script = |name: &str| {
        format!("function evaluate() return {{resources = [[{}]]}} end", manifest(name, &mark(name)))
    };
    let patch = |name: &str, text: String| {
        let held = secret(&format!("held-{name}"), SECRET_TYPE, "x", json!({"k": text}));
        let own = map(&format!("own-{name}"), "x", &manifest(name, "nothing"));
        let refs = json!({"policyRefs": reference("ConfigMap", &format!("own-{name}")),
            "patchesFrom": reference("Secret", &format!("held-{name}"))});
        vec![held, own, profile(name, refs)]
    };
    vec![
        deployed("content", of("content", "x", manifest("content", &mark("content")))),
        deployed(
            "content-templated",
            of(
                "content-templated",
                template,
                manifest("content-templated", "'{{ \"MARKER\" }}'")
                    .replace("MARKER", &mark("content-templated")),
            ),
        ),
        deployed("content-scripted", of("content-scripted", lua, script("content-scripted"))),
        deployed(
            "patch",
            patch("patch", format!("[{{op: replace, path: /data/secret, value: {}}}]", mark("patch"))),
        ),
        broken("content-yaml", of("content-yaml", "x", format!("a: [{}", mark("content-yaml")))),
        broken("content-key", of("content-key", "x", format!("a: b\n  {}: c\n d: e", mark("content-key")))),
        broken("content-text", of("content-text", "x", mark("content-text"))),
        broken(
            "content-parsed",
            of("content-parsed", template, format!("{{{{ {} }}}}", mark("content-parsed"))),
        ),
        broken(
            "content-fails",
            of("content-fails", template, format!("{{{{ fail \"{}\" }}}}", mark("content-fails"))),
        ),
        broken(
            "content-raises",
            of("content-raises", lua, format!("function evaluate() error('{}') end", mark("content-raises"))),
        ),
        broken("content-lua", of("content-lua", lua, format!("'{}", mark("content-lua")))),
        broken("patch-text", patch("patch-text", mark("patch-text"))),
        broken("patch-op", patch("patch-op", format!("[{{op: {}, path: /a}}]", mark("patch-op")))),
    ]
}

pub fn write_charts(folder: &Path) {
    let chart = "{{ if .Values.broken }}{{ fail .Values.secret }}{{ end }}\napiVersion: v1\nkind: ConfigMap\n\
        metadata: {name: '{{ .Release.Name }}'}\ndata: {secret: '{{ .Values.secret }}'}\n";
    write(
        &folder.join("sources.yaml"),
        &format!("charts:\n- {{repository: '{REPOSITORY}', chart: web, path: web}}\n"),
    );
    write(&folder.join("web/Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    write(&folder.join("web/templates/a.yaml"), chart);
    write(
        &folder.join("web/values.schema.json"),
        r#"{"properties": {"secret": {"type": "string", "maxLength": 200}}}"#,
    );
}

fn charts() -> Vec<Case> {
    let chart = |name: &str, repository: &str, more: Value| {
        let mut chart = json!({"repositoryURL": repository, "repositoryName": "r", "chartName": "r/web", "chartVersion": "1.0.0",
            "releaseName": name, "releaseNamespace": "default"});
        chart.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        profile(name, json!({"helmCharts": [chart]}))
    };
    let values = |name: &str, text: String| {
        let held = secret(&format!("held-{name}"), SECRET_TYPE, "x", json!({"k": text}));
        vec![
            held,
            chart(name, REPOSITORY, json!({"valuesFrom": reference("Secret", &format!("held-{name}"))})),
        ]
    };
    let access = |name: &str, repository: &str, field: &str, data: Value| {
        let named = json!({"namespace": "default", "name": format!("held-{name}")});
        let config = json!({field: named, "plainHTTP": true});
        let held = secret(&format!("held-{name}"), "Opaque", "x", data);
        vec![held, chart(name, repository, json!({"registryCredentialsConfig": config}))]
    };
    let (oci, mark) = ("oci://127.0.0.1:1/charts", marker);
    vec![
        deployed("values", values("values", format!("secret: {}", mark("values")))),
        broken("values-yaml", values("values-yaml", format!("secret: [{}", mark("values-yaml")))),
        broken("values-text", values("values-text", mark("values-text"))),
        broken(
            "values-fail",
            values("values-fail", format!("secret: {}\nbroken: true", mark("values-fail"))),
        ),
        broken("values-schema", values("values-schema", format!("secret: [{}]", mark("values-schema")))),
        broken("values-long", values("values-long", format!("secret: {}", mark("values-long").repeat(20)))),
        broken(
            "login-config",
            access(
                "login-config",
                oci,
                "credentials",
                json!({"config.json": format!("[{}", mark("login-config"))}),
            ),
        ),
        broken(
            "login-refused",
            access(
                "login-refused",
                oci,
                "credentials",
                json!({"username": "u", "password": mark("login-refused")}),
            ),
        ),
        broken("login-ca", access("login-ca", oci, "ca", json!({"ca.crt": mark("login-ca")}))),
    ]
}

fn resources() -> Vec<Case> {
    let of = |name: &str, annotation: &str, text: &str| {
        let read = secret(&format!("read-{name}"), "Opaque", "x", json!({"p": marker(name)}));
        let content = map(&format!("own-{name}"), annotation, text);
        let place = json!({"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": format!("read-{name}")});
        let spec = json!({"policyRefs": reference("ConfigMap", &format!("own-{name}")),
            "templateResourceRefs": [{"resource": place, "identifier": "S"}]});
        vec![read, content, profile(name, spec)]
    };
    let template = "projectsveltos.io/template";
    let value = "{{ (getResource \"S\").data.p | b64dec }}";
    vec![
        deployed("resource", of("resource", template, &manifest("resource", &format!("'{value}'")))),
        broken(
            "resource-fail",
            of("resource-fail", template, "{{ fail ((getResource \"S\").data.p | b64dec) }}"),
        ),
        broken(
            "resource-int",
            of("resource-int", template, "{{ mustToDate \"2006\" ((getResource \"S\").data.p | b64dec) }}"),
        ),
        broken("resource-yaml", of("resource-yaml", template, &format!("a: [{value}"))),
        broken(
            "resource-lua",
            of("resource-lua", "projectsveltos.io/lua", "function evaluate() error(resources.S.data.p) end"),
        ),
    ]
}

fn events() -> Vec<Case> {
    let held = |name: &str| {
        let (_, mut secret) = secret(&format!("event-{name}"), "Opaque", "x", json!({"p": marker(name)}));
        secret["metadata"]["labels"] = json!({"case": name});
        (CLUSTER, secret)
    };
    let source = |name: &str, selector: Value, more: Value| {
        let mut one = json!({"group": "", "version": "v1", "kind": "Secret", "labelFilters": [{"key": "case", "operation": "Equal", "value": name}]});
        one.as_object_mut().unwrap().extend(selector.as_object().unwrap().clone());
        let mut spec = json!({"collectResources": true, "resourceSelectors": [one]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (
            MANAGEMENT,
            json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": name}, "spec": spec}),
        )
    };
    let trigger = |name: &str, more: Value| {
        let mut spec = json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": name, "oneForEvent": true});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (
            MANAGEMENT,
            json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": name}, "spec": spec}),
        )
    };
    let none = || json!({});
    let instantiate = "projectsveltos.io/instantiate";
    let collected = |name: &str, text: &str| {
        let content = secret(&format!("content-of-{name}"), SECRET_TYPE, instantiate, json!({"k": text}));
        let refs = reference("Secret", &format!("content-of-{name}"));
        vec![held(name), source(name, none(), none()), content, trigger(name, json!({"policyRefs": refs}))]
    };
    let judged = |name: &str, selector: Value, more: Value| {
        vec![held(name), source(name, selector, more), trigger(name, json!({"policyRefs": []}))]
    };
    let generated = |name: &str, text: String| {
        let content = secret(&format!("from-{name}"), SECRET_TYPE, "x", json!({"k": text}));
        let generator = json!([{"namespace": "default", "name": format!("from-{name}"), "nameFormat": format!("made-{name}")}]);
        let refs = json!([{"kind": "Secret", "namespace": "projectsveltos", "name": format!("made-{name}")}]);
        let triggered = trigger(name, json!({"secretGenerator": generator, "policyRefs": refs}));
        vec![held(name), source(name, none(), none()), content, triggered]
    };
    let value = "{{ index .Resource.data \"p\" | b64dec }}";
    let (raises, mark) = ("function evaluate() error(obj.data.p) end", marker);
    let chooses = "function evaluate() error(resources[1].data.p) end";
    vec![
        deployed("event", collected("event", &manifest("event", &format!("'{value}'")))),
        broken("event-fail", collected("event-fail", &format!("{{{{ fail \"{}\" }}}}", mark("event-fail")))),
        broken("event-yaml", collected("event-yaml", &format!("a: [{value}"))),
        broken("judged-raises", judged("judged-raises", json!({"evaluate": raises}), none())),
        broken("chosen-raises", judged("chosen-raises", none(), json!({"aggregatedSelection": chooses}))),
        deployed("generated", generated("generated", manifest("generated", &mark("generated")))),
        broken(
            "generated-fail",
            generated("generated-fail", format!("{{{{ fail \"{}\" }}}}", mark("generated-fail"))),
        ),
        broken("generated-yaml", generated("generated-yaml", format!("a: [{}", mark("generated-yaml")))),
    ]
}
