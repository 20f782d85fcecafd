//! Filters that select the rows of one owner in every shard of its output; `{}` stands for the shard.

use sluice_api::{Gvk, ObjectKey, ProfileId};

use super::{ClusterRef, Table, cluster_token, push_object, push_shard};
use crate::Shard;

/// The rows of an agent.
pub fn agent(cluster: &ClusterRef) -> Vec<String> {
    vec![format!("{}.{{}}.{}.>", Table::Changes.name(), cluster_token(cluster))]
}

/// The rows of the matcher of one shard.
pub fn matcher(shard: Shard) -> Vec<String> {
    let (table, shard) = (Table::Reports.name(), shard_token(shard));
    vec![format!("{table}.{{}}.*.*.{shard}.>"), format!("{table}.{{}}.*.~complete.{shard}")]
}

/// The rows of the renderer of one shard.
pub fn renderer(shard: Shard) -> Vec<String> {
    let (table, shard) = (Table::Desired.name(), shard_token(shard));
    vec![
        format!("{table}.{{}}.*.{shard}.*"),
        format!("{table}.{{}}.~complete.{shard}"),
        // For deployers that are in their cluster.
        format!("{table}.{{}}.*.~complete.{shard}"),
    ]
}

/// The rows of the deployer of one shard.
pub fn deployer(shard: Shard) -> Vec<String> {
    vec![format!("{}.{}.>", Table::Status.name(), shard_token(shard))]
}

/// The rows of the deployer that is in a cluster.
pub fn deployer_of(cluster: &ClusterRef) -> Vec<String> {
    vec![format!("{}.*.{}.>", Table::Status.name(), cluster_token(cluster))]
}

/// What deployers that are in their clusters show, in one shard.
pub fn shown(shard: Shard) -> String {
    format!("{}.{}.*.~shown.*.*", Table::Status.name(), shard_token(shard))
}

/// The changes of one cluster in one shard.
pub fn changes_of(cluster: &ClusterRef, shard: Shard) -> Vec<String> {
    vec![of_cluster(Table::Changes, cluster, shard)]
}

/// The rows of one cluster in one shard of a table, but for those that its writers keep for themselves.
pub fn of_cluster(table: Table, cluster: &ClusterRef, shard: Shard) -> String {
    format!("{}.{}.{}.>", table.name(), shard_token(shard), cluster_token(cluster))
}

/// The rows of profiles in `desired` or `status`: what is `None` does not restrict.
pub fn of_profiles(
    table: Table,
    cluster: Option<&ClusterRef>,
    profile: Option<&ProfileId>,
    shard: Option<Shard>,
) -> String {
    let tokens =
        [shard.map(shard_token), cluster.map(cluster_token), profile.map(|it| super::token(&it.path()))];
    let [shard, cluster, profile] = tokens.map(|token| token.unwrap_or_else(|| "*".to_owned()));
    format!("{}.{shard}.{cluster}.*.{profile}", table.name())
}

/// The reports of one source of one cluster.
pub fn of_source(cluster: &ClusterRef, source: &str, shard: Shard) -> String {
    let (table, shard) = (Table::Reports.name(), shard_token(shard));
    format!("{table}.{shard}.{}.{}.>", cluster_token(cluster), super::token(source))
}

/// The reports of one source of all clusters.
pub fn of_source_anywhere(source: &str, shard: Shard) -> String {
    format!("{}.{}.*.{}.>", Table::Reports.name(), shard_token(shard), super::token(source))
}

/// The reports of one object of one cluster, whatever source they are of; its changes are in shard `origin`.
pub fn of_object(cluster: &ClusterRef, object: &ObjectKey, origin: Shard, shard: Shard) -> String {
    let mut filter =
        format!("{}.{}.{}.*.", Table::Reports.name(), shard_token(shard), cluster_token(cluster));
    push_shard(&mut filter, origin);
    push_object(&mut filter, object);
    filter
}

/// What matchers say of the sets of one cluster, or of all, being complete.
pub fn complete(cluster: Option<&ClusterRef>, shard: Shard) -> String {
    let cluster = cluster.map_or_else(|| "*".to_owned(), cluster_token);
    format!("{}.{}.{cluster}.~complete.*", Table::Reports.name(), shard_token(shard))
}

/// The objects of one kind in one cluster or in all, as this viewer sees them.
pub fn of_kind(cluster: Option<&ClusterRef>, viewer: &str, gvk: &Gvk, shard: Shard) -> String {
    let [group, version, kind] = [&gvk.group, &gvk.version, &gvk.kind].map(|text| super::token(text));
    let cluster = cluster.map_or_else(|| "*".to_owned(), cluster_token);
    format!(
        "{}.{}.{cluster}.{}.{group}.{version}.{kind}.>",
        Table::Changes.name(),
        shard_token(shard),
        super::token(viewer)
    )
}

/// What anybody sees of one object of a cluster.
pub fn sights_of(cluster: &ClusterRef, object: &ObjectKey, shard: Shard) -> String {
    let mut filter = format!("{}.{}.{}.*", Table::Changes.name(), shard_token(shard), cluster_token(cluster));
    push_object(&mut filter, object);
    filter
}

/// The objects of all kinds, or of some, as anybody sees them: of one cluster or of all.
pub fn of_objects(cluster: Option<&ClusterRef>, kinds: &ObjectsOf<'_>, shard: Shard) -> String {
    let ObjectsOf { group, kind, namespace } = kinds;
    let [group, kind, namespace] = [group, kind, namespace].map(|text| text.map(super::token));
    let cluster = cluster.map(cluster_token);
    let [cluster, group, kind, namespace] =
        [&cluster, &group, &kind, &namespace].map(|token| token.as_deref().unwrap_or("*"));
    format!("{}.{}.{cluster}.*.{group}.*.{kind}.{namespace}.*", Table::Changes.name(), shard_token(shard))
}

/// Which objects: what is `None` does not restrict.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectsOf<'t> {
    /// Group of their kind; empty is the core group.
    pub group: Option<&'t str>,
    /// Their kind.
    pub kind: Option<&'t str>,
    /// Their namespace.
    pub namespace: Option<&'t str>,
}

/// The token of a shard, which is also the name of its owner in fence rows.
pub fn shard_token(shard: Shard) -> String {
    let mut out = String::new();
    push_shard(&mut out, shard);
    out
}

#[cfg(test)]
mod tests;
