//! After the stream was wiped: not every renderer has written its rows again.

use super::*;

/// A cluster that holds `p`, and a new owner that has read an empty table.
fn wiped(shards: u16) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.replace(shards);
    fixture.reach();
    fixture.read_some();
    fixture.pass_former_calls();
    fixture
}

#[test]
fn nothing_is_withdrawn_before_every_renderer_has_said_what_it_wants() {
    let mut fixture = wiped(2);
    assert_eq!(fixture.state("p"), Some(State::Held));
    let mut row = row_of("p", None);
    let origin = Cause::Profile(ProfileId::cluster("p")).origin(2);
    row.subject = Subject::Desired { shard: 0, cluster: cluster(), origin, profile: ProfileId::cluster("p") };
    fixture.run(|deployer, step| deployer.row(&row, step));
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a", "b"], 1));
    fixture.said(0, LIFE);
    fixture.said(1, LIFE - 1);
    assert_eq!(fixture.names(), ["a", "b"], "one of them spoke of another life of the stream");
    fixture.said(1, LIFE);
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_left_a_profile_stays_until_everybody_has_said_what_it_wants() {
    let mut fixture = wiped(1);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a", "b"], Some(State::Provisioned)));
    fixture.said(0, LIFE);
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn an_object_that_another_profile_wants_is_there_all_the_time() {
    let mut fixture = wiped(1);
    let key = fixture.objects.keys().next().unwrap().clone();
    let uid = Live::of(&fixture.objects[&key]).uid;
    fixture.row("p", None);
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    fixture.said(0, LIFE);
    fixture.wait();
    assert_eq!((fixture.names(), Live::of(&fixture.objects[&key]).uid), (vec!["a"], uid));
    assert_eq!(fixture.inventories.keys().collect::<Vec<_>>(), ["q"]);
}
