//! Asked to be deployed once more: rows of the profile, the trigger or the cluster say so, and no other ones.

use super::*;

fn profile(name: &str) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": {
        "clusterSelector": {"matchExpressions": [{"key": "in", "operator": "Exists"}]},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

fn plain() -> Value {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own}\n";
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}})
}

fn asked(mut object: Value, token: &str) -> Value {
    object["metadata"]["annotations"] = json!({"sluice.dev/redeploy": token});
    object
}

/// Of each row, by its subject, with how many tokens it asks.
fn tokens(fixture: &Fixture) -> BTreeMap<String, usize> {
    let wanted = fixture.rows.iter().filter_map(|(subject, row)| Some((subject, row.as_ref()?)));
    wanted.map(|(subject, row)| (subject.clone(), row.redeploy.len())).collect()
}

fn mk_fixture() -> Fixture {
    let clusters = ["a", "b"].map(|name| registration(name, json!({"in": "yes", "env": "fv"})));
    let mut fixture =
        Fixture::new(clusters.into_iter().chain([profile("p"), profile("q"), plain()]).collect());
    fixture.ready(&[]);
    assert_eq!(tokens(&fixture).into_values().collect::<Vec<_>>(), [0; 4]);
    fixture
}

#[test]
fn a_profile_that_is_asked_says_so_in_all_its_rows() {
    let mut fixture = mk_fixture();
    fixture.put(asked(profile("p"), "1"));
    let of_p = |fixture: &Fixture| {
        let rows = fixture.rows.values().flatten();
        rows.filter(|row| row.owner_name == "p").map(|row| row.redeploy.clone()).collect::<Vec<_>>()
    };
    let first = of_p(&fixture);
    assert_eq!((first.len(), first[0].len(), &first[0]), (2, 1, &first[1]));
    assert_eq!(tokens(&fixture).into_values().sum::<usize>(), 2, "q is not asked");
    fixture.put(asked(profile("p"), "2"));
    assert_ne!(of_p(&fixture), first);
    fixture.put(profile("p"));
    assert_eq!(tokens(&fixture).into_values().sum::<usize>(), 0);
}

#[test]
fn a_cluster_that_is_asked_has_it_in_all_its_rows_although_others_get_the_same() {
    let mut fixture = mk_fixture();
    fixture.put(asked(registration("b", json!({"in": "yes", "env": "fv"})), "1"));
    let (of_b, others): (Vec<_>, Vec<_>) =
        tokens(&fixture).into_iter().partition(|(subject, _)| subject.starts_with("b/"));
    assert!(of_b.len() == 2 && of_b.iter().all(|(_, tokens)| *tokens == 1), "{of_b:?}");
    assert!(others.len() == 2 && others.iter().all(|(_, tokens)| *tokens == 0), "{others:?}");
}

#[test]
fn a_trigger_that_is_asked_says_so_in_the_rows_of_its_events() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.put(asked(trigger(true, json!({})), "1"));
    assert_eq!(tokens(&fixture).into_values().collect::<Vec<_>>(), [1]);
}
