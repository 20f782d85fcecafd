//! The types of the built-in kinds: what has the wrong type, and which fields do not exist.

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling,
    batch::v1 as batch, coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    networking::v1 as networking, node::v1 as node, policy::v1 as policy, rbac::v1 as rbac,
    scheduling::v1 as scheduling, storage::v1 as storage,
};
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use serde_json::Value;

use crate::object::Json;

/// Reads an object as its type. Returns the fields that the type does not have; the error says
/// which value has the wrong type. Kinds without a known type pass.
pub fn unknown_fields(kind: &str, body: &Json) -> Result<Vec<String>, String> {
    macro_rules! read_as {
        ($($group:ident: $($kind:ident)*;)*) => {
            match kind {
                $($(stringify!($kind) => read::<$group::$kind>(body),)*)*
                _ => Ok(Vec::new()),
            }
        };
    }
    read_as! {
        core: ConfigMap Endpoints LimitRange Namespace Node PersistentVolumeClaim PersistentVolume Pod PodTemplate
              ReplicationController ResourceQuota Secret ServiceAccount Service;
        apps: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet;
        batch: CronJob Job;
        autoscaling: HorizontalPodAutoscaler;
        networking: IngressClass Ingress NetworkPolicy;
        policy: PodDisruptionBudget;
        rbac: ClusterRoleBinding ClusterRole RoleBinding Role;
        coordination: Lease;
        discovery: EndpointSlice;
        scheduling: PriorityClass;
        node: RuntimeClass;
        storage: CSIDriver CSINode StorageClass VolumeAttachment;
        admission: MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
                   ValidatingWebhookConfiguration;
    }
}

fn read<'a, T: Deserialize<'a>>(body: &'a Json) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let members = body.iter().map(|(name, value)| (name.as_str(), value));
    let reader = MapDeserializer::<_, serde_json::Error>::new(members.filter(|(_, value)| !value.is_null()));
    serde_ignored::deserialize::<_, _, T>(reader, |path| unknown.push(name_path(&path.to_string())))
        .map_err(|error| error.to_string())?;
    Ok(unknown)
}

/// Members that hold quantities, which may be sent as numbers and are kept as texts.
const QUANTITIES: &[&str] = &["limits", "requests", "capacity", "allocatable", "hard", "used", "overhead"];

/// Turns quantities that are numbers into texts.
pub fn normalize_quantities(map: &mut Json) {
    for (name, value) in map {
        match value {
            Value::Object(members) if QUANTITIES.contains(&name.as_str()) => {
                for quantity in members.values_mut().filter(|quantity| quantity.is_number()) {
                    *quantity = quantity.to_string().into();
                }
            }
            Value::Object(members) => normalize_quantities(members),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(normalize_quantities)
            }
            _ => {}
        }
    }
}

/// `spec.ports.0.x` as the API writes it: `spec.ports[0].x`.
fn name_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 2);
    for part in path.split('.').filter(|part| *part != "?") {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&format!("[{part}]"));
        } else {
            let separator = if out.is_empty() { "" } else { "." };
            out.push_str(&format!("{separator}{part}"));
        }
    }
    out
}

/// Takes a field away by such a path.
pub fn remove(body: &mut Json, path: &str) {
    let mut parts = path.split('.').peekable();
    let Some(first) = parts.next() else { return };
    if parts.peek().is_none() {
        body.remove(first);
        return;
    }
    let Some(mut value) = get_mut(body, first) else { return };
    while let (Some(part), Some(map)) = (parts.next(), value.as_object_mut()) {
        if parts.peek().is_none() {
            map.remove(part);
            return;
        }
        match get_mut(map, part) {
            Some(next) => value = next,
            None => return,
        }
    }
}

/// A member, or with `[1]` behind its name an item of it.
fn get_mut<'a>(map: &'a mut Json, part: &str) -> Option<&'a mut Value> {
    let (name, indices) = part.split_once('[').unwrap_or((part, ""));
    let indices = indices.split(['[', ']']).filter(|index| !index.is_empty());
    indices.fold(map.get_mut(name), |value, index| value?.get_mut(index.parse::<usize>().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn service(spec: Value) -> Json {
        json!({"metadata": {"name": "a"}, "spec": spec}).as_object().unwrap().clone()
    }

    #[test]
    fn fields_that_do_not_exist_are_named_and_removed() {
        let mut body = service(json!({"ports": [{"port": 1}, {"port": 2, "prot": "TCP"}], "typ": "x"}));
        let mut unknown = unknown_fields("Service", &body).unwrap();
        unknown.sort();
        assert_eq!(unknown, ["spec.ports[1].prot", "spec.typ"]);
        unknown.iter().for_each(|path| remove(&mut body, path));
        assert_eq!(body["spec"], json!({"ports": [{"port": 1}, {"port": 2}]}));
    }

    #[test]
    fn a_wrong_type_is_an_error() {
        let why = unknown_fields("Service", &service(json!({"ports": [{"port": "80"}]}))).unwrap_err();
        assert!(why.contains("invalid type: string \"80\""), "{why}");
        assert_eq!(unknown_fields("Gadget", &service(json!(1))), Ok(Vec::new()));
    }
}
