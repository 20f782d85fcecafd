#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_api::{ClusterKind, Digest};
use sluice_bus::kit::{Server, write};
use sluice_protocol::{Body, Publish};

use super::*;
use crate::addons::merged;
use crate::kit::{cluster, connect, rows, service};

const EARLIER: &str = "2025-02-28T13:23:08Z";
const LATER: &str = "2025-02-28T13:24:00Z";

fn addon(name: &str, by: &str, time: &str) -> Addon {
    Addon {
        cluster: "default/b".into(),
        resource_type: ":ConfigMap".into(),
        namespace: "default".into(),
        name: name.into(),
        version: "N/A".into(),
        time: time.into(),
        deployment_type: "Remote".into(),
        profiles: vec![format!("ClusterProfile/{by}")],
    }
}

fn of_b(by: &str) -> Pair {
    ("default/b".into(), format!("ClusterProfile/{by}"))
}

fn provisioned(wanted: Vec<Addon>) -> Said {
    Said { provisioned: true, one_time: false, wanted }
}

/// The names of the lines, with the times, of one that has older lines of `p`.
fn of_p(said: Option<Said>) -> Vec<(String, String)> {
    let newer = Newer {
        clusters: ["default/b".to_owned()].into(),
        said: said.into_iter().map(|said| (of_b("p"), said)).collect(),
    };
    let found = vec![addon("stays", "p", EARLIER), addon("goes", "p", EARLIER)];
    merged(newer.corrected(found)).into_iter().map(|addon| (addon.name, addon.time)).collect()
}

#[test]
fn what_is_applied_is_what_is_wanted() {
    let wanted = vec![addon("stays", "p", LATER), addon("new", "p", LATER)];
    let line = |name: &str, time: &str| (name.to_owned(), time.to_owned());
    assert_eq!(of_p(Some(provisioned(wanted))), [line("new", LATER), line("stays", LATER)]);
    let wanted = vec![addon("stays", "p", "2020-01-01T00:00:00Z")];
    assert_eq!(of_p(Some(provisioned(wanted))), [line("stays", EARLIER)], "it was applied again since");
}

#[test]
fn of_what_is_not_applied_the_older_lines_stay() {
    let line = |name: &str| (name.to_owned(), EARLIER.to_owned());
    let both = [line("goes"), line("stays")];
    assert_eq!(of_p(Some(Said::default())), both, "it failed, or is under way");
    let once = Said { one_time: true, ..provisioned(vec![addon("new", "p", LATER)]) };
    assert_eq!(of_p(Some(once)), both, "what was applied once is never changed");
    assert_eq!(of_p(None), [], "nobody speaks of it any more");
}

#[test]
fn other_clusters_stay_as_they_are_written_down() {
    let newer =
        Newer { clusters: ["default/a".to_owned()].into(), said: [(of_b("q"), Said::default())].into() };
    assert_eq!(newer.corrected(vec![addon("stays", "p", EARLIER)]), [addon("stays", "p", EARLIER)]);
}

#[test]
fn a_configuration_is_older_where_it_is_of_other_rows() {
    let wanted = |row: &str| {
        let mut wanted = WantedSet::default();
        wanted.add(&ProfileId::cluster("p"), Shard::FIRST, Digest::of(&[row.as_bytes()]));
        wanted
    };
    let of = |written: Option<Option<&WantedSet>>, wanted: Option<WantedSet>| {
        let of_rows = written.map(|it| (cluster("b"), it.map(|it| it.digest().to_string())));
        let wanted = wanted.map(|it| (cluster("b"), it));
        !older(&of_rows.into_iter().collect(), &wanted.into_iter().collect()).is_empty()
    };
    let (one, two) = (wanted("1"), wanted("2"));
    assert!(!of(Some(Some(&one)), Some(one.clone())));
    assert!(of(Some(Some(&one)), Some(two.clone())));
    assert!(of(Some(Some(&one)), None), "all of it has gone");
    assert!(of(Some(None), Some(one.clone())), "something was under way");
    assert!(of(None, Some(one)), "nothing is written down yet");
    assert!(!of(None, Some(WantedSet::default())), "only roles are wanted");
}

#[test]
fn two_registrations_of_one_path_are_looked_at_together() {
    let capi = ClusterRef { kind: ClusterKind::Capi, ..cluster("b") };
    let current = WantedSet::default().digest().to_string();
    let of_rows: OfRows = [(cluster("b"), None), (capi.clone(), Some(current))].into();
    assert_eq!(older(&of_rows, &BTreeMap::new()), [cluster("b"), capi].into());
}

#[test]
fn a_cluster_that_is_named_is_read_in_its_shard_alone() {
    let two: BTreeSet<ClusterRef> = [cluster("a"), cluster("b")].into();
    let read = reads(Table::Desired, Some(&two), 16);
    let filters: Vec<&str> = read.values().flatten().map(String::as_str).collect();
    assert_eq!(filters.len(), 2);
    assert!(filters.iter().all(|filter| filter.contains("sveltos:default/") && !filter.contains(">")));
    assert_eq!(reads(Table::Desired, None, 16).len(), 16);
    let many = (0..=MOST).map(|number| cluster(&format!("c{number}"))).collect();
    assert_eq!(reads(Table::Desired, Some(&many), 16), reads(Table::Desired, None, 16));
}

/// The rows of one policy in cluster `b`; `name` is that of the object in it.
fn applied(name: &str) -> Vec<Publish> {
    let mut rows = rows(Some(service())).split_off(2);
    let text = |body: &Body| if let Body::Value(bytes) = body { bytes.clone() } else { [].into() };
    let mut desired: serde_json::Value = serde_json::from_slice(&text(&rows[0].body)).unwrap();
    desired["policies"][0]["objects"][0]["metadata"]["name"] = name.into();
    rows[0].body = Body::value(serde_json::to_vec(&desired).unwrap());
    rows[1].body = Body::value(serde_json::to_vec(&json!({"state": State::Provisioned})).unwrap());
    rows
}

#[tokio::test]
async fn a_row_of_a_moment_ago_counts_until_its_configuration_is_written() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    write(&bus, applied("old")).await;
    let all = AddonFilter::default();
    let digest = wanted(&bus, None, &all).await.unwrap()[&cluster("b")].digest().to_string();
    let of_rows: OfRows = [(cluster("b"), Some(digest))].into();
    let written = || vec![addon("old", "p", EARLIER)];
    let read = async |of_rows: &OfRows, named: Option<&BTreeSet<ClusterRef>>| {
        let newer = newer(&bus, of_rows, named, &all).await.unwrap();
        newer.corrected(written()).into_iter().map(|addon| addon.name).collect::<Vec<_>>()
    };
    assert_eq!(newer(&bus, &of_rows, None, &all).await.unwrap().clusters, [].into());
    write(&bus, applied("new")).await;
    assert_eq!(read(&of_rows, None).await, ["new"]);
    assert_eq!(read(&of_rows, Some(&[cluster("b")].into())).await, ["new"]);
    let gone = applied("new").into_iter().map(|row| Publish { body: Body::Tombstone, ..row });
    write(&bus, gone).await;
    assert_eq!(read(&of_rows, None).await, Vec::<String>::new());
}
