//! Lanes, references and waves; what holds up what follows; and when a profile gives up.

use super::*;

fn object(version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}})
}

fn policy(kind: &str, name: &str, objects: Vec<Value>) -> Policy {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    Policy { kind, namespace: "n".into(), name, tier: 100, objects, ..Policy::default() }
}

/// A profile with these references, in this order.
fn ordered(profile: &str, references: Vec<(&str, Vec<Value>)>) -> Desired {
    let policies = references.into_iter().map(|(name, objects)| policy("ConfigMap", name, objects)).collect();
    Desired { policies, ..desired(profile, 100, Vec::new()) }
}

fn saying(mut desired: Desired, field: &str, value: impl Into<Value>) -> Desired {
    desired.spec.insert(field.to_owned(), value.into());
    desired
}

fn one_after_another() -> Desired {
    let (one, two, three) = (config_map("one", "1"), config_map("two", "1"), config_map("three", "1"));
    ordered("p", vec![("first", vec![one]), ("second", vec![two]), ("third", vec![three])])
}

impl Fixture {
    fn errors(&self, profile: &str) -> Vec<String> {
        self.statuses[profile].as_ref().unwrap().errors.clone()
    }

    fn applied(&mut self) -> Vec<String> {
        self.take_calls()
            .into_iter()
            .filter_map(|call| Some(call.strip_prefix("apply ")?.to_owned()))
            .collect()
    }
}

#[test]
fn references_are_applied_in_their_order_and_kinds_in_waves() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let second = vec![
        object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hook"),
        object("apps/v1", "Deployment", "app"),
        object("v1", "Service", "svc"),
        object("v1", "ServiceAccount", "account"),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "space"}}),
    ];
    let row = ordered("p", vec![("z", vec![object("apps/v1", "Deployment", "before")]), ("a", second)]);
    fixture.row("p", Some(row.clone()));
    assert_eq!(fixture.applied(), ["before", "space", "account", "svc", "app", "hook"]);
    fixture.row("p", None);
    let calls = fixture.take_calls();
    assert_eq!(
        calls,
        ["delete hook", "delete app", "delete before", "delete svc", "delete account", "delete space"]
    );
}

#[test]
fn charts_wait_for_no_reference_and_no_reference_for_a_chart() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut row = one_after_another();
    row.policies.insert(0, policy("HelmChart", "release", vec![config_map("charted", "1")]));
    fixture.fail = refusing("one");
    fixture.row("p", Some(row.clone()));
    assert_eq!(fixture.applied(), ["charted"]);
    fixture.fail = refusing("charted");
    fixture.wait();
    assert_eq!(fixture.applied(), ["one", "two", "three"]);
}

#[test]
fn what_follows_a_failed_reference_waits_and_says_for_what() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("two");
    fixture.row("p", Some(one_after_another()));
    assert_eq!(fixture.names(), ["one"]);
    assert_eq!(
        fixture.errors("p"),
        [
            "ConfigMap default/two: no",
            "ConfigMap n/third waits for what failed before it: mend that, or set spec.continueOnError: true"
        ]
    );
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!((fixture.names(), fixture.errors("p")), (vec!["one", "three", "two"], Vec::new()));
}

#[test]
fn with_continue_on_error_nothing_waits() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("one");
    fixture.row("p", Some(saying(one_after_another(), "continueOnError", true)));
    assert_eq!((fixture.names(), fixture.errors("p").len()), (vec!["three", "two"], 1));
}

#[test]
fn in_a_reference_what_needs_the_failed_one_waits_and_the_rest_of_its_wave_does_not() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("bad");
    let objects =
        vec![config_map("bad", "1"), config_map("good", "1"), object("apps/v1", "Deployment", "app")];
    fixture.row("p", Some(ordered("p", vec![("c", objects)])));
    assert_eq!(fixture.names(), ["good"]);
    assert!(fixture.errors("p")[1].starts_with("ConfigMap n/c waits for what failed before it"));
}

#[test]
fn what_follows_what_another_profile_has_waits_unless_that_is_wanted() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("q", Some(desired("q", 50, vec![config_map("one", "q")])));
    fixture.row("p", Some(one_after_another()));
    assert_eq!(fixture.names(), ["one"]);
    assert!(
        fixture.errors("p")[1].ends_with("set spec.continueOnConflict: true"),
        "{:?}",
        fixture.errors("p")
    );
    fixture.row("p", Some(saying(one_after_another(), "continueOnConflict", true)));
    assert_eq!((fixture.names(), fixture.errors("p").len()), (vec!["one", "three", "two"], 1));
    fixture.row("p", Some(one_after_another()));
    fixture.row("q", None);
    assert_eq!((fixture.state("p"), fixture.errors("p")), (Some(State::Provisioned), Vec::new()));
}

#[test]
fn a_document_that_is_no_object_holds_up_the_references_that_follow() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let broken = vec![json!({"kind": "ConfigMap"}), config_map("beside", "1")];
    let row = ordered("p", vec![("first", broken), ("second", vec![config_map("two", "1")])]);
    fixture.row("p", Some(row));
    assert_eq!(fixture.names(), ["beside"]);
}

#[test]
fn nothing_is_pruned_while_something_waits() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("old", "1")])));
    fixture.row("q", Some(desired("q", 50, vec![config_map("one", "q")])));
    fixture.row("p", Some(one_after_another()));
    assert_eq!(fixture.names(), ["old", "one"], "two and three take the place of the old one");
    fixture.row("q", None);
    assert_eq!(fixture.names(), ["one", "three", "two"]);
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}})
}

fn with_its_kind() -> Desired {
    ordered("p", vec![("c", vec![object("example.com/v1", "Thing", "thing"), definition()])])
}

#[test]
fn objects_wait_until_the_kind_that_comes_with_them_is_served() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.slow_kinds = true;
    fixture.row("p", Some(with_its_kind()));
    assert_eq!((fixture.applied(), fixture.follows), (vec!["things.example.com".to_owned()], 1));
    assert!(!fixture.statuses.contains_key("p"), "it has not failed");
    let conditions = ["NamesAccepted", "Established"].map(|name| json!({"type": name, "status": "True"}));
    let kept = fixture.objects.values_mut().next().unwrap();
    kept["status"] = json!({"conditions": conditions});
    let told = ExternalInput::Kinds(cluster(), "example.com".into());
    fixture.run(|deployer, step| deployer.external(told, step));
    assert_eq!((fixture.applied(), fixture.state("p")), (vec!["thing".to_owned()], Some(State::Provisioned)));
}

#[test]
fn a_server_that_knows_a_kind_later_than_its_definition_is_tried_again_and_nothing_fails() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object) == "thing" => {
            Some(Failure::new(Class::NoKind, "no such kind"))
        }
        _ => None,
    });
    let limited = || {
        let mut row = saying(with_its_kind(), "maxConsecutiveFailures", 1);
        let names = json!({"kind": "Thing", "plural": "things"});
        row.policies[0].objects[1]["spec"] = json!({"group": "example.com", "names": names, "versions": []});
        row
    };
    fixture.row("p", Some(limited()));
    fixture.wait();
    assert!(!fixture.statuses.contains_key("p"), "it has not failed");
    let refused = std::mem::replace(&mut fixture.fail, Box::new(|_| None));
    fixture.wait();
    assert_eq!((fixture.names().len(), fixture.state("p")), (2, Some(State::Provisioned)));
    // For ever it is not.
    fixture.fail = refused;
    let gone: Vec<_> = fixture.objects.keys().filter(|key| key.name == "thing").cloned().collect();
    gone.iter().for_each(|key| drop(fixture.objects.remove(key)));
    fixture.restart();
    fixture.row("p", Some(limited()));
    fixture.pass_former_calls();
    (0..60).for_each(|_| fixture.wait());
    assert!(
        fixture.errors("p")[0].contains("Thing default/thing: no such kind"),
        "{:?}",
        fixture.errors("p")
    );
}

#[test]
fn a_kind_that_does_not_come_is_an_error_after_a_while_and_nothing_else_waits() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.slow_kinds = true;
    fixture.row("p", Some(with_its_kind()));
    fixture.row("q", Some(desired("q", 100, vec![config_map("other", "1")])));
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
    (0..60).for_each(|_| fixture.wait());
    let errors = fixture.errors("p");
    assert!(errors[0].contains("its kind is not served: NamesAccepted is not said yet"), "{errors:?}");
    assert!(errors[1].contains("waits for what failed before it"), "{errors:?}");
    fixture.row("p", None);
    assert_eq!(fixture.names(), ["other"]);
}

#[test]
fn a_profile_gives_up_after_so_many_failures_until_its_row_changes() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("one");
    let limited = || saying(one_after_another(), "maxConsecutiveFailures", 2);
    fixture.row("p", Some(limited()));
    assert_eq!(fixture.errors("p").len(), 2);
    fixture.wait();
    assert!(fixture.errors("p").iter().any(|error| error.contains("maximum number of consecutive errors")));
    let features = crate::cluster_summary(fixture.summaries.last().unwrap()).1.unwrap();
    assert_eq!(features["status"]["featureSummaries"][0]["status"], "FailedNonRetriable");
    fixture.fail = Box::new(|_| None);
    fixture.pass_former_calls();
    assert_eq!((fixture.names().len(), fixture.state("p")), (0, Some(State::Failed)));
    fixture.row("p", Some(saying(limited(), "tier", 100)));
    assert_eq!((fixture.names().len(), fixture.state("p")), (3, Some(State::Provisioned)));
}

#[test]
fn an_outage_and_a_conflict_count_for_no_limit_and_a_removal_never_gives_up() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let limited = || saying(one_after_another(), "maxConsecutiveFailures", 1);
    let failing = |class| -> Fails {
        Box::new(move |request| {
            matches!(request, Request::Apply { .. } | Request::Delete { .. })
                .then(|| Failure::new(class, "no"))
        })
    };
    fixture.fail = failing(Class::Transient);
    fixture.row("p", Some(limited()));
    (0..3).for_each(|_| fixture.wait());
    fixture.fail = Box::new(|_| None);
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.row("q", Some(desired("q", 50, vec![config_map("one", "q")])));
    (0..3).for_each(|_| fixture.wait());
    fixture.row("q", None);
    assert_eq!((fixture.state("p"), fixture.names().len()), (Some(State::Provisioned), 3));
    fixture.fail = failing(Class::Refused);
    fixture.row("p", None);
    (0..3).for_each(|_| fixture.wait());
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.names().len(), 0);
}
