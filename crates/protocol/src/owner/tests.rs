#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use sluice_api::{ClusterRef, DigestKey, ProfileId};

use super::finding::FIND_AGAIN;
use super::*;
use crate::row::{Body, Line, Row};
use crate::subject::Table;
use crate::{JournalEntry, Sequence, Shard};

mod steps;

/// Copies every status row it reads into desired rows, as far as the view goes.
#[derive(Default)]
struct Copier {
    found: Vec<String>,
    started: bool,
    caught_up: bool,
    ends: Vec<u64>,
    awaits_end: bool,
    not_ready: bool,
    /// Whether it decides anew; then it wants what it has read after that, and cannot tell now.
    decides_anew: bool,
    reconsidered: Vec<String>,
    /// Whether the lines of its rows are of their begin.
    begins: bool,
    /// Whether something is to be done once what it says is stored.
    follows: bool,
    /// What it says of all rows at the end of the input, and again with every news.
    says: Option<&'static str>,
    /// Whether its rows are secret.
    secret: bool,
    view: View,
}

impl Core for Copier {
    type External = View;
    type Effect = &'static str;

    fn found(&mut self, subject: &Subject, _: &Head) {
        self.found.push(subject.to_string());
    }

    fn view(&self) -> View {
        self.view.clone()
    }

    fn is_ready(&self) -> bool {
        !self.not_ready
    }

    fn external(&mut self, input: View, step: &mut Step<&'static str>) {
        self.not_ready = false;
        self.view = input;
        self.say(step);
    }

    fn start(&mut self, step: &mut Step<&'static str>) {
        self.started = true;
        step.effect("started");
        if self.follows {
            step.publish(Publish::new(subject("early"), Body::value(&b"e"[..]), 1));
            step.publish(Publish::new(complete(), Body::Tombstone, 1).after_all().forced());
            step.effect_after_all("followed");
            // Two of its causes want to.
            step.hear_when_stored();
            step.hear_when_stored();
        }
    }

    fn row(&mut self, row: &Row, step: &mut Step<&'static str>) {
        self.awaits_end |= row.subject == subject("await");
        let said = String::from_utf8(row.body.to_vec()).unwrap();
        if said == "?" {
            return step.leave(row.subject.clone());
        }
        let body = if said.is_empty() { Body::Tombstone } else { Body::value(row.body.clone()) };
        let line = JournalEntry::new("stage", "said", "c", said, 0, 0);
        let line = if self.begins { Line::Begin(line) } else { Line::Change(line) };
        step.publish(Publish::new(row.subject.clone(), body, 1).secret(self.secret).line(line));
    }

    fn awaits_end(&self) -> bool {
        self.awaits_end
    }

    fn caught_up(&mut self, sequence: Sequence, step: &mut Step<&'static str>) {
        self.caught_up = true;
        self.awaits_end = false;
        self.ends.push(sequence.get());
        // An empty table is nothing to speak of.
        if sequence > Sequence::NONE {
            match self.says {
                Some(_) => self.say(step),
                None => step.publish(Publish::new(complete(), Body::value(&b"c"[..]), 1).after_all()),
            }
        }
    }

    fn reconsider(&mut self, rows: &[(Subject, Head)], _: &mut Step<&'static str>) -> bool {
        self.reconsidered.extend(rows.iter().map(|(subject, _)| subject.to_string()));
        self.decides_anew
    }

    fn all_stored(&mut self, step: &mut Step<&'static str>) {
        step.effect("heard");
        step.publish(Publish::new(subject("next"), Body::value(&b"n"[..]), 1));
    }

    fn tick(&mut self, _: &mut Step<&'static str>) {}
}

impl Copier {
    fn say(&self, step: &mut Step<&'static str>) {
        if let Some(text) = self.says {
            let row = Publish::new(complete(), Body::value(text.as_bytes()), 1);
            step.publish(row.view(self.view.clone()).after_all());
        }
    }
}

fn subject(name: &str) -> Subject {
    let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::cluster(name));
    Subject::Status { shard: Shard::FIRST, cluster, origin: Shard::FIRST, profile }
}

fn complete() -> Subject {
    Subject::Complete {
        table: Table::Changes,
        shard: Shard::FIRST,
        cluster: ClusterRef::sveltos("a", "b"),
        origin: None,
    }
}

fn row(name: &str, body: &str) -> Row {
    Row {
        subject: subject(name),
        head: Head::default(),
        body: body.as_bytes().into(),
        sequence: Sequence::new(1),
    }
}

fn config() -> OwnerConfig {
    OwnerConfig { outputs: 1, reads: true, patience: 30, max_lag: 100, digest_key: None }
}

/// An owner that has claimed and loaded, and whose input was empty then; `needed` is what the predecessor saw.
fn loaded(needed: &str) -> (Owner<Copier>, Vec<Command<&'static str>>) {
    let (mut owner, commands) = loaded_as(config(), needed);
    owner.handle(0, Event::CaughtUp(Sequence::NONE));
    (owner, commands)
}

fn loaded_as(config: OwnerConfig, needed: &str) -> (Owner<Copier>, Vec<Command<&'static str>>) {
    let (mut owner, first) = Owner::begin(Copier::default(), config);
    assert!(matches!(&first[..], [Command::Claim(Claim { output: 0, number: 1, former: None, delay: 0 })]));
    let commands = owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(42) });
    assert!(
        matches!(commands[..], [Command::Claimed, Command::Load { output: 0, fence }] if fence.get() == 42)
    );
    let body = Publish::new(subject("old"), Body::value(&b"same"[..]), 1).view(View::parse(needed));
    owner.handle(0, Event::Found(body.subject.clone(), body.head()));
    let commands = owner.handle(0, Event::Loaded);
    (owner, commands)
}

#[test]
fn an_equal_secret_is_found_to_be_equal_by_its_key_and_by_no_other() {
    let digest_key = Some(DigestKey::new([7; 32]));
    let secret = |row: Publish| row.secret(true);
    let there = secret(Publish::new(subject("old"), Body::value(&b"same"[..]), 1));
    for (found, sent_again) in [(there.head_by(digest_key.as_ref()), false), (there.head(), true)] {
        let (mut owner, _) = Owner::begin(
            Copier { secret: true, ..Copier::default() },
            OwnerConfig { digest_key: digest_key.clone(), ..config() },
        );
        owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(42) });
        owner.handle(0, Event::Found(subject("old"), found));
        owner.handle(0, Event::Loaded);
        owner.handle(0, Event::CaughtUp(Sequence::NONE));
        let commands = owner.handle(1, Event::Row(row("old", "same"), false));
        assert_eq!(!sent(&commands).is_empty(), sent_again);
    }
}

#[test]
fn what_is_done_after_all_waits_for_rows_that_are_held_and_for_those_that_wait_themselves() {
    let followed = |commands: &[Command<&'static str>]| {
        let is = |command: &&Command<_>, what| matches!(command, Command::Effect(effect) if *effect == what);
        let count = |what| commands.iter().filter(|command| is(command, what)).count();
        assert_eq!(count("heard"), 2 * count("followed"), "as often as the core has said, at the same time");
        count("followed") > 0
    };
    let core = Copier { follows: true, ..Copier::default() };
    let (mut owner, _) = Owner::begin(core, config());
    owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(42) });
    assert!(!followed(&owner.handle(0, Event::Loaded)), "rows of the beginning are held");
    let commands = owner.handle(0, Event::CaughtUp(Sequence::NONE));
    assert_eq!((sent(&commands).len(), followed(&commands)), (1, false));
    let commands = owner.handle(0, Event::Stored { output: 0, sequence: Some(Sequence::new(43)) });
    assert_eq!(sent(&commands)[0].2, [complete().to_string()]);
    assert!(!followed(&commands), "the last row is on its way");
    let commands = owner.handle(0, Event::Stored { output: 0, sequence: Some(Sequence::new(44)) });
    assert!(followed(&commands));
    assert_eq!(sent(&commands)[0].2, [subject("next").to_string()], "what follows from hearing it goes out");
}

#[test]
fn what_followed_from_a_row_that_was_replaced_by_one_that_nobody_understands_is_not_published() {
    let (mut owner, _) = loaded_as(config(), "");
    for (name, body) in [("x", "replaced long ago"), ("y", "1"), ("x", "?")] {
        assert!(sent(&owner.handle(0, Event::Row(row(name, body), false))).is_empty());
    }
    assert_eq!(sent(&owner.handle(0, Event::CaughtUp(Sequence::new(9))))[0].2, [subject("y").to_string()]);
}

/// The groups that are sent: fence, delay, and the subjects of the rows.
fn sent(commands: &[Command<&'static str>]) -> Vec<(u64, i64, Vec<String>)> {
    let group = |command: &Command<_>| match command {
        Command::Send(group) => {
            let subjects = group.rows.iter().map(|row| row.row.subject.to_string()).collect();
            Some((group.fence.get(), group.delay, subjects))
        }
        _ => None,
    };
    commands.iter().filter_map(group).collect()
}

fn published(commands: &[Command<&'static str>]) -> Vec<String> {
    sent(commands).into_iter().flat_map(|(_, _, rows)| rows).collect()
}

/// What people are told, in order.
fn told(commands: &[Command<&'static str>]) -> Vec<String> {
    let line = |command: &Command<_>| match command {
        Command::Tell(line) => Some(line.object.clone()),
        _ => None,
    };
    commands.iter().filter_map(line).collect()
}

fn stored(sequence: u64) -> Event<View> {
    Event::Stored { output: 0, sequence: Some(Sequence::new(sequence)) }
}

#[test]
fn reading_begins_after_claim_and_load() {
    let (owner, commands) = loaded("");
    assert!(matches!(commands[..], [Command::WakeAt(30), Command::Effect("started"), Command::Read]));
    assert_eq!(owner.core().found, [subject("old").to_string()]);
}

#[test]
fn equal_content_is_not_published_again() {
    let (mut owner, _) = loaded("");
    assert!(published(&owner.handle(1, Event::Row(row("old", "same"), false))).is_empty());
    assert_eq!(published(&owner.handle(1, Event::Row(row("old", "new"), false))).len(), 1);
    owner.handle(1, stored(43));
    assert!(published(&owner.handle(1, Event::Row(row("old", "new"), false))).is_empty());
}

#[test]
fn nothing_is_published_before_the_end_of_the_table() {
    let (mut owner, _) = loaded_as(config(), "");
    for (sequence, name, body) in
        [(2, "old", "replaced"), (3, "other", "1"), (5, "old", "same"), (7, "last", "1")]
    {
        let row = Row { sequence: Sequence::new(sequence), ..row(name, body) };
        assert!(published(&owner.handle(1, Event::Row(row, false))).is_empty());
    }
    assert!(published(&owner.handle(1, Event::Tick)).is_empty());
    let both = ["last", "other"].map(|name| subject(name).to_string());
    assert_eq!(
        published(&owner.handle(1, Event::CaughtUp(Sequence::new(7)))),
        both,
        "the table says the same of old"
    );
}

#[test]
fn people_are_told_of_a_row_when_it_says_something_new() {
    let (mut owner, _) = loaded("");
    let mut say = |body: &str| told(&owner.handle(1, Event::Row(row("old", body), false))).join(",");
    assert_eq!(say("same"), "", "the table says so");
    assert_eq!(say("new"), "new");
    assert_eq!(say("new"), "");
    assert_eq!(say("newer"), "newer", "also while the last one is on its way");
}

#[test]
fn of_rows_that_are_held_people_are_told_what_goes_out_in_the_end() {
    let (mut owner, _) = loaded_as(config(), "");
    for (name, body) in [("old", "replaced"), ("other", "1"), ("other", "2"), ("old", "same"), ("other", "3")]
    {
        assert!(told(&owner.handle(1, Event::Row(row(name, body), false))).is_empty());
    }
    assert_eq!(told(&owner.handle(1, Event::CaughtUp(Sequence::new(7)))), ["3"]);
}

#[test]
fn of_a_row_that_is_newer_than_the_view_people_are_told_when_it_goes_out() {
    let (mut owner, _) = loaded("ConfigMap=9");
    owner.handle(30, Event::Tick);
    owner.handle(30, Event::CaughtUp(Sequence::NONE));
    assert!(told(&owner.handle(31, Event::Row(row("old", "mine"), false))).is_empty());
    assert_eq!(told(&owner.handle(32, Event::External(View::parse("ConfigMap=9")))), ["mine"]);
}

#[test]
fn that_something_begins_is_told_when_the_table_has_nothing_of_it() {
    let (mut owner, _) = loaded_as(config(), "");
    owner.core.begins = true;
    for (name, body) in [("old", ""), ("old", "there again"), ("new", "first"), ("new", "second")] {
        owner.handle(1, Event::Row(row(name, body), false));
    }
    assert_eq!(
        told(&owner.handle(1, Event::CaughtUp(Sequence::new(7)))),
        ["second"],
        "the other one has been there all the time"
    );
    let mut say = |body: &str| told(&owner.handle(1, Event::Row(row("new", body), false))).join(",");
    assert_eq!((say("third"), say(""), say("fourth")), (String::new(), String::new(), "fourth".to_owned()));
}

#[test]
fn what_comes_while_a_group_is_in_flight_is_the_next_group() {
    let (mut owner, _) = loaded("");
    let names = |names: &[&str]| names.iter().map(|name| subject(name).to_string()).collect::<Vec<_>>();
    assert_eq!(sent(&owner.handle(1, Event::Row(row("a", "1"), true))), [(42, 0, names(&["a"]))]);
    assert!(sent(&owner.handle(1, Event::Row(row("b", "1"), true))).is_empty());
    assert!(sent(&owner.handle(1, Event::Row(row("a", "2"), true))).is_empty());
    assert_eq!(owner.outstanding(), 3);
    assert_eq!(sent(&owner.handle(1, stored(43))), [(42, 0, names(&["b", "a"]))]);
    assert!(sent(&owner.handle(1, stored(45))).is_empty());
    assert_eq!(owner.outstanding(), 0);
}

#[test]
fn a_group_has_a_limit_of_rows_and_of_bytes() {
    let (mut owner, _) = loaded("");
    owner.handle(1, Event::Row(row("first", "1"), true));
    for number in 0..1001 {
        owner.handle(1, Event::Row(row(&number.to_string(), "1"), true));
    }
    assert_eq!(published(&owner.handle(1, stored(43))).len(), 1000);
    for number in 0..40 {
        owner.handle(1, Event::Row(row(&format!("large{number}"), &"x".repeat(50_000)), true));
    }
    assert_eq!(published(&owner.handle(1, stored(1043))).len(), 1 + 20, "a megabyte");
    assert_eq!(published(&owner.handle(1, stored(1064))).len(), 20);
}

#[test]
fn a_group_that_is_held_goes_again_as_it_is_and_ever_later() {
    let (mut owner, _) = loaded("");
    let first = sent(&owner.handle(1, Event::Row(row("a", "1"), true)));
    owner.handle(1, Event::Row(row("a", "2"), true));
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let again = sent(&owner.handle(1, Event::NotStored(0)));
        assert_eq!((again[0].0, &again[0].2), (42, &first[0].2));
        pauses.push(again[0].1 / 1000);
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 320, 320]);
    assert_eq!(published(&owner.handle(1, stored(43))).len(), 1);
}

#[test]
fn a_group_without_an_answer_goes_again_under_another_fence() {
    let (mut owner, _) = loaded("");
    owner.handle(1, Event::Row(row("a", "1"), true));
    let commands = owner.handle(1, Event::Unanswered(0));
    assert!(
        matches!(&commands[..], [Command::Claim(Claim { output: 0, number: 2, former: Some(former), .. })] if former.get() == 42),
        "{commands:?}"
    );
    let commands = owner.handle(1, Event::Unanswered(0));
    assert!(
        matches!(&commands[..], [Command::Claim(Claim { number: 2, former: Some(former), .. })] if former.get() == 42)
    );
    assert!(owner.handle(1, Event::NotStored(0)).is_empty(), "nothing is in flight but a claim");
    let again = sent(&owner.handle(1, Event::Claimed { output: 0, sequence: Sequence::new(50) }));
    assert_eq!(again, [(50, 0, vec![subject("a").to_string()])]);
    assert!(owner.handle(1, stored(51)).is_empty());
}

#[test]
fn sequences_that_do_not_grow_mean_that_rows_are_lost() {
    let (mut owner, _) = loaded("");
    owner.handle(1, Event::Row(row("a", "1"), true));
    assert!(matches!(owner.handle(1, stored(42))[..], [Command::Stop(Stop::Lost)]));
    let (mut owner, _) = loaded("");
    owner.handle(1, Event::Row(row("a", "1"), true));
    owner.handle(1, stored(60));
    owner.handle(1, Event::Row(row("b", "1"), true));
    owner.handle(1, Event::Unanswered(0));
    assert!(matches!(
        owner.handle(1, Event::Claimed { output: 0, sequence: Sequence::new(55) })[..],
        [Command::Stop(Stop::Lost)]
    ));
}

#[test]
fn an_older_view_waits_but_not_for_ever() {
    let (mut owner, _) = loaded("x=5");
    assert!(!owner.core().started);
    owner.handle(1, Event::External(View::parse("x=4")));
    assert!(!owner.core().started);
    owner.handle(2, Event::External(View::parse("x=5")));
    assert!(owner.core().started);

    let (mut owner, _) = loaded("x=5");
    owner.handle(29, Event::Tick);
    assert!(!owner.core().started);
    owner.handle(30, Event::Tick);
    assert!(owner.core().started);
}

/// What is told of rows that are newer than the view.
fn behind(commands: &[Command<&'static str>]) -> Vec<Option<String>> {
    let told = |command: &Command<_>| match command {
        Command::Behind(told) => Some(told.clone()),
        _ => None,
    };
    commands.iter().filter_map(told).collect()
}

#[test]
fn rows_that_are_newer_than_the_view_stay_until_it_covers_them() {
    let (mut owner, _) = loaded("x=5 y=1");
    owner.handle(1, Event::External(View::parse("x=4 y=1")));
    let told = behind(&owner.handle(30, Event::Tick));
    owner.handle(30, Event::CaughtUp(Sequence::NONE));
    assert!(
        matches!(&told[..], [Some(text)] if text.starts_with("1 rows") && text.contains("(x 5)")),
        "{told:?}"
    );
    assert!(published(&owner.handle(31, Event::Row(row("old", "older"), true))).is_empty());
    assert_eq!(published(&owner.handle(31, Event::Row(row("other", "1"), true))).len(), 1);
    owner.handle(31, stored(43));
    assert!(published(&owner.handle(32, Event::Row(row("old", "newest"), true))).is_empty());
    let commands = owner.handle(33, Event::External(View::parse("x=5 y=1")));
    assert_eq!(published(&commands), [subject("old").to_string()]);
    assert_eq!(behind(&commands), [None]);
    let Some(Command::Send(group)) = commands.iter().find(|command| matches!(command, Command::Send(_)))
    else {
        panic!()
    };
    assert_eq!(group.rows[0].row.body, Body::value(&b"newest"[..]), "what the core wanted last");
}

/// Before the end of the input and after it.
#[test]
fn what_a_core_wanted_from_an_older_view_is_forgotten_when_it_decides_anew() {
    for read in [true, false] {
        let (mut owner, _) = loaded("x=5");
        owner.core.decides_anew = true;
        owner.handle(1, Event::External(View::parse("x=4")));
        owner.handle(30, Event::Tick);
        if read {
            owner.handle(30, Event::CaughtUp(Sequence::NONE));
        }
        assert!(published(&owner.handle(31, Event::Row(row("old", "older"), true))).is_empty());
        let commands = owner.handle(33, Event::External(View::parse("x=5")));
        assert!(published(&commands).is_empty(), "it cannot tell");
        assert_eq!(owner.core().reconsidered, [subject("old").to_string()], "once");
        assert!(published(&owner.handle(33, Event::CaughtUp(Sequence::NONE))).is_empty());
        let commands = owner.handle(34, Event::Row(row("old", "newest"), true));
        assert_eq!(published(&commands), [subject("old").to_string()], "now it can");
    }
}

/// What is held because a newer row is there must not come after what waits for other rows to be stored.
#[test]
fn what_speaks_of_other_rows_is_not_followed_by_what_it_said_before() {
    let newer = Publish::new(complete(), Body::value(&b"newer"[..]), 1).view(View::parse("x=5"));
    let (mut owner, _) = Owner::begin(Copier { says: Some("first"), ..Copier::default() }, config());
    owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(42) });
    owner.handle(0, Event::Found(newer.subject.clone(), newer.head()));
    owner.handle(0, Event::Loaded);
    owner.handle(30, Event::Tick);
    assert!(
        published(&owner.handle(30, Event::CaughtUp(Sequence::new(1)))).is_empty(),
        "a newer row is there"
    );
    assert_eq!(published(&owner.handle(31, Event::Row(row("a", "1"), true))).len(), 1);
    owner.core.says = Some("second");
    assert!(published(&owner.handle(32, Event::External(View::parse("x=5")))).is_empty(), "a is on its way");
    let commands = owner.handle(33, stored(43));
    let Some(Command::Send(group)) = commands.iter().find(|command| matches!(command, Command::Send(_)))
    else {
        panic!()
    };
    assert_eq!(group.rows.last().unwrap().row.body, Body::value(&b"second"[..]));
}

#[test]
fn a_core_that_is_not_ready_does_not_begin_however_long_it_takes() {
    let (mut owner, _) = loaded("");
    assert!(owner.core().started);
    let begun = Owner::begin(Copier { not_ready: true, ..Copier::default() }, config());
    owner = begun.0;
    owner.handle(0, Event::Claimed { output: 0, sequence: Sequence::new(42) });
    owner.handle(0, Event::Loaded);
    owner.handle(1000, Event::Tick);
    assert!(!owner.core().started);
    owner.handle(1001, Event::External(View::parse("ready=1")));
    assert!(owner.core().started);
}

#[test]
fn completeness_waits_until_everything_before_it_is_stored() {
    let (mut owner, _) = loaded("");
    owner.handle(1, Event::Row(row("a", "1"), true));
    owner.handle(1, Event::Row(row("b", "1"), true));
    assert!(published(&owner.handle(1, Event::CaughtUp(Sequence::END))).is_empty());
    assert_eq!(published(&owner.handle(1, stored(43))), [subject("b").to_string()]);
    owner.handle(1, Event::Row(row("c", "1"), false));
    assert_eq!(
        published(&owner.handle(1, stored(44))),
        [subject("c").to_string(), complete().to_string()],
        "what came later does not hold it up"
    );
}

#[test]
fn a_refusal_ends_it_at_once() {
    let (mut owner, _) = loaded("");
    let commands = owner.handle(1, Event::Ended(Stop::Deposed));
    assert!(matches!(commands[..], [Command::Stop(Stop::Deposed)]));
    assert!(owner.handle(1, Event::Row(row("a", "1"), false)).is_empty());
}

#[test]
fn who_lags_for_too_long_begins_again() {
    let (mut owner, _) = loaded("");
    owner.handle(10, Event::CaughtUp(Sequence::END));
    owner.handle(20, Event::Row(row("a", "1"), true));
    assert!(!stops(&owner.handle(100, Event::Tick)));
    assert!(matches!(owner.handle(121, Event::Tick)[..], [Command::Stop(Stop::Lagging)]));
}

#[test]
fn a_short_lag_is_forgotten_when_it_ends() {
    let (mut owner, _) = loaded("");
    owner.handle(10, Event::CaughtUp(Sequence::END));
    owner.handle(20, Event::Row(row("a", "1"), true));
    owner.handle(30, Event::Row(row("b", "1"), false));
    assert!(!stops(&owner.handle(121, Event::Tick)));
}

fn stops(commands: &[Command<&'static str>]) -> bool {
    commands.iter().any(|command| matches!(command, Command::Stop(_)))
}

/// What it asks for besides publishing: after which sequence the end is, and when it wants to be woken.
fn asked(commands: &[Command<&'static str>]) -> (Option<u64>, Option<i64>) {
    let end = commands.iter().find_map(|command| match command {
        Command::FindEnd(after) => Some(after.get()),
        _ => None,
    });
    let wake = commands.iter().find_map(|command| match command {
        Command::WakeAt(at) => Some(*at),
        _ => None,
    });
    (end, wake)
}

fn numbered(name: &str, sequence: u64) -> Row {
    Row { sequence: Sequence::new(sequence), ..row(name, "1") }
}

#[test]
fn the_end_is_asked_for_when_something_depends_on_it() {
    let (mut owner, _) = loaded("");
    assert_eq!(asked(&owner.handle(20, Event::Row(numbered("a", 5), false))).0, None);
    assert_eq!(asked(&owner.handle(20, Event::Row(numbered("await", 6), false))).0, Some(6));
    assert_eq!(asked(&owner.handle(20, Event::Row(numbered("b", 7), false))).0, None, "it is asked already");
    let (end, wake) = asked(&owner.handle(21, Event::More));
    assert_eq!((end, wake), (None, Some(21 + FIND_AGAIN)), "a row that follows may be the last one");
    assert_eq!(asked(&owner.handle(22, Event::Row(numbered("c", 8), false))).0, Some(8));
    owner.handle(23, Event::CaughtUp(Sequence::new(8)));
    assert_eq!(owner.core().ends, [0, 8]);
    assert_eq!(asked(&owner.handle(24, Event::Row(numbered("d", 9), false))), (None, None));
}

#[test]
fn the_end_is_found_also_when_the_server_always_says_that_more_follows() {
    let (mut owner, _) = loaded_as(OwnerConfig { max_lag: 2 * FIND_AGAIN, ..config() }, "");
    owner.handle(10, Event::CaughtUp(Sequence::NONE));
    let at = asked(&owner.handle(20, Event::Row(numbered("await", 5), true))).1.unwrap();
    assert_eq!(asked(&owner.handle(at - 1, Event::Tick)), (None, Some(at)), "a tick for something else");
    assert_eq!(asked(&owner.handle(at, Event::Tick)).0, Some(5));
}

#[test]
fn tombstones_make_room_for_the_same_content_again() {
    let (mut owner, _) = loaded("");
    owner.publish(Publish::new(subject("old"), Body::Tombstone, 1));
    assert_eq!(published(&owner.handle(1, Event::Tick)).len(), 1);
    owner.handle(1, stored(43));
    let again = Row { body: Arc::from(&b"same"[..]), ..row("old", "") };
    assert_eq!(published(&owner.handle(2, Event::Row(again, false))).len(), 1);
}
