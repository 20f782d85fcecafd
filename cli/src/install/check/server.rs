//! The management cluster itself.

use sluice_api::model::NAMESPACE;
use sluice_kube::Discovered;

use super::facts::Facts;
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "api", see: "docs/operations/install.md#the-management-cluster" };
/// The oldest and the newest version that the tests run.
const TESTED: (u32, u32) = (32, 36);
/// What stages and their installation use of it.
const NEEDS: [(&str, &str); 7] = [
    ("workloads", "apps/v1/Deployment"),
    ("definitions", "apiextensions.k8s.io/v1/CustomResourceDefinition"),
    ("rbac", "rbac.authorization.k8s.io/v1/ClusterRole"),
    ("budgets", "policy/v1/PodDisruptionBudget"),
    ("policies", "networking.k8s.io/v1/NetworkPolicy"),
    ("reviews", "authorization.k8s.io/v1/SubjectAccessReview"),
    ("tokens", "authentication.k8s.io/v1/TokenReview"),
];
/// Seconds by which clocks may differ: certificates and tokens are judged by them.
const SKEW: i64 = 30;

pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let server = match &facts.server {
        Ok(server) => server,
        Err(why) => {
            return vec![AREA.wrong(
                "answers",
                why,
                "check --kubeconfig, and that the server is reached from here",
            )];
        }
    };
    let mut findings = vec![AREA.fine("answers", format!("Kubernetes {}", server.version)), version(server)];
    findings.push(match facts.ahead {
        None => AREA.skip("clock", "the server does not say what time it is"),
        Some(ahead) => AREA.prefer(
            ahead.abs() <= SKEW,
            "clock",
            format!("the server's clock is {ahead} s ahead of this machine's"),
            "let both follow a time server: tokens and certificates count by the clock",
        ),
    });
    findings.extend(NEEDS.map(|(check, kind)| {
        let (has, group) =
            (server.api_versions.contains(kind), kind.rsplit_once('/').map_or(kind, |(group, _)| group));
        let says = format!("the server {} {group}", if has { "serves" } else { "does not serve" });
        AREA.hold(has, check, says, "enable the API group of the server")
    }));
    findings.push(match &facts.namespaces {
        Err(why) => AREA.skip("namespace", why),
        Ok(names) => {
            let there = names.contains(NAMESPACE);
            let says = format!("namespace {NAMESPACE} {}", if there { "is there" } else { "is not there" });
            let remedy = "kubectl create namespace projectsveltos: what is generated is in it, whatever the release's own is";
            if facts.pre { AREA.prefer(there, "namespace", says, remedy) } else { AREA.hold(there, "namespace", says, remedy) }
        }
    });
    findings
}

fn version(server: &Discovered) -> Finding {
    let digits = server.minor.trim_end_matches(|c: char| !c.is_ascii_digit());
    let Ok(minor) = digits.parse::<u32>() else {
        return AREA.skip("version", "the server says no version that can be read");
    };
    let says = format!("version 1.{minor}; tested are 1.{} to 1.{}", TESTED.0, TESTED.1);
    if minor < TESTED.0 {
        return AREA.wrong("version", says, "upgrade the management cluster");
    }
    AREA.prefer(minor <= TESTED.1, "version", says, "look into the release notes for a newer Sluice")
}
