//! Triggers and profiles as they are written; while the management cluster is away, those that renderers act upon.

use std::collections::{BTreeMap, BTreeSet};

use sluice_bus::{Bus, BusError, ReadSpec, Stored, look_each};
use sluice_protocol::rows::Cause;
use sluice_protocol::{Row, Shard, Subject, Table};

use crate::error::InspectError;
use crate::inspector::{Inspector, LONG_PATIENCE, Listed, in_time, in_time_of};
use crate::objects::{Line, Shown, lines};

/// What a row of `desired` tells of, and a cluster that this is about.
type Told = fn(&Row) -> Option<(Line, String)>;

// === impl Inspector ===

impl Inspector {
    /// The triggers. While the management cluster is away, those that something is deployed for.
    ///
    /// # Errors
    /// When both are away.
    pub async fn triggers(&self) -> Result<Listed<Line>, InspectError> {
        let says = "triggers that nothing is deployed for, and whether all is well";
        self.written(Shown::Triggers, None, trigger, says).await
    }

    /// The profiles, of one namespace or of all. While the management cluster is away, those that are for some cluster.
    ///
    /// # Errors
    /// When both are away.
    pub async fn profiles(&self, namespace: Option<&str>) -> Result<Listed<Line>, InspectError> {
        let says = "profiles that are for no cluster, and whether all is well";
        self.written(Shown::Profiles, namespace, profile, says).await
    }

    async fn written(
        &self,
        shown: Shown,
        namespace: Option<&str>,
        told: Told,
        missing: &str,
    ) -> Result<Listed<Line>, InspectError> {
        let listed = async {
            let client = self.management()?;
            in_time("the management cluster", lines(&client, shown, namespace)).await
        };
        let error = match listed.await {
            Ok(found) => return Ok(Listed { found, missing: Vec::new() }),
            Err(error) => error,
        };
        let wanted =
            async { in_time_of(LONG_PATIENCE, "the bus", Box::pin(wanted(&self.bus()?, told))).await };
        let Ok(mut found) = wanted.await else { return Err(error) };
        found.retain(|line| namespace.is_none_or(|wanted| wanted == line.namespace));
        let missing = format!("{missing} ({error}): these are those that renderers act upon");
        Ok(Listed { found, missing: vec![missing] })
    }
}

/// What the heads of all wanted rows tell of, in order.
async fn wanted(bus: &Bus, told: Told) -> Result<Vec<Line>, BusError> {
    let mut found: BTreeMap<Line, BTreeSet<String>> = BTreeMap::new();
    for shard in Shard::all(bus.shards()) {
        let spec = ReadSpec { heads_only: true, ..ReadSpec::all(Table::Desired.stream(shard)) };
        let each = |Stored { row, .. }: Stored| {
            if let Some((line, cluster)) = told(&row).filter(|_| !row.head.tombstone) {
                found.entry(line).or_default().insert(cluster);
            }
        };
        look_each(bus, &spec, each).await?;
    }
    Ok(found.into_iter().map(|(line, clusters)| Line { clusters: clusters.len(), ..line }).collect())
}

/// The trigger that made it, and where its event is.
fn trigger(row: &Row) -> Option<(Line, String)> {
    let Some(Cause::Event(event)) = row.head.meta.cause() else { return None };
    let (kind, name) = event.trigger.as_str().split_once('/')?;
    let of = event.source.clone();
    Some((Line { kind: kind.to_owned(), name: name.to_owned(), of, ..Line::default() }, event.cluster.path()))
}

/// The profile, and where it is.
fn profile(row: &Row) -> Option<(Line, String)> {
    let Subject::Desired { cluster, profile, .. } = &row.subject else { return None };
    let line = Line {
        kind: profile.kind().to_owned(),
        namespace: profile.namespace.clone(),
        name: profile.name.clone(),
        ..Line::default()
    };
    Some((line, cluster.path()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_bus::kit::{Server, write};
    use sluice_kube::fake_api::FakeApi;

    use super::*;
    use crate::kit::{answer, connect, rows, service};

    fn said(listed: &Listed<Line>) -> Vec<(&str, &str, &str, usize)> {
        let found = listed.found.iter();
        found.map(|line| (&*line.kind, &*line.name, &*line.of, line.clusters)).collect()
    }

    #[tokio::test]
    async fn they_are_those_of_the_management_cluster_and_of_the_namespace_that_is_asked_for() {
        let api = FakeApi::start(answer);
        let inspector = Inspector::new(Err("of a test".to_owned()), Ok(api.client()));
        let triggers = inspector.triggers().await.unwrap();
        assert_eq!((said(&triggers), triggers.missing.len()), (vec![("EventTrigger", "t", "s", 1)], 0));
        assert_eq!(triggers.found[0].message, "no room");
        let profiles = inspector.profiles(None).await.unwrap();
        assert_eq!(said(&profiles), [("ClusterProfile", "p", "Continuous", 1), ("Profile", "q", "", 0)]);
        let of_shop = inspector.profiles(Some("shop")).await.unwrap();
        assert_eq!(said(&of_shop), [("Profile", "q", "", 0)]);
    }

    #[tokio::test]
    async fn while_the_management_cluster_is_away_they_are_those_that_renderers_act_upon() {
        let server = Server::start();
        let (bus, _tasks) = connect(&server).await;
        write(&bus, rows(Some(service()))).await;
        let inspector = Inspector::new(Ok(bus), Err("of a test".to_owned()));
        let triggers = inspector.triggers().await.unwrap();
        assert_eq!(said(&triggers), [("EventTrigger", "t", "s", 1)]);
        assert!(triggers.missing[0].contains("(of a test)"), "{:?}", triggers.missing);
        let profiles = inspector.profiles(None).await.unwrap();
        assert_eq!(said(&profiles), [("ClusterProfile", "p", "", 1)]);
        assert_eq!(said(&inspector.profiles(Some("shop")).await.unwrap()), []);
    }

    #[tokio::test]
    async fn without_either_nothing_can_be_said() {
        let inspector = Inspector::new(Err("the bus is away".to_owned()), Err("of a test".to_owned()));
        let away = InspectError::Away("of a test".to_owned());
        assert_eq!(inspector.triggers().await, Err(away.clone()));
        assert_eq!(inspector.profiles(None).await, Err(away));
    }
}
