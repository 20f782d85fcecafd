//! What reaches a limit is a problem of that class; what only says so is none.

use sluice_protocol::Class;

use super::*;

/// The class of what is said of a Service, or a Secret, that this selector is asked about.
fn class(kind: &str, condition: &serde_json::Value) -> Class {
    let mut selector = json!({"version": "v1", "kind": kind});
    selector.as_object_mut().unwrap().extend(condition.as_object().unwrap().clone());
    let manifest =
        json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [selector]}});
    let source = sluice_protocol::interest::Source {
        name: "s".into(),
        changed: Revision::new(1),
        manifest: manifest.into(),
    };
    let mut matcher = matcher();
    let interest = Interest { revision: Revision::new(1), sources: vec![source], ..Interest::default() };
    matcher.external(ExternalInput::Interest(cluster(), interest), &mut Step::at(0));
    matcher.start(&mut Step::at(0));
    let mut row = change("x", None, 1);
    let key = ObjectKey { gvk: sluice_api::Gvk::new("", "v1", kind), ..key("x") };
    row.body = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "default"}})
        .to_string()
        .into_bytes()
        .into();
    row.subject =
        Subject::Change { shard: Shard::FIRST, cluster: cluster(), viewer: String::new(), object: key };
    let mut step = Step::at(0);
    matcher.row(&row, &mut step);
    let problems = step.into_parts().1.into_iter().filter_map(|effect| match effect {
        Effect::Problem(problem) => problem.fault,
        _ => None,
    });
    let faults: Vec<_> = problems.collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults[0].class
}

#[test]
fn scripts_and_rules_reach_a_limit_also_where_a_secret_is_judged() {
    let lua = |body: &str| json!({"evaluate": format!("function evaluate() {body} end")});
    let ones = vec!["1"; 400].join(",");
    let nested = (0..4).fold("true".to_owned(), |inner, _| format!("[{ones}].all(x, {inner})"));
    let rule = json!({"evaluateCEL": [{"name": "a", "rule": nested}]});
    for kind in ["Service", "Secret"] {
        assert_eq!(class(kind, &lua("return require('strings').Repeat('a', 1e15)")), Class::Limit);
        assert_eq!(class(kind, &lua("while true do end")), Class::Limit);
        assert_eq!(class(kind, &lua("error('limit: x')")), Class::Other);
        assert_eq!(class(kind, &rule), Class::Limit);
    }
}
