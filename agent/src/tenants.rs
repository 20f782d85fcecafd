//! Watches of tenants: the API server shows what the account may see, and says what it may not.

use kube::Client;
use sluice_api::ServiceAccount;
use sluice_api::model::NAMESPACE;
use sluice_kube::impersonating;

/// The account in a managed cluster that is called so.
fn account(viewer: &str) -> ServiceAccount {
    ServiceAccount { namespace: NAMESPACE.to_owned(), name: viewer.to_owned() }
}

/// Who watches: the agent itself, or the account over the same connections.
///
/// # Errors
/// That no account can be called so.
pub(crate) fn client(own: &Client, viewer: &str) -> Result<Client, String> {
    if viewer.is_empty() { Ok(own.clone()) } else { impersonating(own, &account(viewer).user()) }
}

/// What to do about an error of a tenant's watch, where something is not allowed; nothing for others.
pub(crate) fn remedy(error: &str, viewer: &str) -> String {
    if viewer.is_empty() || !error.contains(" is forbidden") {
        return String::new();
    }
    let account = account(viewer);
    if error.contains(" cannot impersonate ") {
        return format!(
            "; it is watched as ServiceAccount {account}: allow the user by which the agent reaches the cluster to impersonate it"
        );
    }
    match refused(error) {
        Some((resource, group)) => format!(
            "; it is watched as ServiceAccount {account}: allow it `list` and `watch` of {resource} in API group {group:?}, with a RoleRequest"
        ),
        None => format!("; it is watched as ServiceAccount {account}"),
    }
}

/// The resource and the API group that the authorizer names.
fn refused(error: &str) -> Option<(&str, &str)> {
    let (_, rest) = error.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once("\" in API group \"")?;
    let (group, _) = rest.split_once('"')?;
    Some((resource, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "system:serviceaccount:projectsveltos:team-a--deployer";

    #[test]
    fn what_a_tenant_may_not_see_is_said_with_what_to_allow_to_whom() {
        let denied = |what: &str| format!("services is forbidden: User \"{USER}\" cannot {what}");
        let list = denied("list resource \"services\" in API group \"\" at the cluster scope");
        let said = remedy(&list, "team-a--deployer");
        assert_eq!(
            said,
            "; it is watched as ServiceAccount projectsveltos/team-a--deployer: allow it `list` and `watch` of services in API group \"\", with a RoleRequest"
        );
        let other = remedy(&denied("do that"), "x");
        assert_eq!(other, "; it is watched as ServiceAccount projectsveltos/x");
        assert_eq!(remedy(&list, ""), "", "the agent's own rights");
        assert_eq!(remedy("no answer", "x"), "");
    }

    #[test]
    fn that_the_agent_may_not_speak_for_a_tenant_is_told_apart() {
        let error = "serviceaccounts \"x\" is forbidden: User \"u\" cannot impersonate resource \"serviceaccounts\" in API group \"\"";
        let said = remedy(error, "x");
        assert!(said.contains("to impersonate it") && said.contains("projectsveltos/x"), "{said}");
    }
}
