//! Field numbers of the messages that `kubectl create` sends.

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// A text; empty means not set.
    Text,
    /// A number; 0 means not set.
    Number,
    /// A number that may be 0.
    OptionalNumber,
    /// A truth value.
    Flag,
    /// A list of texts.
    Texts,
    /// A message.
    One(Message),
    /// A list of messages.
    Many(Message),
    /// A map of texts.
    TextMap,
    /// A map of bytes.
    BytesMap,
    /// A number or a text.
    IntOrText,
}

/// `(number, name, type)` of the fields of a message.
pub type Message = &'static [(u64, &'static str, FieldType)];

use FieldType::{BytesMap, Flag, IntOrText, Many, Number, One, OptionalNumber, Text, TextMap, Texts};

/// The message of a kind.
pub fn root(kind: &str) -> Option<Message> {
    Some(match kind {
        "Namespace" => &[(1, "metadata", One(META))],
        "ConfigMap" => &[
            (1, "metadata", One(META)),
            (2, "data", TextMap),
            (3, "binaryData", BytesMap),
            (4, "immutable", Flag),
        ],
        "Secret" => &[
            (1, "metadata", One(META)),
            (2, "data", BytesMap),
            (3, "type", Text),
            (4, "stringData", TextMap),
        ],
        "ServiceAccount" => &[(1, "metadata", One(META))],
        "Service" => &[(1, "metadata", One(META)), (2, "spec", One(SERVICE))],
        "Deployment" => &[(1, "metadata", One(META)), (2, "spec", One(DEPLOYMENT))],
        "Job" => &[(1, "metadata", One(META)), (2, "spec", One(JOB))],
        "CronJob" => &[(1, "metadata", One(META)), (2, "spec", One(CRON_JOB))],
        "Role" | "ClusterRole" => &[(1, "metadata", One(META)), (2, "rules", Many(RULE))],
        "RoleBinding" | "ClusterRoleBinding" => {
            &[(1, "metadata", One(META)), (2, "subjects", Many(SUBJECT)), (3, "roleRef", One(ROLE_REF))]
        }
        "SelfSubjectAccessReview" => &[(2, "spec", One(ACCESS))],
        "SelfSubjectReview" => &[],
        _ => return None,
    })
}

const META: Message = &[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (14, "finalizers", Texts),
];

const SERVICE: Message = &[
    (1, "ports", Many(SERVICE_PORT)),
    (2, "selector", TextMap),
    (3, "clusterIP", Text),
    (4, "type", Text),
    (5, "externalIPs", Texts),
    (7, "sessionAffinity", Text),
    (10, "externalName", Text),
];

const SERVICE_PORT: Message = &[
    (1, "name", Text),
    (2, "protocol", Text),
    (3, "port", Number),
    (4, "targetPort", IntOrText),
    (5, "nodePort", Number),
];

const DEPLOYMENT: Message =
    &[(1, "replicas", OptionalNumber), (2, "selector", One(SELECTOR)), (3, "template", One(POD_TEMPLATE))];

const JOB: Message = &[(6, "template", One(POD_TEMPLATE))];

const CRON_JOB: Message =
    &[(1, "schedule", Text), (5, "jobTemplate", One(&[(1, "metadata", One(META)), (2, "spec", One(JOB))]))];

const SELECTOR: Message = &[(1, "matchLabels", TextMap)];

const POD_TEMPLATE: Message = &[(1, "metadata", One(META)), (2, "spec", One(POD))];

const POD: Message =
    &[(2, "containers", Many(CONTAINER)), (3, "restartPolicy", Text), (8, "serviceAccountName", Text)];

const CONTAINER: Message = &[
    (1, "name", Text),
    (2, "image", Text),
    (3, "command", Texts),
    (4, "args", Texts),
    (6, "ports", Many(&[(1, "name", Text), (3, "containerPort", Number), (4, "protocol", Text)])),
    (7, "env", Many(&[(1, "name", Text), (2, "value", Text)])),
];

const RULE: Message = &[
    (1, "verbs", Texts),
    (2, "apiGroups", Texts),
    (3, "resources", Texts),
    (4, "resourceNames", Texts),
    (5, "nonResourceURLs", Texts),
];

const SUBJECT: Message =
    &[(1, "kind", Text), (2, "apiGroup", Text), (3, "name", Text), (4, "namespace", Text)];

const ROLE_REF: Message = &[(1, "apiGroup", Text), (2, "kind", Text), (3, "name", Text)];

const ACCESS: Message = &[(
    1,
    "resourceAttributes",
    One(&[
        (1, "namespace", Text),
        (2, "verb", Text),
        (3, "group", Text),
        (5, "resource", Text),
        (7, "name", Text),
    ]),
)];
