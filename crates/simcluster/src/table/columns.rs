//! Columns of the built-in kinds.

/// `(name, type, priority)` of a column.
pub type Definition = (&'static str, &'static str, i64);

const AGE: Definition = ("Age", "string", 0);

/// The columns after the name, by kind.
const COLUMNS: &[(&[&str], &[Definition])] = &[
    (
        &["Service"],
        &[
            ("Type", "string", 0),
            ("Cluster-IP", "string", 0),
            ("External-IP", "string", 0),
            ("Port(s)", "string", 0),
            AGE,
            ("Selector", "string", 1),
        ],
    ),
    (&["ConfigMap"], &[("Data", "string", 0), AGE]),
    (&["Secret"], &[("Type", "string", 0), ("Data", "string", 0), AGE]),
    (&["Namespace"], &[("Status", "string", 0), AGE]),
    (&["NetworkPolicy"], &[("Pod-Selector", "string", 0), AGE]),
    (
        &["Ingress"],
        &[
            ("Class", "string", 0),
            ("Hosts", "string", 0),
            ("Address", "string", 0),
            ("Ports", "string", 0),
            AGE,
        ],
    ),
    (&["Endpoints"], &[("Endpoints", "string", 0), AGE]),
    (
        &["Deployment"],
        &[
            ("Ready", "string", 0),
            ("Up-to-date", "string", 0),
            ("Available", "string", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
    ),
    (&["StatefulSet"], &[("Ready", "string", 0), AGE]),
    (
        &["DaemonSet"],
        &[
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            ("Up-to-date", "integer", 0),
            ("Available", "integer", 0),
            ("Node Selector", "string", 0),
            AGE,
        ],
    ),
    (&["ReplicaSet"], &[("Desired", "integer", 0), ("Current", "integer", 0), ("Ready", "integer", 0), AGE]),
    (
        &["Pod"],
        &[
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "string", 0),
            AGE,
            ("IP", "string", 1),
            ("Node", "string", 1),
        ],
    ),
    (&["Node"], &[("Status", "string", 0), ("Roles", "string", 0), AGE, ("Version", "string", 0)]),
    (&["CustomResourceDefinition"], &[("Created At", "date", 0)]),
    (&["Role", "ClusterRole"], &[("Created At", "string", 0)]),
    (
        &["RoleBinding", "ClusterRoleBinding"],
        &[
            ("Role", "string", 0),
            AGE,
            ("Users", "string", 1),
            ("Groups", "string", 1),
            ("ServiceAccounts", "string", 1),
        ],
    ),
    (&["Job"], &[("Status", "string", 0), ("Completions", "string", 0), ("Duration", "string", 0), AGE]),
    (
        &["CronJob"],
        &[
            ("Schedule", "string", 0),
            ("Timezone", "string", 0),
            ("Suspend", "boolean", 0),
            ("Active", "integer", 0),
            ("Last Schedule", "string", 0),
            AGE,
        ],
    ),
    (
        &["PersistentVolumeClaim"],
        &[
            ("Status", "string", 0),
            ("Volume", "string", 0),
            ("Capacity", "string", 0),
            ("Access Modes", "string", 0),
            ("StorageClass", "string", 0),
            AGE,
        ],
    ),
    (
        &["PodDisruptionBudget"],
        &[
            ("Min Available", "string", 0),
            ("Max Unavailable", "string", 0),
            ("Allowed Disruptions", "integer", 0),
            AGE,
        ],
    ),
    (&["Lease"], &[("Holder", "string", 0), AGE]),
];

/// The columns after the name; kinds that are not listed show their age.
pub fn columns(kind: &str) -> &'static [Definition] {
    COLUMNS.iter().find(|(kinds, _)| kinds.contains(&kind)).map_or(&[AGE], |(_, columns)| columns)
}
