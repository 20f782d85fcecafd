//! The rights of each stage in the management cluster: what it needs to do its work.

use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;

use super::facts::Facts;
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "rights", see: "docs/operations/security.md#rights-in-kubernetes" };

/// One call that a stage makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) stage: &'static str,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    /// Where, and of which name; empty for all.
    namespace: &'static str,
    name: &'static str,
}

const LIB: &str = "lib.projectsveltos.io";
const CONFIG: &str = "config.projectsveltos.io";

const fn everywhere(
    stage: &'static str,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
) -> Need {
    Need { stage, group, resource, verb, namespace: "", name: "" }
}

const fn at_home(
    stage: &'static str,
    resource: &'static str,
    verb: &'static str,
    name: &'static str,
) -> Need {
    Need { stage, group: "", resource, verb, namespace: NAMESPACE, name }
}

// D-1213: each stage has exactly the rights of its calls.
/// All of them. `deploy/helm/sluice` grants these, and a test compares.
pub(super) const NEEDS: &[Need] = &[
    everywhere("agent", LIB, "sveltosclusters", "list"),
    everywhere("agent", LIB, "sveltosclusters", "watch"),
    everywhere("agent", "cluster.x-k8s.io", "clusters", "list"),
    everywhere("agent", "cluster.x-k8s.io", "clusters", "watch"),
    everywhere("agent", "", "secrets", "list"),
    everywhere("agent", "", "secrets", "watch"),
    everywhere("renderer", LIB, "eventsources", "watch"),
    everywhere("renderer", LIB, "eventtriggers", "watch"),
    everywhere("renderer", LIB, "eventbasedaddons", "watch"),
    everywhere("renderer", LIB, "sveltosclusters", "watch"),
    everywhere("renderer", LIB, "clustersets", "watch"),
    everywhere("renderer", LIB, "sets", "watch"),
    everywhere("renderer", LIB, "rolerequests", "watch"),
    everywhere("renderer", LIB, "eventsources", "list"),
    everywhere("renderer", LIB, "eventtriggers", "list"),
    everywhere("renderer", LIB, "eventbasedaddons", "list"),
    everywhere("renderer", LIB, "sveltosclusters", "list"),
    everywhere("renderer", LIB, "clustersets", "list"),
    everywhere("renderer", LIB, "sets", "list"),
    everywhere("renderer", LIB, "rolerequests", "list"),
    everywhere("renderer", CONFIG, "profiles", "list"),
    everywhere("renderer", CONFIG, "profiles", "watch"),
    everywhere("renderer", "cluster.x-k8s.io", "clusters", "list"),
    everywhere("renderer", "cluster.x-k8s.io", "clusters", "watch"),
    everywhere("renderer", "", "configmaps", "list"),
    everywhere("renderer", "", "configmaps", "watch"),
    everywhere("renderer", "", "secrets", "list"),
    everywhere("renderer", "", "secrets", "watch"),
    everywhere("renderer", CONFIG, "clusterprofiles", "get"),
    everywhere("renderer", CONFIG, "clusterprofiles", "list"),
    everywhere("renderer", CONFIG, "clusterprofiles", "watch"),
    everywhere("renderer", CONFIG, "clusterprofiles", "create"),
    everywhere("renderer", CONFIG, "clusterprofiles", "patch"),
    everywhere("renderer", CONFIG, "clusterprofiles", "delete"),
    everywhere("renderer", LIB, "eventreports", "create"),
    everywhere("renderer", LIB, "eventreports", "patch"),
    everywhere("renderer", LIB, "eventreports", "delete"),
    everywhere("renderer", LIB, "eventreports/status", "patch"),
    everywhere("renderer", LIB, "eventsources/status", "patch"),
    everywhere("renderer", LIB, "eventtriggers/status", "patch"),
    everywhere("renderer", LIB, "eventbasedaddons/status", "patch"),
    everywhere("renderer", LIB, "sveltosclusters/status", "patch"),
    everywhere("renderer", LIB, "clustersets/status", "patch"),
    everywhere("renderer", LIB, "sets/status", "patch"),
    everywhere("renderer", LIB, "rolerequests/status", "patch"),
    everywhere("renderer", CONFIG, "clusterprofiles/status", "patch"),
    everywhere("renderer", CONFIG, "profiles/status", "patch"),
    everywhere("renderer", "", "events", "create"),
    everywhere("renderer", "", "events", "patch"),
    everywhere("renderer", "authorization.k8s.io", "subjectaccessreviews", "create"),
    at_home("renderer", "configmaps", "create", ""),
    at_home("renderer", "configmaps", "patch", ""),
    at_home("renderer", "configmaps", "delete", ""),
    at_home("renderer", "secrets", "create", ""),
    at_home("renderer", "secrets", "patch", ""),
    at_home("renderer", "secrets", "delete", ""),
    at_home("renderer", "secrets", "get", "sluice-random"),
    everywhere("deployer", LIB, "sveltosclusters", "list"),
    everywhere("deployer", LIB, "sveltosclusters", "watch"),
    everywhere("deployer", "cluster.x-k8s.io", "clusters", "list"),
    everywhere("deployer", "cluster.x-k8s.io", "clusters", "watch"),
    everywhere("deployer", "", "secrets", "list"),
    everywhere("deployer", "", "secrets", "watch"),
    everywhere("deployer", CONFIG, "clustersummaries", "create"),
    everywhere("deployer", CONFIG, "clustersummaries", "patch"),
    everywhere("deployer", CONFIG, "clustersummaries", "delete"),
    everywhere("deployer", CONFIG, "clustersummaries/status", "patch"),
    everywhere("deployer", CONFIG, "clusterconfigurations", "create"),
    everywhere("deployer", CONFIG, "clusterconfigurations", "patch"),
    everywhere("deployer", CONFIG, "clusterconfigurations", "delete"),
    everywhere("deployer", CONFIG, "clusterconfigurations/status", "patch"),
    at_home("deployer", "configmaps", "list", ""),
    everywhere("inspect", LIB, "eventsources", "list"),
    everywhere("inspect", LIB, "eventtriggers", "list"),
    everywhere("inspect", LIB, "eventbasedaddons", "list"),
    everywhere("inspect", LIB, "sveltosclusters", "list"),
    everywhere("inspect", LIB, "clustersets", "list"),
    everywhere("inspect", LIB, "sets", "list"),
    everywhere("inspect", LIB, "eventreports", "list"),
    everywhere("inspect", CONFIG, "clusterprofiles", "list"),
    everywhere("inspect", CONFIG, "profiles", "list"),
    everywhere("inspect", CONFIG, "clusterconfigurations", "list"),
    everywhere("inspect", "cluster.x-k8s.io", "clusters", "list"),
    everywhere("inspect", "authentication.k8s.io", "tokenreviews", "create"),
];

// === impl Need ===

impl Need {
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
pub(super) mod tests {
    use super::*;

    #[test]
    fn a_subresource_is_asked_for_as_such() {
        let need = everywhere("renderer", LIB, "sets/status", "patch");
        let asked = need.attributes();
        assert_eq!(
            (asked["resource"].as_str(), asked["subresource"].as_str()),
            (Some("sets"), Some("status"))
        );
        assert_eq!(need.text(), "patch sets/status.lib.projectsveltos.io");
    }

    #[test]
    fn no_need_is_there_twice() {
        let twice = NEEDS.iter().enumerate().filter(|(at, need)| NEEDS[..*at].contains(need));
        assert_eq!(twice.count(), 0);
    }
}
