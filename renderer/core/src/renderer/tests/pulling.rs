//! Clusters that pull: what the deployer in one of them must be told.

use super::*;

fn pulls(name: &str) -> Value {
    let mut cluster = registration(name, json!({"env": "fv"}));
    cluster["spec"]["pullMode"] = true.into();
    cluster
}

fn told(name: &str) -> Subject {
    Subject::Complete {
        table: Table::Desired,
        shard: Shard::FIRST,
        cluster: cluster(name),
        origin: Some(Shard::FIRST),
    }
}

#[test]
fn its_deployer_is_told_once_that_all_rows_for_it_are_there() {
    let mut fixture = Fixture::new(vec![pulls("p")]);
    assert!(fixture.said.is_empty(), "there may be more");
    fixture.ready(&[]);
    let subjects = |fixture: &Fixture| -> Vec<Subject> {
        fixture.said.iter().map(|row| row.subject.clone()).filter(|row| *row == told("p")).collect()
    };
    assert_eq!(subjects(&fixture).len(), 1, "{:?}", fixture.said);
    assert!(fixture.said.iter().all(|row| row.barrier), "after all rows");
    fixture.put(pulls("p"));
    assert_eq!(subjects(&fixture).len(), 1);
    // Also one that comes later, and one that is not registered any more is told nothing.
    fixture.put(pulls("q"));
    fixture.delete(pulls("p"));
    let last: Vec<_> = fixture.said.iter().rev().take(2).map(|row| (&row.subject, &row.body)).collect();
    assert_eq!(last[1].0, &told("q"));
    assert_eq!(last[0], (&told("p"), &Body::Tombstone));
    assert!(fixture.said.last().unwrap().barrier, "behind what it was told, which may wait itself");
}

#[test]
fn what_a_former_owner_told_is_told_again_or_taken_back() {
    let mut fixture = Fixture::new(vec![pulls("p")]);
    for name in ["p", "gone"] {
        fixture.renderer.found(&told(name), &Head::default());
    }
    fixture.ready(&[]);
    let gone = fixture.said.iter().find(|row| row.subject == told("gone")).map(|row| &row.body);
    assert_eq!(gone, Some(&Body::Tombstone));
    let again = fixture.said.iter().find(|row| row.subject == told("p")).unwrap();
    let incarnation = Incarnation::new(9);
    assert_eq!(again.meta, Meta::Complete(Complete::of_all(incarnation, Revision::NONE)), "of this life");
}

#[test]
fn its_registration_goes_there_with_its_interest() {
    let mut fixture = Fixture::new(vec![]);
    fixture.ready(&[]);
    let mut cluster_p = pulls("p");
    cluster_p["metadata"]["annotations"] =
        json!({"sluice.dev/paused-until": "2026-01-01T00:00:00Z", "other": "x"});
    cluster_p["status"] = json!({"ready": true});
    fixture.put(cluster_p.clone());
    let registration = fixture.interests[&cluster("p")].registration.clone().unwrap();
    assert_eq!(registration["spec"], json!({"pullMode": true}));
    assert_eq!(
        registration["metadata"],
        json!({"namespace": "default", "name": "p", "annotations": {"sluice.dev/paused-until": "2026-01-01T00:00:00Z"}})
    );
    let revision = fixture.interests[&cluster("p")].revision;
    cluster_p["status"] = json!({"ready": false});
    fixture.put(cluster_p.clone());
    assert_eq!(fixture.interests[&cluster("p")].revision, revision, "nothing new is told");
    cluster_p["spec"]["paused"] = true.into();
    fixture.put(cluster_p);
    assert!(fixture.interests[&cluster("p")].revision > revision);
    fixture.put(super::registration("a", json!({"env": "fv"})));
    assert_eq!(fixture.interests[&cluster("a")].registration, None);
}
