//! What an error of an API server means for the plan.

use sluice_api::Gvk;
use sluice_deployer_core::{Class, Failure};
use sluice_kube::{is_no_token, remedy_of_denial};

use crate::tenants::Acting;

/// Whose rights a call needs.
#[derive(Clone, Copy)]
pub(crate) enum Rights<'a> {
    /// Those of the user of a registered cluster's kubeconfig.
    Kubeconfig,
    /// Those of the deployer's own account in the management cluster, which the chart gives.
    Stage,
    Tenant(&'a Acting),
}

/// Sorts an error of a call; `planned` tells that it was made against a known version of an object.
pub(crate) fn of(error: &kube::Error, planned: bool, rights: Rights<'_>) -> Failure {
    if was_not_sent(error) {
        let remedy = "no object can be called so, change its name, namespace or kind";
        return Failure::new(Class::Refused, format!("it cannot be asked for: {}; {remedy}", root(error)));
    }
    // It did answer, and what it made of the call is unknown.
    if let kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) = error {
        return Failure::new(
            Class::Refused,
            format!("the API server's answer cannot be read: {}", root(error)),
        );
    }
    let kube::Error::Api(status) = error else {
        let was_sent = !was_not_connected(error) && !is_no_token(error);
        let class = if was_sent { Class::Unanswered } else { Class::Transient };
        return Failure::new(class, format!("the API server cannot be reached: {}", root(error)));
    };
    let class = match status.code {
        404 if is_no_kind(error) => Class::NoKind,
        409 => Class::Conflict,
        422 if planned && status.message.contains("metadata.uid") => Class::Conflict,
        422 if planned && is_immutable(status) => Class::Immutable,
        404 if planned => Class::Conflict,
        408 | 502 | 504 => Class::Unanswered,
        500 if status.message.contains("etcdserver") => Class::Unanswered,
        // So API servers answer when a field of what is applied has the wrong form.
        500 if status.message.starts_with("failed to create typed patch object") => Class::Refused,
        429 | 500..=599 => Class::Transient,
        403 if matches!(rights, Rights::Tenant(_)) && lacks_right(&status.message) => Class::Forbidden,
        _ => Class::Refused,
    };
    let remedy = match status.code {
        401 => {
            "; the credentials in the cluster's kubeconfig are not valid (any more), renew them".to_owned()
        }
        403 => remedy_of_403(&status.message, rights),
        _ => String::new(),
    };
    Failure::new(class, format!("{}{remedy}", status.message)).after(retry_after(status))
}

/// How long a server asks to be left alone, microseconds. Where it has too much to do at once it says so in words, and in a header that
/// its client does not pass on: that is one second.
fn retry_after(status: &kube::core::Status) -> i64 {
    let said = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    let seconds = if status.code == 429 { said.max(1) } else { said };
    i64::from(seconds) * 1_000_000
}

/// Whether the authorizer refuses it, and no quota or policy.
fn lacks_right(message: &str) -> bool {
    message.contains(" cannot ") || message.contains("attempting to grant")
}

/// Who needs a right, and how to give it. Others than the authorizer refuse too, as quotas do: of these only the words of the
/// server count.
pub(crate) fn remedy_of_403(message: &str, rights: Rights<'_>) -> String {
    match rights {
        Rights::Kubeconfig => "; allow it to the user of the cluster's kubeconfig".to_owned(),
        Rights::Stage => match remedy_of_denial(message) {
            "" => "; allow it to the user of the management cluster's kubeconfig".to_owned(),
            remedy => format!("{remedy}; what profiles may deploy there is `rbac.deploy` of the chart"),
        },
        Rights::Tenant(Acting { account, there }) if message.contains(" cannot impersonate ") => format!(
            "; it is to be done for ServiceAccount {account}: allow the user of the cluster's kubeconfig to impersonate ServiceAccount {there}"
        ),
        Rights::Tenant(Acting { account, there }) if lacks_right(message) => {
            if account == there {
                return format!(
                    "; it is done for ServiceAccount {account}: give it the right in the management cluster"
                );
            }
            format!(
                "; it is done for ServiceAccount {account}, which is {there} in this cluster: give it the right with a RoleRequest"
            )
        }
        Rights::Tenant(_) => String::new(),
    }
}

/// Whether the client could not even make a request of it: that is the object's fault, and such an object cannot exist.
pub(crate) fn was_not_sent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::BuildRequest(_) | kube::Error::HttpError(_))
}

/// Whether nothing has reached the server.
fn was_not_connected(error: &kube::Error) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    let mut next = Some(error as &dyn std::error::Error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<std::io::Error>()
            && matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether the server has no such kind: not even its path is known, which is another answer than that of a missing object.
pub(crate) fn is_no_kind(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let texts = ["page not found", "could not find the requested resource", "no matches for kind"];
    status.code == 404 && texts.iter().any(|text| status.message.contains(text))
}

/// What servers say of a field that stays as it was when the object was created.
const FIXED: [&str; 8] = [
    "immutable",
    "may not change",
    "may not be changed",
    "cannot change",
    "cannot be changed",
    "can not be changed",
    "can only be modified",
    "are forbidden",
];

/// Whether all that is wrong with an object is that it cannot be changed so: a new one can be as it is wanted.
fn is_immutable(status: &kube::core::Status) -> bool {
    let is_fixed = |text: &str| {
        let text = text.to_lowercase();
        FIXED.iter().any(|fixed| text.contains(fixed))
    };
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let causes: Vec<_> = causes.iter().map(|cause| cause.message.as_str()).collect();
    if causes.is_empty() { is_fixed(&status.message) } else { causes.into_iter().all(is_fixed) }
}

pub(crate) fn no_kind(gvk: &Gvk) -> Failure {
    let text =
        format!("the cluster has no kind {gvk}; install its CustomResourceDefinition, it is tried again");
    Failure::new(Class::NoKind, text)
}

pub(crate) fn no_namespace(name: &str) -> Failure {
    let text =
        format!("there is no namespace {name:?}; create it, or take skipNamespaceCreation off the policyRef");
    Failure::new(Class::Refused, text)
}

/// What an error began with.
pub(crate) fn root(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kube::core::Status;
    use sluice_api::ServiceAccount;

    use super::*;

    #[test]
    fn a_server_that_asks_to_be_left_alone_says_for_how_long() {
        use kube::core::response::StatusDetails;
        use serde_json::json;
        let after = |code: u16, seconds: u32| {
            let details: StatusDetails =
                serde_json::from_value(json!({"retryAfterSeconds": seconds})).unwrap();
            let status = Status { code, details: Some(details), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), false, Rights::Kubeconfig).retry_after
        };
        assert_eq!((after(429, 7), after(503, 2), after(409, 0)), (7_000_000, 2_000_000, 0));
        assert_eq!(after(429, 0), 1_000_000);
        let words = Status { code: 429, message: "Too many requests".into(), ..Status::default() };
        let failure = of(&kube::Error::Api(Box::new(words)), false, Rights::Kubeconfig);
        assert_eq!((failure.class, failure.retry_after), (Class::Transient, 1_000_000));
    }

    #[test]
    fn the_code_decides_what_follows() {
        let class = |code: u16, planned: bool| {
            let status =
                Status { code, message: "metadata.uid: field is immutable".into(), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), planned, Rights::Kubeconfig).class
        };
        assert_eq!(class(409, true), Class::Conflict);
        assert_eq!((class(422, true), class(422, false)), (Class::Conflict, Class::Refused));
        assert_eq!((class(429, false), class(503, false)), (Class::Transient, Class::Transient));
        assert_eq!((class(403, false), class(400, true)), (Class::Refused, Class::Refused));
        assert_eq!((class(408, false), class(418, false)), (Class::Unanswered, Class::Refused));
        assert_eq!((class(500, false), class(504, true)), (Class::Transient, Class::Unanswered));
    }

    #[test]
    fn what_only_a_new_object_can_have_is_told_from_what_is_wrong() {
        use kube::core::response::{StatusCause, StatusDetails};
        let class = |causes: &[&str], planned| {
            let cause = |message: &&str| StatusCause {
                reason: "FieldValueInvalid".into(),
                message: (*message).to_owned(),
                field: "spec".into(),
            };
            let none = String::new;
            let details = StatusDetails {
                name: none(),
                group: none(),
                kind: none(),
                uid: none(),
                causes: causes.iter().map(cause).collect(),
                retry_after_seconds: 0,
            };
            let message = format!("Deployment.apps \"d\" is invalid: {}", causes.join(", "));
            let status = Status { code: 422, message, details: Some(details), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), planned, Rights::Kubeconfig).class
        };
        let fixed = [
            "Invalid value: {}: field is immutable",
            "Invalid value: [\"10.0.0.2\"]: may not change once set",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
            "Forbidden: updates to parameters are forbidden.",
            "Invalid value: {}: cannot change roleRef",
            "Forbidden: may not be changed in an update.",
        ];
        assert!(fixed.iter().all(|text| class(&[text], true) == Class::Immutable));
        assert_eq!(class(&fixed, true), Class::Immutable);
        assert_eq!(
            class(&[fixed[0], "Required value"], true),
            Class::Refused,
            "a new one would be refused as well"
        );
        assert_eq!(class(&[fixed[0]], false), Class::Refused, "nothing was there");
    }

    #[test]
    fn an_object_with_a_field_of_the_wrong_form_is_no_fault_of_the_server() {
        let of = |message: &str| {
            let status = Status { code: 500, message: message.into(), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), false, Rights::Kubeconfig).class
        };
        let text =
            "failed to create typed patch object (default/c; v1, Kind=ConfigMap): .data.a: expected string";
        assert_eq!(of(text), Class::Refused);
        assert_eq!(of("internal error"), Class::Transient);
        assert_eq!(of("etcdserver: request timed out"), Class::Unanswered);
    }

    #[test]
    fn what_is_forbidden_comes_with_the_remedy() {
        let of = |code: u16| {
            let status = Status { code, message: "no".into(), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), false, Rights::Kubeconfig).message
        };
        assert!(of(401).contains("renew them") && of(403).contains("allow it to the user"));
        assert_eq!(of(422), "no");
    }

    #[test]
    fn a_right_of_the_stage_itself_is_given_by_the_chart() {
        let of = |message: &str| remedy_of_403(message, Rights::Stage);
        let lacks = of("User \"u\" cannot patch resource \"configmaps\" in API group");
        assert!(lacks.contains("--only rights") && lacks.ends_with("`rbac.deploy` of the chart"), "{lacks}");
        assert!(of("exceeded quota: small").ends_with("the management cluster's kubeconfig"));
    }

    #[test]
    fn a_tenant_that_lacks_a_right_is_named_with_the_remedy() {
        let account = ServiceAccount { namespace: "team-a".into(), name: "deployer".into() };
        let of = |message: &str| {
            let status = Status { code: 403, message: message.into(), ..Status::default() };
            let acting = Acting { account: account.clone(), there: account.in_clusters() };
            let failure = of(&kube::Error::Api(Box::new(status)), true, Rights::Tenant(&acting));
            let class = if message.contains("quota") { Class::Refused } else { Class::Forbidden };
            assert_eq!(failure.class, class, "it is no trouble of the server");
            failure.message
        };
        let text = of(
            "configmaps \"c\" is forbidden: User \"system:serviceaccount:projectsveltos:team-a--deployer\" \
                       cannot patch resource \"configmaps\"",
        );
        assert!(text.contains("cannot patch") && text.contains("ServiceAccount team-a/deployer"), "{text}");
        assert!(
            text.contains("projectsveltos/team-a--deployer") && text.ends_with("with a RoleRequest"),
            "{text}"
        );
        let text =
            of("serviceaccounts \"team-a--deployer\" is forbidden: User \"u\" cannot impersonate resource");
        assert!(text.ends_with("impersonate ServiceAccount projectsveltos/team-a--deployer"), "{text}");
        assert_eq!(of("exceeded quota: small"), "exceeded quota: small");
        let itself = Acting { account: account.clone(), there: account.clone() };
        let text = remedy_of_403("User \"u\" cannot patch resource \"configmaps\"", Rights::Tenant(&itself));
        assert!(
            text.ends_with("ServiceAccount team-a/deployer: give it the right in the management cluster"),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_read_of_an_answer_leaves_the_outcome_to_the_next_look() {
        let error = serde_json::from_str::<u8>("x").unwrap_err();
        let failure = of(&kube::Error::SerdeError(error), false, Rights::Kubeconfig);
        assert_eq!(failure.class, Class::Refused);
        assert!(failure.message.contains("answer cannot be read"), "{failure:?}");
    }

    #[test]
    fn a_missing_kind_is_told_from_a_missing_object() {
        let class = |message: &str| {
            let status = Status { code: 404, message: message.into(), ..Status::default() };
            of(&kube::Error::Api(Box::new(status)), true, Rights::Kubeconfig).class
        };
        assert_eq!(class("things.example.com \"a\" not found"), Class::Conflict);
        assert_eq!(class("404 page not found\n"), Class::NoKind);
        assert_eq!(class("the server could not find the requested resource"), Class::NoKind);
    }

    #[test]
    fn what_the_client_cannot_send_is_the_objects_fault() {
        let request = kube::core::Request::new("/api/v1/namespaces/default/configmaps");
        let error = request.get("front p1", &Default::default()).unwrap_err();
        let failure = of(&kube::Error::BuildRequest(error), false, Rights::Kubeconfig);
        assert_eq!(failure.class, Class::Refused);
        assert!(
            failure.message.contains("invalid uri character") && failure.message.contains("change its name")
        );
    }
}
