//! Clusters that are no longer registered.

use super::*;

fn gone(revision: u64) -> ExternalInput {
    ExternalInput::Interest(cluster(), Interest::of_gone(Revision::new(revision)))
}

/// The agent takes its completeness row away.
fn left() -> Row {
    let row = complete(1);
    Row { head: Head { tombstone: true, ..Head::default() }, ..row }
}

/// What a step publishes takes everything back, and no row says from which interest.
fn taken_back(matcher: &mut Matcher, f: impl FnOnce(&mut Matcher, &mut Step<Effect>)) -> Vec<String> {
    let mut step = Step::at(10);
    f(matcher, &mut step);
    let (rows, ..) = step.into_parts();
    assert!(
        rows.iter().all(|row| row.body == Body::Tombstone && row.parting && row.view == View::default()),
        "{rows:?}"
    );
    let name = |row: &Publish| match &row.subject {
        Subject::Report { object, .. } => object.name.clone(),
        _ => "complete".to_owned(),
    };
    rows.iter().map(name).collect()
}

#[test]
fn what_was_reported_goes_and_the_cluster_is_forgotten_once_its_agent_has_left() {
    let mut matcher = started(&[("a", 1)]);
    rows(&mut matcher, change("x", Some("a"), 1));
    step(&mut matcher, |m, s| m.caught_up(Sequence::new(1), s));
    assert_eq!(rows(&mut matcher, complete(1)), ["complete"]);
    assert_eq!(taken_back(&mut matcher, |m, s| m.external(gone(2), s)), ["x", "complete"]);
    assert!(taken_back(&mut matcher, |m, s| m.row(&tombstone("x", 3), s)).is_empty());
    assert_eq!(taken_back(&mut matcher, |m, s| m.row(&left(), s)), ["complete"]);
    assert!(matcher.clusters.is_empty() && matcher.announced.is_empty());
    // The interest row goes last; a cluster of that name may come again.
    step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), Interest::default()), s));
    assert!(matcher.clusters.is_empty());
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 3)]), s));
    assert_eq!(rows(&mut matcher, change("y", Some("a"), 5)), ["+a/y"]);
}

#[test]
fn the_agent_may_have_left_before_the_interest_row_is_told() {
    let mut matcher = started(&[("a", 1)]);
    rows(&mut matcher, change("x", Some("a"), 1));
    assert!(taken_back(&mut matcher, |m, s| m.row(&left(), s)).is_empty(), "the row alone proves nothing");
    assert_eq!(taken_back(&mut matcher, |m, s| m.external(gone(2), s)), ["x", "complete"]);
    assert!(matcher.clusters.is_empty());
}

#[test]
fn a_row_that_is_lost_before_the_agent_has_left_is_missed() {
    let said = |agent_leaves: bool| {
        let mut matcher = started(&[("a", 1)]);
        step(&mut matcher, |m, s| m.external(gone(2), s));
        step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), Interest::default()), s));
        if agent_leaves {
            step(&mut matcher, |m, s| m.row(&left(), s));
        }
        let mut late = Step::at(10_000_000);
        matcher.tick(&mut late);
        let (rows, ..) = late.into_parts();
        rows.iter().filter_map(|row| row.meta.complete().cloned()).collect::<Vec<_>>()
    };
    assert_eq!(
        said(false),
        [Complete::of_all(Incarnation::NONE, Revision::new(2))],
        "the renderer is to write it again"
    );
    assert!(said(true).is_empty());
}

#[test]
fn who_comes_after_everything_is_over_takes_back_what_its_predecessor_said() {
    let mut matcher = matcher();
    let row = matcher.row_of(&cluster(), Complete::of_all(Incarnation::new(9), Revision::new(1)));
    matcher.found(&row.subject, &row.head());
    step(&mut matcher, |m, s| m.start(s));
    assert!(taken_back(&mut matcher, |m, s| m.row(&left(), s)).is_empty(), "an older row may be shown first");
    assert_eq!(taken_back(&mut matcher, |m, s| m.caught_up(Sequence::new(99), s)), ["complete"]);
    assert!(matcher.clusters.is_empty());
}

#[test]
fn a_cluster_that_is_registered_again_under_an_older_revision_is_told_of_while_its_agent_is_there() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    step(&mut matcher, |m, s| m.external(gone(5), s));
    step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), Interest::default()), s));
    // The bucket was lost, and the clock of who writes the row is behind.
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 3)]), s));
    step(&mut matcher, |m, s| m.row(&complete(3), s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::new(99), s));
    let mut late = Step::at(10_000_000);
    matcher.tick(&mut late);
    let (rows, ..) = late.into_parts();
    let said: Vec<_> = rows.iter().filter_map(|row| row.meta.complete().cloned()).collect();
    assert_eq!(
        said,
        [Complete::of_all(Incarnation::NONE, Revision::new(5))],
        "the renderer is to write it above that"
    );
}

#[test]
fn an_interest_row_that_comes_after_its_agent_has_left_is_not_missed_when_it_goes() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    assert_eq!(taken_back(&mut matcher, |m, s| m.row(&left(), s)), ["complete"]);
    assert_eq!(taken_back(&mut matcher, |m, s| m.external(gone(2), s)), ["complete"]);
    assert!(matcher.clusters.is_empty());
    step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), Interest::default()), s));
    let mut late = Step::at(10_000_000);
    matcher.tick(&mut late);
    assert!(late.into_parts().0.is_empty());
    // Of another row that comes long after, the agent has not left.
    matcher.external(gone(3), &mut Step::at(20_000_000));
    assert_eq!(matcher.clusters.len(), 1);
}

#[test]
fn a_cluster_that_is_registered_again_before_its_agent_left_keeps_what_is_told_of_it() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    step(&mut matcher, |m, s| m.external(gone(2), s));
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 3)]), s));
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 4)), ["+a/x"]);
    assert!(taken_back(&mut matcher, |m, s| m.row(&left(), s)).is_empty());
    assert_eq!(matcher.clusters.len(), 1);
}

#[test]
fn a_newer_row_that_says_that_the_cluster_is_gone_and_comes_after_its_agent_has_left_is_not_missed_either() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    step(&mut matcher, |m, s| m.external(gone(2), s));
    // The renderer has written the row again, and the agent, which knows it already, has left for that one.
    step(&mut matcher, |m, s| m.row(&left(), s));
    for _ in 0..2 {
        step(&mut matcher, |m, s| m.external(gone(3), s));
        step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), Interest::default()), s));
    }
    let mut late = Step::at(10_000_000);
    matcher.tick(&mut late);
    assert!(matcher.clusters.is_empty() && late.into_parts().0.is_empty());
}
