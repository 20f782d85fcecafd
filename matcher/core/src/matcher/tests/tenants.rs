//! Sources of tenants: each is told by the rows of its own account only.

use super::*;

/// The source `label`, of the account that stands for `tenant`; of nobody where that is empty.
fn source_of(label: &str, changed: u64, tenant: &str) -> sluice_protocol::interest::Source {
    let mut source = source(label, changed);
    let mut manifest = (*source.manifest).clone();
    if !tenant.is_empty() {
        manifest["metadata"]["labels"] = json!({"projectsveltos.io/admin-name": tenant});
    }
    source.manifest = manifest.into();
    source
}

fn asks(revision: u64, sources: Vec<sluice_protocol::interest::Source>) -> ExternalInput {
    let interest = Interest { revision: Revision::new(revision), sources, ..Interest::default() };
    ExternalInput::Interest(cluster(), interest)
}

fn seen_by(viewer: &str, mut row: Row) -> Row {
    let Subject::Change { viewer: of, .. } = &mut row.subject else { panic!("{row:?}") };
    viewer.clone_into(of);
    row
}

fn told(matcher: &mut Matcher, input: ExternalInput) -> Vec<String> {
    step(matcher, |matcher, step| matcher.external(input, step)).0
}

fn lacking(matcher: &Matcher) -> Vec<String> {
    matcher.clusters[&cluster()].told.clone().unwrap().lacking.into_iter().map(String::from).collect()
}

/// A completeness row of an agent that has not looked as a tenant, and one that has, for the source `a`.
fn completes(revision: u64) -> [Row; 2] {
    let of = |lacking: &[Lacking], tenants| {
        let complete = Complete::of_all(INPUT, Revision::new(revision));
        let mut row = super::complete(revision);
        row.head.meta = Meta::Complete(Complete { lacking: lacking.to_vec(), tenants, ..complete });
        row
    };
    let as_tenant = [Lacking::Objects("a".into()), Lacking::Nothing("a".into())];
    [of(&[], false), of(&as_tenant, true)]
}

#[test]
fn a_row_is_judged_by_the_sources_of_its_viewer_alone() {
    let mut matcher = started(&[]);
    let sources = vec![source_of("a", 2, "x"), source_of("b", 2, "y"), source_of("c", 2, "")];
    told(&mut matcher, asks(2, sources));
    for (viewer, source) in [("x", "a"), ("y", "b"), ("", "c")] {
        for label in ["a", "b", "c"] {
            let said = rows(&mut matcher, seen_by(viewer, change("x", Some(label), 1)));
            let expected = if label == source { vec![format!("+{source}/x")] } else { vec![] };
            // The labels are tried in their order: what matched before does not any more.
            let withdrawn = vec![format!("-{source}/x")];
            assert!(said == expected || (said == withdrawn && label > source), "{viewer} {label}: {said:?}");
        }
        rows(&mut matcher, seen_by(viewer, change("x", Some(source), 2)));
    }
    assert_eq!(rows(&mut matcher, seen_by("x", tombstone("x", 3))), ["-a/x"]);
    assert!(rows(&mut matcher, seen_by("z", tombstone("x", 4))).is_empty(), "nobody's");
    assert_eq!(rows(&mut matcher, seen_by("", tombstone("x", 5))), ["-c/x"]);
    assert_eq!(rows(&mut matcher, seen_by("y", tombstone("x", 6))), ["-b/x"]);
}

/// Which problems begin, as `+about`, or end, as `-about`, because of a row.
fn problems(matcher: &mut Matcher, row: &Row) -> Vec<String> {
    let (_, effects) = step(matcher, |matcher, step| matcher.row(row, step));
    let problem = |effect: &Effect| match effect {
        Effect::Problem(problem) if problem.fault.is_some() => format!("+{}", problem.about),
        Effect::Problem(problem) => format!("-{}", problem.about),
        other => format!("{other:?}"),
    };
    effects.iter().map(problem).collect()
}

#[test]
fn what_another_viewer_sees_ends_no_problem_and_no_doubt() {
    let mut matcher = started(&[]);
    told(&mut matcher, asks(2, vec![source_of("a", 2, "x"), source_of("b", 2, "y")]));
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    let unreadable = Row { body: b"{".as_slice().into(), ..change("x", None, 1) };
    let about = "Service default/x, as ServiceAccount projectsveltos/x";
    assert_eq!(problems(&mut matcher, &seen_by("x", unreadable)), [format!("+{about}")]);
    for row in [change("x", None, 2), tombstone("x", 3)] {
        assert!(problems(&mut matcher, &seen_by("y", row)).is_empty());
    }
    assert!(matcher.clusters[&cluster()].unknown().any(|source| source == "a"));
    assert_eq!(problems(&mut matcher, &seen_by("x", tombstone("x", 4))), [format!("-{about}")]);
    assert!(matcher.clusters[&cluster()].unknown().next().is_none());
}

#[test]
fn a_source_that_becomes_a_tenants_keeps_what_the_tenant_sees_and_loses_the_rest() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    for name in ["both", "hidden"] {
        rows(&mut matcher, change(name, Some("a"), 1));
    }
    told(&mut matcher, asks(2, vec![source_of("a", 2, "x")]));
    let replay = |matcher: &Matcher| matcher.clusters[&cluster()].replay.as_ref().unwrap().id;
    let id = replay(&matcher);
    for name in ["both", "hidden"] {
        let row = ExternalInput::Replayed(change(name, Some("a"), 1));
        assert!(told(&mut matcher, row).is_empty(), "seen by the agent itself");
    }
    assert!(told(&mut matcher, ExternalInput::ReplayDone(cluster(), id)).is_empty());
    // The agent has begun to look as the tenant.
    assert_eq!(rows(&mut matcher, seen_by("x", change("both", Some("a"), 3))), ["+a/both"]);
    for name in ["both", "hidden"] {
        assert!(rows(&mut matcher, tombstone(name, 4)).is_empty(), "others' rows take nothing back");
    }
    let [_, as_tenant] = completes(2);
    assert_eq!(rows(&mut matcher, as_tenant), ["-a/hidden", "complete"]);
    assert!(lacking(&matcher).is_empty(), "the renderer reads that everything is told");
}

#[test]
fn an_agent_that_does_not_know_of_tenants_proves_nothing_of_their_sources() {
    let mut matcher = matcher();
    let subject = matcher.report(&cluster(), &key("x"), "a", Body::Tombstone, 0).subject;
    matcher.found(&subject, &Head::default());
    told(&mut matcher, asks(2, vec![source_of("a", 2, "x")]));
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    let [as_itself, as_tenant] = completes(2);
    assert_eq!(rows(&mut matcher, as_itself), ["complete"], "and withdraws nothing");
    assert_eq!(lacking(&matcher), ["a"]);
    assert!(!matcher.clusters[&cluster()].told.as_ref().unwrap().tenants);
    assert_eq!(rows(&mut matcher, as_tenant), ["-a/x", "complete"]);
}

#[test]
fn whose_a_source_is_is_known_also_where_its_spec_cannot_be_read() {
    let mut matcher = matcher();
    let subject = matcher.report(&cluster(), &key("x"), "a", Body::Tombstone, 0).subject;
    matcher.found(&subject, &Head::default());
    let mut broken = source_of("a", 2, "x");
    let mut manifest = (*broken.manifest).clone();
    manifest["spec"] = json!({"resourceSelectors": [{"version": "v1"}]});
    broken.manifest = manifest.into();
    told(&mut matcher, asks(2, vec![broken]));
    step(&mut matcher, |m, s| m.start(s));
    assert!(rows(&mut matcher, seen_by("", tombstone("x", 3))).is_empty(), "another one's row");
    assert_eq!(rows(&mut matcher, seen_by("x", tombstone("x", 4))), ["-a/x"]);
}

#[test]
fn cloud_events_are_told_to_sources_of_tenants_too() {
    let mut matcher = started(&[]);
    let mut source = super::sources::of_events(2, "placed");
    let mut manifest = (*source.manifest).clone();
    manifest["metadata"]["labels"] = json!({"projectsveltos.io/admin-name": "x"});
    source.manifest = manifest.into();
    told(&mut matcher, asks(2, vec![source]));
    assert_eq!(rows(&mut matcher, super::sources::event("placed", 1)).len(), 1);
}
