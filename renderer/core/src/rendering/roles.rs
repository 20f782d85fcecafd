//! What a RoleRequest deploys: the account that stands for a tenant in managed clusters, the roles that it gets, and their bindings.

// D-0913: a RoleRequest is one more profile.

use serde_json::{Value, json};
use sluice_api::{ServiceAccount, object};
use sluice_protocol::rows::Policy;

use crate::error::{Error, Result};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The policies, each role with its binding to the tenant's account, and before them the account.
///
/// # Errors
/// The reference in which there is something else, or nothing.
pub(crate) fn granted(tenant: &ServiceAccount, policies: Vec<Policy>) -> Result<Vec<Policy>> {
    let mut granted = vec![account(tenant)];
    for mut policy in policies {
        let roles = std::mem::take(&mut policy.objects);
        let place = format!("spec.roleRefs: {} {}/{}", policy.kind, policy.namespace, policy.name);
        if roles.is_empty() {
            return Err(Error::value(
                place + ":",
                "holds no Role and no ClusterRole; write one into it, or remove the reference",
            ));
        }
        for role in roles {
            let binding = binding(tenant, &role).ok_or_else(|| {
                let remedy = "a RoleRequest deploys nothing else, move it to a ClusterProfile";
                Error::value(
                    format!("{place}: {}", object::describe(&role)),
                    format!("is no Role and no ClusterRole; {remedy}"),
                )
            })?;
            policy.objects.extend([role, binding]);
        }
        granted.push(policy);
    }
    Ok(granted)
}

/// The account. Two RoleRequests may be for one tenant: equal content from one reference is theirs together, so the reference is
/// the tenant.
fn account(tenant: &ServiceAccount) -> Policy {
    let account = tenant.in_clusters();
    Policy {
        kind: "ServiceAccount".to_owned(),
        namespace: tenant.namespace.clone(),
        name: tenant.name.clone(),
        tier: 100,
        objects: vec![json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": account.namespace, "name": account.name},
        })],
        ..Policy::default()
    }
}

/// What gives a role to the tenant; `None` when it is none.
fn binding(tenant: &ServiceAccount, role: &Value) -> Option<Value> {
    let account = tenant.in_clusters();
    let (group, _) = object::text(role, &["apiVersion"]).split_once('/')?;
    let (role_kind, name) = (object::text(role, &["kind"]), object::name(role));
    let kind = match role_kind {
        "Role" => "RoleBinding",
        "ClusterRole" => "ClusterRoleBinding",
        _ => return None,
    };
    if group != GROUP {
        return None;
    }
    // No name of an account has a `:`, so that no two roles and tenants have one binding.
    let mut metadata = json!({"name": format!("sveltos:{}:{name}", account.name)});
    if role_kind == "Role" && !object::namespace(role).is_empty() {
        metadata["namespace"] = object::namespace(role).into();
    }
    Some(json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}],
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tenant() -> ServiceAccount {
        ServiceAccount { namespace: "team-a".into(), name: "deployer".into() }
    }

    fn role(kind: &str, namespace: &str) -> Value {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "editor", "namespace": namespace},
            "rules": []})
    }

    fn mk_policy(objects: Vec<Value>) -> Policy {
        Policy {
            kind: "ConfigMap".into(),
            namespace: "default".into(),
            name: "roles".into(),
            tier: 100,
            objects,
            ..Policy::default()
        }
    }

    #[test]
    fn each_role_comes_with_its_binding_and_the_account_before_all() {
        let roles = vec![role("Role", "shop"), role("ClusterRole", "")];
        let granted = granted(&tenant(), vec![mk_policy(roles)]).unwrap();
        let told = |policy: &Policy| -> Vec<String> { policy.objects.iter().map(object::describe).collect() };
        assert_eq!(told(&granted[0]), ["ServiceAccount projectsveltos/team-a--deployer"]);
        assert_eq!((granted[0].namespace.as_str(), granted[0].name.as_str()), ("team-a", "deployer"));
        let name = "sveltos:team-a--deployer:editor";
        assert_eq!(
            told(&granted[1]),
            [
                "Role shop/editor".to_owned(),
                format!("RoleBinding shop/{name}"),
                "ClusterRole editor".to_owned(),
                format!("ClusterRoleBinding {name}")
            ]
        );
        let bound = &granted[1].objects[3];
        assert_eq!(bound["roleRef"]["kind"], "ClusterRole");
        assert_eq!(
            bound["subjects"],
            json!([{"kind": "ServiceAccount", "namespace": "projectsveltos", "name": "team-a--deployer"}])
        );
    }

    #[test]
    fn without_roles_there_is_an_account_that_may_do_nothing() {
        assert_eq!(granted(&tenant(), Vec::new()).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_role_is_named_with_where_it_is() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}});
        let other = json!({"apiVersion": "example.com/v1", "kind": "Role", "metadata": {"name": "r"}});
        for (object, part) in [(pod, "Pod n/p is no Role"), (other, "Role r is no Role")] {
            let error = granted(&tenant(), vec![mk_policy(vec![object])]).unwrap_err().to_string();
            assert!(error.starts_with("spec.roleRefs: ConfigMap default/roles: "), "{error}");
            assert!(error.contains(part) && error.contains("move it to a ClusterProfile"), "{error}");
        }
        let error = granted(&tenant(), vec![mk_policy(Vec::new())]).unwrap_err().to_string();
        assert!(error.contains("holds no Role"), "{error}");
    }
}
