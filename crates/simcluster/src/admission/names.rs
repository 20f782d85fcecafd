//! Rules for names, labels and finalizers.

use serde_json::Value;

use crate::kinds::ResourceDef;
use crate::object::{Json, meta_str};
use crate::status::Cause;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with the metadata of an object.
pub fn check(body: &Json, def: &ResourceDef) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_name(meta_str(body, "name"), def, &mut causes);
    let labels = body.get("metadata").and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        match value.as_str() {
            Some(text) if is_label_value(text) => {}
            _ => causes.push(Cause::invalid("metadata.labels", &value.to_string(), LABEL_VALUE)),
        }
        if !is_qualified(key) {
            let why = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
            causes.push(Cause::invalid("metadata.labels", &Value::from(key.as_str()).to_string(), why));
        }
    }
    if &*def.key == "customresourcedefinitions.apiextensions.k8s.io" {
        check_crd(body, &mut causes);
    }
    causes
}

fn check_name(name: &str, def: &ResourceDef, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
        return;
    }
    let quoted = Value::from(name).to_string();
    if &*def.group == "rbac.authorization.k8s.io" {
        if name.contains(['/', '%']) || name == "." || name == ".." {
            causes.push(Cause::invalid("metadata.name", &quoted, "may not contain '/' or '%'"));
        }
    } else if matches!(&*def.key, "namespaces" | "services") {
        if name.len() > 63 || !is_label(name) {
            causes.push(Cause::invalid("metadata.name", &quoted, LABEL));
        }
    } else if name.len() > 253 || !name.split('.').all(is_label) {
        causes.push(Cause::invalid("metadata.name", &quoted, SUBDOMAIN));
    }
}

fn check_crd(body: &Json, causes: &mut Vec<Cause>) {
    let spec = body.get("spec");
    let text = |path: &[&str]| {
        let found = path.iter().fold(spec, |value, part| value.and_then(|value| value.get(*part)));
        found.and_then(Value::as_str).unwrap_or_default()
    };
    let wanted = format!("{}.{}", text(&["names", "plural"]), text(&["group"]));
    if meta_str(body, "name") != wanted {
        let quoted = Value::from(meta_str(body, "name")).to_string();
        causes.push(Cause::invalid("metadata.name", &quoted, "must be spec.names.plural+\".\"+spec.group"));
    }
    if text(&["names", "kind"]).is_empty() {
        causes.push(Cause::required("spec.names.kind", ""));
    }
    let scope = text(&["scope"]);
    if !matches!(scope, "Namespaced" | "Cluster") {
        let message =
            format!("Unsupported value: \"{scope}\": supported values: \"Cluster\", \"Namespaced\"");
        causes.push(Cause { reason: "FieldValueNotSupported", message, field: "spec.scope".into() });
    }
    let versions = spec.and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let stored =
        versions.into_iter().flatten().filter(|version| version.get("storage") == Some(&Value::Bool(true)));
    if stored.count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", "{}", why));
    }
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= 63 && is_name_part(text))
}

fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && name.len() <= 63 && is_name_part(name),
        None => key.len() <= 63 && is_name_part(key),
    }
}

fn is_name_part(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ends(text.chars().next()) && ends(text.chars().next_back()) && text.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_their_place() {
        assert!(is_label("a-1") && !is_label("A") && !is_label("-a") && !is_label(""));
        assert!(
            is_label_value("") && is_label_value("A_b.c") && !is_label_value("a b") && !is_label_value("-a")
        );
        assert!(
            is_qualified("example.com/A") && is_qualified("a") && !is_qualified("a/b/c") && !is_qualified("")
        );
    }
}
