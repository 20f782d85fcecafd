//! What an owner makes of each thing that a core may ask for, over several output streams.

use super::*;
use crate::{Sequence, Shard};

type Told = Box<dyn FnOnce(&mut Step<&'static str>)>;

/// Does what it is told from outside.
#[derive(Default)]
struct Puppet {
    view: View,
}

impl Core for Puppet {
    type External = Told;
    type Effect = &'static str;

    fn found(&mut self, _: &Subject, _: &Head) {}

    fn view(&self) -> View {
        self.view.clone()
    }

    fn external(&mut self, told: Told, step: &mut Step<&'static str>) {
        told(step);
    }

    fn start(&mut self, _: &mut Step<&'static str>) {}

    fn row(&mut self, _: &Row, _: &mut Step<&'static str>) {}

    fn caught_up(&mut self, _: Sequence, step: &mut Step<&'static str>) {
        step.effect("caught up");
    }

    fn tick(&mut self, step: &mut Step<&'static str>) {
        step.effect("tick");
    }
}

fn in_shard(shard: Shard, name: &str) -> Subject {
    let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::cluster(name));
    Subject::Desired { shard, cluster, origin: Shard::FIRST, profile }
}

fn value(subject: Subject, body: &str) -> Publish {
    Publish::new(subject, Body::value(body.as_bytes()), 1)
}

fn told(told: impl FnOnce(&mut Step<&'static str>) + 'static) -> Event<Told> {
    Event::External(Box::new(told))
}

fn publish(row: Publish) -> Event<Told> {
    told(move |step| step.publish(row))
}

/// An owner of so many outputs that has nothing to read, and found these rows; the fences are 10, 20 and so on.
fn reading(outputs: usize, found: &[Publish]) -> Owner<Puppet> {
    let config = OwnerConfig { outputs, reads: false, ..config() };
    let (mut owner, _) = Owner::begin(Puppet::default(), config);
    for output in 0..outputs {
        owner.handle(0, Event::Claimed { output, sequence: Sequence::new(10 * (output as u64 + 1)) });
    }
    for row in found {
        owner.handle(0, Event::Found(row.subject.clone(), row.head()));
    }
    (0..outputs).for_each(|_| drop(owner.handle(0, Event::Loaded)));
    owner
}

/// The groups that are sent: output, fence, and the subjects of the rows.
fn groups(commands: &[Command<&'static str>]) -> Vec<(usize, u64, Vec<String>)> {
    let group = |command: &Command<_>| match command {
        Command::Send(group) => {
            let subjects = group.rows.iter().map(|row| row.row.subject.to_string()).collect();
            Some((group.output, group.fence.get(), subjects))
        }
        _ => None,
    };
    commands.iter().filter_map(group).collect()
}

fn effects(commands: &[Command<&'static str>]) -> Vec<&'static str> {
    let effect =
        |command: &Command<_>| if let Command::Effect(effect) = command { Some(*effect) } else { None };
    commands.iter().filter_map(effect).collect()
}

#[test]
fn every_output_is_claimed_before_any_is_loaded() {
    let (mut owner, first) = Owner::begin(Puppet::default(), OwnerConfig { outputs: 3, ..config() });
    let outputs: Vec<usize> = first
        .iter()
        .filter_map(|command| if let Command::Claim(claim) = command { Some(claim.output) } else { None })
        .collect();
    assert_eq!(outputs, [0, 1, 2]);
    assert!(owner.handle(0, Event::Claimed { output: 2, sequence: Sequence::new(30) }).is_empty());
    assert!(owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(10) }).is_empty());
    let commands = owner.handle(0, Event::Claimed { output: 1, sequence: Sequence::new(20) });
    let [Command::Claimed, loads @ ..] = &commands[..] else { panic!("{commands:?}") };
    let load = |command: &Command<_>| match command {
        Command::Load { output, fence } => (*output, fence.get()),
        other => panic!("{other:?}"),
    };
    assert_eq!(loads.iter().map(load).collect::<Vec<_>>(), [(0, 10), (1, 20), (2, 30)]);
}

#[test]
fn a_claim_without_an_answer_is_made_again_as_it_was() {
    let (mut owner, _) = Owner::begin(Puppet::default(), config());
    for delay in [5_000, 10_000, 20_000] {
        let commands = owner.handle(0, Event::Unanswered(0));
        let expected = Claim { output: 0, number: 1, former: None, delay };
        assert!(matches!(&commands[..], [Command::Claim(claim)] if *claim == expected), "{commands:?}");
    }
}

#[test]
fn it_begins_when_all_outputs_are_loaded() {
    let (mut owner, _) = Owner::begin(Puppet::default(), OwnerConfig { outputs: 2, ..config() });
    owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(10) });
    owner.handle(0, Event::Claimed { output: 1, sequence: Sequence::new(20) });
    assert!(owner.handle(0, Event::Loaded).is_empty());
    assert!(owner.handle(0, Event::Loaded).iter().any(|command| matches!(command, Command::Read)));
}

#[test]
fn who_has_nothing_to_read_is_caught_up_at_once() {
    let (mut owner, _) = Owner::begin(Puppet::default(), OwnerConfig { reads: false, ..config() });
    owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(10) });
    assert!(!owner.is_caught_up());
    let commands = owner.handle(0, Event::Loaded);
    assert_eq!(effects(&commands), ["caught up"]);
    assert!(owner.is_caught_up() && !commands.iter().any(|command| matches!(command, Command::Read)));
}

#[test]
fn a_row_goes_to_the_stream_of_its_shard_under_the_fence_there() {
    let mut owner = reading(3, &[]);
    let commands = owner.handle(
        1,
        told(|step| {
            step.publish(value(in_shard(Shard::new(2), "x"), "1"));
            step.publish(value(in_shard(Shard::FIRST, "y"), "1"));
        }),
    );
    let expected = [
        (0, 10, vec![in_shard(Shard::FIRST, "y").to_string()]),
        (2, 30, vec![in_shard(Shard::new(2), "x").to_string()]),
    ];
    assert_eq!(groups(&commands), expected);
}

#[test]
fn a_group_in_flight_holds_up_no_other_stream() {
    let mut owner = reading(2, &[]);
    owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1")));
    assert_eq!(groups(&owner.handle(1, publish(value(in_shard(Shard::FIRST, "y"), "1")))), []);
    assert_eq!(groups(&owner.handle(1, publish(value(in_shard(Shard::new(1), "z"), "1")))).len(), 1);
}

#[test]
fn what_waits_for_all_waits_for_those_of_other_streams() {
    let mut owner = reading(2, &[]);
    owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1")));
    assert_eq!(
        groups(&owner.handle(1, publish(value(in_shard(Shard::new(1), "speaks"), "1").after_all()))),
        []
    );
    let commands = owner.handle(1, Event::Stored { output: 0, sequence: Some(Sequence::new(11)) });
    assert_eq!(groups(&commands), [(1, 20, vec![in_shard(Shard::new(1), "speaks").to_string()])]);
}

#[test]
fn a_row_for_a_stream_that_is_not_there_goes_nowhere() {
    let mut owner = reading(2, &[]);
    assert_eq!(groups(&owner.handle(1, publish(value(in_shard(Shard::new(7), "x"), "1")))), []);
    assert_eq!(owner.outstanding(), 0);
}

#[test]
fn news_of_a_stream_that_is_not_there_are_nothing() {
    let mut owner = reading(1, &[]);
    for event in [
        Event::Claimed { output: 9, sequence: Sequence::new(99) },
        Event::Stored { output: 9, sequence: Some(Sequence::new(99)) },
        Event::NotStored(9),
        Event::Unanswered(9),
    ] {
        assert!(owner.handle(1, event).is_empty());
    }
    assert_eq!(
        groups(&owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1")))).len(),
        1,
        "it goes on"
    );
}

#[test]
fn what_is_held_or_stored_without_a_group_is_nothing() {
    let mut owner = reading(1, &[]);
    assert!(owner.handle(1, Event::NotStored(0)).is_empty());
    assert!(owner.handle(1, Event::Stored { output: 0, sequence: Some(Sequence::new(11)) }).is_empty());
}

#[test]
fn a_claim_that_nobody_made_changes_no_fence() {
    let mut owner = reading(1, &[]);
    assert!(owner.handle(1, Event::Claimed { output: 0, sequence: Sequence::new(99) }).is_empty());
    assert_eq!(groups(&owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1"))))[0].1, 10);
}

#[test]
fn rows_that_no_message_can_hold_are_done_with() {
    let mut owner = reading(1, &[]);
    owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1")));
    assert_eq!(owner.outstanding(), 1);
    assert!(owner.handle(1, Event::Stored { output: 0, sequence: None }).is_empty());
    assert_eq!(owner.outstanding(), 0);
    owner.handle(1, publish(value(in_shard(Shard::FIRST, "y"), "1")));
    assert!(
        owner.handle(1, Event::Stored { output: 0, sequence: Some(Sequence::new(11)) }).is_empty(),
        "sequences go on"
    );
}

#[test]
fn what_the_table_says_is_sent_when_it_is_forced() {
    let there = value(in_shard(Shard::FIRST, "x"), "1");
    let mut owner = reading(1, std::slice::from_ref(&there));
    assert_eq!(groups(&owner.handle(1, publish(there.clone()))), []);
    assert_eq!(groups(&owner.handle(1, publish(there.forced()))).len(), 1);
}

#[test]
fn what_is_not_there_is_not_taken_away() {
    let gone = Publish::new(in_shard(Shard::FIRST, "x"), Body::Tombstone, 1);
    let mut owner = reading(1, std::slice::from_ref(&gone));
    assert_eq!(groups(&owner.handle(1, publish(gone))), [], "a tombstone was found");
    assert_eq!(
        groups(&owner.handle(1, publish(Publish::new(in_shard(Shard::FIRST, "y"), Body::Tombstone, 1)))),
        []
    );
    assert_eq!(groups(&owner.handle(1, publish(value(in_shard(Shard::FIRST, "x"), "1")))).len(), 1);
}

#[test]
fn rows_that_a_former_owner_made_of_a_cluster_that_has_gone_go_too() {
    let newer = value(in_shard(Shard::FIRST, "x"), "1").view(View::parse("k=9"));
    let mut owner = reading(1, std::slice::from_ref(&newer));
    owner.handle(100, Event::Tick);
    assert_eq!(
        groups(&owner.handle(101, publish(value(in_shard(Shard::FIRST, "x"), "2")))),
        [],
        "it is newer than what is known"
    );
    let part = |cluster: ClusterRef| told(move |step| step.part_with(&cluster));
    assert_eq!(groups(&owner.handle(102, part(ClusterRef::sveltos("a", "other")))), []);
    let commands = owner.handle(103, part(ClusterRef::sveltos("a", "b")));
    let Some(Command::Send(group)) = commands.iter().find(|command| matches!(command, Command::Send(_)))
    else {
        panic!("{commands:?}")
    };
    assert_eq!(group.rows[0].row.body, Body::Tombstone);
}

#[test]
fn the_earliest_time_that_was_asked_for_counts() {
    let mut owner = reading(1, &[]);
    let commands = owner.handle(
        Now { wall: 1_000, steady: 50 },
        told(|step| {
            step.wake_at(5_000);
            step.wake_at_steady(90);
            step.wake_at(3_000);
        }),
    );
    assert!(matches!(commands[..], [Command::WakeAt(1_040)]), "{commands:?}");
    assert_eq!(effects(&owner.handle(1_040, Event::Tick)), ["tick"]);
}

#[test]
fn effects_come_in_their_order_and_those_after_all_at_once_when_nothing_is_on_its_way() {
    let mut owner = reading(1, &[]);
    let commands = owner.handle(
        1,
        told(|step| {
            step.effect_after_all("last");
            step.effect("first");
            step.effect("second");
        }),
    );
    assert_eq!(effects(&commands), ["first", "second", "last"]);
}

#[test]
fn for_every_reason_an_owner_ends_and_does_nothing_more() {
    let reasons = [
        Stop::Deposed,
        Stop::Lost,
        Stop::Lagging,
        Stop::Reborn,
        Stop::Lease,
        Stop::Content,
        Stop::Keys,
        Stop::Failed,
    ];
    let names: std::collections::BTreeSet<&str> = reasons.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), reasons.len(), "each has a name of its own");
    for reason in reasons {
        let mut owner = reading(1, &[]);
        let commands = owner.handle(1, Event::Ended(reason));
        assert!(matches!(commands[..], [Command::Stop(told)] if told == reason));
        for event in [
            Event::Tick,
            Event::Loaded,
            Event::Unanswered(0),
            publish(value(in_shard(Shard::FIRST, "x"), "1")),
            Event::Ended(reason),
        ] {
            assert!(owner.handle(2, event).is_empty());
        }
    }
}

#[test]
fn a_step_that_is_taken_apart_has_all_of_it() {
    let mut step = Step::at(7);
    assert_eq!((step.now, step.steady), (7, 7));
    step.publish(value(in_shard(Shard::FIRST, "x"), "1"));
    step.effect_after_all("after");
    step.effect("now");
    step.wake_at(9);
    let (rows, effects, wake) = step.into_parts();
    assert_eq!((rows.len(), effects, wake), (1, vec!["now", "after"], Some(9)));
}
