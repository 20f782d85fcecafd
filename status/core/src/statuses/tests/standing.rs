use super::*;

fn all_of(states: &[(&str, State)], more: usize) -> (Statuses, Vec<ClusterRef>) {
    let mut statuses = statuses([profile()]);
    let names = (0..more).map(|number| format!("x{number:03}"));
    let clusters: Vec<_> = names.map(|name| cluster(&name)).collect();
    clusters.iter().for_each(|cluster| statuses.change(&registered(&cluster.name, "fv"), false, T0));
    states.iter().for_each(|(name, state)| has(&mut statuses, &cluster(name), *state, T0));
    (statuses, clusters)
}

fn has(statuses: &mut Statuses, cluster: &ClusterRef, state: State, now: i64) {
    let errors: &[&str] = if state == State::Failed { &["it is refused"] } else { &[] };
    statuses.row(&row(cluster, &Cause::Profile(ProfileId::cluster("p")), Some(state), errors), now);
}

/// Status, reason and message of both conditions.
fn said(status: &Value) -> [[&str; 3]; 2] {
    [0, 1].map(|at| {
        ["status", "reason", "message"].map(|field| status["conditions"][at][field].as_str().unwrap())
    })
}

#[test]
fn a_profile_says_how_many_clusters_have_it_and_goes_on_until_none_is_left() {
    let (mut statuses, more) = all_of(&[("a", State::Provisioned)], 2);
    let status = written(&mut statuses).unwrap();
    let text =
        "1 of 4 clusters have it; 3 wait (sveltos:default/b, sveltos:default/x000, sveltos:default/x001)";
    assert_eq!(said(&status), [["False", "Provisioning", text], ["True", "Provisioning", text]]);
    assert_eq!(status["conditions"][1]["type"], "Progressing");
    has(&mut statuses, &cluster("b"), State::Failed, T0);
    let status = written(&mut statuses).unwrap();
    let text = "1 of 4 clusters have it; 2 wait (sveltos:default/x000, sveltos:default/x001), 1 failed";
    let ready = format!("sveltos:default/b: it is refused\n{text}");
    assert_eq!(said(&status), [["False", "Failed", &ready], ["True", "Provisioning", text]]);
    more.iter().for_each(|cluster| has(&mut statuses, cluster, State::Provisioned, T0));
    let status = written(&mut statuses).unwrap();
    let text = "3 of 4 clusters have it; 1 failed";
    let ready = format!("sveltos:default/b: it is refused\n{text}");
    assert_eq!(said(&status), [["False", "Failed", &ready], ["False", "Failed", text]]);
    has(&mut statuses, &cluster("b"), State::Provisioned, T0);
    let status = written(&mut statuses).unwrap();
    let text = "4 of 4 clusters have it";
    assert_eq!(said(&status), [["True", "Provisioned", text], ["False", "Provisioned", text]]);
}

#[test]
fn what_is_wrong_as_a_whole_does_not_go_on_and_what_is_wrong_on_one_cluster_does() {
    let (mut statuses, _) = all_of(&[("a", State::Provisioned)], 0);
    let about = || About::Profile(ProfileId::cluster("p"));
    statuses.problem(problem("sveltos:default/b", about(), "no room"), T0);
    let status = written(&mut statuses).unwrap();
    let text = "1 of 2 clusters have it; 1 failed";
    let ready = format!("no room\n{text}");
    assert_eq!(said(&status), [["False", "Problem", &ready], ["False", "Problem", text]]);
    has(&mut statuses, &cluster("a"), State::Provisioning, T0);
    let [_, progressing] = said(&written(&mut statuses).unwrap()).map(|one| one.map(str::to_owned));
    assert_eq!(&progressing[..2], ["True", "Provisioning"]);
    statuses.problem(problem("", about(), "spec.tier: is no number"), T0);
    let [_, progressing] = said(&written(&mut statuses).unwrap()).map(|one| one.map(str::to_owned));
    assert_eq!(&progressing[..2], ["False", "Problem"]);
}

#[test]
fn of_what_is_no_use_to_count_it_is_said_where_it_is_told() {
    let mut statuses = statuses([trigger(json!({}))]);
    statuses.problem(problem("", of_trigger(), "spec.helmCharts: not yet"), T0);
    let status = written(&mut statuses).unwrap();
    let elsewhere = "the condition Ready says what is wrong";
    assert_eq!(
        said(&status),
        [["False", "Problem", "spec.helmCharts: not yet"], ["False", "Problem", elsewhere]]
    );
}

#[test]
fn what_is_suspended_or_only_tried_does_not_go_on() {
    let mut paused = profile();
    paused["metadata"]["annotations"] = json!({"profile.projectsveltos.io/paused": "true"});
    let mut dry = profile();
    dry["spec"]["syncMode"] = "DryRun".into();
    for (object, reason) in [(paused, "Suspended"), (dry, "DryRun")] {
        let status = written(&mut statuses([object])).unwrap();
        let [ready, progressing] = said(&status);
        assert_eq!((ready[1], &progressing[..2]), (reason, &["False", reason][..]), "{status}");
    }
}

#[test]
fn a_content_that_goes_to_few_clusters_at_a_time_is_not_there_before_all_have_it() {
    let (mut statuses, _) = all_of(&[("a", State::Provisioned), ("b", State::Provisioned)], 0);
    let about = || About::Profile(ProfileId::cluster("p"));
    let note = Fault::note("rollout: 1 of 2 clusters have it, 1 wait for their turn").left(1);
    statuses.problem(problem("", about(), note.clone()), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(
        said(&status),
        [["False", "Provisioning", &note.text], ["True", "Provisioning", "1 of 2 clusters have it; 1 waits"]]
    );
    has(&mut statuses, &cluster("a"), State::Failed, T0);
    let failed = written(&mut statuses).unwrap();
    assert_eq!(
        said(&failed)[1][2],
        "1 of 2 clusters have it; 1 failed",
        "that is the one which has not got it"
    );
    has(&mut statuses, &cluster("a"), State::Provisioned, T0);
    statuses.problem(problem("", about(), Fault::note("spec.x: has no effect")), T0);
    assert_eq!(said(&written(&mut statuses).unwrap())[0][0], "True");
    let a = cluster("a");
    let mut statuses = super::statuses([trigger(json!({}))]);
    statuses.row(&row(&cluster("c"), &event(&a), Some(State::Provisioned), &[]), T0);
    statuses.problem(problem("sveltos:default/a", event_of("x"), note), T0);
    assert_eq!(infos(&written(&mut statuses).unwrap()), [("a", "Provisioning"), ("b", "Provisioned")]);
}

#[test]
fn a_rollout_over_many_clusters_is_written_every_two_seconds_and_what_fails_is_told_once() {
    const EACH: i64 = 20_000;
    let (mut statuses, clusters) = all_of(&[("a", State::Failed)], 500);
    let mut there = profile();
    let (mut writes, mut events, mut now) = (0, 0, T0);
    let mut look = |statuses: &mut Statuses, now: i64| {
        let due = statuses.take_due(now);
        writes += due.statuses.len();
        events += due.events.len();
        for (_, status) in due.statuses {
            there["status"] = status;
            statuses.change(&upsert(there.clone()), false, now);
        }
    };
    for cluster in &clusters {
        has(&mut statuses, cluster, State::Provisioned, now);
        look(&mut statuses, now);
        now += EACH;
    }
    look(&mut statuses, now + PERIOD);
    assert!(writes <= 7, "{writes} in ten seconds");
    assert_eq!(events, 1, "how many have it is no news of what is wrong");
}
