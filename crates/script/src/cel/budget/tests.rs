use std::time::Duration;

use super::*;

fn limits(steps: u64, memory: usize) -> Limits {
    Limits { steps, time: Duration::from_secs(3600), memory }
}

fn too_long() -> Fault {
    Fault::Limit("limit: the rule ran for too long; let it look at less".to_owned())
}

#[test]
fn so_many_steps_may_be_done_and_no_more() {
    let mut budget = Budget::new(&limits(10, 0));
    assert_eq!(budget.step(9), Ok(()));
    assert_eq!(budget.step(1), Ok(()));
    assert_eq!(budget.step(1), Err(too_long()));
}

#[test]
fn so_many_bytes_may_be_made_and_none_is_given_back() {
    let mut budget = Budget::new(&limits(1_000, 100));
    assert_eq!(budget.hold(60), Ok(()));
    let too_much = "limit: the rule needs too much memory; let it make less".to_owned();
    assert_eq!(budget.hold(60), Err(Fault::Limit(too_much)));
    assert_eq!(budget.hold(40), Ok(()));
}

#[test]
fn making_bytes_takes_its_time() {
    let mut budget = Budget::new(&limits(10, 1_000));
    assert_eq!(budget.hold(160), Ok(()));
    assert_eq!(budget.hold(16), Err(too_long()));
}

#[test]
fn the_time_is_looked_at_once_in_a_while() {
    let over = Limits { time: Duration::ZERO, ..limits(10_000, 0) };
    let mut budget = Budget::new(&over);
    let done = (0..10_000).take_while(|_| budget.step(1).is_ok()).count();
    assert_eq!(done as u64, STEPS_PER_READING - 1);
}

#[test]
fn a_time_beyond_all_clocks_is_no_limit() {
    let mut budget = Budget::new(&Limits { time: Duration::MAX, ..limits(1_000, 0) });
    assert_eq!(budget.step(999), Ok(()));
}
