//! Any profile, any object that fails, an end at any call: order is kept, and in the end everything is there; then nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::order::Wave;

const KINDS: [(&str, &str); 5] = [
    ("v1", "Namespace"),
    ("v1", "ServiceAccount"),
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
];

/// A profile by its references: what each has of which kind. Names are the places.
#[derive(Clone, Debug)]
struct Story {
    references: Vec<Vec<usize>>,
    charts: usize,
    fails: BTreeSet<usize>,
    continues: bool,
    ends_at: usize,
}

fn stories() -> impl Strategy<Value = Story> {
    let references = proptest::collection::vec(proptest::collection::vec(0..KINDS.len(), 1..4), 1..5);
    let fails = proptest::collection::btree_set(0..12_usize, 0..3);
    (references, 0..3_usize, fails, any::<bool>(), 0..40_usize).prop_map(
        |(references, charts, fails, continues, ends_at)| {
            let charts = charts.min(references.len());
            Story { references, charts, fails, continues, ends_at }
        },
    )
}

/// Lane, reference and wave of each object, by its name.
type Turns = BTreeMap<String, (bool, usize, Wave)>;

impl Story {
    /// The row, and when each object has its turn.
    fn tell(&self) -> (Desired, Turns) {
        let (mut row, mut turns, mut number) = (desired("p", 100, Vec::new()), Turns::new(), 0);
        row.policies = Vec::new();
        for (reference, kinds) in self.references.iter().enumerate() {
            let is_chart = reference < self.charts;
            let mut objects = Vec::new();
            for kind in kinds {
                let ((version, kind), name) = (KINDS[*kind], format!("o{number}"));
                let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}});
                turns.insert(name, (is_chart, reference, Wave::of(&ObjectKey::of(&object).unwrap().gvk)));
                objects.push(object);
                number += 1;
            }
            let kind = if is_chart { "HelmChart" } else { "ConfigMap" };
            let name = format!("r{reference}");
            row.policies.push(Policy {
                kind: kind.into(),
                namespace: "n".into(),
                name,
                tier: 100,
                objects,
                ..Policy::default()
            });
        }
        row.spec.insert("continueOnError".into(), self.continues.into());
        (row, turns)
    }
}

/// What is in the cluster, and what was tried there, as its server sees it.
#[derive(Debug, Default)]
struct Seen {
    there: BTreeSet<String>,
    tried: BTreeSet<String>,
    calls: usize,
    wrong: Vec<String>,
}

/// A server that refuses some objects and is gone after so many calls, and looks whether order is kept.
fn server(story: &Story, turns: &Turns, seen: &Rc<RefCell<Seen>>, is_well: bool) -> Fails {
    let (story, turns, seen) = (story.clone(), turns.clone(), seen.clone());
    Box::new(move |request| {
        let mut seen = seen.borrow_mut();
        seen.calls += 1;
        if !is_well && seen.calls > story.ends_at {
            return Some(Failure::new(Class::Transient, "it is away"));
        }
        match request {
            Request::Apply { object, .. } => {
                let name = object::name(object).to_owned();
                let (lane, reference, wave) = turns[&name];
                let is_before = |(other, turn): &(&String, &(bool, usize, Wave))| {
                    turn.0 == lane
                        && (turn.1, turn.2) < (reference, wave)
                        && !seen.there.contains(*other)
                        && !(story.continues && seen.tried.contains(*other))
                };
                if let Some((other, _)) = turns.iter().find(is_before) {
                    let text = format!("{name} is applied before {other}");
                    seen.wrong.push(text);
                }
                seen.tried.insert(name.clone());
                let number: usize = name[1..].parse().unwrap();
                if !is_well && story.fails.contains(&number) {
                    return Some(Failure::new(Class::Refused, "no"));
                }
                seen.there.insert(name);
            }
            Request::Delete { key, .. } => {
                let wave = turns[&key.name].2;
                if let Some(other) = seen.there.iter().find(|other| turns[*other].2 > wave) {
                    let text = format!("{} is deleted before {other}", key.name);
                    seen.wrong.push(text);
                }
                seen.there.remove(&key.name);
            }
            _ => {}
        }
        None
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn order_is_kept_and_everything_comes_and_goes(story in stories()) {
        let (row, turns) = story.tell();
        let seen = Rc::new(RefCell::new(Seen::default()));
        let mut fixture = Fixture::new();
        fixture.fail = server(&story, &turns, &seen, false);
        fixture.reach();
        fixture.row("p", Some(row.clone()));
        (0..3).for_each(|_| fixture.wait());
        prop_assert!(seen.borrow().wrong.is_empty(), "{:?}", seen.borrow().wrong);

        // Another owner, and a server that takes everything.
        fixture.fail = server(&story, &turns, &seen, true);
        fixture.restart();
        fixture.row("p", Some(row));
        fixture.pass_former_calls();
        (0..3).for_each(|_| fixture.wait());
        prop_assert_eq!(&seen.borrow().there, &turns.keys().cloned().collect::<BTreeSet<_>>());
        prop_assert_eq!(fixture.state("p"), Some(State::Provisioned));

        fixture.row("p", None);
        (0..3).for_each(|_| fixture.wait());
        prop_assert!(seen.borrow().there.is_empty() && fixture.inventories.is_empty());
        prop_assert!(seen.borrow().wrong.is_empty(), "{:?}", seen.borrow().wrong);
    }
}
