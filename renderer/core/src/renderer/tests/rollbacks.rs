//! What goes back to the last content that was good.

use sluice_protocol::rows::{GoBack, Staged, State, Status};

use super::rollouts::{NAMES, annotated, mk_fixture, plain, profile, registered, status_row, subject};
use sluice_api::Digest;

use super::*;

fn goes_back() -> Value {
    let mut profile = annotated(profile(json!(1)), "sluice.dev/rollout-on-failure", "rollback");
    profile["metadata"]["annotations"]["sluice.dev/rollout-failure-budget"] = json!("0");
    profile
}

impl Fixture {
    fn staged(&self, name: &str) -> &Staged {
        self.published[&format!("{name}/p")].meta.staged().unwrap()
    }

    /// The content of each row: its mark, or `<` where it goes back.
    fn contents(&self) -> String {
        let content = |name: &str| {
            let Some(row) = self.published.get(&format!("{name}/p")) else { return "-".to_owned() };
            let Body::Value(bytes) = &row.body else { return "x".to_owned() };
            match serde_json::from_slice::<Desired>(bytes) {
                Ok(desired) => desired.policies[0].objects[0]["data"]["mark"].as_str().unwrap().to_owned(),
                Err(_) => "<".to_owned(),
            }
        };
        NAMES.map(content).concat()
    }

    fn published_row(&self, name: &str) -> Digest {
        self.published[&format!("{name}/p")].head().digest
    }

    /// What a row goes back to.
    fn goes_back_to(&self, name: &str) -> Digest {
        let published = &self.published[&format!("{name}/p")];
        let Body::Value(body) = published.body.clone() else { panic!("{published:?}") };
        let row = Row { subject: subject(name), head: published.head(), body, sequence: Sequence::new(1) };
        GoBack::of_row(&row).unwrap().to
    }

    fn hears(&mut self, name: &str, state: State) {
        let status = Status { row: Some(self.published_row(name)), ..Status::new(state, Vec::new()) };
        let row = status_row(name, &status);
        self.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
        self.now += 300_000;
        self.run(|renderer, step| renderer.tick(step));
    }

    /// Another renderer, to which this is written.
    fn successor(&self, objects: Vec<Value>) -> Self {
        let mut after =
            Fixture::with(NAMES.map(registered).into_iter().chain(objects).collect(), |renderer| {
                for name in NAMES {
                    renderer.found(&subject(name), &self.published[&format!("{name}/p")].head());
                    let status = Status {
                        row: Some(self.published_row(name)),
                        ..Status::new(State::Provisioned, Vec::new())
                    };
                    let status = ExternalInput::Status(Arc::new(status_row(name, &status)));
                    renderer.external(status, &mut Step::at(0));
                }
            });
        after.ready(&[]);
        after
    }
}

/// All four have the first content.
fn all_have_it(profile: Value) -> Fixture {
    let mut fixture = mk_fixture(profile);
    for name in NAMES {
        fixture.hears(name, State::Provisioned);
    }
    assert_eq!((fixture.contents().as_str(), fixture.problems.get("ClusterProfile p")), ("1111", None));
    fixture
}

#[test]
fn where_it_fails_it_goes_back_and_nobody_else_gets_it() {
    let mut fixture = all_have_it(goes_back());
    let good = fixture.published_row("a");
    fixture.put(plain("2"));
    assert_eq!(fixture.contents(), "2111");
    let staged = fixture.staged("a").clone();
    assert_eq!((staged.round, staged.good.as_ref().map(|good| good.row)), (2, Some(good)));
    fixture.hears("a", State::Failed);
    assert_eq!((fixture.contents().as_str(), fixture.goes_back_to("a")), ("<111", good));
    assert_eq!(
        fixture.staged("a").back.as_deref(),
        Some("it failed on 1 (sveltos:default/a), more than the 0 of sluice.dev/rollout-failure-budget")
    );
    let news = fixture.problems["ClusterProfile p"].clone();
    let text =
        format!("it goes back from {} to {}, since it failed", staged.called, staged.good.unwrap().called);
    assert!(news.contains(&text) && news.contains("1 go back (sveltos:default/a)"), "{news}");
    fixture.hears("a", State::Provisioned);
    let news = fixture.problems["ClusterProfile p"].clone();
    assert!(news.contains("it went back from") && news.contains("4 of 4 clusters have that"), "{news}");
    // What templates read, a label of a cluster and the like, begins nothing anew.
    fixture.put(registration("b", json!({"in": "yes", "other": "label"})));
    assert_eq!(fixture.contents(), "<111");
    assert!(!fixture.log.iter().any(|line| line.starts_with('-')), "nothing is withdrawn: {:?}", fixture.log);
    fixture.put(plain("3"));
    assert_eq!(fixture.contents(), "3111", "another content goes out as any other");
    assert_eq!(fixture.staged("a").good.as_ref().map(|found| found.row), Some(good));
    for name in NAMES {
        fixture.hears(name, State::Provisioned);
    }
    assert_eq!((fixture.contents().as_str(), fixture.problems.get("ClusterProfile p")), ("3333", None));
}

#[test]
fn where_it_fails_on_the_last_cluster_all_go_back() {
    let mut fixture = all_have_it(goes_back());
    fixture.put(plain("2"));
    for name in &NAMES[..3] {
        fixture.hears(name, State::Provisioned);
    }
    assert_eq!(fixture.contents(), "2222", "nobody waits for a turn");
    fixture.hears(NAMES[3], State::Failed);
    assert_eq!(fixture.contents(), "<<<<");
    // As when nobody says anything of the last one.
    let mut fixture = all_have_it(goes_back());
    fixture.put(plain("2"));
    for name in &NAMES[..3] {
        fixture.hears(name, State::Provisioned);
    }
    fixture.now += 600_000_001;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(fixture.contents(), "<<<<");
    // What all have is not looked at any more.
    let mut fixture = all_have_it(goes_back());
    fixture.put(plain("2"));
    for name in NAMES {
        fixture.hears(name, State::Provisioned);
    }
    fixture.hears(NAMES[3], State::Failed);
    assert_eq!((fixture.contents().as_str(), fixture.problems.get("ClusterProfile p")), ("2222", None));
}

#[test]
fn a_successor_knows_what_was_gone_back_from_and_what_was_good() {
    let mut before = all_have_it(goes_back());
    before.put(plain("2"));
    before.hears("a", State::Failed);
    assert_eq!(before.contents(), "<111");
    let mut after = before.successor(vec![goes_back(), plain("2")]);
    assert_eq!(
        (after.contents().as_str(), after.published_row("a")),
        ("<---", before.published_row("a")),
        "the others keep their rows"
    );
    assert!(after.problems["ClusterProfile p"].contains("it went back from"), "{:?}", after.problems);
    after.put(plain("3"));
    assert_eq!(after.contents(), "3---");
    assert_eq!(after.staged("a").good, before.staged("a").good);
    let edited = before.successor(vec![goes_back(), plain("4")]);
    assert_eq!(edited.contents(), "4---", "what was written meanwhile is another content");
    assert_eq!(edited.staged("a").good, before.staged("a").good);
}

#[test]
fn what_all_have_is_undone_where_its_name_is_said() {
    let mut fixture = all_have_it(goes_back());
    let good = NAMES.map(|name| fixture.published_row(name));
    fixture.put(plain("2"));
    for name in NAMES {
        fixture.hears(name, State::Provisioned);
    }
    assert_eq!(fixture.contents(), "2222");
    let mut undone = goes_back();
    undone["metadata"]["annotations"]["sluice.dev/rollout-undo"] = json!(fixture.staged("a").called);
    undone["metadata"]["annotations"]["sluice.dev/allow-prune"] = json!("word");
    fixture.put(undone);
    assert_eq!((fixture.contents().as_str(), NAMES.map(|name| fixture.goes_back_to(name))), ("<<<<", good));
    let Body::Value(bytes) = &fixture.published["a/p"].body else { panic!() };
    assert!(String::from_utf8_lossy(bytes).ends_with(r#","allowPrune":"word"}}"#));
    let news = &fixture.problems["ClusterProfile p"];
    assert!(news.contains("since sluice.dev/rollout-undo says so: 0 of 4"), "{news}");
}

#[test]
fn without_the_annotation_rows_say_their_cause_alone_and_nothing_goes_back() {
    let mut fixture = all_have_it(annotated(profile(json!(1)), "sluice.dev/rollout-failure-budget", "0"));
    fixture.put(plain("2"));
    fixture.hears("a", State::Failed);
    assert_eq!(fixture.contents(), "2111");
    assert!(fixture.published.values().all(|row| row.meta.staged().is_none()));
    assert!(!fixture.problems["ClusterProfile p"].contains("it is called"));
}

#[test]
fn where_the_annotation_is_taken_off_it_is_tried_once_more() {
    let mut fixture = all_have_it(goes_back());
    fixture.put(plain("2"));
    fixture.hears("a", State::Failed);
    assert_eq!(fixture.contents(), "<111");
    fixture.put(profile(json!(1)));
    assert_eq!(fixture.contents(), "2111");
}
