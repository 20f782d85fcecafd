//! The rights of each stage in the management cluster: what it needs to do its work.

use std::collections::BTreeSet;

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
    place: Place,
    /// The one name; empty for all.
    name: &'static str,
}

/// Where a stage makes a call.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In all namespaces at once, or on a kind that has none.
    Everywhere,
    /// In the namespace of the object that it writes: an installation may name those that there are.
    Beside,
    /// As that, and for kinds without a namespace in `default`.
    Events,
    /// In `projectsveltos`.
    Home,
}

/// One of these calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    stage: &'static str,
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    /// Empty for all.
    namespace: String,
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
    Rule { stage, group, resources, verbs, place: Place::Everywhere, name: "" }
}

const fn beside(
    stage: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { stage, group, resources, verbs, place: Place::Beside, name: "" }
}

const fn home(
    stage: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { stage, group: "", resources, verbs, place: Place::Home, name: "" }
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
    all(
        "renderer",
        LIB,
        &[
            "eventsources/status",
            "eventtriggers/status",
            "eventbasedaddons/status",
            "clustersets/status",
            "rolerequests/status",
        ],
        &["patch"],
    ),
    all("renderer", CONFIG, &["clusterprofiles/status"], &["patch"]),
    beside("renderer", LIB, &["eventreports"], KEEP),
    beside("renderer", LIB, &["eventreports/status", "sveltosclusters/status", "sets/status"], &["patch"]),
    beside("renderer", LIB, &["sveltosclusters"], &["patch"]),
    beside("renderer", CAPI, &["clusters"], &["patch"]),
    beside("renderer", CONFIG, &["profiles/status"], &["patch"]),
    Rule { place: Place::Events, ..beside("renderer", "", &["events"], &["create", "patch"]) },
    all("renderer", "authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    home("renderer", &["configmaps", "secrets"], KEEP),
    Rule { name: "sluice-random", ..home("renderer", &["secrets"], &["get"]) },
    Rule { name: "sluice-mark", ..home("renderer", &["configmaps"], &["get"]) },
    all("deployer", LIB, &["sveltosclusters"], FOLLOW),
    all("deployer", CAPI, &["clusters"], FOLLOW),
    all("deployer", "", &["secrets"], FOLLOW),
    beside("deployer", CONFIG, &["clustersummaries", "clusterconfigurations", "clusterreports"], KEEP),
    beside(
        "deployer",
        CONFIG,
        &["clustersummaries/status", "clusterconfigurations/status", "clusterreports/status"],
        &["patch"],
    ),
    beside("deployer", LIB, &["sveltosclusters"], &["patch"]),
    beside("deployer", "", &["events"], &["create", "patch"]),
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

/// As the chart gives them with `rbac.renewTokens`.
const TO_RENEW_TOKENS: &[Rule] = &[
    beside("deployer", "", &["secrets"], &["get", "patch"]),
    beside("deployer", LIB, &["sveltosclusters/status"], &["patch"]),
];

/// Every call of every stage, where clusters and what users write are in these namespaces; in any when there are none.
/// Those with which tokens of clusters are renewed are among them where some are.
pub(super) fn needs(namespaces: &[String], renews_tokens: bool) -> impl Iterator<Item = Need> {
    let to_renew = if renews_tokens { TO_RENEW_TOKENS } else { &[] };
    RULES.iter().chain(to_renew).flat_map(move |rule| {
        rule.place.namespaces(namespaces).into_iter().flat_map(move |namespace| rule.needs(&namespace))
    })
}

// === impl Place ===

impl Place {
    /// The namespaces to ask about; an empty one stands for all.
    fn namespaces(self, given: &[String]) -> BTreeSet<String> {
        let given = || given.iter().cloned();
        match self {
            Self::Home => BTreeSet::from([NAMESPACE.to_owned()]),
            Self::Beside if given().len() > 0 => given().collect(),
            Self::Events if given().len() > 0 => given().chain(["default".to_owned()]).collect(),
            Self::Everywhere | Self::Beside | Self::Events => BTreeSet::from([String::new()]),
        }
    }
}

// === impl Rule ===

impl Rule {
    /// Its calls in this namespace.
    fn needs(&'static self, namespace: &str) -> Vec<Need> {
        let Self { stage, group, name, .. } = *self;
        let calls =
            self.resources.iter().flat_map(|resource| self.verbs.iter().map(move |verb| (*resource, *verb)));
        calls
            .map(|(resource, verb)| Need {
                stage,
                group,
                resource,
                verb,
                namespace: namespace.to_owned(),
                name,
            })
            .collect()
    }
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
        let place = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!(" in {namespace}"),
        };
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
            "rbac.create=true of the chart grants it, and rbac.renewTokens=true what renews tokens of clusters; --release and --namespace say whose accounts are asked about, --namespaces where they write",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_subresource_is_asked_for_as_such() {
        let need = needs(&[], true).find(|need| need.resource == "sets/status").unwrap();
        let asked = need.attributes();
        assert_eq!(
            (asked["resource"].as_str(), asked["subresource"].as_str()),
            (Some("sets"), Some("status"))
        );
        assert_eq!(need.text(), "patch sets/status.lib.projectsveltos.io");
    }

    #[test]
    fn no_need_is_there_twice() {
        let all: Vec<Need> = needs(&[], true).collect();
        let twice = all.iter().enumerate().filter(|(at, need)| all[..*at].contains(need));
        assert_eq!(twice.count(), 0);
    }

    #[test]
    fn nobody_writes_secrets_of_clusters_unless_tokens_are_renewed() {
        let names = ["a".to_owned()];
        let of =
            |renews: bool| needs(&names, renews).filter(|need| need.text() == "patch secrets in a").count();
        assert_eq!((of(false), of(true)), (0, 1));
    }

    #[test]
    fn namespaces_that_are_named_are_asked_about_one_by_one() {
        let of = |resource: &str| {
            let names = ["team-a".to_owned(), "team-b".to_owned()];
            let is_it = |need: &Need| need.stage == "renderer" && need.resource == resource;
            let found: Vec<_> = needs(&names, false).filter(is_it).collect();
            found.iter().map(Need::text).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            of("profiles/status"),
            "patch profiles/status.config.projectsveltos.io in team-a, patch profiles/status.config.projectsveltos.io in team-b"
        );
        assert_eq!(
            of("events"),
            "create events in default, patch events in default, create events in team-a, patch events in team-a, \
             create events in team-b, patch events in team-b"
        );
        assert_eq!(of("clusterprofiles/status"), "patch clusterprofiles/status.config.projectsveltos.io");
    }
}
