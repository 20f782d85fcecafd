//! What a change costs where there is much: a trigger among a thousand on 300 clusters, a Secret that a thousand causes read, an
//! event that goes to 500 clusters, and one event alone. `cargo bench -p sluice-renderer-core`.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::{Core, Head, Incarnation, Meta, Revision, Row, Sequence, Shard, Step, Subject, Table};
use sluice_renderer_core::{Change, Config, Effect, ExternalInput, Renderer, Salt};
use sluice_template::Limits;

const INCARNATION: Incarnation = Incarnation::new(7);
/// Any time.
const NOW: i64 = 1_700_000_000_000_000;

fn cluster(number: usize) -> ClusterRef {
    ClusterRef::sveltos("default", format!("c{number}"))
}

fn source(name: &str) -> Value {
    json!({"kind": "EventSource", "metadata": {"name": name},
        "spec": {"collectResources": true, "resourceSelectors": [{"version": "v1", "kind": "Service"}]}})
}

fn trigger(name: &str, source: &str, more: Value) -> Value {
    let mut spec = json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": source, "oneForEvent": true,
        "policyRefs": [{"kind": "Secret", "namespace": "default", "name": "content"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"kind": "EventTrigger", "metadata": {"name": name}, "spec": spec})
}

/// Content that is a template over the event.
fn content(mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Resource.metadata.name }}}}\", namespace: default}}\n\
         data: {{port: \"{{{{ .Resource.spec.port }}}}\", mark: \"{mark}\"}}\n"
    );
    json!({"kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
        "metadata": {"namespace": "default", "name": "content", "annotations": {"projectsveltos.io/instantiate": "ok"}},
        "stringData": {"a.yaml": text}})
}

struct Fleet {
    renderer: Renderer,
    now: i64,
    interests: Vec<(ClusterRef, Interest)>,
}

impl Fleet {
    /// So many clusters, and these objects.
    fn new(clusters: usize, objects: impl IntoIterator<Item = Value>) -> Self {
        let config = Config {
            shard: Shard::FIRST,
            shards: 1,
            input: INCARNATION,
            outputs: vec![Incarnation::new(9)],
            tombstone_ttl: 1_000_000_000,
            limits: Limits::default(),
            salt: Salt::default(),
            forget_after: i64::MAX,
            mark: 1000,
        };
        let mut fleet = Self { renderer: Renderer::new(config), now: NOW, interests: Vec::new() };
        for number in 0..clusters {
            fleet.put(json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
                "metadata": {"namespace": "default", "name": format!("c{number}"), "labels": {"env": "fv", "to": "yes"}}}));
        }
        for object in objects {
            fleet.put(object);
        }
        fleet.run(|renderer, step| renderer.start(step));
        fleet.run(|renderer, step| renderer.ask(step));
        for (cluster, row) in std::mem::take(&mut fleet.interests) {
            fleet.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster, row), step));
        }
        fleet.run(|renderer, step| renderer.caught_up(Sequence::END, step));
        fleet
    }

    /// How many rows follow.
    fn put(&mut self, object: Value) -> usize {
        let change = ExternalInput::Management(Change::Upsert(Arc::new(object)));
        self.run(|renderer, step| renderer.external(change, step))
    }

    fn run(&mut self, work: impl FnOnce(&mut Renderer, &mut Step<Effect>)) -> usize {
        // A second later: nothing waits for what came before.
        self.now += 1_000_000;
        let mut step = Step::at(self.now);
        work(&mut self.renderer, &mut step);
        let (rows, effects, _) = step.into_parts();
        for effect in effects {
            if let Effect::WriteInterest(cluster, row) = effect {
                self.interests.push((cluster, row));
            }
        }
        rows.len()
    }

    /// A service of the first cluster is an event of `source`.
    fn event(&mut self, source: &str, number: usize, port: usize) -> usize {
        let name = format!("s{number}");
        let key =
            ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: name.clone() };
        let subject = Subject::Report {
            shard: Shard::FIRST,
            cluster: cluster(0),
            source: source.into(),
            origin: Shard::FIRST,
            object: key,
        };
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name}, "spec": {"port": port}});
        let head = Head { time: self.now, meta: Meta::parse(r#"{"selectors":[0]}"#), ..Head::default() };
        let row =
            Row { subject, head, body: object.to_string().into_bytes().into(), sequence: Sequence::new(1) };
        self.run(|renderer, step| renderer.row(&row, step))
    }

    /// The sets of the first cluster are complete.
    fn complete(&mut self) {
        let subject = Subject::Complete {
            table: Table::Reports,
            shard: Shard::FIRST,
            cluster: cluster(0),
            origin: Some(Shard::FIRST),
        };
        let meta = Meta::Complete(Complete::of_all(INCARNATION, Revision::new(u64::MAX / 2)));
        let row = Row {
            subject,
            head: Head { meta, ..Head::default() },
            body: [].into(),
            sequence: Sequence::new(2),
        };
        self.run(|renderer, step| {
            renderer.row(&row, step);
            renderer.caught_up(Sequence::END, step);
        });
    }
}

fn main() {
    divan::main();
}

/// A thousand triggers on 300 clusters, which listen to `sources` EventSources.
fn mk_many_triggers(sources: usize) -> Fleet {
    let triggers =
        (0..1000).map(|number| trigger(&format!("t{number}"), &format!("s{}", number % sources), json!({})));
    let all = (0..=sources).map(|number| source(&format!("s{number}")));
    Fleet::new(300, all.chain(triggers).chain([content("1")]))
}

/// A trigger comes to a thousand others on 300 clusters; it listens to what others listen to.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn a_trigger_comes_to_a_thousand_on_300_clusters(bencher: Bencher<'_, '_>) {
    let (mut fleet, mut number) = (mk_many_triggers(10), 0);
    bencher.bench_local(|| {
        number += 1;
        black_box(fleet.put(trigger(&format!("new{number}"), "s3", json!({}))))
    });
}

/// The same where each has an EventSource of its own, so that every interest row changes.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn a_trigger_with_a_source_of_its_own_comes_to_a_thousand_such(bencher: Bencher<'_, '_>) {
    let (mut fleet, mut is_there) = (mk_many_triggers(1000), false);
    bencher.bench_local(|| {
        // It comes and goes: both change the rows.
        is_there = !is_there;
        let listens_to = if is_there { "s1000" } else { "s0" };
        black_box(fleet.put(trigger("new", listens_to, json!({}))))
    });
}

/// A Secret changes that a thousand causes read: each is rendered once.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn a_secret_changes_that_a_thousand_causes_read(bencher: Bencher<'_, '_>) {
    let mut fleet = Fleet::new(1, [source("s"), trigger("t", "s", json!({})), content("0")]);
    for number in 0..1000 {
        fleet.event("s", number, 1);
    }
    fleet.complete();
    let mut mark = 0;
    bencher.bench_local(|| {
        mark += 1;
        assert_eq!(fleet.put(content(&mark.to_string())), 1000);
    });
}

/// An event changes whose add-on goes to 500 clusters with equal content: the rows share one body.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn an_event_goes_to_500_clusters(bencher: Bencher<'_, '_>) {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"to": "yes"}}});
    let mut fleet = Fleet::new(500, [source("s"), trigger("t", "s", to), content("0")]);
    fleet.complete();
    let mut port = 0;
    bencher.bench_local(|| {
        port += 1;
        assert_eq!(fleet.event("s", 0, port), 500);
    });
}

/// One event changes, and its one row follows.
#[divan::bench]
fn an_event_goes_to_its_cluster(bencher: Bencher<'_, '_>) {
    let mut fleet = Fleet::new(1, [source("s"), trigger("t", "s", json!({})), content("0")]);
    fleet.complete();
    let mut port = 0;
    bencher.bench_local(|| {
        port += 1;
        assert_eq!(fleet.event("s", 0, port), 1);
    });
}
