//! The order in which kinds are installed and uninstalled.

use std::cmp::Ordering;

const INSTALL: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// It is not the reverse of the other: services go before what they select.
const UNINSTALL: [&str; 38] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

/// Compares kinds by when they are installed; kinds that nobody listed come last, by name.
pub fn install_order(a: &str, b: &str) -> Ordering {
    by(&INSTALL, a, b)
}

/// Compares kinds by when they are uninstalled; kinds that nobody listed come last, by name.
pub fn uninstall_order(a: &str, b: &str) -> Ordering {
    by(&UNINSTALL, a, b)
}

fn by(order: &[&str], a: &str, b: &str) -> Ordering {
    let place = |kind: &str| order.iter().position(|known| *known == kind);
    match (place(a), place(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_know_the_same_kinds() {
        let (mut install, mut uninstall) = (INSTALL, UNINSTALL);
        install.sort_unstable();
        uninstall.sort_unstable();
        assert_eq!(install, uninstall);
    }

    #[test]
    fn unknown_kinds_come_last_by_name() {
        assert_eq!(install_order("Namespace", "Zebra"), Ordering::Less);
        assert_eq!(install_order("Zebra", "Ape"), Ordering::Greater);
        assert_eq!(uninstall_order("Service", "Deployment"), Ordering::Less);
        assert_eq!(install_order("Service", "Deployment"), Ordering::Less);
    }
}
