//! Random templates of charts, and what they include.

use rand::{Rng, rngs::StdRng};

use super::{
    expressions::{calm, expression, operand},
    pick, yaml,
};

/// Definitions that templates of this chart and of others include.
pub fn helpers(r: &mut StdRng, name: &str) -> String {
    let mut text = format!(
        "{{{{- define \"{name}.name\" -}}}}\n{{{{ .Release.Name }}}}-{{{{ {} }}}}\n{{{{- end }}}}\n",
        calm(r)
    );
    text += &format!(
        "{{{{ define \"{name}.labels\" }}}}\napp: {{{{ {} | quote }}}}\nversion: {{{{ {} | toJson }}}}\n{{{{ end }}}}\n",
        calm(r),
        calm(r)
    );
    text += &format!(
        "{{{{- define \"shared\" -}}}}\nof {name} {{{{ .Chart.Name }}}} {{{{ {} | toJson }}}}\n{{{{- end -}}}}\n",
        calm(r)
    );
    if r.random_bool(0.7) {
        text += &format!("{{{{- define \"own\" }}}}{name}{{{{ end -}}}}\n");
    }
    text
}

const KINDS: &[&str] = &[
    "ConfigMap",
    "ConfigMap",
    "Secret",
    "Deployment",
    "Service",
    "Namespace",
    "Job",
    "Pod",
    "CustomResourceDefinition",
    "ClusterRole",
    "Thing",
    "Ingress",
    "List",
    "\"ServiceAccount\"",
    "APIService",
    "123",
    "null",
    "true",
    "StorageClass",
];

const METADATA: &[&str] = &[
    "  annotations: {helm.sh/hook: pre-install}\n",
    "  annotations:\n    helm.sh/hook: post-install,pre-upgrade\n    helm.sh/hook-weight: \"-5\"\n    helm.sh/hook-delete-policy: hook-succeeded\n",
    "  annotations:\n    \"helm.sh/hook\": test\n    \"helm.sh/hook-weight\": 3\n",
    "  annotations: {helm.sh/hook: nothing-known}\n",
    "  annotations: {helm.sh/hook: \" pre-install , test\", helm.sh/hook-weight: x}\n",
    "  annotations: {a: 1, b: true, c: null, d: 1.50}\n",
    "  annotations:\n",
    "  labels: {a: b}\n",
    "  annotations: [a]\n",
    "  annotations: {a: {b: c}}\n",
    "  annotations: {helm.sh/hook: }\n",
    "  annotations: {helm.sh/hook: test-success, helm.sh/hook-delete-policy: \"before-hook-creation, hook-failed\"}\n",
    "  Annotations: {helm.sh/hook: pre-install}\n",
    "  annotations: {helm.sh/hook: pre-delete}\n",
    "  annotations: {helm.sh/hook: post-rollback, helm.sh/hook-weight: \"0x1\"}\n",
];

/// A template of some documents.
pub fn file(r: &mut StdRng, name: &str, below: &[&str]) -> String {
    let mut text = String::new();
    if r.random_bool(0.3) {
        text += pick(
            r,
            &[
                "# comment {{ .Chart.Name }}\n",
                "{{/* note */}}\n",
                "{{- /* note */ -}}\n",
                "---\n",
                "\n\n",
                "# c\n---\n",
                "--- # c\n",
                "%YAML 1.1\n---\n",
                "{{- $v := .Values }}\n",
            ],
        );
    }
    for number in 0..r.random_range(1..4) {
        if number > 0 {
            let odd = [
                "--- \n",
                "---\n# only a comment\n---\n",
                "\n---\n---\n",
                "---\t\n",
                "--- # c\n",
                "...\n---\n",
                "  ---\n",
                "----\n",
                "---a: b\n",
            ];
            text += if r.random_bool(0.1) { pick(r, &odd) } else { "---\n" };
        }
        if r.random_bool(0.15) {
            let body = document(r, name, below, number);
            text +=
                &format!("{{{{- if {} }}}}\n{body}{{{{- else }}}}\n# none\n{{{{- end }}}}\n", operand(r, 1));
        } else {
            text += &document(r, name, below, number);
        }
    }
    match r.random_range(0..40) {
        0..=1 => text.replace('\n', "\r\n"),
        2 => text.trim_end().to_owned(),
        3 => format!("\u{feff}{text}"),
        4 => format!("{text}\n\n \n"),
        _ => text,
    }
}

fn document(r: &mut StdRng, name: &str, below: &[&str], number: usize) -> String {
    match r.random_range(0..80) {
        0 => return yaml::values(r, below),
        1 => return format!("{{{{ {} }}}}\n", expression(r, 2)),
        2 => {
            return pick(
                r,
                &[
                    "",
                    "# only {{ .Release.Name }}\n",
                    "null\n",
                    "[]\n",
                    "- a\n",
                    "text\n",
                    "{}\n",
                    " \n\t\n",
                    "kind: X\n",
                    "? a\n",
                    "\"x\"\n",
                    "1\n",
                    "~\n",
                    "a: b\n c: d\n",
                ],
            )
            .to_owned();
        }
        _ => {}
    }
    let mut text = format!("apiVersion: v1\nkind: {}\n", pick(r, KINDS));
    if r.random_bool(0.92) {
        text += &format!("metadata:\n  name: {name}-{number}\n");
        if r.random_bool(0.2) {
            text += pick(r, METADATA);
        }
        if r.random_bool(0.2) {
            text += &format!("  labels:\n    {{{{- include \"{name}.labels\" . | nindent 4 }}}}\n");
        }
    }
    text += pick(r, &["data:\n", "data:\n", "spec:\n", "stringData:\n", "data: # note\n"]);
    for key in 0..r.random_range(1..4) {
        text += &entry(r, key);
    }
    text
}

/// An entry of a document's data.
fn entry(r: &mut StdRng, key: usize) -> String {
    let value = if r.random_bool(0.75) { calm(r) } else { expression(r, 1) };
    match r.random_range(0..16) {
        0..=3 => format!("  k{key}: {{{{ {value} | toJson }}}}\n"),
        4..=5 => format!("  k{key}: {{{{ {value} | quote }}}}\n"),
        6..=8 => format!("  k{key}:\n    {{{{- {value} | toYaml | nindent 4 }}}}\n"),
        9 => format!("  k{key}: |\n    {{{{- {value} | toToml | nindent 4 }}}}\n"),
        10 if r.random_bool(0.3) => format!("  k{key}: {{{{ {value} }}}}\n"),
        11 => format!(
            "  {{{{- range $i, $e := {} }}}}\n  r{key}-{{{{ $i }}}}: {{{{ $e | toJson }}}}\n  {{{{- end }}}}\n",
            calm(r)
        ),
        12 => format!(
            "  {{{{- with {} }}}}\n  w{key}: {{{{ . | toJson }}}}\n  {{{{- else }}}}\n  e{key}: none\n  {{{{- end }}}}\n",
            calm(r)
        ),
        13 => format!("  s{key}: {}\n", yaml::scalar(r).replace('\n', "\n  ")),
        14 => format!("  p{key}: |\n    {{{{- toYamlPretty {} | nindent 4 }}}}\n", calm(r)),
        _ => format!(
            "  k{key}: {{{{ {value} | toString | squote }}}} # {}\n",
            pick(r, &["note", "{{ .Chart.Name }}", ""])
        ),
    }
}
