//! What is deployed, by rows of the bus: what renderers want, of which deployers say that it is provisioned.

use std::collections::BTreeSet;

use sluice_api::kinds::key_of;
use sluice_api::{ClusterKind, ClusterRef, ProfileId};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look_each};
use sluice_protocol::rows::{Desired, Policy, State, Status};
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Shard, Subject, Table};
use sluice_status_core::timestamp;

use super::{Addon, AddonFilter, CHART, merged};

/// What a policy is called whose name is that of a chart's release.
pub(crate) const OF_CHART: &str = "HelmChart";
/// Filters of one reading; where it would need more, everything is read.
pub(super) const MOST: usize = 64;

/// In which cluster, for which renderer shard, which profile.
type Place = (ClusterRef, Shard, ProfileId);

/// What is asked for. When something was applied is not in these rows: the time is that of what was wanted. Of a cluster that is
/// named only its rows are read, and of a profile that is named only those of the profile: others that deploy the same are not
/// said.
pub(crate) async fn addons_on_bus(bus: &Bus, filter: &AddonFilter) -> Result<Vec<Addon>, BusError> {
    let provisioned = provisioned(bus, filter).await?;
    let mut found = Vec::new();
    for shard in Shard::all(bus.shards()) {
        let Some(filters) = wanted(filter, &provisioned, shard, bus.shards()) else { continue };
        let each = |stored: Stored| add_row(&mut found, &stored, &provisioned);
        look_each(bus, &ReadSpec::some(Table::Desired.stream(shard), filters), each).await?;
    }
    found.retain(|addon| filter.wants(addon));
    Ok(merged(found))
}

/// What to read in a shard of what renderers want, empty for everything; `None` when nothing of it is deployed there.
fn wanted(filter: &AddonFilter, places: &BTreeSet<Place>, shard: Shard, shards: u16) -> Option<Vec<String>> {
    let is_here = |(cluster, ..): &&Place| cluster_shard(cluster, shards) == shard;
    let here: Vec<&Place> = places.iter().filter(is_here).collect();
    if here.is_empty() {
        return None;
    }
    let (of_cluster, of_profile) =
        (filter.cluster.is_some() || filter.namespace.is_some(), filter.profile.is_some());
    let choose = |(cluster, _, profile): &Place| {
        let (cluster, profile) = (of_cluster.then_some(cluster), of_profile.then_some(profile));
        own_rows::of_profiles(Table::Desired, cluster, profile, Some(shard))
    };
    let filters: BTreeSet<String> = here.into_iter().map(choose).collect();
    Some(if filters.len() > MOST { Vec::new() } else { filters.into_iter().collect() })
}

fn add_row(found: &mut Vec<Addon>, Stored { row, at }: &Stored, provisioned: &BTreeSet<Place>) {
    let Subject::Desired { cluster, origin, profile, .. } = &row.subject else { return };
    let place = (cluster.clone(), *origin, profile.clone());
    if provisioned.contains(&place)
        && let Ok(desired) = Desired::of_row(row)
    {
        found.extend(of_desired(cluster, profile, &desired, &timestamp(*at)));
    }
}

/// What a row wants, where all of it is applied.
pub(super) fn of_desired(
    cluster: &ClusterRef,
    profile: &ProfileId,
    desired: &Desired,
    time: &str,
) -> Vec<Addon> {
    let common = Addon {
        cluster: cluster.path(),
        version: "N/A".to_owned(),
        time: time.to_owned(),
        deployment_type: if cluster.is_management() { "Local" } else { "Remote" }.to_owned(),
        profiles: vec![format!("{}/{}", profile.kind(), profile.name)],
        ..Addon::default()
    };
    desired.policies.iter().flat_map(|policy| of_policy(&common, policy)).collect()
}

/// Where deployers say that everything is applied, as far as it is asked for.
async fn provisioned(bus: &Bus, filter: &AddonFilter) -> Result<BTreeSet<Place>, BusError> {
    let mut found = BTreeSet::new();
    let each = |Stored { row, .. }: Stored| {
        let is_provisioned = || Status::of_row(&row).is_ok_and(|status| status.state == State::Provisioned);
        let Subject::Status { cluster, origin, profile, .. } = &row.subject else { return };
        let is_wanted = filter.is_on(&cluster.path())
            && filter.profile.as_ref().is_none_or(|by| *by == format!("{}/{}", profile.kind(), profile.name));
        if is_wanted && is_provisioned() {
            found.insert((cluster.clone(), *origin, profile.clone()));
        }
    };
    look_each(bus, &ReadSpec::some(Table::Status.stream(Shard::FIRST), said(filter, bus.shards())), each)
        .await?;
    Ok(found)
}

/// What to read of what deployers say, empty for everything: a subject needs the whole name of a cluster or profile.
fn said(filter: &AddonFilter, shards: u16) -> Vec<String> {
    let profile = filter.profile.as_deref().and_then(|profile| profile.strip_prefix("ClusterProfile/"));
    let profile = profile.map(ProfileId::cluster);
    let of = |cluster: Option<&ClusterRef>| {
        let shard = cluster.map(|cluster| cluster_shard(cluster, shards));
        own_rows::of_profiles(Table::Status, cluster, profile.as_ref(), shard)
    };
    match (&filter.namespace, &filter.cluster) {
        (Some(namespace), Some(name)) => {
            let named = |kind| ClusterRef { kind, namespace: namespace.clone(), name: name.clone() };
            let kinds = [ClusterKind::Sveltos, ClusterKind::Capi].map(named);
            kinds.iter().map(|cluster| of(Some(cluster))).collect()
        }
        _ => profile.as_ref().map(|_| of(None)).into_iter().collect(),
    }
}

fn of_policy(common: &Addon, policy: &Policy) -> Vec<Addon> {
    let addon = |resource_type: String, namespace: &str, name: &str| Addon {
        resource_type,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..common.clone()
    };
    let of_object = |object: &serde_json::Value| {
        let key = key_of(object)?;
        Some(addon(format!("{}:{}", key.gvk.group, key.gvk.kind), &key.namespace, &key.name))
    };
    let mut found: Vec<Addon> = policy.objects.iter().filter_map(of_object).collect();
    if policy.kind == OF_CHART {
        let version = policy.release.as_ref().map_or_else(|| "N/A".to_owned(), |it| it.version.clone());
        found.push(Addon { version, ..addon(CHART.to_owned(), &policy.namespace, &policy.name) });
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_bus::kit::{Server, write};
    use sluice_protocol::{Body, Publish};

    use super::*;
    use crate::kit::{connect, rows, service};

    #[tokio::test]
    async fn only_what_a_deployer_says_is_provisioned_is_deployed() {
        let server = Server::start();
        let (bus, _tasks) = connect(&server).await;
        write(&bus, rows(Some(service()))).await;
        let all = AddonFilter::default();
        assert_eq!(addons_on_bus(&bus, &all).await.unwrap(), [], "its deployer says that it failed");
        let status = rows(Some(service())).pop().unwrap();
        let body = json!({"state": State::Provisioned}).to_string().into_bytes();
        write(&bus, [Publish { body: Body::Value(body.into()), ..status }]).await;
        let found = addons_on_bus(&bus, &all).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let Addon { cluster, resource_type, name, profiles, .. } = &found[0];
        assert_eq!(
            (cluster.as_str(), resource_type.as_str(), name.as_str()),
            ("default/b", ":ConfigMap", "made")
        );
        assert_eq!(profiles, &["ClusterProfile/p"]);
        for (filter, count) in filters() {
            assert_eq!(addons_on_bus(&bus, &filter).await.unwrap().len(), count, "{filter:?}");
        }
    }

    fn of(namespace: &str, cluster: &str, profile: &str) -> AddonFilter {
        let [namespace, cluster, profile] =
            [namespace, cluster, profile].map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()));
        AddonFilter { namespace, cluster, profile, charts: None }
    }

    /// How many of the one add-on of profile `p` in `default/b` each of them chooses.
    fn filters() -> Vec<(AddonFilter, usize)> {
        vec![
            (of("", "b", ""), 1),
            (of("default", "b", ""), 1),
            (of("default", "", ""), 1),
            (of("", "", "ClusterProfile/p"), 1),
            (of("default", "b", "ClusterProfile/p"), 1),
            (of("", "a", ""), 0),
            (of("other", "b", ""), 0),
            (of("", "", "Profile/p"), 0),
            (of("", "", "ClusterProfile/q"), 0),
            (AddonFilter { charts: Some(false), ..of("", "b", "") }, 1),
            (AddonFilter { charts: Some(true), ..of("", "b", "") }, 0),
        ]
    }

    #[test]
    fn of_what_deployers_say_only_that_is_read_which_a_whole_name_chooses() {
        assert_eq!(said(&of("", "b", ""), 1), Vec::<String>::new());
        assert_eq!(said(&of("", "", "Profile/p"), 1), Vec::<String>::new(), "its namespace is not known");
        assert_eq!(said(&of("", "b", "ClusterProfile/p"), 1), ["status.*.*.*.p"]);
        let both = ["status.00.sveltos:n/b.*.*", "status.00.capi:n/b.*.*"];
        assert_eq!(said(&of("n", "b", ""), 1), both);
    }

    #[test]
    fn of_what_renderers_want_only_that_is_read_which_is_deployed_and_asked_for() {
        let place = |cluster: &str, profile: &str| {
            (ClusterRef::sveltos("n", cluster), Shard::new(3), ProfileId::cluster(profile))
        };
        let read = |filter: &AddonFilter, places: &[Place]| {
            wanted(filter, &places.iter().cloned().collect(), Shard::FIRST, 1)
        };
        let two = [place("b", "p"), place("b", "q")];
        let all = vec!["desired.00.*.*.*".to_owned()];
        assert_eq!(read(&of("", "", ""), &two), Some(all));
        assert_eq!(read(&of("", "b", ""), &two), Some(vec!["desired.00.sveltos:n/b.*.*".to_owned()]));
        let of_p = vec!["desired.00.*.*.p".to_owned()];
        assert_eq!(read(&of("", "", "ClusterProfile/p"), &two[..1]), Some(of_p));
        let exact = vec!["desired.00.sveltos:n/b.*.p".to_owned()];
        assert_eq!(read(&of("", "b", "ClusterProfile/p"), &two[..1]), Some(exact));
        assert_eq!(read(&of("", "b", ""), &[]), None);
        let many: Vec<Place> = (0..=MOST).map(|number| place(&format!("c{number}"), "p")).collect();
        assert_eq!(read(&of("n", "", ""), &many), Some(Vec::new()), "too many for one reading");
    }
}
