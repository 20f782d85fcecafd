//! Calls that arrive after those who made them have given them up.

use std::sync::{Arc, Mutex};

use sluice_protocol::{CallId, Now};

use super::*;

/// Calls of this kind are not answered, and those that were made.
type Given = Arc<Mutex<Vec<Request>>>;

fn give_up(fixture: &mut Fixture, which: fn(&Request) -> bool) -> Given {
    let given = Given::default();
    let kept = given.clone();
    fixture.fail = Box::new(move |request| {
        which(request).then(|| {
            kept.lock().unwrap().push(request.clone());
            Failure::new(Class::Unanswered, "no answer within 10 s")
        })
    });
    given
}

/// A profile whose maker wanted it while calls of this kind were not answered; from now on they are.
fn given_up(which: fn(&Request) -> bool) -> (Fixture, Given) {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    let given = give_up(&mut fixture, which);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.fail = Box::new(|_| None);
    (fixture, given)
}

impl Fixture {
    /// The first of the calls that were given up arrives.
    fn arrive(&mut self, given: &Given) -> Reply {
        let late = given.lock().unwrap().remove(0);
        self.serve(late)
    }
}

#[test]
fn an_inventory_that_is_written_after_its_writer_gave_it_up_is_found() {
    let (mut fixture, given) = given_up(|request| matches!(request, Request::WriteInventory { .. }));
    fixture.row("p", None);
    fixture.wait();
    assert_eq!((fixture.inventories.len(), fixture.state("p")), (0, None));
    fixture.arrive(&given);
    assert_eq!(fixture.inventories.len(), 1);
    fixture.pass_former_calls();
    assert_eq!(fixture.state("p"), Some(State::Held), "its maker is asked");
    fixture.row("p", None);
    assert!(fixture.inventories.is_empty());
}

#[test]
fn an_object_that_is_created_after_its_creator_gave_it_up_goes_with_its_profile() {
    let (mut fixture, given) = given_up(|request| matches!(request, Request::Apply { .. }));
    fixture.row("p", None);
    assert_eq!(fixture.inventories.len(), 1, "it still names what may come");
    fixture.arrive(&given);
    assert_eq!(fixture.names(), ["a"]);
    fixture.pass_former_calls();
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn a_late_creation_does_not_come_over_newer_content() {
    let (mut fixture, given) = given_up(|request| matches!(request, Request::Apply { .. }));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert!(fixture.names().is_empty(), "what is under way is older");
    fixture.arrive(&given);
    fixture.pass_former_calls();
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2");
}

#[test]
fn the_same_is_created_again_at_once() {
    let (mut fixture, _) = given_up(|request| matches!(request, Request::Apply { .. }));
    fixture.wait();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn a_clock_that_is_set_forward_does_not_end_the_calls_of_a_former_owner() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("late", "1")])));
    let key = fixture.objects.keys().find(|key| key.name == "late").unwrap().clone();
    let created = fixture.objects.remove(&key).unwrap();
    fixture.restart();
    let mut step = Step::at(Now { wall: 3_600_000_000, steady: fixture.now });
    fixture.deployer.tick(&mut step);
    assert!(step.into_parts().1.is_empty(), "nothing is compared yet");
    fixture.row("p", None);
    assert_eq!(fixture.inventories.len(), 1, "the inventory still names it");
    fixture.objects.insert(key, created);
    fixture.pass_former_calls();
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_was_read_while_calls_could_arrive_is_not_trusted_when_they_no_longer_can() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let given = give_up(&mut fixture, |request| matches!(request, Request::DeleteInventory { .. }));
    fixture.row("p", None);
    fixture.fail = Box::new(|_| None);
    fixture.now += 5_000_000;
    // It is wanted again, and its inventory is still there when it is read.
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    let (id, request) = calls.pop().unwrap();
    assert!(matches!(request, Request::ReadInventory(_)), "{request:?}");
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    let mut calls = fixture.hold(|deployer, step| deployer.external(reply, step));
    let (id, request) = calls.pop().unwrap();
    assert!(matches!(request, Request::Read(_)), "{request:?}");
    // While the object is being read the inventory goes, and the time for that is over.
    assert_eq!(fixture.arrive(&given), Reply::Done);
    fixture.now += 20_000_000;
    fixture.hold(|deployer, step| deployer.tick(step));
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    let calls = fixture.hold(|deployer, step| deployer.external(reply, step));
    let creates = |(_, request): &(CallId, Request)| matches!(request, Request::Apply { .. });
    assert!(!calls.iter().any(creates), "{calls:?}: nothing would name it");
}

#[test]
fn what_a_user_had_taken_over_comes_back_under_an_inventory_that_no_late_call_deletes() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.objects.values_mut().for_each(|object| object["metadata"]["annotations"] = json!({}));
    fixture.restart();
    fixture.pass_former_calls();
    let given = give_up(&mut fixture, |request| matches!(request, Request::DeleteInventory { .. }));
    fixture.row("p", None);
    fixture.fail = Box::new(|_| None);
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1), "the object is the user's");
    // It is wanted again, by an owner that finds the inventory as it was.
    fixture.restart();
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    let (id, first) = loop {
        let (id, request) = calls.pop().unwrap();
        if !request.is_read() {
            break (id, request);
        }
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        calls = fixture.hold(|deployer, step| deployer.external(reply, step));
    };
    assert!(
        matches!(first, Request::WriteInventory { .. }),
        "{first:?}: a late call may leave it without an inventory"
    );
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(first));
    fixture.run(|deployer, step| deployer.external(reply, step));
    assert!(matches!(fixture.arrive(&given), Reply::Failed(_)), "it was made against another version");
    assert_eq!((fixture.inventories.len(), fixture.state("p")), (1, Some(State::Provisioned)));
}

#[test]
fn a_list_of_inventories_from_before_the_last_late_call_is_asked_for_again() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let given = give_up(&mut fixture, |request| matches!(request, Request::DeleteInventory { .. }));
    fixture.row("p", None);
    fixture.fail = Box::new(|_| None);
    // The cluster is reached in another way. Its inventories are listed before the late call comes.
    let reachable = ExternalInput::Reachable(cluster(), None);
    let (list, request) = fixture.hold(|deployer, step| deployer.external(reachable, step)).pop().unwrap();
    assert_eq!(request, Request::Inventories);
    let listed = fixture.serve(request);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert_eq!(fixture.arrive(&given), Reply::Done);
    // The list is answered when no call can come any more.
    fixture.now += 20_000_000;
    fixture.hold(|deployer, step| deployer.tick(step));
    fixture.run(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), list, listed), step));
    fixture.wait();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1), "nothing else would name it");
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn an_inventory_that_was_read_before_the_last_late_call_is_read_once_more() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let given = give_up(&mut fixture, |request| matches!(request, Request::DeleteInventory { .. }));
    fixture.row("p", None);
    fixture.fail = Box::new(|_| None);
    // It is wanted again. Its inventory is read before the late call deletes it.
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    fixture.hold(|deployer, step| deployer.row(&row, step));
    fixture.now += 2_000_000;
    let (read, request) = fixture.hold(|deployer, step| deployer.tick(step)).pop().unwrap();
    assert!(matches!(request, Request::ReadInventory(_)), "{request:?}");
    let found = fixture.serve(request);
    assert_eq!(fixture.arrive(&given), Reply::Done);
    // The answer comes when no call can come any more.
    fixture.pass_former_calls();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), read, found), step));
    fixture.wait();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1), "nothing else would name it");
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}
