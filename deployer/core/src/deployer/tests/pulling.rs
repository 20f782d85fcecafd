//! Deployers that are in their clusters, and those that leave such clusters to them.

use sluice_protocol::Table;
use sluice_protocol::subject::Shown;

use super::*;

/// A deployer that is in its cluster.
fn inside() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.serves.only = Some(cluster());
    fixture.replace(1);
    fixture.reach();
    fixture
}

fn all_said(origin: Shard) -> Row {
    let meta = Meta::Complete(Complete::of_all(LIFE, Revision::NONE));
    let subject = Subject::Complete {
        table: Table::Desired,
        shard: Shard::FIRST,
        cluster: cluster(),
        origin: Some(origin),
    };
    Row { subject, head: Head { meta, ..Head::default() }, body: [].into(), sequence: Sequence::new(1) }
}

fn found(what: Shown, profile: &str) -> Subject {
    Subject::Shown { shard: Shard::FIRST, cluster: cluster(), what, profile: ProfileId::of_path(profile) }
}

#[test]
fn who_is_in_a_cluster_says_by_rows_what_people_see() {
    let mut fixture = inside();
    fixture.run(|deployer, step| deployer.row(&all_said(Shard::FIRST), step));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.read_some();
    fixture.show();
    assert_eq!(fixture.statuses["p"].as_ref().map(|status| status.state), Some(State::Provisioned));
    let summary = fixture.shown["summary p"].clone().unwrap();
    assert_eq!(summary["status"]["featureSummaries"][0]["status"], "Provisioned");
    let profile = ProfileId::cluster("p");
    let (key, object) = shown(&cluster(), (Shown::Summary, &profile), Some(&summary));
    assert_eq!(
        (key.name.as_str(), object.as_ref()),
        (object::name(&summary), Some(&summary)),
        "as it is outside"
    );
    assert!(fixture.shown["configuration "].is_some());
    assert!(fixture.summaries.is_empty() && fixture.configurations.is_empty());
    fixture.row("p", None);
    fixture.show();
    assert_eq!((&fixture.shown["summary p"], &fixture.statuses["p"]), (&None, &None));
    assert_eq!(fixture.shown["configuration "], None);
}

/// While it was not registered, deployers outside may have taken back what was said of it.
#[test]
fn who_is_in_a_cluster_says_everything_once_more_when_that_is_registered_again() {
    let mut fixture = inside();
    fixture.run(|deployer, step| deployer.row(&all_said(Shard::FIRST), step));
    let forced = |fixture: &mut Fixture| {
        fixture.read_some();
        fixture.show();
        let forced = std::mem::take(&mut fixture.forced);
        let kinds = ["~shown.summary", "~shown.configuration", ".p"];
        kinds.map(|kind| forced.iter().any(|subject| subject.contains(kind)))
    };
    let put = |fixture: &mut Fixture, data: &str| {
        fixture.row("p", Some(desired("p", 100, vec![config_map("a", data)])));
        forced(fixture)
    };
    assert_eq!(put(&mut fixture, "1"), [true; 3]);
    assert_eq!(put(&mut fixture, "2"), [false; 3]);
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unregistered(cluster()), step));
    fixture.reach();
    assert_eq!(forced(&mut fixture), [true; 3]);
}

#[test]
fn what_a_former_one_showed_of_profiles_that_are_not_there_goes() {
    let mut fixture = inside();
    for subject in [found(Shown::Summary, "gone"), found(Shown::Report, "p"), found(Shown::Configuration, "")]
    {
        fixture.deployer.found(&subject, &Head::default());
    }
    fixture.run(|deployer, step| deployer.row(&all_said(Shard::FIRST), step));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.read_some();
    assert_eq!(fixture.shown["summary gone"], None);
    assert!(fixture.shown["summary p"].is_some() && !fixture.shown.contains_key("report p"));
}

#[test]
fn nothing_is_deleted_before_every_renderer_has_said_that_its_rows_for_the_cluster_are_there() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.serves.only = Some(cluster());
    fixture.replace(1);
    fixture.reach();
    fixture.read_some();
    fixture.pass_former_calls();
    fixture.row("p", None);
    assert_eq!((fixture.state("p"), fixture.names()), (Some(State::Held), vec!["a"]));
    fixture.run(|deployer, step| deployer.row(&all_said(Shard::FIRST), step));
    assert!(fixture.names().is_empty());
}

#[test]
fn a_cluster_that_pulls_is_left_to_its_own_deployer() {
    let mut fixture = Fixture::new();
    fixture.serves.others.insert(cluster());
    fixture.replace(1);
    let status = Subject::Status {
        shard: Shard::FIRST,
        cluster: cluster(),
        origin: Shard::FIRST,
        profile: ProfileId::cluster("q"),
    };
    fixture.deployer.found(&status, &Head::default());
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.read_all();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Listed, step));
    fixture.now += 2 * FORGET_AFTER;
    fixture.run(|deployer, step| deployer.tick(step));
    assert!(fixture.calls.is_empty() && fixture.statuses.is_empty() && fixture.summaries.is_empty());
    // What is said of it goes when it has not been registered for a while.
    fixture.serves.others.clear();
    fixture.replace(1);
    fixture.deployer.found(&status, &Head::default());
    fixture.deployer.found(&found(Shown::Summary, "q"), &Head::default());
    fixture.read_all();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Listed, step));
    fixture.now += 2 * FORGET_AFTER;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!((&fixture.statuses["q"], &fixture.shown["summary q"]), (&None, &None));
    assert_eq!(fixture.summaries.last().map(|summary| summary.profile.name.as_str()), Some("q"));
}

#[test]
fn of_a_cluster_that_is_gone_nothing_is_shown_where_nothing_else_is_left_of_it() {
    let mut fixture = Fixture::new();
    fixture.replace(1);
    fixture.deployer.found(&found(Shown::Summary, "q"), &Head::default());
    fixture.read_all();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Listed, step));
    fixture.now += 2 * FORGET_AFTER;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!(fixture.shown["summary q"], None);
}
