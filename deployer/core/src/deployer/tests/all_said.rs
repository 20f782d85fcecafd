//! After the stream was wiped: not every renderer has written its rows again.

use sluice_protocol::Now;

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

impl Fixture {
    /// The maker of `p` withdraws it.
    fn withdraw(&mut self, shards: u16) {
        let mut row = row_of("p", None);
        let origin = Cause::Profile(ProfileId::cluster("p")).origin(shards);
        row.subject = Subject::Desired {
            shard: Shard::FIRST,
            cluster: cluster(),
            origin,
            profile: ProfileId::cluster("p"),
        };
        self.run(|deployer, step| deployer.row(&row, step));
    }

    /// What was told of the stream since it was asked for last: the error, or its end.
    fn take_news(&mut self) -> Vec<Option<String>> {
        let of_stream = |problem: &mut Problem| problem.object() == "stream DESIRED-00";
        self.problems.extract_if(.., of_stream).map(|problem| problem.fault.map(|fault| fault.text)).collect()
    }
}

#[test]
fn nothing_is_withdrawn_before_every_renderer_has_said_what_it_wants() {
    let mut fixture = wiped(2);
    assert_eq!(fixture.state("p"), Some(State::Held));
    fixture.withdraw(2);
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a", "b"], 1));
    fixture.said(Shard::FIRST, LIFE);
    fixture.said(Shard::new(1), LIFE.next());
    assert_eq!(fixture.names(), ["a", "b"], "one of them spoke of another life of the stream");
    fixture.said(Shard::new(1), LIFE);
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_left_a_profile_stays_until_everybody_has_said_what_it_wants() {
    let mut fixture = wiped(1);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a", "b"], Some(State::Provisioned)));
    fixture.said(Shard::FIRST, LIFE);
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn an_object_that_another_profile_wants_is_there_all_the_time() {
    let mut fixture = wiped(1);
    let key = fixture.objects.keys().next().unwrap().clone();
    let uid = Live::of(&fixture.objects[&key]).uid;
    fixture.row("p", None);
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    fixture.said(Shard::FIRST, LIFE);
    fixture.wait();
    assert_eq!((fixture.names(), Live::of(&fixture.objects[&key]).uid), (vec!["a"], uid));
    assert_eq!(fixture.inventories.keys().collect::<Vec<_>>(), ["q"]);
}

#[test]
fn deletions_that_wait_for_renderers_for_more_than_a_minute_are_one_problem() {
    let mut fixture = wiped(3);
    fixture.said(Shard::new(2), LIFE);
    fixture.now += 3_600_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert!(fixture.take_news().is_empty(), "nothing waits");
    fixture.withdraw(3);
    assert!(fixture.take_news().is_empty(), "most renderers need a moment");
    fixture.wait();
    let news = fixture.take_news();
    let [Some(text)] = &news[..] else { panic!("{news:?}") };
    assert!(text.contains("renderer shards 00, 01 have not said"), "{text}");
    assert!(text.contains("sluice bus check"), "{text}");
    fixture.withdraw(3);
    assert!(fixture.take_news().is_empty(), "it was told");
    fixture.said(Shard::FIRST, LIFE);
    let news = fixture.take_news();
    let [Some(text)] = &news[..] else { panic!("{news:?}") };
    assert!(text.contains("renderer shards 01 have not said"), "{text}");
    fixture.said(Shard::new(1), LIFE);
    assert_eq!((fixture.take_news(), fixture.names().len()), (vec![None], 0));
    fixture.now += 3_600_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert!(fixture.take_news().is_empty());
}

#[test]
fn what_left_a_profile_waits_for_renderers_as_a_profile_does_that_went() {
    let mut fixture = wiped(1);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "2")])));
    fixture.now += 61_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert!(fixture.take_news().is_empty(), "nothing is to be deleted");
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    fixture.wait();
    assert!(matches!(&fixture.take_news()[..], [Some(_)]));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2"), config_map("b", "2")])));
    assert_eq!(fixture.take_news(), [None], "it is wanted again");
}

#[test]
fn deletions_on_a_cluster_that_is_away_wait_for_nobody_but_it() {
    let mut fixture = wiped(1);
    fixture.withdraw(1);
    fixture.wait();
    assert!(matches!(&fixture.take_news()[..], [Some(_)]));
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    assert_eq!(fixture.take_news(), [None]);
}

#[test]
fn the_wait_is_counted_by_the_clock_that_nobody_sets() {
    let mut fixture = wiped(1);
    fixture.withdraw(1);
    let begun = fixture.now;
    fixture.show();
    let now = Now { wall: begun + 3_600_000_000, steady: begun + 59_000_000 };
    let mut step = Step::at(now);
    fixture.deployer.tick(&mut step);
    let (_, effects, wake) = step.into_parts();
    assert_eq!((effects, wake), (Vec::new(), Some(now.wall + 1_000_000)), "and it is asked for again");
}

#[test]
fn a_list_from_before_its_last_write_does_not_make_a_profile_that_waits_forget_its_inventory() {
    let mut fixture = Fixture::new();
    fixture.replace(1);
    fixture.reach();
    fixture.read_some();
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    // Calls of a former owner are over: inventories are listed once more, while this one is being written.
    fixture.now += 20_000_000;
    let (list, request) = fixture.hold(|deployer, step| deployer.tick(step)).pop().unwrap();
    assert_eq!(request, Request::Inventories);
    let listed = fixture.serve(request);
    let gone = row_of("p", None);
    fixture.hold(|deployer, step| deployer.row(&gone, step));
    for (id, request) in calls {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!(fixture.inventories.len(), 1, "its deletion waits for renderers");
    fixture.run(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), list, listed), step));
    fixture.said(Shard::FIRST, LIFE);
    assert!(fixture.inventories.is_empty(), "nobody would ever delete it");
}
