//! Contents that are kept on the cluster, and rows that go back to one.

use sluice_protocol::rows::{GoBack, Good, Staged};
use sluice_protocol::{Publish, Severity};

use super::*;

fn content(data: &str, others: &[&str]) -> Desired {
    let others = others.iter().map(|name| config_map(name, "1"));
    let objects = [config_map("a", data)].into_iter().chain(others).collect();
    Desired { staged: true, ..desired("p", 100, objects) }
}

fn row(body: impl Into<Arc<[u8]>>, good: Option<Digest>, back: Option<&str>) -> Row {
    let body: Arc<[u8]> = body.into();
    let subject = row_of("p", None).subject;
    let staged = Staged {
        cause: Arc::new(Cause::Profile(ProfileId::cluster("p"))),
        called: "c".into(),
        round: 1,
        good: good.map(|row| Good { called: "g".into(), row }),
        back: back.map(str::to_owned),
    };
    let publish = Publish::new(subject.clone(), Body::Value(body.clone()), 1);
    let head = publish.meta(Meta::Staged(Arc::new(staged))).head();
    Row { subject, head, body, sequence: Sequence::new(1) }
}

/// A row whose content is kept.
fn kept(desired: &Desired, good: Option<Digest>) -> Row {
    row(serde_json::to_vec(desired).unwrap(), good, None)
}

/// A row that goes back to the content of that one.
fn back_to(to: &Row) -> Row {
    let to = to.head.digest;
    row(GoBack { to, ..GoBack::default() }.bytes(), Some(to), Some("it failed"))
}

impl Fixture {
    fn take(&mut self, row: &Row) -> Vec<String> {
        self.run(|deployer, step| deployer.row(row, step));
        self.take_calls()
    }

    fn kept(&self) -> std::collections::BTreeSet<Digest> {
        self.kept.keys().map(|(_, row)| *row).collect()
    }

    /// What is said of the profile, and of which row.
    fn outcome(&self) -> (State, Option<Digest>) {
        let status = self.statuses["p"].as_ref().unwrap();
        (status.state, status.row)
    }

    fn problem(&self) -> Option<String> {
        let last = self.problems.iter().rfind(|problem| matches!(problem.about, About::Profile(_)))?;
        last.error().map(str::to_owned)
    }
}

/// A cluster with a content, and then with one that changes, deletes and adds something.
fn deployed() -> (Fixture, Row, Row) {
    let mut fixture = Fixture::new();
    fixture.reach();
    let one = kept(&content("1", &["b"]), None);
    assert_eq!(fixture.take(&one), ["inventory 2", "apply a", "apply b", "keep"]);
    let other = kept(&content("2", &["x"]), Some(one.head.digest));
    let calls = ["inventory 3", "apply a", "apply x", "delete b", "keep", "inventory 2"];
    assert_eq!(fixture.take(&other), calls);
    assert_eq!(fixture.kept(), [one.head.digest, other.head.digest].into());
    (fixture, one, other)
}

#[test]
fn what_was_changed_deleted_and_added_goes_back() {
    let (mut fixture, one, _) = deployed();
    let back = back_to(&one);
    assert_eq!(fixture.take(&back), ["inventory 3", "apply a", "apply b", "delete x", "inventory 2"]);
    assert_eq!(
        (fixture.outcome(), fixture.names()),
        ((State::Provisioned, Some(back.head.digest)), vec!["a", "b"])
    );
    assert!(fixture.kept().contains(&one.head.digest), "it may have to be read once more");
    assert_eq!(fixture.take(&back), Vec::<String>::new());
}

#[test]
fn what_is_there_is_kept_although_not_every_renderer_has_said_its_rows() {
    let (mut fixture, one) = (Fixture::new(), kept(&content("1", &["b"]), None));
    fixture.replace(1);
    fixture.run(|deployer, step| deployer.row(&one, step));
    fixture.reach();
    fixture.read_some();
    assert_eq!(fixture.outcome(), (State::Provisioned, Some(one.head.digest)));
    assert_eq!(fixture.kept(), [one.head.digest].into());
    let other = kept(&content("2", &["x"]), Some(one.head.digest));
    assert!(fixture.take(&other).contains(&"keep".to_owned()));
    assert_eq!(fixture.names(), ["a", "b", "x"], "nothing goes yet");
    fixture.take(&back_to(&one));
    assert_eq!(fixture.outcome().0, State::Provisioned);
    fixture.read_all();
    assert_eq!(fixture.names(), ["a", "b"]);
}

#[test]
fn a_successor_goes_back_and_stays_there() {
    let (mut fixture, one, _) = deployed();
    let back = back_to(&one);
    for _ in 0..2 {
        fixture.replace(1);
        fixture.run(|deployer, step| deployer.row(&back, step));
        fixture.reach();
        fixture.read_all();
        fixture.pass_former_calls();
        assert_eq!((fixture.outcome().0, fixture.names()), (State::Provisioned, vec!["a", "b"]));
    }
    assert_eq!(fixture.take_calls().iter().filter(|call| call.starts_with("apply")).count(), 2, "once each");
}

#[test]
fn the_last_and_the_one_that_was_good_are_kept_and_no_other() {
    let (mut fixture, one, other) = deployed();
    let third = kept(&content("3", &[]), Some(one.head.digest));
    fixture.take(&third);
    assert_eq!(fixture.kept(), [one.head.digest, third.head.digest].into());
    let fourth = kept(&content("4", &[]), Some(third.head.digest));
    fixture.take(&fourth);
    assert_eq!(fixture.kept(), [third.head.digest, fourth.head.digest].into());
    assert_ne!(other.head.digest, third.head.digest);
}

#[test]
fn without_a_kept_content_everything_stays_and_that_is_told() {
    let (mut fixture, one, other) = deployed();
    fixture.kept.clear();
    let back = back_to(&one);
    assert_eq!(fixture.take(&back), Vec::<String>::new());
    assert_eq!(
        (fixture.outcome(), fixture.names()),
        ((State::Failed, Some(back.head.digest)), vec!["a", "x"])
    );
    let problem = fixture.problem().unwrap();
    assert!(
        problem.contains("the kept content is not on the cluster; what is here stays as it is"),
        "{problem}"
    );
    fixture.restart();
    fixture.take(&back);
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Failed, vec!["a", "x"]));
    // Its maker writes another one.
    fixture.take(&kept(&content("5", &[]), Some(other.head.digest)));
    assert_eq!(
        (fixture.outcome().0, fixture.names(), fixture.problem()),
        (State::Provisioned, vec!["a"], None)
    );
}

#[test]
fn a_kept_content_that_cannot_be_used_changes_nothing() {
    let other = Desired { owner_name: "q".into(), ..content("9", &[]) };
    let because = Desired { cause: Cause::Profile(ProfileId::cluster("q")), ..content("9", &[]) };
    let json = |desired: &Desired| serde_json::to_vec(desired).unwrap();
    for (body, text) in [
        (json(&other), "it is of ClusterProfile q"),
        (json(&because), "because of ClusterProfile q"),
        (b"{}".to_vec(), "missing field"),
        (GoBack::default().bytes().to_vec(), "missing field"),
        (Vec::new(), "EOF"),
    ] {
        let (mut fixture, one, _) = deployed();
        fixture.kept.values_mut().for_each(|kept| *kept = KeptBody(body.clone().into()));
        assert_eq!(fixture.take(&back_to(&one)), Vec::<String>::new());
        assert_eq!((fixture.outcome().0, fixture.names()), (State::Failed, vec!["a", "x"]));
        let problem = fixture.problem().unwrap();
        assert!(problem.contains("the kept content cannot be used") && problem.contains(text), "{problem}");
    }
}

#[test]
fn a_row_that_goes_back_and_does_not_say_why_it_exists_changes_nothing() {
    let (mut fixture, one, _) = deployed();
    let back = back_to(&one);
    let head = Head { meta: Meta::of_cause(&Cause::Profile(ProfileId::cluster("p"))), ..back.head.clone() };
    assert_eq!(fixture.take(&Row { head, ..back }), Vec::<String>::new());
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Failed, vec!["a", "x"]));
}

#[test]
fn what_is_read_of_a_former_row_that_goes_back_counts_for_nothing() {
    let (mut fixture, one, other) = deployed();
    let back = back_to(&one);
    let calls = fixture.hold(|deployer, step| deployer.row(&back, step));
    let [(id, Request::ReadKept { row, .. })] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(*row, one.head.digest);
    assert!(fixture.hold(|deployer, step| deployer.row(&other, step)).is_empty(), "it waits for the answer");
    let reply = Reply::Kept(fixture.kept.get(&(ProfileId::cluster("p"), *row)).cloned());
    fixture.run(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), *id, reply), step));
    assert_eq!(
        (fixture.outcome(), fixture.names()),
        ((State::Provisioned, Some(other.head.digest)), vec!["a", "x"])
    );
}

#[test]
fn what_may_be_deleted_is_what_the_profile_says_now() {
    let (mut fixture, one, _) = deployed();
    let (to, all) = (one.head.digest, (0..6).map(|index| format!("n{index}")).collect::<Vec<_>>());
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    fixture.take(&kept(&content("2", &all), Some(to)));
    fixture.take(&back_to(&one));
    assert_eq!(fixture.outcome().0, State::Failed);
    let problem = fixture.problem().unwrap();
    let word = problem.split("sluice.dev/allow-prune: ").nth(1).map(|rest| rest.split('"').nth(1).unwrap());
    let word = word.unwrap_or_else(|| panic!("{problem}")).to_owned();
    let allowed = GoBack { to, allow_prune: word, ..GoBack::default() };
    fixture.take(&row(allowed.bytes(), Some(to), Some("it failed")));
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Provisioned, vec!["a", "b"]));
}

#[test]
fn what_is_kept_goes_with_the_inventory_and_when_it_is_not_wanted_any_more() {
    let (mut fixture, ..) = deployed();
    let calls = fixture.take(&row_of("p", Some(content("2", &["x"]))));
    assert_eq!(calls, ["drop", "inventory 2"]);
    assert!(fixture.kept.is_empty() && fixture.take(&row_of("p", Some(content("2", &["x"])))).is_empty());
    let (mut fixture, ..) = deployed();
    assert_eq!(fixture.take(&row_of("p", None)), ["delete a", "delete x", "drop"]);
    assert!(fixture.kept.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_cannot_be_taken_away_keeps_its_inventory() {
    let (mut fixture, ..) = deployed();
    fixture.fail = Box::new(|request| {
        matches!(request, Request::DropKept(_)).then(|| Failure::new(Class::Refused, "no"))
    });
    fixture.take(&row_of("p", None));
    assert_eq!((fixture.kept.len(), fixture.inventories.len()), (2, 1));
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    fixture.pass_former_calls();
    assert_eq!((fixture.kept.len(), fixture.inventories.len()), (0, 0));
}

#[test]
fn what_the_server_refuses_to_keep_is_a_note_and_what_it_does_not_take_now_is_tried_again() {
    let (mut fixture, _, other) = deployed();
    let third = kept(&content("3", &[]), Some(other.head.digest));
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Keep { .. }).then(|| Failure::new(Class::Refused, "it is too large"))
    });
    fixture.take(&third);
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Provisioned, vec!["a"]));
    let problem =
        fixture.problems.iter().rfind(|problem| matches!(problem.about, About::Profile(_))).unwrap();
    let text = "this content is not kept on the cluster, which cannot go back to it: it is too large";
    assert_eq!(problem.error(), Some(text));
    assert_eq!(problem.fault.as_ref().map(|fault| fault.severity), Some(Severity::Note));
    // It may have been a moment, or somebody may have changed what was in the way.
    fixture.take_calls();
    fixture.wait();
    assert_eq!((fixture.take_calls(), fixture.problem().as_deref()), (Vec::new(), Some(text)));
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!((fixture.take_calls(), fixture.problem()), (vec!["keep".to_owned()], None));
    assert_eq!(fixture.kept(), [other.head.digest, third.head.digest].into());
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Keep { .. }).then(|| Failure::new(Class::Transient, "it is busy"))
    });
    let fourth = kept(&content("4", &[]), Some(other.head.digest));
    fixture.take(&fourth);
    assert_eq!(fixture.outcome().0, State::Failed);
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!((fixture.outcome().0, fixture.problem()), (State::Provisioned, None));
    assert_eq!(fixture.kept(), [other.head.digest, fourth.head.digest].into());
}

#[test]
fn what_it_went_back_to_is_kept_on_another_server_too() {
    let (mut fixture, one, _) = deployed();
    fixture.take(&back_to(&one));
    assert!(fixture.kept().contains(&one.head.digest));
    // The registration leads to another server from now on.
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    (fixture.objects, fixture.inventories, fixture.kept) = Default::default();
    fixture.reach();
    assert_eq!((fixture.names(), fixture.kept()), (vec!["a", "b"], [one.head.digest].into()));
    let other = kept(&content("3", &[]), Some(one.head.digest));
    fixture.take(&other);
    fixture.take(&back_to(&one));
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Provisioned, vec!["a", "b"]));
}

#[test]
fn a_profile_that_had_nothing_goes_back_to_nothing() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let nothing = Desired { policies: Vec::new(), ..content("1", &[]) };
    let one = kept(&nothing, None);
    fixture.take(&one);
    fixture.take(&kept(&content("2", &["x"]), Some(one.head.digest)));
    assert_eq!(fixture.names(), ["a", "x"]);
    fixture.take(&back_to(&one));
    assert_eq!((fixture.outcome().0, fixture.names()), (State::Provisioned, Vec::<&str>::new()));
}

#[test]
fn what_is_kept_shows_nothing_of_itself() {
    let body = KeptBody(b"secret".as_slice().into());
    assert_eq!(format!("{:?}", Reply::Kept(Some(body))), "Kept(Some(KeptBody(6 bytes)))");
}
