//! Watches of tenants: what each may see is a row of its own.

use super::*;

/// The source `s` for Services, of the account that this label names; of nobody where it is empty.
fn source_of(revision: u64, admin: &str) -> ExternalInput {
    let labels = if admin.is_empty() { json!({}) } else { json!({"projectsveltos.io/admin-name": admin}) };
    let manifest = json!({"kind": "EventSource", "metadata": {"name": "s", "labels": labels},
        "spec": {"resourceSelectors": [{"version": "v1", "kind": "Service"}]}});
    let source = Source { name: "s".into(), changed: Revision::new(revision), manifest: manifest.into() };
    ExternalInput::Interest(Interest {
        revision: Revision::new(revision),
        sources: vec![source],
        ..Interest::default()
    })
}

/// The rows of objects, as `viewer+name` and `viewer-name`.
fn rows(agent: &mut Agent, input: ExternalInput) -> Vec<String> {
    let mut step = Step::at(10);
    agent.external(input, &mut step);
    let row = |row: &Publish| match (&row.subject, &row.body) {
        (Subject::Change { viewer, object, .. }, Body::Value(_)) => Some(format!("{viewer}+{}", object.name)),
        (Subject::Change { viewer, object, .. }, Body::Tombstone) => {
            Some(format!("{viewer}-{}", object.name))
        }
        _ => None,
    };
    step.into_parts().0.iter().filter_map(row).collect()
}

fn listed(id: u64, names: &[&str]) -> ExternalInput {
    let objects = names.iter().map(|name| seen("Service", name)).collect();
    ExternalInput::Listed(WatchId::new(id), objects)
}

#[test]
fn what_a_tenant_sees_are_rows_of_its_own() {
    let mut agent = agent();
    step(&mut agent, |agent, step| agent.start(step));
    let watches = side(&mut agent, source_of(1, "x"));
    assert_eq!(watches, ["watch 1 Service"]);
    assert_eq!(rows(&mut agent, listed(1, &["a", "b"])), ["x+a", "x+b"]);
    assert_eq!(rows(&mut agent, listed(1, &["b"])), ["x-a", "x+b"]);
    assert_eq!(rows(&mut agent, ExternalInput::Deleted(WatchId::new(1), key("Service", "b"))), ["x-b"]);
    assert!(rows(&mut agent, ExternalInput::Deleted(WatchId::new(1), key("Service", "b"))).is_empty());
}

#[test]
fn a_source_that_becomes_a_tenants_loses_what_it_saw_before_once_the_tenant_has_looked() {
    let mut agent = agent();
    step(&mut agent, |agent, step| agent.start(step));
    side(&mut agent, source_of(1, ""));
    assert_eq!(rows(&mut agent, listed(1, &["a", "b"])), ["+a", "+b"]);
    assert!(rows(&mut agent, source_of(2, "x")).is_empty());
    assert_eq!(rows(&mut agent, listed(2, &["b"])), ["x+b", "-a", "-b"]);
    assert!(rows(&mut agent, source_of(3, "y")).is_empty(), "another tenant");
    assert_eq!(rows(&mut agent, listed(3, &[])), ["x-b"]);
}

#[test]
fn after_a_restart_each_tenants_rows_are_confirmed_by_its_own_list() {
    let mut agent = agent();
    for (viewer, name) in [("x", "kept"), ("x", "lost"), ("y", "kept"), ("", "kept")] {
        let subject = agent.subject(Sight::of(viewer, key("Service", name)));
        agent.found(&subject, &Head::default());
    }
    side(&mut agent, source_of(1, "x"));
    step(&mut agent, |agent, step| agent.start(step));
    assert_eq!(rows(&mut agent, listed(1, &["kept"])), ["x+kept", "-kept", "x-lost", "y-kept"]);
}

#[test]
fn what_a_tenant_may_not_list_stays_and_only_that_is_lacking() {
    let mut agent = agent();
    let subject = agent.subject(Sight::of("x", key("Service", "a")));
    agent.found(&subject, &Head::default());
    side(&mut agent, source_of(1, "x"));
    step(&mut agent, |agent, step| agent.start(step));
    let said = lacking(&mut agent, ExternalInput::Troubled(WatchId::new(1)));
    assert_eq!(said, Some(vec!["s".to_owned()]));
    assert!(agent.unconfirmed.contains(&Sight::of("x", key("Service", "a"))));
    // Who knows of no tenants reads on that nothing is known of the source, and others that everything is.
    let said = lacking(&mut agent, listed(1, &["a"]));
    assert_eq!(said, Some(vec!["s".to_owned(), "~~s".to_owned()]));
}
