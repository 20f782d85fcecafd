//! What somebody else changes of what a profile has deployed.

use super::*;

/// Fields of an object as a server names them; lists are owned as a whole.
fn fields(value: &Value) -> Value {
    let named = |(key, value): (&String, &Value)| (format!("f:{key}"), fields(value));
    value.as_object().map_or(json!({}), |map| map.iter().map(named).collect::<Map<_, _>>().into())
}

/// Who applies an object has all fields of it, and those of others stay theirs.
pub(super) fn manage(object: &mut Value) {
    let mut body = object.clone();
    for field in ["uid", "resourceVersion", "name", "namespace", "managedFields"] {
        body["metadata"].as_object_mut().unwrap().remove(field);
    }
    for field in ["apiVersion", "kind", "status"] {
        body.as_object_mut().unwrap().remove(field);
    }
    let entry = json!({"manager": "sluice", "operation": "Apply", "time": "1", "fieldsV1": fields(&body)});
    object["metadata"]["managedFields"] = json!([entry]);
}

/// A profile with these ConfigMaps, of which drift is put right.
fn watched(names: &[&str]) -> Desired {
    let objects = names.iter().map(|name| config_map(name, "1")).collect();
    in_mode(desired("p", 100, objects), "ContinuousWithDriftDetection")
}

fn in_mode(mut row: Desired, mode: &str) -> Desired {
    row.spec.insert("syncMode".into(), mode.into());
    row
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::of(&config_map(name, "")).unwrap()
}

impl Fixture {
    /// A watch of its kind will show it.
    pub(super) fn note(&mut self, shown: Shown) {
        let gvk = match &shown {
            Shown::Changed(sight) => &sight.key.gvk,
            Shown::Gone(key, _) => &key.gvk,
            Shown::All(gvk, _) | Shown::Trouble(gvk, _) => gvk,
        };
        if self.watched.contains(gvk) {
            self.unseen.push(shown);
        }
    }

    /// Watches show everything that has happened.
    fn see(&mut self) {
        while !self.unseen.is_empty() {
            let shown = self.unseen.remove(0);
            self.run(|deployer, step| deployer.external(ExternalInput::Shown(cluster(), shown), step));
        }
    }

    /// Somebody else changes an object, by which its fields come to be these.
    fn edit(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        self.version += 1;
        let object = self.objects.get_mut(&key(name)).unwrap();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        change(object);
        let sight = Sight::of(key(name), object);
        self.note(Shown::Changed(sight.into()));
    }

    /// Somebody else takes a field of ours.
    fn take_over(&mut self, name: &str) {
        self.edit(name, |object| {
            object["data"]["a"] = "theirs".into();
            let managed = &mut object["metadata"]["managedFields"];
            managed[0]["fieldsV1"].as_object_mut().unwrap().remove("f:data");
            let entry = json!({"manager": "kubectl-edit", "operation": "Update", "time": "2", "fieldsV1": {"f:data": {"f:a": {}}}});
            managed.as_array_mut().unwrap().truncate(1);
            managed.as_array_mut().unwrap().push(entry);
        });
    }

    fn remove(&mut self, name: &str) {
        let gone = self.objects.remove(&key(name)).unwrap();
        self.note(Shown::Gone(key(name), Live::of(&gone).uid));
    }

    fn data(&self, name: &str) -> String {
        self.objects.get(&key(name)).map_or("none", |object| object::text(object, &["data", "a"])).to_owned()
    }

    /// Everything is there, and watched.
    fn watching(names: &[&str]) -> Self {
        let mut fixture = Self::new();
        fixture.reach();
        fixture.row("p", Some(watched(names)));
        fixture.see();
        fixture.pass_former_calls();
        fixture.see();
        fixture.take_calls();
        fixture
    }
}

#[test]
fn what_somebody_else_takes_is_put_right_and_nothing_else_is_written() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    assert_eq!(fixture.watched.len(), 1);
    fixture.take_over("a");
    fixture.see();
    assert_eq!((fixture.data("a"), fixture.take_calls()), ("1".into(), vec!["apply a".to_owned()]));
    fixture.see();
    assert_eq!(fixture.take_calls(), Vec::<String>::new(), "what it has done itself is no drift");
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn what_is_put_right_waits_for_its_check_like_anything_that_is_written() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let check = json!({"name": "go", "featureID": "Resources", "version": "v1", "kind": "Pod"});
    let mut row = watched(&["a"]);
    row.spec.insert("preDeployChecks".into(), json!([check]));
    fixture.says.insert("go".into(), Ok(()));
    fixture.row("p", Some(row));
    fixture.see();
    fixture.says.clear();
    fixture.take_over("a");
    fixture.see();
    assert_eq!(fixture.data("a"), "theirs");
    let (id, _) = fixture.asked.first_key_value().unwrap();
    let said = ExternalInput::Checked(cluster(), *id, Ok(()));
    fixture.run(|deployer, step| deployer.external(said, step));
    assert_eq!(fixture.data("a"), "1");
}

#[test]
fn what_was_put_right_is_said_once_it_is_healthy() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let check = json!({"name": "well", "featureID": "Resources", "version": "v1", "kind": "Pod"});
    let mut row = watched(&["a"]);
    row.spec.insert("validateHealths".into(), json!([check]));
    fixture.says.insert("well".into(), Ok(()));
    fixture.row("p", Some(row));
    fixture.see();
    fixture.statuses.clear();
    fixture.take_over("a");
    fixture.see();
    assert_eq!((fixture.data("a"), fixture.state("p")), ("1".to_owned(), Some(State::Provisioned)));
}

#[test]
fn what_is_deleted_comes_back() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    fixture.remove("b");
    fixture.see();
    assert_eq!((fixture.data("b"), fixture.take_calls()), ("1".into(), vec!["apply b".to_owned()]));
}

#[test]
fn foreign_fields_and_states_are_no_drift() {
    let mut fixture = Fixture::watching(&["a"]);
    fixture.edit("a", |object| object["metadata"]["labels"]["theirs"] = "x".into());
    fixture.edit("a", |object| object["status"] = json!({"phase": "x"}));
    fixture.see();
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
    // What it does next is done to what is there now.
    fixture.row(
        "p",
        Some(in_mode(desired("p", 100, vec![config_map("a", "2")]), "ContinuousWithDriftDetection")),
    );
    assert_eq!(fixture.take_calls()[0], "apply a");
}

#[test]
fn an_entry_that_is_taken_away_is_drift() {
    let mut fixture = Fixture::watching(&["a"]);
    fixture.edit("a", |object| object["metadata"]["managedFields"] = json!([]));
    fixture.see();
    assert_eq!(fixture.take_calls(), ["apply a"]);
}

#[test]
fn kinds_that_come_and_go_with_a_change_of_the_profile_are_watched_and_not_any_more() {
    let mut fixture = Fixture::watching(&["a"]);
    let mut secret = config_map("s", "1");
    secret["kind"] = "Secret".into();
    let both = desired("p", 100, vec![config_map("a", "1"), secret]);
    fixture.row("p", Some(in_mode(both, "ContinuousWithDriftDetection")));
    assert_eq!(fixture.watched.len(), 2);
    fixture.row("p", Some(watched(&["a"])));
    assert_eq!(fixture.watched.len(), 1);
}

#[test]
fn without_the_mode_nothing_is_watched_and_nothing_is_kept_of_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert!(fixture.watched.is_empty() && fixture.inventories["p"].inventory.fields.is_empty());
    fixture.row("p", Some(watched(&["a"])));
    assert_eq!(fixture.watched.len(), 1);
    assert!(fixture.inventories["p"].inventory.fields.iter().all(Option::is_some));
    fixture.row("p", Some(in_mode(watched(&["a"]), "Continuous")));
    assert!(fixture.watched.is_empty() && fixture.inventories["p"].inventory.fields.is_empty());
    fixture.row("p", Some(watched(&["a"])));
    fixture.row("p", None);
    assert!(fixture.watched.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_somebody_changes_while_nobody_watches_is_put_right_by_the_next_owner() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    fixture.take_over("a");
    fixture.restart();
    fixture.row("p", Some(watched(&["a", "b"])));
    assert_eq!(fixture.take_calls(), Vec::<String>::new(), "what is as it was is not written");
    fixture.unseen.retain(|shown| matches!(shown, Shown::All(..)));
    fixture.see();
    assert_eq!((fixture.data("a"), fixture.take_calls()), ("1".into(), vec!["apply a".to_owned()]));
}

#[test]
fn what_is_shown_while_there_is_work_is_looked_at_after_it() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    let row = row_of(
        "p",
        Some(in_mode(
            desired("p", 100, vec![config_map("a", "2"), config_map("b", "1")]),
            "ContinuousWithDriftDetection",
        )),
    );
    let calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    fixture.take_over("b");
    fixture.see();
    assert_eq!(fixture.data("b"), "theirs");
    for (id, request) in calls {
        let reply = fixture.serve(request);
        let reply = ExternalInput::Reply(cluster(), id, reply);
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!((fixture.data("a"), fixture.data("b")), ("2".into(), "1".into()));
}

#[test]
fn what_goes_while_it_is_being_read_is_missed_afterwards() {
    let mut fixture = Fixture::watching(&["a"]);
    fixture.restart();
    let row = row_of("p", Some(watched(&["a"])));
    let mut calls: VecDeque<_> = fixture.hold(|deployer, step| deployer.row(&row, step)).into();
    while let Some((id, request)) = calls.pop_front() {
        let is_read = matches!(&request, Request::Read(_));
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        if is_read {
            fixture.remove("a");
            fixture.see();
        }
        calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
    }
    fixture.pass_former_calls();
    fixture.see();
    assert_eq!(fixture.data("a"), "1");
}

#[test]
fn an_older_sight_says_nothing() {
    let mut fixture = Fixture::watching(&["a"]);
    fixture.take_over("a");
    let old = fixture.unseen.clone();
    fixture.see();
    fixture.take_calls();
    fixture.unseen = old;
    fixture.see();
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
}

#[test]
fn what_is_put_right_again_and_again_rests_and_is_told() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    for _ in 0..7 {
        fixture.take_over("a");
        fixture.see();
    }
    let right = fixture.take_calls().iter().filter(|call| *call == "apply a").count();
    assert_eq!((right, fixture.data("a"), fixture.state("p")), (5, "theirs".to_owned(), Some(State::Failed)));
    let told = fixture.statuses["p"].as_ref().unwrap().errors.join("");
    assert!(told.contains("ConfigMap default/a was put right 5 times within a minute, and changed again by kubectl-edit (data.a)"), "{told}");
    // Nothing else waits for that.
    let more = watched(&["a", "b", "c"]);
    fixture.row("p", Some(more));
    assert_eq!(fixture.take_calls().iter().filter(|call| call.starts_with("apply")).count(), 1);
    fixture.now += 61_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!((fixture.data("a"), fixture.state("p")), ("1".to_owned(), Some(State::Provisioned)));
}

#[test]
fn who_has_changed_what_is_told_with_its_profile_and_that_it_rests_is_told_once() {
    let mut fixture = Fixture::watching(&["a", "b"]);
    fixture.journal.clear();
    fixture.take_over("a");
    fixture.see();
    let by = Some("kubectl-edit (data.a)".to_owned());
    let righted = DriftEvent {
        cluster: cluster(),
        profile: ProfileId::cluster("p"),
        object: key("a"),
        what: Drifted::Righted { by },
    };
    assert_eq!(std::mem::take(&mut fixture.drifted), std::slice::from_ref(&righted));
    assert_eq!(std::mem::take(&mut fixture.journal), ["drifted ConfigMap default/a", "applied p"]);
    fixture.remove("b");
    fixture.see();
    let gone = DriftEvent { object: key("b"), what: Drifted::Righted { by: None }, ..righted.clone() };
    assert_eq!(std::mem::take(&mut fixture.drifted), [gone]);
    for _ in 0..7 {
        fixture.take_over("a");
        fixture.see();
    }
    let (told, rests): (Vec<_>, Vec<_>) = fixture.drifted.iter().partition(|event| **event == righted);
    let [DriftEvent { what: Drifted::LeftAlone(why), .. }] = &rests[..] else { panic!("{rests:?}") };
    assert_eq!(told.len(), 4);
    assert!(why.contains("changed again by kubectl-edit (data.a): it is left alone for 1 min"), "{why}");
    let journal = fixture.journal.iter().filter(|line| line.starts_with("drifted "));
    assert_eq!(journal.count(), 5, "that it rests is no correction: {:?}", fixture.journal);
}

#[test]
fn an_object_that_says_so_is_left_to_others() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut ignored = config_map("a", "1");
    ignored["metadata"]["annotations"] = json!({"projectsveltos.io/driftDetectionIgnore": "ok"});
    let row = |object: &Value| {
        in_mode(desired("p", 100, vec![object.clone(), config_map("b", "1")]), "ContinuousWithDriftDetection")
    };
    fixture.row("p", Some(row(&ignored)));
    fixture.see();
    fixture.take_calls();
    fixture.take_over("a");
    fixture.take_over("b");
    fixture.see();
    assert_eq!((fixture.data("a"), fixture.take_calls()), ("theirs".into(), vec!["apply b".to_owned()]));
    ignored["data"]["a"] = "2".into();
    fixture.row("p", Some(row(&ignored)));
    assert_eq!(fixture.data("a"), "2", "the profile has changed");
}

#[test]
fn excluded_fields_go_with_the_call_where_they_are_for_the_object() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut row = watched(&["a", "b"]);
    row.spec.insert("driftExclusions".into(), json!([{"paths": ["/data/a"], "target": {"name": "a"}}]));
    let row = row_of("p", Some(row));
    let excluded = |request: &Request| match request {
        Request::Apply { object, excluded, watched, .. } => {
            Some((object::name(object).to_owned(), excluded.len(), *watched))
        }
        _ => None,
    };
    let mut calls: VecDeque<_> = fixture.hold(|deployer, step| deployer.row(&row, step)).into();
    let mut seen = Vec::new();
    while let Some((id, request)) = calls.pop_front() {
        seen.extend(excluded(&request));
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
    }
    assert_eq!(seen, [("a".to_owned(), 1, true), ("b".to_owned(), 0, true)]);
}

#[test]
fn a_watch_that_cannot_be_made_is_told() {
    let mut fixture = Fixture::watching(&["a"]);
    let gvk = key("a").gvk;
    let tell = |fixture: &mut Fixture, error: Option<String>| {
        let input = ExternalInput::Shown(cluster(), Shown::Trouble(gvk.clone(), error));
        fixture.run(|deployer, step| deployer.external(input, step));
        fixture.problems.last().unwrap().error().map(ToString::to_string)
    };
    assert_eq!(tell(&mut fixture, Some("no".to_owned())).unwrap(), "drift of ConfigMap is not seen: no");
    assert_eq!(tell(&mut fixture, None), None);
}
