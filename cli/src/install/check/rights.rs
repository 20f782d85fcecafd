//! The rights of each stage in the management cluster: what it needs to do its work.

use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;

use super::facts::Facts;
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "rights", see: "docs/operations/security.md#rights-in-kubernetes" };

/// Calls that a stage makes: each of these verbs on each of these resources.
struct Rule {
    stage: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    /// The one namespace, and the one name; empty for all.
    namespace: &'static str,
    name: &'static str,
}

/// One of these calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    stage: &'static str,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    namespace: &'static str,
    name: &'static str,
}

const LIB: &str = "lib.projectsveltos.io";
const CONFIG: &str = "config.projectsveltos.io";
const CAPI: &str = "cluster.x-k8s.io";
const FOLLOW: &[&str] = &["list", "watch"];
const KEEP: &[&str] = &["create", "patch", "delete"];

const fn all(
    stage: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { stage, group, resources, verbs, namespace: "", name: "" }
}

const fn home(
    stage: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { stage, group: "", resources, verbs, namespace: NAMESPACE, name: "" }
}

// D-1213: each stage has exactly the rights of its calls.
/// As `deploy/helm/sluice/templates/_rights.tpl` gives them; `e2e/tests/rights.rs` compares.
const RULES: &[Rule] = &[
    all("agent", LIB, &["sveltosclusters"], FOLLOW),
    all("agent", CAPI, &["clusters"], FOLLOW),
    all("agent", "", &["secrets"], FOLLOW),
    all(
        "renderer",
        LIB,
        &[
            "eventsources",
            "eventtriggers",
            "eventbasedaddons",
            "sveltosclusters",
            "clustersets",
            "sets",
            "rolerequests",
        ],
        FOLLOW,
    ),
    all("renderer", CONFIG, &["profiles", "clusterprofiles"], FOLLOW),
    all("renderer", CAPI, &["clusters"], FOLLOW),
    all("renderer", "", &["configmaps", "secrets"], FOLLOW),
    all("renderer", CONFIG, &["clusterprofiles"], &["get", "create", "patch", "delete"]),
    all("renderer", LIB, &["eventreports"], KEEP),
    all(
        "renderer",
        LIB,
        &[
            "eventreports/status",
            "eventsources/status",
            "eventtriggers/status",
            "eventbasedaddons/status",
            "sveltosclusters/status",
            "clustersets/status",
            "sets/status",
            "rolerequests/status",
        ],
        &["patch"],
    ),
    all("renderer", CONFIG, &["clusterprofiles/status", "profiles/status"], &["patch"]),
    all("renderer", "", &["events"], &["create", "patch"]),
    all("renderer", "authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    home("renderer", &["configmaps", "secrets"], KEEP),
    Rule { name: "sluice-random", ..home("renderer", &["secrets"], &["get"]) },
    Rule { name: "sluice-mark", ..home("renderer", &["configmaps"], &["get"]) },
    all("deployer", LIB, &["sveltosclusters"], FOLLOW),
    all("deployer", CAPI, &["clusters"], FOLLOW),
    all("deployer", "", &["secrets"], FOLLOW),
    all("deployer", CONFIG, &["clustersummaries", "clusterconfigurations"], KEEP),
    all("deployer", CONFIG, &["clustersummaries/status", "clusterconfigurations/status"], &["patch"]),
    home("deployer", &["configmaps"], &["list"]),
    all(
        "inspect",
        LIB,
        &[
            "eventsources",
            "eventtriggers",
            "eventbasedaddons",
            "sveltosclusters",
            "clustersets",
            "sets",
            "eventreports",
        ],
        &["list"],
    ),
    all("inspect", CONFIG, &["clusterprofiles", "profiles", "clusterconfigurations"], &["list"]),
    all("inspect", CAPI, &["clusters"], &["list"]),
    all("inspect", "authentication.k8s.io", &["tokenreviews"], &["create"]),
];

/// Every call of every stage.
pub(super) fn needs() -> impl Iterator<Item = Need> {
    let of_resource = |rule: &'static Rule, resource: &'static str| {
        let Rule { stage, group, namespace, name, .. } = *rule;
        rule.verbs.iter().map(move |verb| Need { stage, group, resource, verb, namespace, name })
    };
    RULES
        .iter()
        .flat_map(move |rule| rule.resources.iter().flat_map(move |resource| of_resource(rule, resource)))
}

// === impl Need ===

impl Need {
    /// Whose account needs it.
    pub(super) fn stage(&self) -> &'static str {
        self.stage
    }

    /// As a SubjectAccessReview asks for it.
    pub(super) fn attributes(&self) -> Value {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        json!({"group": self.group, "resource": resource, "subresource": subresource, "verb": self.verb,
            "namespace": self.namespace, "name": self.name})
    }

    fn text(&self) -> String {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        let place = if self.namespace.is_empty() { "" } else { " in projectsveltos" };
        format!("{} {}{group}{place}", self.verb, self.resource)
    }
}

/// For each stage and resource one check.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let rights = match &facts.rights {
        Ok(rights) => rights,
        Err(why) => return vec![AREA.skip("all", why)],
    };
    let mut checks: Vec<(String, Vec<&(Need, bool)>)> = Vec::new();
    for right in rights {
        let check = format!("{}.{}", right.0.stage, right.0.resource);
        match checks.iter_mut().find(|(name, _)| *name == check) {
            Some((_, of_check)) => of_check.push(right),
            None => checks.push((check, vec![right])),
        }
    }
    checks.into_iter().map(|(check, rights)| of_resource(&check, &rights)).collect()
}

fn of_resource(check: &str, rights: &[&(Need, bool)]) -> Finding {
    let missing: Vec<String> =
        rights.iter().filter(|(_, granted)| !granted).map(|(need, _)| need.text()).collect();
    let stage = rights.first().map_or("", |(need, _)| need.stage);
    match missing.is_empty() {
        true => AREA.fine(check, format!("the account of the {stage} may do what it has to")),
        false => AREA.wrong(
            check,
            format!("the account of the {stage} may not {}", missing.join(", ")),
            "rbac.create=true of the chart grants it; --release and --namespace say whose accounts are asked about",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_subresource_is_asked_for_as_such() {
        let need = needs().find(|need| need.resource == "sets/status").unwrap();
        let asked = need.attributes();
        assert_eq!(
            (asked["resource"].as_str(), asked["subresource"].as_str()),
            (Some("sets"), Some("status"))
        );
        assert_eq!(need.text(), "patch sets/status.lib.projectsveltos.io");
    }

    #[test]
    fn no_need_is_there_twice() {
        let all: Vec<Need> = needs().collect();
        let twice = all.iter().enumerate().filter(|(at, need)| all[..*at].contains(need));
        assert_eq!(twice.count(), 0);
    }
}
