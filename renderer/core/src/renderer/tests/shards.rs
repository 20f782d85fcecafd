//! Several renderers: what belongs to which of them.

use sluice_protocol::Shard;

use super::*;

const SHARDS: u16 = 2;

/// All renderers of a bus of two shards, each of which knows `objects`.
fn renderers(objects: &[Value]) -> Vec<Fixture> {
    let one = |shard: Shard| {
        Fixture::with(objects.to_vec(), |renderer| {
            renderer.config.shards = SHARDS;
            renderer.config.shard = shard;
            renderer.config.outputs = vec![Incarnation::new(9); usize::from(SHARDS)];
            renderer.knowledge.completeness =
                crate::knowledge::completeness::Completeness::new(SHARDS, INCARNATION);
        })
    };
    Shard::all(SHARDS).map(one).collect()
}

fn profile(name: &str) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": {
        "clusterSelector": {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

fn plain() -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: n, mark: m}\n"}})
}

#[test]
fn every_interest_row_has_one_writer() {
    let clusters: Vec<_> = (0..20).map(|number| registration(&format!("c{number}"), json!({}))).collect();
    let all = renderers(&clusters);
    let written: Vec<_> = all.iter().flat_map(|renderer| renderer.interests.keys()).collect();
    let distinct: BTreeSet<_> = written.iter().collect();
    assert_eq!((written.len(), distinct.len()), (22, 22));
    for (shard, renderer) in Shard::all(SHARDS).zip(&all) {
        assert!(renderer.interests.keys().all(|cluster| cluster_shard(cluster, SHARDS) == shard));
    }
}

#[test]
fn a_users_profile_is_made_by_one_renderer_for_clusters_of_every_shard() {
    let names = ["one", "two", "three", "four"];
    let objects: Vec<_> = names.iter().map(|name| profile(name)).chain([plain()]).collect();
    let mut all = renderers(&objects);
    all.iter_mut().for_each(Fixture::caught_up);
    for name in names {
        let place = |cluster: &str| format!("{cluster}/{name}");
        let makers: Vec<_> = all.iter().filter(|one| one.rows.contains_key(&place("a"))).collect();
        assert_eq!(makers.len(), 1, "{name}");
        assert!(makers[0].rows.contains_key(&place("b")), "{name} goes to all that it selects");
    }
    assert!(all.iter().all(|one| !one.rows.is_empty()), "the work is shared");
}

#[test]
fn a_row_is_in_the_stream_of_its_destination() {
    for fixture in renderers(&[]) {
        for name in ["a", "b", "c", "d"] {
            let subject = fixture.renderer.desired(&cluster(name), &ProfileId::cluster("p"));
            let Subject::Desired { shard, origin, .. } = subject else { panic!("{subject:?}") };
            assert_eq!(
                (shard, origin),
                (cluster_shard(&cluster(name), SHARDS), fixture.renderer.config.shard)
            );
        }
    }
}

#[test]
fn what_another_renderer_made_is_left_to_it() {
    let id = ProfileId::cluster("gone");
    let cause = Cause::Profile(id.clone());
    let owner = cause.origin(SHARDS);
    for mut fixture in renderers(&[]) {
        fixture.caught_up();
        let own = fixture.renderer.config.shard;
        for origin in Shard::all(SHARDS) {
            let subject =
                Subject::Status { shard: Shard::FIRST, cluster: cluster("a"), origin, profile: id.clone() };
            let head = Head { meta: Meta::of_cause(&cause), ..Head::default() };
            let row = Arc::new(Row { subject, head, body: [].into(), sequence: Sequence::new(1) });
            fixture.run(|renderer, step| renderer.external(ExternalInput::Status(row), step));
        }
        let said = fixture.take_log();
        assert_eq!(said, if own == owner { vec!["-a"] } else { vec![] }, "shard {own}");
    }
}

#[test]
fn what_is_wrong_with_a_trigger_everywhere_is_said_by_one_renderer() {
    let broken = trigger(true, json!({"sourceClusterSelector": {"matchLabel": {}}}));
    let told = renderers(&[broken]).iter().filter(|one| one.problems.contains_key("EventTrigger t")).count();
    assert_eq!(told, 1);
}

#[test]
fn all_rows_are_said_to_be_there_in_every_stream() {
    let mut all = renderers(&[]);
    for fixture in &mut all {
        fixture.caught_up();
        let subjects: Vec<_> = fixture.said.iter().map(|row| row.subject.clone()).collect();
        let origin = fixture.renderer.config.shard;
        let expected: Vec<_> =
            Shard::all(SHARDS).map(|shard| Subject::AllDesired { shard, origin }).collect();
        assert_eq!(subjects, expected);
    }
}
