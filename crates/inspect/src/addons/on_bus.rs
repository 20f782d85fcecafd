//! What is deployed, by rows of the bus: what renderers want, of which deployers say that it is provisioned.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, ProfileId, object};
use sluice_bus::{Bus, BusError, ReadSpec, look};
use sluice_protocol::rows::{Desired, Policy, State, Status};
use sluice_protocol::{Subject, Table};

use super::{Addon, CHART, merged};

/// What a policy is called whose name is that of a chart's release.
const OF_CHART: &str = "HelmChart";

/// All of it. When something was applied, and which version a chart has, is not in these rows.
pub(crate) async fn addons_on_bus(bus: &Bus) -> Result<Vec<Addon>, BusError> {
    let provisioned = provisioned(bus).await?;
    let mut found = Vec::new();
    for shard in 0..bus.shards() {
        for stored in look(bus, &ReadSpec::all(Table::Desired.stream(shard))).await? {
            let Subject::Desired { cluster, origin, profile, .. } = stored.row.subject else { continue };
            let place = (cluster, origin, profile);
            if !stored.row.head.tombstone
                && provisioned.contains(&place)
                && let Ok(desired) = serde_json::from_slice::<Desired>(&stored.row.body)
            {
                let (cluster, by) = (place.0.path(), format!("{}/{}", place.2.kind(), place.2.name));
                found.extend(desired.policies.iter().flat_map(|policy| of_policy(&cluster, &by, policy)));
            }
        }
    }
    Ok(merged(found))
}

/// Where deployers say that everything is applied: in which cluster, for which renderer shard, of which profile.
async fn provisioned(bus: &Bus) -> Result<BTreeSet<(ClusterRef, u16, ProfileId)>, BusError> {
    let mut found = BTreeSet::new();
    for stored in look(bus, &ReadSpec::all(Table::Status.stream(0))).await? {
        let Subject::Status { cluster, origin, profile, .. } = stored.row.subject else { continue };
        let status = serde_json::from_slice::<Status>(&stored.row.body);
        if !stored.row.head.tombstone && status.is_ok_and(|status| status.state == State::Provisioned) {
            found.insert((cluster, origin, profile));
        }
    }
    Ok(found)
}

fn of_policy(cluster: &str, profile: &str, policy: &Policy) -> Vec<Addon> {
    let addon = |resource_type: String, namespace: &str, name: &str| Addon {
        cluster: cluster.to_owned(),
        resource_type,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        version: "N/A".to_owned(),
        time: String::new(),
        deployment_type: "Remote".to_owned(),
        profiles: vec![profile.to_owned()],
    };
    if policy.kind == OF_CHART {
        return vec![addon(CHART.to_owned(), &policy.namespace, &policy.name)];
    }
    let of_object = |found: &serde_json::Value| {
        let version = object::text(found, &["apiVersion"]);
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let resource_type = format!("{group}:{}", object::text(found, &["kind"]));
        addon(resource_type, object::namespace(found), object::name(found))
    };
    policy.objects.iter().map(of_object).collect()
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
        assert_eq!(addons_on_bus(&bus).await.unwrap(), [], "its deployer says that it failed");
        let status = rows(Some(service())).pop().unwrap();
        let body = json!({"state": State::Provisioned}).to_string().into_bytes();
        write(&bus, [Publish { body: Body::Value(body.into()), ..status }]).await;
        let found = addons_on_bus(&bus).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let Addon { cluster, resource_type, name, profiles, .. } = &found[0];
        assert_eq!(
            (cluster.as_str(), resource_type.as_str(), name.as_str()),
            ("default/b", ":ConfigMap", "made")
        );
        assert_eq!(profiles, &["ClusterProfile/p"]);
    }
}
