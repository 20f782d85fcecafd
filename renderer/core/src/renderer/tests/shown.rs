//! What people see of it in the management cluster, and what happens to rows besides their content.

use sluice_protocol::rows::{State, Status};
use sluice_protocol::{Line, Sequence};

use super::*;

/// Lets the renderer do something; the rows and effects that come of it.
fn step(
    fixture: &mut Fixture,
    f: impl FnOnce(&mut Renderer, &mut Step<Effect>),
) -> (Vec<Publish>, Vec<Effect>) {
    let mut step = Step::at(fixture.now);
    f(&mut fixture.renderer, &mut step);
    let (rows, effects, _) = step.into_parts();
    (rows, effects)
}

/// A report that is of the present interest.
fn present(fixture: &Fixture, name: &str, gone: bool) -> Row {
    let mut row = report(name, gone);
    row.head.view.note(&cluster("a").to_string(), fixture.revision());
    row
}

fn one_for_event() -> Fixture {
    Fixture::new(vec![trigger(true, json!({})), content(true, "1")])
}

#[test]
fn an_event_report_is_written_at_most_every_two_seconds_with_all_that_matches_then() {
    let mut fixture = one_for_event();
    fixture.ready(&[]);
    fixture.now += 10_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    fixture.projected.clear();
    let begun = fixture.now;
    for name in ["x", "y", "z"] {
        fixture.row(report(name, false));
        fixture.now += 100_000;
        fixture.run(|renderer, step| renderer.tick(step));
    }
    let shown = |fixture: &Fixture| fixture.projected.get("EventReport default/sveltos--s--a").cloned();
    assert_eq!(shown(&fixture), None);
    fixture.now = begun + 2_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    let report = shown(&fixture).flatten().unwrap();
    let matches: Vec<_> = report["spec"]["matchingResources"].as_array().unwrap().iter().collect();
    assert_eq!(
        matches.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["x", "y", "z"]
    );
    fixture.delete(trigger(true, json!({})));
    assert_eq!(shown(&fixture), Some(None), "nobody listens any more");
}

#[test]
fn what_an_event_leads_to_is_shown_with_its_cause_and_goes_with_it() {
    let mut fixture = one_for_event();
    fixture.ready(&["x"]);
    let shown: Vec<_> = fixture.projected.iter().filter(|(key, _)| !key.starts_with("EventReport")).collect();
    assert_eq!(shown.len(), 2, "a ClusterProfile, and a ConfigMap: {shown:?}");
    for (key, object) in shown {
        let labels = &object.as_ref().unwrap()["metadata"]["labels"];
        assert_eq!(labels["eventtrigger.lib.projectsveltos.io/eventtriggername"], "t", "{key}");
        assert_eq!(labels["eventtrigger.lib.projectsveltos.io/resourcename"], "x", "{key}");
        assert_eq!(crate::generated_for(object.as_ref().unwrap()), Some(cluster("a")), "{key}");
    }
    fixture.row(report("x", true));
    let left: Vec<_> = fixture.projected.iter().filter(|(_, object)| object.is_some()).collect();
    assert!(left.iter().all(|(key, _)| key.starts_with("EventReport")), "{left:?}");
}

#[test]
fn leftovers_may_go_only_when_everything_of_a_cluster_is_known() {
    let mut fixture = one_for_event();
    let projected = |effects: &[Effect]| effects.contains(&Effect::Projected(cluster("a")));
    let (_, effects) = step(&mut fixture, |renderer, step| renderer.caught_up(Sequence::END, step));
    assert!(!projected(&effects) && effects.contains(&Effect::Projected(cluster("b"))), "b has no events");
    let row = complete(fixture.revision());
    let (_, effects) = step(&mut fixture, |renderer, step| {
        renderer.row(&row, step);
        renderer.caught_up(Sequence::END, step);
    });
    assert!(projected(&effects));
}

#[test]
fn the_time_of_the_change_goes_with_the_row_and_into_the_journal() {
    let mut fixture = one_for_event();
    fixture.ready(&[]);
    fixture.now += 1_000_000;
    let mut row = present(&fixture, "x", false);
    row.head.time = fixture.now - 700;
    let (rows, _) = step(&mut fixture, |renderer, step| renderer.row(&row, step));
    assert_eq!(rows.iter().map(|row| row.time).collect::<Vec<_>>(), [row.head.time]);
    let Some(Line::Change(line)) = rows[0].line.as_deref() else { panic!("{rows:?}") };
    assert_eq!((&*line.what, line.micros), ("rendered", 700));
}

#[test]
fn rows_say_from_which_state_of_the_management_cluster_they_were_made() {
    let mut newer = content(true, "1");
    newer["metadata"]["resourceVersion"] = json!("41");
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), newer]);
    fixture.ready(&[]);
    let row = present(&fixture, "x", false);
    let (made, _) = step(&mut fixture, |renderer, step| renderer.row(&row, step));
    let row = present(&fixture, "x", true);
    let (gone, _) = step(&mut fixture, |renderer, step| renderer.row(&row, step));
    assert_eq!((made.len(), gone.len()), (1, 1));
    for row in made.iter().chain(&gone) {
        assert_eq!(row.view.version("ConfigMap"), Revision::new(41), "{row:?}");
    }
    assert!(matches!(gone[0].body, Body::Tombstone));
    assert_eq!(made[0].meta.cause(), Some(&cause(Some("x"))), "its maker is found in it");
}

#[test]
fn a_held_profile_is_withdrawn_as_often_as_its_deployer_asks() {
    let mut fixture = Fixture::new(vec![]);
    fixture.caught_up();
    let status = |state: State| {
        let mut row = held_by("b", "old", &cause(None));
        row.body = serde_json::to_vec(&Status::new(state, Vec::new())).unwrap().into();
        ExternalInput::Status(Arc::new(row))
    };
    fixture.run(|renderer, step| renderer.external(status(State::Provisioned), step));
    assert_eq!(fixture.take_log(), ["-b"]);
    fixture.run(|renderer, step| renderer.external(status(State::Provisioned), step));
    assert!(fixture.take_log().is_empty(), "its tombstone is on its way");
    for _ in 0..2 {
        fixture.run(|renderer, step| renderer.external(status(State::Held), step));
        assert_eq!(fixture.take_log(), ["-b"]);
    }
    let mut released = held_by("b", "old", &cause(None));
    released.head.tombstone = true;
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(released)), step));
    fixture.now += 2_000_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert!(fixture.take_log().is_empty(), "nothing is held any more");
}
