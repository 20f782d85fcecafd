use proptest::prelude::*;

use super::*;

#[test]
fn shards_spread_and_move_only_to_the_newcomer() {
    let before: Vec<_> = (0..64).map(|shard| owner(&shard.to_string(), ["a", "b"]).unwrap()).collect();
    let after: Vec<_> = (0..64).map(|shard| owner(&shard.to_string(), ["a", "b", "c"]).unwrap()).collect();
    assert!(before.iter().filter(|owner| **owner == "a").count() > 16);
    assert!(before.iter().zip(&after).all(|(old, new)| old == new || *new == "c"));
    assert!(after.contains(&"c"));
}

/// Says and hears that it lives.
fn beat(members: &mut Members, now: i64) {
    let own = members.own.clone();
    members.heard(&own, now);
    members.confirmed(now, now);
}

#[test]
fn who_lost_its_lease_owns_nothing() {
    let mut members = Members::new("a", 3, 1);
    assert!(!members.owns("0", 0));
    members.confirmed(10, 11);
    assert!(members.owns("0", 12) && !members.owns("0", 13), "it counts from when it was said");
    beat(&mut members, 13);
    assert!(members.owns("0", 15) && !members.owns("0", 16), "it hears nothing any more");
}

#[test]
fn a_lease_that_lapsed_is_another_one() {
    let mut members = Members::new("a", 3, 1);
    let mut refresh = |sent, now| {
        members.confirmed(sent, now);
        members.lease_epoch("0")
    };
    assert_eq!((refresh(10, 10), refresh(12, 12)), (0, 0));
    assert!(refresh(14, 15) > 0, "from 15 on others could take its work over");
    assert!(members.holds_lease(16));
}

/// A shard that `b` owns when `a` and `b` are live.
fn of_b() -> String {
    (0..64).map(|shard| shard.to_string()).find(|key| owner(key, ["a", "b"]) == Some("b")).unwrap()
}

#[test]
fn silent_members_are_forgotten() {
    let mut members = Members::new("a", 30, 1);
    (0..3).for_each(|second| {
        members.heard("b", second * 10);
        beat(&mut members, second * 10);
    });
    (3..5).for_each(|second| beat(&mut members, second * 10));
    assert!(!members.owns(&of_b(), 49));
    beat(&mut members, 50);
    assert!(members.owns(&of_b(), 50));
    assert_eq!(members.live(), 1);
}

#[test]
fn who_hears_nothing_takes_nobody_for_dead() {
    let mut members = Members::new("a", 30, 1);
    members.heard("b", 10);
    beat(&mut members, 12);
    beat(&mut members, 100);
    assert!(members.holds_lease(100) && !members.owns(&of_b(), 100), "b may have spoken in the silence");
    (11..14).for_each(|second| beat(&mut members, second * 10));
    assert!(members.owns(&of_b(), 130), "there was time enough to hear b");
}

#[test]
fn a_refusal_proves_that_somebody_lives_of_whom_nothing_is_heard() {
    let mut members = Members::new("a", 30, 1);
    beat(&mut members, 0);
    assert!(members.owns(&of_b(), 1));
    members.proved("b", 1);
    assert!(!members.owns(&of_b(), 1));
    (1..59).for_each(|second| beat(&mut members, second * 10));
    assert!(!members.owns(&of_b(), 581), "and longer than what is heard, or they depose each other for ever");
    (59..62).for_each(|second| beat(&mut members, second * 10));
    assert!(members.owns(&of_b(), 611));
    members.proved("b", 611);
    members.heard("b", 612);
    (62..66).for_each(|second| beat(&mut members, second * 10));
    assert!(members.owns(&of_b(), 650), "who is heard again counts as all others do");
}

#[test]
fn a_shard_that_another_member_has_claimed_is_under_another_lease() {
    let (mut a, mut b) = (Members::new("a", 30, 1), Members::new("b", 30, 1));
    a.heard_claims("b", 7, &b.claims_since(0));
    let epochs = |members: &Members| (members.lease_epoch("0"), members.lease_epoch("1"));
    assert_eq!(epochs(&a), (0, 0));
    b.claimed("0");
    let first = b.claims_since(0);
    assert_eq!(first, Claims { total: 1, newest: vec!["0".into()] });
    a.heard_claims("b", 7, &first);
    a.heard_claims("b", 7, &first);
    assert_eq!(epochs(&a), (1, 0), "it may say so more than once");
    b.claimed("1");
    a.heard_claims("b", 7, &b.claims_since(0));
    assert_eq!(epochs(&a), (1, 1));

    // What was not heard may have been any shard.
    ["0", "1", "0"].iter().for_each(|key| b.claimed(key));
    a.heard_claims("b", 7, &b.claims_since(4));
    assert_eq!(epochs(&a), (3, 2));
    // Another life of it counts from its beginning.
    a.heard_claims("b", 8, &Claims { total: 1, newest: vec!["1".into()] });
    assert_eq!(epochs(&a), (3, 3));
}

#[test]
fn a_member_keeps_the_newest_of_its_claims() {
    let mut members = Members::new("a", 30, 1);
    (0..KEPT + 5).for_each(|key| members.claimed(&key.to_string()));
    let Claims { total, newest } = members.claims_since(0);
    assert_eq!((total, newest.len(), newest[0].as_str()), (KEPT as u64 + 5, KEPT, "5"));
    assert_eq!(members.claims_since(total), Claims { total, newest: Vec::new() });
}

#[test]
fn only_members_of_the_newest_format_own_anything() {
    let (mut old, mut new) = (Members::new("a", 30, 1), Members::new("b", 30, 2));
    let keys: Vec<String> = (0..16).map(|key| key.to_string()).collect();
    let owned = |members: &Members, now| keys.iter().filter(|key| members.owns(key, now)).count();
    beat(&mut old, 0);
    assert_eq!(owned(&old, 1), 16, "nobody else is there");
    old.heard("b", 1);
    assert!((1..16).contains(&owned(&old, 1)), "of whom nothing is known is as able");
    old.heard_format("b", 2);
    new.heard_format("a", 1);
    new.heard("a", 1);
    beat(&mut new, 1);
    assert_eq!((owned(&old, 1), owned(&new, 1)), (0, 16));
    old.left("b");
    assert_eq!(owned(&old, 1), 16, "better than nobody");
}

#[test]
fn who_leaves_is_forgotten_at_once() {
    let mut members = Members::new("a", 30, 1);
    members.proved("b", 0);
    members.heard("b", 1);
    beat(&mut members, 2);
    members.left("b");
    assert!(members.owns(&of_b(), 2));
}

proptest! {
    #[test]
    fn exactly_one_member_owns_a_key(names in proptest::collection::btree_set("[a-z]{1,6}", 1..6), key in "[0-9]{1,3}") {
        let owners = names.iter().filter(|own| {
            let mut members = Members::new(own.as_str(), 10, 1);
            names.iter().for_each(|name| members.heard(name, 0));
            members.confirmed(0, 0);
            members.owns(&key, 1)
        });
        prop_assert_eq!(owners.count(), 1);
    }
}

#[test]
fn nobody_owns_anything_without_members() {
    assert_eq!(owner("0", []), None);
    assert_eq!(owner("0", ["a"]), Some("a"));
}

#[test]
fn the_order_of_the_members_does_not_count() {
    for key in 0..64 {
        let key = key.to_string();
        assert_eq!(owner(&key, ["a", "b", "c"]), owner(&key, ["c", "a", "b"]));
    }
}

#[test]
fn who_leaves_gives_its_keys_to_the_others_and_moves_no_other() {
    let keys: Vec<String> = (0..400).map(|key| key.to_string()).collect();
    let members = ["a", "b", "c", "d"];
    let owned = |member: &str| keys.iter().filter(|key| owner(key, members) == Some(member)).count();
    for member in members {
        assert!((60..140).contains(&owned(member)), "{member}: {}", owned(member));
    }
    for key in &keys {
        let (before, after) = (owner(key, members), owner(key, ["a", "b", "c"]));
        assert!(before == after || before == Some("d"), "{key}");
    }
}

#[test]
fn parts_of_a_hash_are_told_apart() {
    assert_ne!(fnv(&["ab", "c"]), fnv(&["a", "bc"]));
    assert_ne!(fnv(&["a", ""]), fnv(&["a"]));
    assert_eq!(fnv(&["a", "b"]), fnv(&["a", "b"]));
}

#[test]
fn a_lease_is_held_when_it_is_said_and_heard() {
    let mut members = Members::new("a", 30, 1);
    members.heard("a", 0);
    assert!(!members.holds_lease(1), "others may not have heard it");
    members.confirmed(0, 5);
    assert!(
        members.holds_lease(29) && !members.holds_lease(30),
        "from when it was said, not from when it was heard"
    );
}

#[test]
fn an_older_word_of_itself_does_not_shorten_a_lease() {
    let mut members = Members::new("a", 30, 1);
    members.confirmed(20, 21);
    members.confirmed(10, 22);
    assert!(members.holds_lease(49) && !members.holds_lease(50));
    assert_eq!(members.silence(45), 25);
}

#[test]
fn who_has_said_nothing_has_not_been_silent() {
    assert_eq!(Members::new("a", 30, 1).silence(1_000), 0);
}

#[test]
fn the_first_lease_is_no_other_one_and_each_after_a_silence_is() {
    let mut members = Members::new("a", 30, 1);
    beat(&mut members, 1_000);
    assert_eq!((members.lapses(), members.lease_epoch("0")), (0, 0));
    beat(&mut members, 2_000);
    let after_one = members.lapses();
    assert!(after_one > 0 && members.lease_epoch("0") > 0);
    beat(&mut members, 2_010);
    assert_eq!(members.lapses(), after_one, "it was held all the time");
    beat(&mut members, 3_000);
    assert!(members.lapses() > after_one);
}

#[test]
fn a_member_is_no_other_of_itself() {
    let mut members = Members::new("a", 30, 1);
    beat(&mut members, 0);
    members.heard("b", 0);
    members.proved("a", 0);
    assert_eq!((members.live_others().collect::<Vec<_>>(), members.live()), (vec!["b"], 2));
}

#[test]
fn who_is_heard_needs_no_proof() {
    let mut members = Members::new("a", 30, 1);
    members.heard("b", 0);
    members.proved("b", 0);
    (1..5).for_each(|second| beat(&mut members, second * 10));
    assert_eq!(members.live(), 1, "it is silent as anybody is");
}

#[test]
fn a_proof_ends() {
    let mut members = Members::new("a", 30, 1);
    members.proved("b", 0);
    beat(&mut members, PROOF * 30 - 1);
    assert_eq!(members.live(), 2);
    beat(&mut members, PROOF * 30);
    assert_eq!(members.live(), 1);
}

#[test]
fn claims_that_were_said_are_not_said_again() {
    let mut members = Members::new("a", 30, 1);
    ["0", "1", "2"].iter().for_each(|key| members.claimed(key));
    let newest = |said: u64| members.claims_since(said).newest;
    assert_eq!(
        (newest(0), newest(2), newest(3), newest(9)),
        (vec!["0".into(), "1".into(), "2".into()], vec!["2".into()], vec![], vec![])
    );
}

#[test]
fn claims_of_a_former_time_that_come_late_are_known() {
    let mut members = Members::new("a", 30, 1);
    let of = |total: u64, newest: &[&str]| Claims {
        total,
        newest: newest.iter().map(|key| (*key).to_owned()).collect(),
    };
    members.heard_claims("b", 1, &of(2, &["0", "1"]));
    members.heard_claims("b", 1, &of(1, &["0"]));
    members.heard_claims("b", 1, &of(2, &["0", "1"]));
    assert_eq!((members.lease_epoch("0"), members.lease_epoch("1"), members.lease_epoch("2")), (1, 1, 0));
}

#[test]
fn what_a_member_says_of_its_own_format_does_not_change_it() {
    let mut members = Members::new("a", 30, 2);
    members.heard_format("a", 1);
    members.heard_format("b", 1);
    members.heard("b", 0);
    beat(&mut members, 0);
    assert!((0..64).all(|key| members.owns(&key.to_string(), 1)), "b reads an older one");
}

proptest! {
    #[test]
    fn few_keys_move_when_a_member_comes(names in proptest::collection::btree_set("[a-z]{1,6}", 2..8), comer in "[A-Z]{1,6}") {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for key in 0..64 {
            let key = key.to_string();
            let after = owner(&key, names.iter().copied().chain([comer.as_str()]));
            prop_assert!(after == owner(&key, names.iter().copied()) || after == Some(comer.as_str()));
        }
    }
}
