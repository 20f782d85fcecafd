//! What is wrong with manifests before anything is deployed: `sluice check`.
//!
//! ```text
//! manifest ─► fields (as the stages read them) ─► Lua, Go templates ─► fields that its definition does not have
//! ```

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use sluice_api::model::{self, Check, ClusterSet, EventSource, Profile, SpecCommon, Trigger, ignored};
use sluice_api::{FieldError, Gvk, crd, object, string_data};
use sluice_health::Program;
use sluice_renderer_core::{broken_templates, check_source};
use sluice_script::{Script, unknown_functions};
use sluice_template::{Options, Program as Template, Stage};

use crate::served::Definitions;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It works, but not as it looks.
    Warning,
    /// It does not work.
    Error,
}

/// Something that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Kind, namespace and name.
    pub object: String,
    /// Path of the field, for example `spec.policyRefs[0].name`; empty for the whole object.
    pub field: String,
    /// What is wrong and what to write instead.
    pub reason: String,
}

/// Everything that can be told of a manifest by itself, and by the definitions of kinds that come with it. Of kinds that Sluice
/// does not read it is what a server would drop.
pub fn check(manifest: &Value, definitions: &Definitions) -> Vec<Finding> {
    let mut findings = Findings { object: object::describe(manifest), found: Vec::new() };
    match object::text(manifest, &["kind"]) {
        "EventSource" => {
            findings.read(check_source(manifest));
            findings.scripts(manifest);
        }
        "EventTrigger" | "EventBasedAddOn" => {
            let trigger = findings.read(Trigger::read(manifest));
            findings.unsupported(trigger.as_ref().map(|trigger| &trigger.common));
            findings.checks(trigger.as_ref().map(|trigger| &trigger.common));
            findings.broken_templates(manifest);
        }
        "ClusterProfile" | "Profile" | "RoleRequest" => {
            let profile = findings.read(Profile::read(manifest));
            findings.unsupported(profile.as_ref().map(|profile| &profile.common));
            findings.checks(profile.as_ref().map(|profile| &profile.common));
            findings.broken_templates(manifest);
        }
        "ClusterSet" | "Set" => drop(findings.read(ClusterSet::read(manifest))),
        "ConfigMap" | "Secret" => findings.content(manifest),
        _ => {}
    }
    for FieldError { field, reason, .. } in ignored(manifest) {
        findings.add(Severity::Warning, field, reason);
    }
    findings.definition(manifest);
    findings.dropped(manifest, definitions);
    findings.found
}

struct Findings {
    object: String,
    found: Vec<Finding>,
}

// === impl Findings ===

impl Findings {
    fn add(&mut self, severity: Severity, field: impl Into<String>, reason: impl Into<String>) {
        let (object, field, reason) = (self.object.clone(), field.into(), reason.into());
        self.found.push(Finding { severity, object, field, reason });
    }

    fn read<T>(&mut self, read: Result<T, FieldError>) -> Option<T> {
        read.map_err(|FieldError { field, reason, .. }| self.add(Severity::Error, field, reason)).ok()
    }

    fn unsupported(&mut self, common: Option<&SpecCommon>) {
        for error in common.into_iter().flat_map(|common| &common.unsupported) {
            self.add(Severity::Warning, &error.field, &error.reason);
        }
    }

    /// The values of a ConfigMap or Secret, where its annotations say that they are templates or Lua.
    fn content(&mut self, manifest: &Value) {
        let has = |annotation: &str| object::annotation(manifest, annotation).is_some();
        let engine = object::annotation(manifest, "sluice.dev/engine");
        if !matches!(engine, None | Some("go" | "tera")) {
            let reason = "is no template engine; use \"tera\" or \"go\", or remove the annotation";
            self.add(Severity::Error, "metadata.annotations.sluice.dev/engine", reason);
        }
        if engine == Some("tera") {
            return;
        }
        let mut folded = manifest.clone();
        if let Err(reason) = string_data::fold(&mut folded) {
            return self.add(Severity::Error, "stringData", reason);
        }
        let stages: &[Stage] = if has(model::INSTANTIATE) {
            &[Stage::Event]
        } else if has(model::TEMPLATE) {
            // Triggers of 2023 instantiate what is annotated so; today it is rendered for the destination.
            &[Stage::Deploy, Stage::Event]
        } else {
            &[]
        };
        if !stages.is_empty()
            && manifest.get("data").is_some()
            && object::text(manifest, &["kind"]) == "ConfigMap"
        {
            self.templates(manifest, &["data"], stages);
        }
        let scripts = if has(model::LUA) { manifest.get("data").and_then(Value::as_object) } else { None };
        for (key, text) in scripts.into_iter().flatten() {
            let text = text.as_str().filter(|text| !text.contains("{{"));
            let field = format!("data.{key}");
            match text.map(Script::compile) {
                Some(Err(error)) => self.add(Severity::Error, field, error.to_string()),
                _ => self.calls(field, text.unwrap_or_default()),
            }
        }
    }

    /// What the scripts of an EventSource call and nobody has defined.
    fn scripts(&mut self, manifest: &Value) {
        let Ok(source) = EventSource::read(manifest) else { return };
        for selector in &source.selectors {
            self.calls(&selector.evaluate_path, selector.evaluate.as_deref().unwrap_or_default());
        }
        self.calls(
            format!("spec.{}", EventSource::AGGREGATE),
            source.aggregate.as_deref().unwrap_or_default(),
        );
    }

    /// Scripts and rules of `preDeployChecks` and so on that are none.
    fn checks(&mut self, common: Option<&SpecCommon>) {
        let all = common.and_then(|common| Check::all(&common.raw).ok()).unwrap_or_default();
        for check in all {
            match Program::compile(&check) {
                Err(wrong) => self.add(Severity::Error, wrong.field, wrong.error.to_string()),
                Ok(_) => {
                    self.calls(format!("{}.script", check.path), check.script.as_deref().unwrap_or_default())
                }
            }
        }
    }

    /// Every call of a script of what nobody has defined.
    fn calls(&mut self, field: impl Into<String>, script: &str) {
        let field = field.into();
        for unknown in unknown_functions(script) {
            let reason =
                format!("evaluate:{}: {} is not defined; correct the name", unknown.line, unknown.name);
            self.add(Severity::Error, &field, reason);
        }
    }

    fn broken_templates(&mut self, manifest: &Value) {
        for (field, reason) in broken_templates(manifest) {
            self.add(Severity::Error, field, reason);
        }
    }

    /// Every text below a field must be a template of one of these stages.
    fn templates(&mut self, manifest: &Value, path: &[&str], stages: &[Stage]) {
        let Some(value) = object::at(manifest, path) else { return };
        let mut texts = Vec::new();
        collect(value, path.join("."), &mut texts);
        for (field, text) in texts {
            let compile = |stage: &Stage| {
                let options = Options { stage: *stage, ..Options::default() };
                Template::compile(&field, text, &options).err().map(|error| error.to_string())
            };
            let errors: Option<Vec<String>> = stages.iter().map(compile).collect();
            if let Some(error) = errors.and_then(|errors| errors.into_iter().next()) {
                self.add(Severity::Error, field.clone(), error);
            }
        }
    }

    /// What no server keeps: a namespace of what is in none, and fields that a definition among the manifests does not have.
    fn dropped(&mut self, manifest: &Value, definitions: &Definitions) {
        let gvk = Gvk::parse(object::text(manifest, &["apiVersion"]), object::text(manifest, &["kind"]));
        let is_in_none = definitions.kind(&gvk).is_some_and(|kind| kind.is_cluster_scoped);
        if is_in_none && !object::namespace(manifest).is_empty() {
            let reason = format!("is dropped: a {} is in no namespace; leave it out", gvk.kind);
            self.add(Severity::Warning, "metadata.namespace", reason);
        }
        for field in definitions.unknown(manifest) {
            self.add(Severity::Warning, field, "is no field of its definition and is dropped; remove it");
        }
    }

    /// Fields that the definition of the kind does not have: whether an API server keeps them or not, nobody reads them.
    fn definition(&mut self, manifest: &Value) {
        static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(crd::all);
        let group = object::text(manifest, &["apiVersion"]).split('/').next().unwrap_or_default();
        let kind = object::text(manifest, &["kind"]);
        let is_it = |definition: &&Value| {
            object::text(definition, &["spec", "group"]) == group
                && object::text(definition, &["spec", "names", "kind"]) == kind
        };
        let Some(definition) = DEFINITIONS.iter().find(is_it) else { return };
        let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec");
        if let (Some(schema), Some(spec)) = (schema, manifest.get("spec")) {
            self.unknown(schema, spec, "spec");
        }
    }

    fn unknown(&mut self, schema: &Value, value: &Value, path: &str) {
        match value {
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.unknown(schema, item, &format!("{path}[{index}]"));
                }
            }
            Value::Object(map) => {
                let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
                for (key, value) in map {
                    let path = format!("{path}.{key}");
                    match fields.get(key) {
                        Some(_) if key == "labelsFilters" => {
                            let reason = "is the spelling of older examples, which the original ignores; write labelFilters";
                            self.add(Severity::Warning, path, reason);
                        }
                        Some(schema) => self.unknown(schema, value, &path),
                        None => {
                            let near = nearest(key, fields.keys());
                            let reason = format!("is no field of it and has no effect{near}");
                            self.add(Severity::Warning, path, reason);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// The texts with actions below a value, with their paths.
fn collect<'v>(value: &'v Value, path: String, texts: &mut Vec<(String, &'v str)>) {
    match value {
        Value::String(text) if text.contains("{{") => texts.push((path, text)),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| collect(item, format!("{path}[{index}]"), texts));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| collect(value, format!("{path}.{key}"), texts))
        }
        _ => {}
    }
}

/// What was perhaps meant.
fn nearest<'k>(key: &str, known: impl Iterator<Item = &'k String>) -> String {
    let near = known.map(|other| (strsim::levenshtein(&key.to_lowercase(), &other.to_lowercase()), other));
    match near.min() {
        Some((distance, other)) if distance <= 2 => format!("; did you mean {other}?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::yaml;

    use super::*;

    fn found(text: &str) -> Vec<(Severity, String, String)> {
        let manifest = yaml::documents(text).unwrap().remove(0);
        check(&manifest, &Definitions::default())
            .into_iter()
            .map(|finding| (finding.severity, finding.field, finding.reason))
            .collect()
    }

    fn only(text: &str) -> (Severity, String, String) {
        let mut all = found(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    const TRIGGER: &str = "apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {name: t}
spec:
  sourceClusterSelector: {matchLabels: {env: fv}}
  eventSourceName: s
  policyRefs:
  - {kind: ConfigMap, namespace: default, name: NAME}
";

    #[test]
    fn what_has_no_effect_is_a_warning() {
        let (severity, field, reason) = only(&TRIGGER.replace(
            "metadata: {name: t}",
            "metadata: {name: t, labels: {projectsveltos.io/admin-name: a}}",
        ));
        assert_eq!(
            (severity, field.as_str()),
            (Severity::Warning, "metadata.labels.projectsveltos.io/admin-name")
        );
        assert!(reason.starts_with("has no effect"), "{reason}");
    }

    #[test]
    fn what_is_good_has_no_findings() {
        assert_eq!(found(&TRIGGER.replace("NAME", "'{{ .Resource.metadata.name }}-x'")), []);
        assert_eq!(found("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {anything: 1}\n"), []);
    }

    #[test]
    fn scripts_and_rules_of_checks_are_read() {
        let with = |check: &str| {
            format!(
                "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {{name: p}}\nspec:\n  validateHealths:\n  - \
                 {{name: a, featureID: Helm, version: v1, kind: Pod, {check}}}\n"
            )
        };
        let path = "spec.validateHealths[0]";
        assert_eq!(only(&with("script: 'function evaluate('")).1, format!("{path}.script"));
        assert_eq!(only(&with("script: 'function evaluate() nothing() end'")).1, format!("{path}.script"));
        let rules = "evaluateCEL: [{name: r, rule: '1 +'}]";
        assert_eq!(only(&with(rules)).1, format!("{path}.evaluateCEL[0].rule"));
        assert!(found(&with("script: 'function evaluate() return {healthy = true} end'")).is_empty());
    }

    #[test]
    fn fields_are_read_as_the_stages_read_them() {
        let (severity, field, reason) = only(&TRIGGER.replace("kind: ConfigMap", "kind: Pod"));
        assert_eq!((severity, field.as_str()), (Severity::Error, "spec.policyRefs[0].kind"), "{reason}");
        let profile = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: p}\nspec: {syncMode: Sometimes}\n";
        assert_eq!(only(profile).1, "spec.syncMode");
    }

    #[test]
    fn templates_are_parsed_where_they_are() {
        let (severity, field, reason) = only(&TRIGGER.replace("NAME", "'{{ .Resource.metadata.name }'"));
        assert_eq!((severity, field.as_str()), (Severity::Error, "spec.policyRefs[0].name"), "{reason}");
        assert!(reason.ends_with("; correct the template"), "{reason}");
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {projectsveltos.io/instantiate: ok}}\ndata:\n  a.yaml: '{{ nosuch 1 }}'\n";
        let (_, field, reason) = only(map);
        assert!(field == "data.a.yaml" && reason.contains("nosuch"), "{field}: {reason}");
        assert_eq!(found(&map.replace("projectsveltos.io/instantiate", "else")), [], "it is no template");
    }

    #[test]
    fn what_is_no_template_may_look_like_one() {
        let text = TRIGGER.replace("NAME", "content") + "  extraAnnotations: {a: '{{ whatever'}\n";
        assert_eq!(found(&text), []);
    }

    #[test]
    fn all_templates_are_looked_at_also_where_a_field_cannot_be_read() {
        let text = TRIGGER.replace("NAME", "'{{ a'") + "  cloudEventAction: '{{ b'\n  tier: x\n";
        let fields: Vec<_> = found(&text).into_iter().map(|(_, field, _)| field).collect();
        assert_eq!(fields, ["spec.tier", "spec.cloudEventAction", "spec.policyRefs[0].name"]);
    }

    #[test]
    fn scripts_are_compiled() {
        let source = |script: &str| {
            format!(
                "apiVersion: lib.projectsveltos.io/v1beta1\nkind: EventSource\nmetadata: {{name: s}}\nspec:\n  resourceSelectors:\n  - {{version: v1, kind: Pod}}\n  - {{version: v1, kind: Pod, evaluate: '{script}'}}\n"
            )
        };
        assert_eq!(found(&source("function evaluate() return {matching = true} end")), []);
        let (severity, field, reason) = only(&source("function evaluate( end"));
        assert_eq!((severity, field.as_str()), (Severity::Error, "spec.resourceSelectors[1].evaluate"));
        assert!(!reason.contains("EventSource") && reason.ends_with("; correct the script"), "{reason}");
        let rule = "apiVersion: lib.projectsveltos.io/v1beta1\nkind: EventSource\nmetadata: {name: s}\nspec:\n  resourceSelectors:\n  - {version: v1, kind: Pod, includeDeletingResources: true, evaluateCEL: [{name: a, rule: resource.x == 1}, {name: b, rule: resource.}]}\n";
        assert_eq!(found(&rule.replace("resource.}", "'true'}")), []);
        let (severity, field, reason) = only(rule);
        assert_eq!(
            (severity, field.as_str()),
            (Severity::Error, "spec.resourceSelectors[0].evaluateCEL[1].rule")
        );
        assert_eq!(reason, "1:10: the end stands where a field is expected; correct the rule");
        let over_all =
            source("function evaluate() return {matching = true} end") + "  aggregatedSelection: return {\n";
        assert_eq!(only(&over_all).1, "spec.aggregatedSelection");
        let content = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {projectsveltos.io/lua: ok}}\ndata: {x: function evaluate(}\n";
        assert_eq!(only(content).1, "data.x");
    }

    #[test]
    fn calls_of_what_nobody_has_defined_are_found() {
        let content = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {projectsveltos.io/lua: ok}}\ndata:\n  x: |\n    function evaluate()\n      return { resources = base64Encod('a') }\n    end\n";
        let expected = (
            Severity::Error,
            "data.x".to_owned(),
            "evaluate:2: base64Encod is not defined; correct the name".to_owned(),
        );
        assert_eq!(only(content), expected);
        assert_eq!(found(&content.replace("base64Encod(", "base64Encode(")), []);
        let source = "apiVersion: lib.projectsveltos.io/v1beta1\nkind: EventSource\nmetadata: {name: s}\nspec:\n  resourceSelectors:\n  - {version: v1, kind: Pod, evaluate: 'function evaluate() return require(\"json\") and {matching = check(obj)} end'}\n  aggregatedSelection: function evaluate() return {resources = chosen(resources)} end\n";
        let fields: Vec<_> = found(source).into_iter().map(|(_, field, _)| field).collect();
        assert_eq!(fields, ["spec.resourceSelectors[0].evaluate", "spec.aggregatedSelection"]);
    }

    #[test]
    fn what_no_server_keeps_is_a_warning() {
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r, namespace: ns}\n";
        assert_eq!(only(role).1, "metadata.namespace");
        let profile = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: p, namespace: ns}\nspec: {}\n";
        assert_eq!(only(profile).1, "metadata.namespace");
        let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  group: example.com\n  scope: Cluster\n  names: {kind: Thing, plural: things}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]\n";
        let definitions = Definitions::among(&yaml::documents(definition).unwrap());
        let thing = yaml::documents("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: ns}\nspec: {size: 1, colour: red}\n").unwrap().remove(0);
        let fields: Vec<_> = check(&thing, &definitions).into_iter().map(|finding| finding.field).collect();
        assert_eq!(fields, ["metadata.namespace", "spec.colour"]);
        assert_eq!(check(&thing, &Definitions::default()), []);
    }

    #[test]
    fn what_has_no_effect_is_a_warning_with_what_was_meant() {
        let (severity, field, reason) =
            only(&TRIGGER.replace("  eventSourceName: s", "  eventSourceName: s\n  oneForEvents: true"));
        assert_eq!((severity, field.as_str()), (Severity::Warning, "spec.oneForEvents"));
        assert!(reason.ends_with("did you mean oneForEvent?"), "{reason}");
        let source = "apiVersion: lib.projectsveltos.io/v1alpha1\nkind: EventSource\nmetadata: {name: s}\nspec: {version: v1, kind: Service, labelsFilters: [{key: a, operation: Has}]}\n";
        assert_eq!(only(source).1, "spec.labelsFilters");
    }
}
