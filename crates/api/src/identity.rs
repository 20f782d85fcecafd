//! Whether an API server would take an object's `apiVersion`, `kind`, name and namespace.
//!
//! The rules are those of the API machinery, and where its servers differ by version the more lenient one is checked:
//! what passes here may still be refused, what is refused here never works, or would be another path on the way there.

use serde_json::Value;

use crate::{
    kinds::{self, Naming},
    names::{is_object_name, is_path_segment},
    object::{self, Gvk, ObjectKey},
};

/// What is wrong with an object's identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field} {value:?} {problem}")]
pub struct IdentityError {
    object: String,
    field: &'static str,
    value: String,
    problem: &'static str,
}

const SUBDOMAIN: &str = "is no DNS subdomain; use at most 253 lower-case letters, digits, '-' and '.', and begin and \
     end each part between dots with a letter or digit";
const LABEL: &str = "is no DNS label; use at most 63 lower-case letters, digits and '-', and begin and end with a letter \
     or digit";
const SEGMENT: &str =
    "cannot be part of a path; use a name that is not '.' or '..' and has no '/', '%', '?' or '#' in it";
const API_VERSION: &str = "is no API version; write <version> for core kinds and <group>/<version> for others, such as \
     v1 or apps/v1";
const KIND: &str =
    "is no kind; use at most 63 letters, digits and '-', and begin with a letter, such as ConfigMap";
const MISSING: &str = "is missing or no text; set it";

/// Refuses an object whose identity no API server takes.
///
/// # Errors
/// The object, the first field that is wrong, and how to write it.
pub fn validate(object: &Value) -> Result<(), IdentityError> {
    let (api_version, kind) = (object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
    let (name, namespace) = (object::name(object), object::namespace(object));
    let wrong = |field, value: &str, problem| {
        Err(IdentityError { object: object::describe(object), field, value: value.to_owned(), problem })
    };
    for (field, value) in [("apiVersion", api_version), ("kind", kind), ("metadata.name", name)] {
        if value.is_empty() {
            return wrong(field, value, MISSING);
        }
    }
    if !is_api_version(api_version) {
        return wrong("apiVersion", api_version, API_VERSION);
    }
    if !is_kind(kind) {
        return wrong("kind", kind, KIND);
    }
    if let Err(problem) = check_name(&Gvk::parse(api_version, kind), name) {
        return wrong("metadata.name", name, problem);
    }
    match object::at(object, &["metadata", "namespace"]) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(_)) if namespace.is_empty() || is_label(namespace) => Ok(()),
        Some(Value::String(_)) => wrong("metadata.namespace", namespace, LABEL),
        Some(other) => wrong("metadata.namespace", &other.to_string(), "is no text; put it in quotes"),
    }
}

/// Refuses an object that nobody could read: who names it could mean another one by it.
///
/// # Errors
/// The field of the reference that is wrong, and how to write it.
pub fn validate_reference(key: &ObjectKey) -> Result<(), String> {
    let wrong = |field: &str, value: &str, problem: &str| Err(format!("{field}: {value:?} {problem}"));
    let ObjectKey { gvk, namespace, name } = key;
    // Without a version the one that the server prefers is meant.
    let is_version = gvk.version.is_empty() || (is_label(&gvk.version) && begins_with_letter(&gvk.version));
    if !is_version || !(gvk.group.is_empty() || is_object_name(&gvk.group)) {
        return wrong("apiVersion", &gvk.api_version(), API_VERSION);
    }
    if !is_kind(&gvk.kind) {
        return wrong("kind", &gvk.kind, KIND);
    }
    if !namespace.is_empty() && !is_label(namespace) {
        return wrong("namespace", namespace, LABEL);
    }
    if is_path_segment(name) { Ok(()) } else { wrong("name", name, SEGMENT) }
}

fn check_name(gvk: &Gvk, name: &str) -> Result<(), &'static str> {
    match naming(gvk) {
        Naming::Subdomain if !is_object_name(name) => Err(SUBDOMAIN),
        Naming::Label if !is_label(name) => Err(LABEL),
        Naming::Segment if !is_path_segment(name) => Err(SEGMENT),
        _ => Ok(()),
    }
}

/// Services began with a letter until 1.34.
fn naming(gvk: &Gvk) -> Naming {
    // Served by an API server of their own, with names such as `system:admin` and `app:latest`.
    if gvk.group == "openshift.io" || gvk.group.ends_with(".openshift.io") {
        return Naming::Segment;
    }
    kinds::known(gvk).map(|kind| kind.naming).unwrap_or_default()
}

/// Whether this is a version, or a group and a version.
fn is_api_version(text: &str) -> bool {
    let (group, version) =
        text.split_once('/').map_or((None, text), |(group, version)| (Some(group), version));
    group.is_none_or(is_object_name) && is_label(version) && begins_with_letter(version)
}

fn is_kind(text: &str) -> bool {
    is_label(&text.to_ascii_lowercase()) && begins_with_letter(text)
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && !text.contains('.') && is_object_name(text)
}

fn begins_with_letter(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_that_would_be_another_path_is_refused() {
        let key = |gvk: Gvk, namespace: &str, name: &str| ObjectKey {
            gvk,
            namespace: namespace.into(),
            name: name.into(),
        };
        let (core, role) =
            (Gvk::new("", "v1", "ConfigMap"), Gvk::new("rbac.authorization.k8s.io", "", "Role"));
        assert_eq!(validate_reference(&key(core.clone(), "a", "b.c")), Ok(()));
        assert_eq!(validate_reference(&key(role.clone(), "", "system:x")), Ok(()));
        for (wrong, field) in [
            (key(core.clone(), "kube-system/secrets?x=", "b"), "namespace"),
            (key(core.clone(), "..", "b"), "namespace"),
            (key(core.clone(), "a", "b?watch=1"), "name"),
            (key(core.clone(), "a", "../../secrets/s"), "name"),
            (key(core.clone(), "a", "b#c"), "name"),
            (key(core.clone(), "a", "b%2f"), "name"),
            (key(core, "a", "b\nc"), "name"),
            (key(Gvk::new("../../api", "v1", "Pod"), "a", "b"), "apiVersion"),
            (key(Gvk::new("", "v1/secrets?", "Pod"), "a", "b"), "apiVersion"),
            (key(Gvk::new("", "v1", "Pod/../x"), "a", "b"), "kind"),
        ] {
            let error = validate_reference(&wrong).unwrap_err();
            assert!(error.starts_with(&format!("{field}: ")), "{wrong}: {error}");
        }
    }

    fn mk_object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace, "name": name}})
    }

    fn named(kind: &str, name: &str) -> Result<(), String> {
        let group = if kind.contains("Role") { "rbac.authorization.k8s.io/v1" } else { "v1" };
        validate(&mk_object(group, kind, "n", name)).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_subdomains_unless_their_kind_says_otherwise() {
        for name in ["a/b", "../x", " ", "front p1", "A", "a_b", "-a", "a-", "a..b", "a.", "é", "a%b", "."] {
            assert!(named("ConfigMap", name).unwrap_err().contains("is no DNS subdomain; use"), "{name}");
        }
        assert!(named("ConfigMap", &"a".repeat(254)).is_err());
        for name in ["a", "1", "kube-root-ca.crt", "a.b-c", &"a".repeat(253)] {
            assert_eq!(named("ConfigMap", name), Ok(()), "{name}");
        }
        for name in ["system:node", "Front P1", "a_b", "é", &"a".repeat(300)] {
            assert_eq!(named("ClusterRole", name), Ok(()), "{name}");
        }
        for name in ["a/b", "..", ".", "100%"] {
            assert!(named("RoleBinding", name).unwrap_err().contains("cannot be part of a path"), "{name}");
        }
        for kind in ["Namespace", "Service"] {
            assert!(named(kind, "a.b").unwrap_err().contains("is no DNS label"));
            assert!(named(kind, &"a".repeat(64)).is_err() && named(kind, &"a".repeat(63)).is_ok());
        }
        assert!(validate(&mk_object("user.openshift.io/v1", "User", "", "system:admin")).is_ok());
        assert!(validate(&mk_object("example.com/v1", "Role", "", "system:admin")).is_err());
    }

    #[test]
    fn errors_name_the_object_the_field_and_the_remedy() {
        assert_eq!(
            validate(&mk_object("v1", "ConfigMap", "shop", "a/b")).unwrap_err().to_string(),
            "ConfigMap shop/a/b: metadata.name \"a/b\" is no DNS subdomain; use at most 253 lower-case letters, digits, \
             '-' and '.', and begin and end each part between dots with a letter or digit"
        );
        let error = validate(&json!({"kind": "Pod", "apiVersion": "v1", "metadata": {}})).unwrap_err();
        assert_eq!(error.to_string(), "Pod : metadata.name \"\" is missing or no text; set it");
    }

    #[test]
    fn namespaces_kinds_and_versions_are_checked() {
        let field = |api_version, kind, namespace| {
            validate(&mk_object(api_version, kind, namespace, "a")).map_err(|error| error.field)
        };
        for namespace in ["a.b", "A", "a/b", "..", " ", "a b"] {
            assert_eq!(field("v1", "Pod", namespace), Err("metadata.namespace"), "{namespace}");
        }
        assert_eq!(field("v1", "Pod", ""), Ok(()));
        let number = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": 5}});
        assert_eq!(validate(&number).unwrap_err().field, "metadata.namespace");
        for version in ["", "/v1", "apps/", "apps/v1/x", "v 1", "1", "Apps/v1", "apps/v1 ", "a/../b"] {
            assert_eq!(field(version, "Pod", "n"), Err("apiVersion"), "{version}");
        }
        for kind in ["", "Config Map", "1Pod", "Po/d", "Pod.v1", "../Pod"] {
            assert_eq!(field("v1", kind, "n"), Err("kind"), "{kind}");
        }
        assert_eq!(field("gateway.networking.k8s.io/v1alpha2", "HTTPRoute", "n"), Ok(()));
    }

    proptest! {
        #[test]
        fn what_passes_can_be_part_of_a_path(name in "[a-zA-Z0-9./%:_ -]{0,12}", kind in "(Pod|ClusterRole|Service)") {
            if named(&kind, &name).is_ok() {
                prop_assert!(!name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']));
            }
        }

        #[test]
        fn subdomains_pass(name in "[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?){0,3}") {
            prop_assert_eq!(named("ConfigMap", &name), Ok(()));
        }

        #[test]
        fn no_object_panics(text in "\\PC{0,20}") {
            for field in ["apiVersion", "kind", "name"] {
                let mut object = mk_object("v1", "Pod", "n", "a");
                object[field] = text.clone().into();
                object["metadata"][field] = text.clone().into();
                validate(&object).ok();
                validate(&Value::from(text.as_str())).ok();
            }
        }
    }
}
