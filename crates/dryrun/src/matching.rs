//! What a matcher reports of the objects of one cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::is_event;
use sluice_api::model::EventSource;
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_matcher_core as matcher;
use sluice_protocol::interest::{Complete, Interest, Lacking};
use sluice_protocol::{
    Core as _, EventIds, Head, Meta, Position, Problem, Row, Sequence, Shard, Step, Subject, Table,
};

use crate::input::key_of;
use crate::pipeline::{INCARNATION, Rows};
use crate::rendering::store;

/// Its reports; what is wrong goes to `problems`. Every tenant may see everything here.
pub(crate) fn reports_of(
    cluster: &ClusterRef,
    interest: &Interest,
    objects: &[Value],
    now: i64,
    problems: &mut Vec<Problem>,
) -> Rows {
    let config = matcher::Config {
        shard: Shard::FIRST,
        shards: 1,
        input: INCARNATION,
        outputs: vec![INCARNATION],
        limits: sluice_script::Limits::default(),
    };
    let mut matcher = matcher::Matcher::new(config);
    let mut step = Step::at(now);
    matcher.external(matcher::ExternalInput::Interest(cluster.clone(), interest.clone()), &mut step);
    matcher.start(&mut step);
    let tenants = tenants(interest);
    let accounts: BTreeSet<&str> = tenants.values().map(String::as_str).collect();
    let mut sent = BTreeMap::<ObjectKey, EventIds>::new();
    for (place, object) in (1..).zip(objects) {
        let Some(key) = key_of(object).filter(|key| !is_repeated(&mut sent, key, object)) else { continue };
        let row = change(cluster, key, object, place);
        matcher.row(&row, &mut step);
        let sights = accounts.iter().filter_map(|viewer| sight(&row, viewer));
        sights.for_each(|row| matcher.row(&row, &mut step));
    }
    matcher.row(&complete(cluster, interest, &tenants), &mut step);
    matcher.caught_up(Sequence::END, &mut step);
    let (publishes, effects, _) = step.into_parts();
    problems.extend(effects.into_iter().filter_map(|effect| {
        if let matcher::Effect::Problem(problem) = effect { Some(problem) } else { None }
    }));
    let mut rows = Rows::new();
    store(&mut rows, publishes);
    rows
}

/// The sources of tenants, and the account in the cluster that each is watched as.
fn tenants(interest: &Interest) -> BTreeMap<String, String> {
    let tenant = |source: &sluice_protocol::interest::Source| {
        let account = EventSource::read(&source.manifest).ok()?.tenant?;
        Some((source.name.clone(), account.name))
    };
    interest.sources.iter().filter_map(tenant).collect()
}

/// Whether this CloudEvent was sent before, as an agent knows it.
fn is_repeated(sent: &mut BTreeMap<ObjectKey, EventIds>, key: &ObjectKey, object: &Value) -> bool {
    is_event(key) && !sent.entry(key.clone()).or_default().remember(object::text(object, &["id"]))
}

/// The row of an object, or of a CloudEvent that was sent as the so-manieth.
fn change(cluster: &ClusterRef, key: ObjectKey, object: &Value, place: u64) -> Row {
    let is_event = is_event(&key);
    let meta =
        Meta::Position(Position { order: place, sequence: Sequence::new(place), ..Position::default() });
    let meta = if is_event { meta } else { Meta::None };
    let subject =
        Subject::Change { shard: Shard::FIRST, cluster: cluster.clone(), viewer: String::new(), object: key };
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && !is_event
    {
        metadata.remove("managedFields");
    }
    Row {
        subject,
        head: Head { time: 0, meta, ..Head::default() },
        body: object.to_string().into_bytes().into(),
        sequence: Sequence::NONE,
    }
}

/// The same object as a tenant sees it; nobody but the agent itself sees a CloudEvent.
fn sight(row: &Row, viewer: &str) -> Option<Row> {
    let mut sight = row.clone();
    let Subject::Change { viewer: of, object, .. } = &mut sight.subject else { return None };
    viewer.clone_into(of);
    (!is_event(object)).then_some(sight)
}

fn complete(cluster: &ClusterRef, interest: &Interest, tenants: &BTreeMap<String, String>) -> Row {
    let subject = Subject::Complete {
        table: Table::Changes,
        shard: Shard::FIRST,
        cluster: cluster.clone(),
        origin: None,
    };
    let lacking = tenants.keys().flat_map(|source| Lacking::nothing(source)).collect();
    let meta = Meta::Complete(Complete { lacking, ..Complete::of_all(INCARNATION, interest.revision) });
    Row { subject, head: Head { meta, ..Head::default() }, body: Arc::from([]), sequence: Sequence::NONE }
}
