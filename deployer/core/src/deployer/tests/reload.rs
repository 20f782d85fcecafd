//! Workloads that restart when what their pods read changes.

use sluice_api::marks::RELOAD;

use super::*;
use crate::reload::content_digest;
use crate::request::Version;

/// What tells the content of a ConfigMap.
fn digest(data: &str) -> String {
    content_digest(&config_map("x", data))
}

/// A Deployment of this image whose pods read these ConfigMaps, `?` behind what they can do without.
fn deployment(name: &str, image: &str, reads: &[&str]) -> Value {
    let volume = |name: &&str| json!({"name": name.trim_end_matches('?'), "configMap": {"name": name.trim_end_matches('?'), "optional": name.ends_with('?')}});
    let volumes: Vec<_> = reads.iter().map(volume).collect();
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": {"volumes": volumes, "containers": [{"name": "c", "image": image}]}}}})
}

/// A profile with these objects whose workloads restart.
fn reloading(objects: Vec<Value>) -> Desired {
    let mut row = desired("p", 100, objects);
    row.spec.insert("reloader".into(), true.into());
    row
}

fn web(reads: &[&str]) -> Desired {
    reloading(vec![deployment("web", "1", reads)])
}

fn config_key(name: &str) -> ObjectKey {
    ObjectKey::of(&config_map(name, "")).unwrap()
}

fn workload_key(name: &str) -> ObjectKey {
    ObjectKey::of(&deployment(name, "", &[])).unwrap()
}

impl Fixture {
    /// All that pods could read of a kind.
    pub(super) fn all_sources(&self, gvk: &Gvk) -> Glimpse {
        let same = self.objects.iter().filter(|(key, _)| key.gvk == *gvk);
        Glimpse::All(gvk.clone(), same.map(|(key, object)| (key.clone(), version(object))).collect())
    }

    /// The content of an object, as the shell tells it.
    pub(super) fn content(&self, key: &ObjectKey) -> Option<(Version, String)> {
        self.objects.get(key).map(|object| (version(object), content_digest(object)))
    }

    /// A watch will show it, where there is one.
    pub(super) fn glimpse(&mut self, glimpse: Glimpse) {
        let gvk = match &glimpse {
            Glimpse::Changed(key, _) | Glimpse::Gone(key) => &key.gvk,
            Glimpse::All(gvk, _) | Glimpse::Trouble(gvk, _) => gvk,
        };
        if self.sources.contains(gvk) {
            self.unglimpsed.push(glimpse);
        }
    }

    /// Watches show everything that has happened.
    fn glance(&mut self) {
        while !self.unglimpsed.is_empty() {
            let glimpse = self.unglimpsed.remove(0);
            self.run(|deployer, step| deployer.external(ExternalInput::Glimpse(cluster(), glimpse), step));
        }
    }

    /// Somebody else writes a ConfigMap, and watches show it.
    fn put(&mut self, name: &str, data: &str) {
        self.put_unseen(name, data);
        self.glance();
    }

    fn put_unseen(&mut self, name: &str, data: &str) {
        self.version += 1;
        let (key, mut object) = (config_key(name), config_map(name, data));
        let before =
            self.objects.get(&key).map(|object| object::text(object, &["metadata", "uid"]).to_owned());
        object["metadata"]["uid"] = before.unwrap_or_else(|| format!("u{}", self.version)).into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.glimpse(Glimpse::Changed(key.clone(), version(&object)));
        self.objects.insert(key, object);
    }

    fn delete_source(&mut self, name: &str) {
        self.objects.remove(&config_key(name)).unwrap();
        self.glimpse(Glimpse::Gone(config_key(name)));
        self.glance();
    }

    /// What the pods of a workload were restarted with.
    fn mark(&self, name: &str) -> Option<&str> {
        let workload = &self.objects[&workload_key(name)];
        let mark = object::annotation(&workload["spec"]["template"], RELOAD);
        assert_eq!(object::annotation(workload, RELOAD), mark, "the workload says the same");
        mark
    }

    /// How often a workload was applied since this was asked last.
    fn times(&mut self, name: &str) -> usize {
        let call = format!("apply {name}");
        self.take_calls().iter().filter(|one| **one == call).count()
    }

    fn reloaded(&self) -> usize {
        self.journal.iter().filter(|line| *line == "reloaded Deployment default/web").count()
    }

    /// A profile is there whose Deployment `web` reads the ConfigMap `c`, with this content, of somebody else.
    fn with_web(data: &str, row: Desired) -> Self {
        let mut fixture = Self::new();
        fixture.reach();
        fixture.put_unseen("c", data);
        fixture.row("p", Some(row));
        fixture.glance();
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!((fixture.times("web"), fixture.mark("web")), (1, None));
        fixture
    }

    fn seen(&self) -> BTreeMap<String, String> {
        let reloads = &self.inventories["p"].inventory.reloads;
        reloads.get("Deployment default/web").map(|reload| reload.seen.clone()).unwrap_or_default()
    }
}

fn version(object: &Value) -> Version {
    Live::of(object).version()
}

#[test]
fn what_is_seen_first_restarts_nothing_and_what_comes_then_restarts_once() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    assert_eq!(fixture.seen(), BTreeMap::from([("ConfigMap default/c".to_owned(), digest("1"))]));
    fixture.put("c", "2");
    let second = fixture.mark("web").unwrap().to_owned();
    assert_eq!(
        (fixture.times("web"), fixture.reloaded(), fixture.state("p")),
        (1, 1, Some(State::Provisioned))
    );
    fixture.put("c", "3");
    assert_eq!((fixture.times("web"), fixture.reloaded()), (1, 2));
    assert_ne!(fixture.mark("web"), Some(&*second));
    fixture.put("c", "2");
    assert_eq!((fixture.times("web"), fixture.mark("web")), (1, Some(&*second)), "it says what is there");
    fixture.put("c", "2");
    assert_eq!(fixture.times("web"), 0, "another version is no other content");
}

#[test]
fn the_mark_stays_whatever_else_is_applied() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.put("c", "2");
    let mark = fixture.mark("web").map(str::to_owned);
    fixture.take_calls();
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["c"])])));
    assert_eq!((fixture.times("web"), fixture.mark("web").map(str::to_owned)), (1, mark));
    assert_eq!(fixture.reloaded(), 1);
}

#[test]
fn without_the_field_nothing_is_watched_read_or_kept() {
    let mut fixture = Fixture::with_web("1", desired("p", 100, vec![deployment("web", "1", &["c"])]));
    assert!(fixture.sources.is_empty() && fixture.inventories["p"].inventory.reloads.is_empty());
    fixture.put("c", "2");
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
}

#[test]
fn a_watch_lasts_as_long_as_something_is_named() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    assert_eq!(fixture.sources.len(), 1);
    fixture.row("p", Some(web(&[])));
    assert!(fixture.sources.is_empty() && fixture.inventories["p"].inventory.reloads.is_empty());
    fixture.row("p", Some(web(&["c"])));
    assert_eq!(fixture.sources.len(), 1);
    fixture.row("p", None);
    assert!(fixture.sources.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn turning_it_on_or_off_restarts_nothing() {
    let plain = || desired("p", 100, vec![deployment("web", "1", &["c"])]);
    let mut fixture = Fixture::with_web("1", plain());
    fixture.put_unseen("c", "2");
    fixture.row("p", Some(web(&["c"])));
    fixture.glance();
    assert_eq!(fixture.times("web"), 0);
    fixture.put("c", "3");
    let mark = fixture.mark("web").map(str::to_owned);
    assert_eq!((fixture.times("web"), mark.is_some()), (1, true));
    fixture.row("p", Some(plain()));
    fixture.put("c", "4");
    assert_eq!((fixture.times("web"), fixture.seen().len()), (0, 0));
    fixture.row("p", Some(desired("p", 100, vec![deployment("web", "2", &["c"])])));
    assert_eq!(
        (fixture.times("web"), fixture.mark("web").map(str::to_owned)),
        (1, mark),
        "it stays as it was"
    );
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["c"])])));
    fixture.glance();
    assert_eq!(fixture.times("web"), 0, "what came meanwhile is what is seen first");
    fixture.put("c", "5");
    assert_eq!(fixture.times("web"), 1);
}

#[test]
fn another_owner_restarts_nothing_but_what_has_changed_meanwhile() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    for _ in 0..2 {
        fixture.restart();
        fixture.row("p", Some(web(&["c"])));
        fixture.glance();
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!(fixture.times("web"), 0);
    }
    fixture.put_unseen("c", "2");
    fixture.restart();
    fixture.row("p", Some(web(&["c"])));
    fixture.pass_former_calls();
    fixture.glance();
    let mark = fixture.mark("web").map(str::to_owned);
    assert_eq!((fixture.times("web"), mark.is_some()), (1, true));
    fixture.restart();
    fixture.row("p", Some(web(&["c"])));
    fixture.pass_former_calls();
    fixture.glance();
    assert_eq!((fixture.times("web"), fixture.mark("web").map(str::to_owned)), (0, mark));
}

#[test]
fn an_owner_that_ends_after_each_call_leaves_one_restart() {
    // Each time it ends one call later: before the inventory, before the workload, after it.
    for most in 0..6 {
        let mut fixture = Fixture::with_web("1", web(&["c"]));
        fixture.put_unseen("c", "2");
        let glimpse = fixture.unglimpsed.remove(0);
        let mut calls: VecDeque<_> = fixture
            .hold(|deployer, step| deployer.external(ExternalInput::Glimpse(cluster(), glimpse), step))
            .into();
        for _ in 0..most {
            let Some((id, request)) = calls.pop_front() else { break };
            let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
            calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
        }
        fixture.restart();
        fixture.row("p", Some(web(&["c"])));
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!(fixture.times("web"), 1, "after {most} calls");
        assert!(fixture.mark("web").is_some());
        fixture.put_unseen("c", "1");
        fixture.restart();
        fixture.row("p", Some(web(&["c"])));
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!(fixture.times("web"), 1, "it is another content again");
    }
}

#[test]
fn what_comes_with_the_workload_restarts_nothing() {
    for order in [["c", "web"], ["web", "c"]] {
        let mut fixture = Fixture::new();
        fixture.reach();
        let of =
            |name: &str| if name == "c" { config_map("c", "1") } else { deployment("web", "1", &["c?"]) };
        let mut row = reloading(Vec::new());
        let policies = order.iter().map(|name| Policy {
            name: (*name).into(),
            objects: vec![of(name)],
            ..row.policies[0].clone()
        });
        row.policies = policies.collect();
        fixture.put_unseen("c", "0");
        if order[0] == "web" {
            fixture.objects.clear();
        }
        fixture.row("p", Some(row));
        fixture.glance();
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!((fixture.times("web"), fixture.mark("web")), (1, None), "{order:?}");
        assert_eq!(fixture.seen().values().next(), Some(&digest("1")));
    }
}

#[test]
fn a_row_that_changes_both_restarts_once() {
    let row =
        |image: &str, data: &str| reloading(vec![deployment("web", image, &["c"]), config_map("c", data)]);
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(row("1", "1")));
    fixture.glance();
    fixture.pass_former_calls();
    fixture.glance();
    assert_eq!(fixture.times("web"), 1);
    for (image, data) in [("1", "2"), ("2", "3"), ("3", "3")] {
        fixture.row("p", Some(row(image, data)));
        fixture.glance();
        assert_eq!(fixture.times("web"), 1, "{image} {data}");
        assert_eq!(fixture.state("p"), Some(State::Provisioned));
    }
    assert_eq!(fixture.reloaded(), 2);
}

#[test]
fn a_chart_and_everything_else_may_bring_the_workload_and_what_it_reads() {
    let row = |data: &str| {
        let mut row = reloading(vec![config_map("c", data)]);
        let chart = Policy {
            kind: "HelmChart".into(),
            name: "web".into(),
            objects: vec![deployment("web", "1", &["c"])],
            ..row.policies[0].clone()
        };
        row.policies.push(chart);
        row
    };
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(row("1")));
    fixture.glance();
    fixture.pass_former_calls();
    fixture.glance();
    assert_eq!(fixture.times("web"), 1);
    fixture.row("p", Some(row("2")));
    fixture.glance();
    assert_eq!((fixture.times("web"), fixture.reloaded()), (1, 1));
}

#[test]
fn what_can_be_missing_restarts_when_it_comes_and_when_it_goes() {
    let mut fixture = Fixture::with_web("1", web(&["c", "maybe?"]));
    assert_eq!(fixture.seen()["ConfigMap default/maybe"], "absent");
    fixture.put("maybe", "1");
    assert_eq!(fixture.times("web"), 1);
    fixture.delete_source("maybe");
    assert_eq!(fixture.times("web"), 1);
}

#[test]
fn what_pods_need_restarts_only_when_it_is_there_with_another_content() {
    let mut fixture = Fixture::with_web("1", web(&["c", "late"]));
    assert_eq!(fixture.seen().len(), 1);
    fixture.put("late", "1");
    assert_eq!((fixture.times("web"), fixture.seen().len()), (0, 2), "pods have waited for it");
    fixture.delete_source("c");
    assert_eq!(fixture.times("web"), 0, "those that run go on, and others could not start");
    fixture.put("c", "1");
    assert_eq!(fixture.times("web"), 0, "it is as it was");
    fixture.delete_source("c");
    fixture.put("c", "2");
    assert_eq!(fixture.times("web"), 1);
}

#[test]
fn what_a_workload_reads_from_now_on_is_seen_first() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.put("c", "2");
    let mark = fixture.mark("web").map(str::to_owned);
    fixture.take_calls();
    fixture.put("d", "1");
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["c", "d"])])));
    fixture.glance();
    assert_eq!(
        (fixture.times("web"), fixture.mark("web").map(str::to_owned)),
        (1, mark),
        "it has restarted anyway"
    );
    fixture.put("d", "2");
    assert_eq!(fixture.times("web"), 1);
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["d"])])));
    fixture.take_calls();
    fixture.put("c", "3");
    assert_eq!(fixture.times("web"), 0, "it is not read any more");
}

#[test]
fn what_fails_beside_a_workload_does_not_keep_it_from_restarting() {
    let mut row = reloading(vec![deployment("web", "1", &["c"]), config_map("bad", "1")]);
    row.spec.insert("continueOnError".into(), true.into());
    let mut fixture = Fixture::new();
    fixture.fail = refusing("bad");
    fixture.reach();
    fixture.put_unseen("c", "1");
    fixture.row("p", Some(row));
    fixture.glance();
    fixture.wait();
    fixture.wait();
    fixture.take_calls();
    fixture.put("c", "2");
    assert_eq!((fixture.times("web"), fixture.mark("web").is_some()), (1, true));
    assert_eq!(fixture.state("p"), Some(State::Failed));
}

#[test]
fn what_somebody_else_writes_under_that_name_is_not_applied_for_ever() {
    let mut fixture =
        Fixture::with_web("1", reloading(vec![deployment("web", "1", &["c"]), config_map("d", "1")]));
    for key in [config_key("d"), workload_key("web")] {
        let object = fixture.objects.get_mut(&key).unwrap();
        object["metadata"]["annotations"][RELOAD] = "theirs".into();
    }
    for data in ["1", "2"] {
        fixture.restart();
        fixture.row("p", Some(reloading(vec![deployment("web", "1", &["c"]), config_map("d", data)])));
        fixture.pass_former_calls();
        fixture.glance();
        assert_eq!(fixture.times("web"), 0);
    }
    fixture.row("p", Some(reloading(vec![deployment("web", "1", &["c"]), config_map("d", "2")])));
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
}

#[test]
fn only_who_reads_it_restarts() {
    let objects = vec![deployment("web", "1", &["c"]), deployment("other", "1", &["d"])];
    let mut fixture = Fixture::with_web("1", reloading(objects));
    fixture.put("c", "2");
    assert_eq!(fixture.take_calls().iter().filter(|call| call.starts_with("apply")).count(), 1);
    assert_eq!(fixture.mark("other"), None);
}

#[test]
fn a_dry_run_and_what_is_deployed_once_restart_nothing() {
    for change in [|row: &mut Desired| row.dry_run = true, |row: &mut Desired| row.one_time = true] {
        let mut fixture = Fixture::with_web("1", web(&["c"]));
        let mut row = web(&["c"]);
        change(&mut row);
        fixture.row("p", Some(row));
        fixture.put("c", "2");
        assert_eq!(fixture.times("web"), 0);
        assert!(fixture.sources.is_empty());
    }
}

#[test]
fn a_paused_cluster_restarts_nothing_before_it_goes_on() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    fixture.put_unseen("c", "2");
    assert!(fixture.sources.is_empty() && fixture.take_calls().is_empty());
    fixture.reach();
    fixture.glance();
    assert_eq!(fixture.times("web"), 1);
}

#[test]
fn what_changes_while_there_is_work_restarts_after_it() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    let row = row_of("p", Some(reloading(vec![deployment("web", "1", &["c"]), config_map("more", "1")])));
    let calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    fixture.put("c", "2");
    assert_eq!(fixture.mark("web"), None);
    for (id, request) in calls {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!((fixture.times("web"), fixture.mark("web").is_some()), (1, true));
}

#[test]
fn it_is_no_drift_and_drift_does_not_take_it_away() {
    let mut row = web(&["c"]);
    row.spec.insert("syncMode".into(), "ContinuousWithDriftDetection".into());
    let mut fixture = Fixture::with_web("1", row);
    fixture.put("c", "2");
    let mark = fixture.mark("web").map(str::to_owned);
    assert_eq!(fixture.times("web"), 1);
    while !fixture.unseen.is_empty() {
        let shown = fixture.unseen.remove(0);
        fixture.run(|deployer, step| deployer.external(ExternalInput::Shown(cluster(), shown), step));
    }
    assert_eq!(fixture.times("web"), 0);
    fixture.objects.remove(&workload_key("web"));
    let gone = ExternalInput::Shown(cluster(), Shown::All(workload_key("web").gvk, Vec::new()));
    fixture.run(|deployer, step| deployer.external(gone, step));
    assert_eq!((fixture.times("web"), fixture.mark("web").map(str::to_owned)), (1, mark));
}

#[test]
fn who_takes_a_workload_over_leaves_its_mark() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.put("c", "2");
    let mark = fixture.mark("web").map(str::to_owned);
    let mut heir = desired("q", 50, vec![deployment("web", "1", &["c"])]);
    heir.spec.insert("reloader".into(), true.into());
    fixture.row("q", Some(heir.clone()));
    fixture.row("p", None);
    fixture.glance();
    let owner = Live::of(&fixture.objects[&workload_key("web")]).owner.unwrap().name.clone();
    assert_eq!((owner.as_str(), fixture.mark("web").map(str::to_owned)), ("q", mark.clone()));
    fixture.row("q", Some(heir));
    fixture.take_calls();
    fixture.put("c", "3");
    assert_eq!(fixture.times("web"), 1);
    assert_ne!(fixture.mark("web").map(str::to_owned), mark);
}

#[test]
fn a_former_version_that_forgets_what_was_kept_costs_no_restart() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.put("c", "2");
    let mark = fixture.mark("web").map(str::to_owned);
    fixture.take_calls();
    let stored = fixture.inventories.get_mut("p").unwrap();
    let mut inventory = (*stored.inventory).clone();
    inventory.reloads.clear();
    stored.inventory = inventory.into();
    fixture.restart();
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["c"])])));
    fixture.glance();
    fixture.pass_former_calls();
    fixture.glance();
    assert_eq!((fixture.times("web"), fixture.mark("web").map(str::to_owned)), (1, mark));
    fixture.put("c", "3");
    assert_eq!(fixture.times("web"), 1);
}

#[test]
fn two_profiles_that_have_a_workload_together_do_not_fight_about_it() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    let mut other = desired("q", 100, vec![deployment("web", "1", &["c"])]);
    other.spec.insert("reloader".into(), true.into());
    fixture.row("q", Some(other));
    fixture.glance();
    fixture.take_calls();
    fixture.put("c", "2");
    assert_eq!((fixture.times("web"), fixture.mark("web").is_some()), (1, true));
    for profile in ["p", "q"] {
        assert_eq!(fixture.state(profile), Some(State::Provisioned));
    }
    fixture.pass_former_calls();
    fixture.glance();
    assert_eq!(fixture.times("web"), 0);
}

#[test]
fn what_cannot_be_read_is_told_and_holds_up_nothing() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    fixture.fail = Box::new(|request| match request {
        Request::Content(_) => Some(Failure::new(Class::Refused, "no; allow it")),
        _ => None,
    });
    fixture.put("c", "2");
    let told = fixture.problems.last().unwrap().error().unwrap().to_string();
    let expected = "no workload restarts when it changes: ConfigMap default/c cannot be read: no; allow it; it is tried again";
    assert_eq!(told, expected);
    fixture.row("p", Some(reloading(vec![deployment("web", "2", &["c"])])));
    assert_eq!((fixture.times("web"), fixture.state("p")), (1, Some(State::Provisioned)));
    fixture.fail = Box::new(|_| None);
    fixture.now += 11_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!((fixture.times("web"), fixture.mark("web").is_some()), (1, true));
    assert!(fixture.problems.last().unwrap().error().is_none());
}

#[test]
fn a_watch_that_is_refused_is_told_beside_that_of_drift() {
    let mut fixture = Fixture::with_web("1", web(&["c"]));
    let gvk = config_key("c").gvk;
    let tell = |fixture: &mut Fixture, input: ExternalInput| {
        fixture.run(|deployer, step| deployer.external(input, step));
        fixture.problems.last().unwrap().error().map(ToString::to_string)
    };
    let glimpse = |error: Option<&str>| {
        ExternalInput::Glimpse(cluster(), Glimpse::Trouble(gvk.clone(), error.map(str::to_owned)))
    };
    let shown = |error: Option<&str>| {
        ExternalInput::Shown(cluster(), Shown::Trouble(gvk.clone(), error.map(str::to_owned)))
    };
    let one = "no workload restarts when a ConfigMap changes, as that is not seen: no";
    assert_eq!(tell(&mut fixture, glimpse(Some("no"))).unwrap(), one);
    assert_eq!(
        tell(&mut fixture, shown(Some("no"))).unwrap(),
        format!("drift of ConfigMap is not seen: no; {one}")
    );
    assert_eq!(tell(&mut fixture, shown(None)).unwrap(), one);
    assert_eq!(tell(&mut fixture, glimpse(None)), None);
    tell(&mut fixture, glimpse(Some("no")));
    assert_eq!(
        tell(&mut fixture, ExternalInput::Unreachable(cluster())),
        None,
        "nothing is watched any more"
    );
}
