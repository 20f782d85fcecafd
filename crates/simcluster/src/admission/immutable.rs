//! What stays as it was when an object was created, as the real API server has it (`e2e/contract/immutable.yaml`).

use serde_json::{Value, json};

use crate::kinds::ResourceDef;
use crate::object::Json;
use crate::status::Cause;

/// A part of an object that cannot be changed.
struct Fixed {
    /// Name and group of the resource.
    resource: &'static str,
    /// Where it is.
    path: &'static str,
    /// What below it can be changed all the same; `[]` stands for each item of a list.
    but: &'static [&'static str],
    when: When,
    /// How the server calls it.
    field: &'static str,
    says: Says,
}

/// When it is fixed.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// Once it has a value.
    Set,
    /// Where the object says `immutable: true`.
    Marked,
    /// Of a Service that has an address before and after, and where one is given.
    Addressed,
    /// Of a Job whose completions are counted by index, unless as many are to run at once; and of any other Job.
    Indexed(bool),
    /// Once the definition is established.
    Established,
    /// Of a claim, until it is bound.
    Unbound,
}

/// What the server says.
enum Says {
    /// That the value is wrong, printed in this way.
    Invalid(fn(&Value) -> Value, &'static str),
    Forbidden(&'static str),
}

const IMMUTABLE: Says = Says::Invalid(Clone::clone, "field is immutable");
const MARKED: Says = Says::Forbidden("field is immutable when `immutable` is set");
const ROLE: Says = Says::Invalid(go_names, "cannot change roleRef");
const ONLY_THESE: Says = Says::Forbidden(
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
);
const OF_PODS: Says = Says::Forbidden(
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
);
const OF_CLAIMS: Says = Says::Forbidden(
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
);
const OF_VOLUMES: Says = Says::Forbidden("spec.persistentvolumesource is immutable after creation");

const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

const FIXED: &[Fixed] = &[
    when(When::Marked, "configmaps", "data", MARKED),
    when(When::Marked, "configmaps", "binaryData", MARKED),
    when(When::Marked, "configmaps", "immutable", MARKED),
    always("secrets", "type"),
    when(When::Marked, "secrets", "data", MARKED),
    when(When::Marked, "secrets", "immutable", MARKED),
    called(
        "spec.clusterIPs[0]",
        when(When::Addressed, "services", "spec.clusterIP", Says::Invalid(listed, "may not change once set")),
    ),
    when(
        When::Set,
        "services",
        "spec.loadBalancerClass",
        Says::Invalid(Clone::clone, "may not change once set"),
    ),
    when(When::Set, "services", "spec.healthCheckNodePort", IMMUTABLE),
    but(
        &[
            "containers.[].image",
            "initContainers.[].image",
            "activeDeadlineSeconds",
            "tolerations",
            "nodeName",
            "ephemeralContainers",
            "schedulingGates",
        ],
        when(When::Always, "pods", "spec", OF_PODS),
    ),
    but(&["volumeName"], when(When::Unbound, CLAIMS, "spec", OF_CLAIMS)),
    but(
        &["volumeName", "volumeAttributesClassName", "resources.requests"],
        when(When::Always, CLAIMS, "spec", OF_CLAIMS),
    ),
    called("volumeMode", always(CLAIMS, "spec.volumeMode")),
    called(
        "spec.persistentvolumesource",
        but(
            &[
                "accessModes",
                "capacity",
                "claimRef",
                "mountOptions",
                "nodeAffinity",
                "persistentVolumeReclaimPolicy",
                "storageClassName",
                "volumeAttributesClassName",
                "volumeMode",
            ],
            when(When::Always, VOLUMES, "spec", OF_VOLUMES),
        ),
    ),
    called("volumeMode", always(VOLUMES, "spec.volumeMode")),
    called("nodeAffinity", when(When::Set, VOLUMES, "spec.nodeAffinity", IMMUTABLE)),
    always("resourcequotas", "spec.scopes"),
    when(
        When::Set,
        "nodes",
        "spec.podCIDRs",
        Says::Forbidden("node updates may not change podCIDR except from \"\" to valid"),
    ),
    when(
        When::Set,
        "nodes",
        "spec.providerID",
        Says::Forbidden("node updates may not change providerID except from \"\" to valid"),
    ),
    always("deployments.apps", "spec.selector"),
    always("daemonsets.apps", "spec.selector"),
    always("replicasets.apps", "spec.selector"),
    but(
        &[
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ],
        when(When::Always, "statefulsets.apps", "spec", ONLY_THESE),
    ),
    always("controllerrevisions.apps", "data"),
    when(When::Indexed(false), "jobs.batch", "spec.completions", IMMUTABLE),
    when(
        When::Indexed(true),
        "jobs.batch",
        "spec.completions",
        Says::Invalid(Clone::clone, "can only be modified in tandem with spec.parallelism"),
    ),
    always("jobs.batch", "spec.selector"),
    always("jobs.batch", "spec.template"),
    always("jobs.batch", "spec.completionMode"),
    always("jobs.batch", "spec.podFailurePolicy"),
    always("jobs.batch", "spec.backoffLimitPerIndex"),
    always("jobs.batch", "spec.managedBy"),
    always("jobs.batch", "spec.successPolicy"),
    always("ingressclasses.networking.k8s.io", "spec.controller"),
    when(When::Always, "rolebindings.rbac.authorization.k8s.io", "roleRef", ROLE),
    when(When::Always, "clusterrolebindings.rbac.authorization.k8s.io", "roleRef", ROLE),
    always("endpointslices.discovery.k8s.io", "addressType"),
    when(
        When::Always,
        "priorityclasses.scheduling.k8s.io",
        "value",
        Says::Forbidden("may not be changed in an update."),
    ),
    always("priorityclasses.scheduling.k8s.io", "preemptionPolicy"),
    always("runtimeclasses.node.k8s.io", "handler"),
    always("storageclasses.storage.k8s.io", "parameters"),
    always("storageclasses.storage.k8s.io", "provisioner"),
    always("storageclasses.storage.k8s.io", "reclaimPolicy"),
    always("storageclasses.storage.k8s.io", "volumeBindingMode"),
    called("spec.attachedRequired", always("csidrivers.storage.k8s.io", "spec.attachRequired")),
    always("csidrivers.storage.k8s.io", "spec.volumeLifecycleModes"),
    when(When::Set, "csinodes.storage.k8s.io", "spec.drivers", IMMUTABLE),
    always("volumeattachments.storage.k8s.io", "spec"),
    when(When::Always, CRDS, "spec.group", IMMUTABLE),
    when(When::Established, CRDS, "spec.scope", IMMUTABLE),
    when(When::Established, CRDS, "spec.names.kind", IMMUTABLE),
    when(When::Established, CRDS, "spec.names.plural", IMMUTABLE),
];

const fn when(when: When, resource: &'static str, path: &'static str, says: Says) -> Fixed {
    Fixed { resource, path, but: &[], when, field: path, says }
}

const fn always(resource: &'static str, path: &'static str) -> Fixed {
    when(When::Always, resource, path, IMMUTABLE)
}

const fn but(but: &'static [&'static str], fixed: Fixed) -> Fixed {
    Fixed { but, ..fixed }
}

const fn called(field: &'static str, fixed: Fixed) -> Fixed {
    Fixed { field, ..fixed }
}

/// What of `live` cannot be changed to be as in `body`.
pub fn check(body: &Json, live: Option<&Json>, def: &ResourceDef) -> Vec<Cause> {
    let Some(live) = live else { return Vec::new() };
    let mut causes = Vec::<Cause>::new();
    for fixed in FIXED.iter().filter(|fixed| fixed.resource == &*def.key) {
        let cause = fixed.check(body, live);
        // A field is complained of once.
        causes.extend(cause.filter(|cause| causes.iter().all(|known| known.field != cause.field)));
    }
    causes
}

impl Fixed {
    fn check(&self, body: &Json, live: &Json) -> Option<Cause> {
        let part = |object: &Json| {
            let mut value = get(object, self.path).cloned();
            for path in self.but {
                value.iter_mut().for_each(|value| remove(value, path));
            }
            value
        };
        let (before, after) = (part(live), part(body));
        if before == after || !self.when.holds(body, live, before.as_ref(), after.as_ref()) {
            return None;
        }
        Some(match self.says {
            Says::Invalid(shown, why) => {
                Cause::invalid(self.field, &shown(&after.unwrap_or_default()).to_string(), why)
            }
            Says::Forbidden(why) => Cause::forbidden(self.field, why),
        })
    }
}

impl When {
    fn holds(self, body: &Json, live: &Json, before: Option<&Value>, after: Option<&Value>) -> bool {
        let text = |object: &Json, path: &str| get(object, path).and_then(Value::as_str).map(str::to_owned);
        match self {
            Self::Always => true,
            Self::Set => before.is_some(),
            Self::Marked => get(live, "immutable") == Some(&Value::Bool(true)),
            Self::Addressed => {
                let has_none = |object: &Json| text(object, "spec.type").as_deref() == Some("ExternalName");
                before.is_some() && after.is_some() && !has_none(body) && !has_none(live)
            }
            Self::Indexed(indexed) => {
                let is_indexed = text(live, "spec.completionMode").as_deref() == Some("Indexed");
                is_indexed == indexed && !(indexed && after == get(body, "spec.parallelism"))
            }
            Self::Established => {
                let conditions = get(live, "status.conditions").and_then(Value::as_array);
                let is_it = |one: &Value| one["type"] == "Established" && one["status"] == "True";
                conditions.is_some_and(|conditions| conditions.iter().any(is_it))
            }
            Self::Unbound => text(live, "status.phase").as_deref() != Some("Bound"),
        }
    }
}

fn get<'v>(object: &'v Json, path: &str) -> Option<&'v Value> {
    let mut parts = path.split('.');
    let first = object.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn remove(value: &mut Value, path: &str) {
    match (path.split_once('.'), value) {
        (Some(("[]", rest)), Value::Array(items)) => items.iter_mut().for_each(|item| remove(item, rest)),
        (Some((first, rest)), Value::Object(map)) => {
            map.get_mut(first).into_iter().for_each(|value| remove(value, rest))
        }
        (None, Value::Object(map)) => drop(map.remove(path)),
        _ => {}
    }
}

fn listed(value: &Value) -> Value {
    json!([value])
}

/// A reference to a role, with the names that it has in the server.
fn go_names(role: &Value) -> Value {
    json!({"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::kinds::builtins;

    fn fields(key: &str, live: Value, body: Value) -> Vec<String> {
        let def = builtins().get(key).unwrap();
        let (live, body) = (live.as_object().unwrap(), body.as_object().unwrap());
        check(body, Some(live), def).into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn every_row_is_of_a_kind_that_is_served() {
        assert!(FIXED.iter().all(|fixed| builtins().get(fixed.resource).is_some()));
    }

    #[test]
    fn what_is_set_is_fixed_and_what_is_not_can_be() {
        let service = |class: Option<&str>, ip: &str, kind: &str| {
            let mut service = json!({"spec": {"clusterIP": ip, "type": kind}});
            class.into_iter().for_each(|class| service["spec"]["loadBalancerClass"] = class.into());
            service
        };
        let fields = |live, body| fields("services", live, body);
        let (plain, headless) = (service(None, "10.0.0.1", "ClusterIP"), service(None, "None", "ClusterIP"));
        assert_eq!(fields(plain.clone(), headless), ["spec.clusterIPs[0]"]);
        assert!(fields(plain.clone(), service(None, "None", "ExternalName")).is_empty());
        assert!(fields(plain.clone(), service(Some("a"), "10.0.0.1", "ClusterIP")).is_empty());
        let classed = service(Some("a"), "10.0.0.1", "ClusterIP");
        assert_eq!(fields(classed, plain), ["spec.loadBalancerClass"]);
    }

    #[test]
    fn all_but_some_parts_may_be_fixed() {
        let pod = |image: &str, policy: &str| json!({"spec": {"containers": [{"name": "c", "image": image}], "restartPolicy": policy}});
        assert!(fields("pods", pod("a", "Always"), pod("b", "Always")).is_empty());
        assert_eq!(fields("pods", pod("a", "Always"), pod("a", "Never")), ["spec"]);
        let claim = |size: &str, phase: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}, "status": {"phase": phase}});
        assert_eq!(fields(CLAIMS, claim("1", "Pending"), claim("2", "Pending")), ["spec"]);
        assert!(fields(CLAIMS, claim("1", "Bound"), claim("2", "Bound")).is_empty());
    }
}
