//! CustomResourceDefinitions of the Sveltos API, made by pure functions.
//!
//! ```text
//!  schema (builder) ──► addon, helm, event, profile, … ──► all() ──► yaml() ──► deploy/crds
//! ```
//!
//! Both versions are served without a conversion webhook: they share one schema, and a field that is text in one era
//! and an object in the other carries no type at all. `deploy/crds` holds the output of [`yaml`]; CI compares the two.

mod addon;
mod cluster;
mod common;
mod definition;
mod event;
mod helm;
mod profile;
mod schema;
mod summary;
#[cfg(test)]
mod tests;
mod yaml;

use definition::{CONFIG_GROUP, Definition, LIB_GROUP, Scope};
use serde_json::Value;

/// Every definition, in the order in which they are best installed.
pub fn all() -> Vec<Value> {
    definitions().into_iter().map(Definition::build).collect()
}

/// File name and text of every definition, as kept in `deploy/crds`. The text depends on nothing but this code.
pub fn yaml() -> Vec<(String, String)> {
    definitions()
        .into_iter()
        .map(|definition| (definition.file_name(), yaml::document(&definition.build())))
        .collect()
}

fn definitions() -> Vec<Definition> {
    let mut all = lib_definitions();
    all.extend(config_definitions());
    all
}

fn lib_definitions() -> Vec<Definition> {
    vec![
        Definition::new(LIB_GROUP, "SveltosCluster", "sveltosclusters", Scope::Namespaced)
            .schemas(cluster::cluster_spec(), cluster::cluster_status())
            .column("Ready", "boolean", ".status.ready")
            .column("ConnectionStatus", "string", ".status.connectionStatus")
            .column("Version", "string", ".status.version")
            .age(),
        Definition::new(LIB_GROUP, "ClusterSet", "clustersets", Scope::Cluster)
            .schemas(cluster::set_spec(), cluster::set_status())
            .age(),
        Definition::new(LIB_GROUP, "Set", "sets", Scope::Namespaced)
            .schemas(cluster::set_spec(), cluster::set_status())
            .age(),
        Definition::new(LIB_GROUP, "RoleRequest", "rolerequests", Scope::Cluster)
            .schemas(cluster::role_request_spec(), cluster::role_request_status())
            .column("ServiceAccount", "string", ".spec.serviceAccountName")
            .problem()
            .age(),
        Definition::new(LIB_GROUP, "EventSource", "eventsources", Scope::Cluster)
            .schemas(event::source_spec(), event::source_status())
            .problem()
            .age(),
        Definition::new(LIB_GROUP, "EventReport", "eventreports", Scope::Namespaced)
            .schemas(event::report_spec(), event::report_status())
            .column("EventSource", "string", ".spec.eventSourceName")
            .column("Cluster", "string", ".spec.clusterName")
            .column("Phase", "string", ".status.phase")
            .age(),
        Definition::new(LIB_GROUP, "EventTrigger", "eventtriggers", Scope::Cluster)
            .schemas(event::trigger_spec(), event::trigger_status())
            .column("EventSource", "string", ".spec.eventSourceName")
            .problem()
            .age(),
        Definition::new(LIB_GROUP, "EventBasedAddOn", "eventbasedaddons", Scope::Cluster)
            .schemas(event::trigger_spec(), event::trigger_status())
            .column("EventSource", "string", ".spec.eventSourceName")
            .problem()
            .age(),
    ]
}

fn config_definitions() -> Vec<Definition> {
    vec![
        Definition::new(CONFIG_GROUP, "ClusterProfile", "clusterprofiles", Scope::Cluster)
            .schemas(profile::spec(), profile::status())
            .problem()
            .age(),
        Definition::new(CONFIG_GROUP, "Profile", "profiles", Scope::Namespaced)
            .schemas(profile::spec(), profile::status())
            .problem()
            .age(),
        Definition::new(CONFIG_GROUP, "ClusterSummary", "clustersummaries", Scope::Namespaced)
            .schemas(summary::summary_spec(), summary::summary_status())
            .column("HelmCharts", "string", r#".status.featureSummaries[?(@.featureID=="Helm")].status"#)
            .column(
                "KustomizeRefs",
                "string",
                r#".status.featureSummaries[?(@.featureID=="Kustomize")].status"#,
            )
            .column("PolicyRefs", "string", r#".status.featureSummaries[?(@.featureID=="Resources")].status"#)
            .age(),
        Definition::new(CONFIG_GROUP, "ClusterConfiguration", "clusterconfigurations", Scope::Namespaced)
            .schemas(summary::configuration_spec(), summary::configuration_status())
            .age(),
        Definition::new(CONFIG_GROUP, "ClusterReport", "clusterreports", Scope::Namespaced)
            .schemas(summary::report_spec(), summary::report_status())
            .age(),
    ]
}
