//! A `RoleRequest`: the rights of a tenant in the clusters that it selects. To everybody else it is one more profile.

use serde_json::Value;

use super::ignored::ignored;
use super::profile::{PolicyRef, Profile, SpecCommon};
use super::read::Field;
use crate::error::FieldError;
use crate::profile::ProfileId;
use crate::service_account::ServiceAccount;
use crate::{names, object};

/// Reads the manifest.
pub(super) fn read(object: &Value) -> Result<Profile, FieldError> {
    let spec = Field::spec(object);
    // Former versions call it so.
    let selector = [spec.get("clusterSelector"), spec.get("selector")];
    let selector = selector.iter().find(|field| field.value().is_some());
    Ok(Profile {
        id: ProfileId::role_request(object::name(object)),
        selector: selector.map(Field::selector).transpose()?.flatten().unwrap_or_default(),
        clusters: Vec::new(),
        sets: Vec::new(),
        paused: object::annotation(object, super::PAUSED).is_some(),
        account: ServiceAccount::of(object)?,
        grants_to: Some(tenant(&spec)?),
        common: SpecCommon {
            ignored: ignored(object),
            ..SpecCommon::of_refs(PolicyRef::all(&spec.get("roleRefs"))?, &spec)
        },
    })
}

/// Who gets the rights.
fn tenant(spec: &Field<'_>) -> Result<ServiceAccount, FieldError> {
    let (name, namespace) = (spec.get("serviceAccountName"), spec.get("serviceAccountNamespace"));
    let read = |field: &Field<'_>| {
        let text = field.required_text()?;
        let reason = format!("{text:?} is not a name; name the tenant's ServiceAccount");
        if names::is_object_name(&text) { Ok(text) } else { Err(field.error(reason)) }
    };
    let account = ServiceAccount { name: read(&name)?, namespace: read(&namespace)? };
    account.check().map_err(|reason| namespace.error(reason))?;
    Ok(account)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(spec: Value) -> Result<Profile, FieldError> {
        Profile::read(&json!({"kind": "RoleRequest", "metadata": {"name": "r"}, "spec": spec}))
    }

    #[test]
    fn it_is_a_profile_of_the_roles_that_it_refers_to() {
        let roles = json!([{"kind": "ConfigMap", "namespace": "a", "name": "b"}, {"kind": "Secret", "namespace": "a", "name": "c"}]);
        for selector in ["clusterSelector", "selector"] {
            let read = request(json!({selector: {"matchLabels": {"env": "fv"}}, "roleRefs": roles,
                "serviceAccountName": "deployer", "serviceAccountNamespace": "team-a"}))
            .unwrap();
            assert_eq!((read.id.kind(), read.id.object_name()), ("RoleRequest", "r"));
            assert_eq!(read.grants_to.as_ref().unwrap().to_string(), "team-a/deployer");
            assert!(!read.selector.is_empty() && read.account.is_none());
            let paths: Vec<_> = read.common.policy_refs.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(paths, ["spec.roleRefs[0]", "spec.roleRefs[1]"]);
            assert_eq!((read.common.tier, read.common.leave, read.common.dry_run), (100, false, false));
        }
        let old = request(
            json!({"clusterSelector": "env=fv", "serviceAccountName": "a", "serviceAccountNamespace": "b"}),
        );
        assert!(!old.unwrap().selector.is_empty(), "as it was written in 2023");
    }

    #[test]
    fn what_is_wrong_with_it_is_named() {
        let with = |field: &str, value: Value| {
            let mut spec = json!({"serviceAccountName": "deployer", "serviceAccountNamespace": "team-a"});
            spec[field] = value;
            request(spec).unwrap_err().to_string()
        };
        for (field, value, part) in [
            ("serviceAccountName", json!(""), "spec.serviceAccountName: is required"),
            ("serviceAccountNamespace", json!("A b"), "spec.serviceAccountNamespace: \"A b\" is not a name"),
            ("serviceAccountNamespace", json!("a--b"), "spec.serviceAccountNamespace: must not have"),
            ("clusterSelector", json!(5), "spec.clusterSelector"),
            ("roleRefs", json!([{"kind": "Role", "name": "x"}]), "spec.roleRefs[0].kind"),
            ("roleRefs", json!([{"kind": "ConfigMap"}]), "spec.roleRefs[0].name: is required"),
        ] {
            let error = with(field, value);
            assert!(error.contains(part), "{error}");
        }
    }
}
