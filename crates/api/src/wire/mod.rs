//! The Sveltos API as it travels: every kind and every field, exactly as users write them.
//!
//! These types decide nothing. Both versions of the API (`v1alpha1` and `v1beta1`) decode into the same structs,
//! spellings of older eras sit beside the newer ones, and what is not known is kept in `extra`. One place above this
//! module turns them into the model that the stages work with:
//!
//! ```text
//!  YAML / JSON ──► wire (this module: as written) ──► model (one meaning for all eras) ──► stages
//! ```
//!
//! Texts are plain `String`s in which empty means absent, as in the original; numbers and booleans are `Option`s, so
//! that an explicit `false` survives a round trip.

mod addon;
mod cluster_configuration;
mod cluster_profile;
mod cluster_report;
mod cluster_set;
mod cluster_summary;
mod common;
mod decode;
mod event_report;
mod event_source;
mod event_trigger;
mod health;
mod helm;
mod kustomize;
mod object;
mod role_request;
mod sveltos_cluster;
#[cfg(test)]
mod tests;

pub use addon::{
    DriftExclusion, Patch, PatchSelector, PatchesFrom, PolicyRef, RemoteUrl, TemplateResourceRef, ValueFrom,
};
pub use cluster_configuration::{
    ClusterConfiguration, ClusterConfigurationSpec, ClusterConfigurationStatus, ClusterProfileResource,
    DeployedChart, DeployedResource, Feature, OF_ROWS, ProfileResource,
};
pub use cluster_profile::{
    ClusterFailure, ClusterHash, ClusterProfile, ClusterProfileSpec, Profile, ProfileStatus,
};
pub use cluster_report::{
    ClusterReport, ClusterReportSpec, ClusterReportStatus, ReleaseReport, ReportedResource, ResourceReport,
};
pub use cluster_set::{ClusterSet, ClusterSetSpec, ClusterSetStatus, Set};
pub use cluster_summary::{
    ClusterSummary, ClusterSummarySpec, ClusterSummaryStatus, DeployedGvks, FeatureSummary,
    HelmReleaseSummary,
};
pub use common::{
    Extra, IntOrString, LabelFilter, LabelSelector, LabelSelectorRequirement, NamedCel, ObjectReference,
    SecretReference, SelectorUnion, StringMap,
};
pub use decode::{DecodeError, decode, without_nulls};
pub use event_report::{EventReport, EventReportSpec, EventReportStatus};
pub use event_source::{
    EventSource, EventSourceSpec, EventSourceStatus, MessagingMatchCriteria, ResourceSelector,
};
pub use event_trigger::{
    ClusterInfo, EventBasedAddOn, EventTrigger, EventTriggerSpec, EventTriggerStatus, Generator,
};
pub use health::{JobCheck, JobRef, MetricQuery, MetricSource, ValidateHealth};
pub use helm::{
    HelmChart, HelmInstallOptions, HelmOptions, HelmUninstallOptions, HelmUpgradeOptions, OidcIdentity,
    ProvenanceVerification, RegistryCredentials, SignatureVerification,
};
pub use kustomize::KustomizationRef;
pub use object::{Metadata, Object, OwnerReference};
pub use role_request::{RoleRequest, RoleRequestSpec, RoleRequestStatus};
pub use sveltos_cluster::{
    ActiveWindow, AwsIdentity, AzureIdentity, ClusterCheck, GcpIdentity, LocalObjectReference,
    SveltosCluster, SveltosClusterSpec, SveltosClusterStatus, TokenRequestRenewalOption, WorkloadIdentity,
};
