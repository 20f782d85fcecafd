//! What is there in the end follows from what is true in the end: not from how it came about, nor from the order in which it was told.

use proptest::prelude::*;

use super::*;

/// What may change: a kind of thing, which one of them, and what becomes of it. The first form of everything is that it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Trigger(usize),
    Profile(usize),
    Cluster(usize),
    Content(usize),
    Report(usize, usize),
}

/// What is true: the form of each thing.
type World = BTreeMap<Thing, usize>;

const CLUSTERS: [&str; 3] = ["a", "b", "c"];
const OBJECTS: [&str; 2] = ["x", "y"];
/// ConfigMaps whose templates see one object, all of them, and the destination.
const CONTENTS: [&str; 3] = ["one", "all", "plain"];
/// From this form on a ConfigMap cannot be rendered, and so cannot a trigger.
const BROKEN: usize = 3;
const BROKEN_TRIGGER: usize = 7;

fn things() -> impl Strategy<Value = (Thing, usize)> {
    prop_oneof![
        3 => (0..3_usize, 0..=BROKEN_TRIGGER).prop_map(|(name, form)| (Thing::Trigger(name), form)),
        1 => (0..2_usize, 0..4_usize).prop_map(|(name, form)| (Thing::Profile(name), form)),
        1 => (0..CLUSTERS.len(), 0..4_usize).prop_map(|(name, form)| (Thing::Cluster(name), form)),
        2 => (0..CONTENTS.len(), 0..=BROKEN).prop_map(|(name, form)| (Thing::Content(name), form)),
        4 => (0..CLUSTERS.len(), 0..OBJECTS.len(), 0..3_usize)
            .prop_map(|(cluster, object, form)| (Thing::Report(cluster, object), form)),
    ]
}

fn reference(name: &str) -> Value {
    json!({"kind": "ConfigMap", "namespace": "default", "name": name})
}

fn trigger_of(name: usize, form: usize) -> Value {
    // One cause for each name: of several that want one the first has it.
    let own = |what: &str| {
        format!("{{{{ .Cluster.metadata.name }}}}-{{{{ .Resource.metadata.name }}}}-{what}-{name}")
    };
    let generated = own("made");
    let (one, more) = match form {
        0 | 1 => (true, json!({"policyRefs": [reference("one")]})),
        2 => (false, json!({"policyRefs": [reference("all")]})),
        3 => (
            true,
            json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}, "tier": 7,
                "policyRefs": [reference("plain"), reference("one")]}),
        ),
        4 => (true, json!({"profileNameFormat": own("t"), "policyRefs": [reference("one")]})),
        5 => (
            true,
            json!({"configMapGenerator": [{"namespace": "default", "name": "one", "nameFormat": generated}],
                "policyRefs": [{"kind": "ConfigMap", "namespace": "projectsveltos", "name": generated}]}),
        ),
        6 => (
            false,
            json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}, "policyRefs": [reference("all")]}),
        ),
        _ => (true, json!({"tier": "x"})),
    };
    let mut trigger = trigger(one, more);
    trigger["metadata"]["name"] = format!("t{name}").into();
    trigger
}

fn profile_of(name: usize, form: usize) -> Value {
    let place = json!([{"kind": "SveltosCluster", "namespace": "default", "name": "b"}]);
    let spec = match form {
        0 | 1 => {
            json!({"clusterSelector": {"matchLabels": {"env": "fv"}}, "policyRefs": [reference("plain")]})
        }
        2 => json!({"clusterRefs": place, "policyRefs": [reference("plain")], "extraLabels": {"l": "1"}}),
        _ => {
            json!({"clusterSelector": {"matchLabels": {"dep": "eng"}}, "policyRefs": [reference("plain"), reference("plain")]})
        }
    };
    json!({"kind": "ClusterProfile", "metadata": {"name": format!("p{name}")}, "spec": spec})
}

fn content_of(name: usize, form: usize) -> Value {
    let names = [
        "{{ .Resource.metadata.labels.mark }}",
        "{{ range .Resources }}{{ .metadata.name }}{{ .metadata.labels.mark }}{{ end }}",
        "{{ .Cluster.metadata.name }}",
    ];
    let text = if form == BROKEN { "{{ .Nothing.at }}" } else { names[name] };
    let manifest = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{text}\", mark: \"{form}\"}}\n"
    );
    let annotation = if CONTENTS[name] == "plain" { "template" } else { "instantiate" };
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": CONTENTS[name],
        "annotations": {format!("projectsveltos.io/{annotation}"): "ok"}}, "data": {"a.yaml": manifest}})
}

fn cluster_of(name: usize, form: usize) -> Value {
    let labels = [json!({}), json!({"env": "fv"}), json!({"dep": "eng"}), json!({"env": "fv", "dep": "eng"})];
    registration(CLUSTERS[name], labels[form].clone())
}

/// The object of the management cluster.
fn object_of(thing: Thing, form: usize) -> Option<Value> {
    match thing {
        Thing::Trigger(name) => Some(trigger_of(name, form)),
        Thing::Profile(name) => Some(profile_of(name, form)),
        Thing::Cluster(name) => Some(cluster_of(name, form)),
        Thing::Content(name) => Some(content_of(name, form)),
        Thing::Report(..) => None,
    }
}

impl Fixture {
    /// Without any cluster, and with the source alone.
    fn empty() -> Self {
        let mut fixture = Self::told(Self::begin_with(vec![source()], |_| ()));
        fixture.caught_up();
        fixture
    }

    /// A row as a matcher writes it that knows the present interest of the cluster.
    fn row_of(&mut self, mut row: Row, name: &str) {
        let place = cluster(name);
        match &mut row.subject {
            Subject::Report { cluster, .. } | Subject::Complete { cluster, .. } => cluster.clone_from(&place),
            _ => {}
        }
        if let Some(interest) = self.interests.get(&place) {
            row.head.view.note(&place.to_string(), interest.revision);
        }
        self.run(|renderer, step| renderer.row(&row, step));
    }

    /// The bucket has the interest rows that were written.
    pub(super) fn hear_interests(&mut self) {
        for (cluster, row) in self.interests.clone() {
            self.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster, row), step));
        }
    }

    fn tell(&mut self, thing: Thing, form: usize) {
        match (thing, object_of(thing, form)) {
            (Thing::Report(place, name), _) => {
                let mut row = report(OBJECTS[name], form == 0);
                if form > 0 {
                    let object =
                        json!({"metadata": {"name": OBJECTS[name], "labels": {"mark": format!("m{form}")}}});
                    row.body = object.to_string().into_bytes().into();
                }
                self.row_of(row, CLUSTERS[place]);
            }
            (_, Some(object)) if form > 0 => self.put(object),
            (_, Some(object)) => self.delete(object),
            (_, None) => {}
        }
        self.hear_interests();
    }

    /// The sets of all clusters are known, and everything that was put off is done.
    fn settle(&mut self) {
        for (place, interest) in self.interests.clone() {
            self.row_of(complete(interest.revision), &place.name);
        }
        self.caught_up();
        for _ in 0..12 {
            self.wait();
        }
    }

    /// What is there: rows, objects of the management cluster, problems.
    fn outcome(self) -> (BTreeMap<String, Desired>, BTreeMap<String, Value>, BTreeMap<String, String>) {
        let rows = self.rows.into_iter().filter_map(|(place, row)| Some((place, row?)));
        // An EventReport is what has been reported, also where nobody listens any more.
        let projected = self.projected.into_iter().filter(|(key, _)| !key.starts_with("EventReport "));
        let projected = projected.filter_map(|(key, object)| Some((key, object?)));
        (rows.collect(), projected.collect(), self.problems)
    }
}

/// What is broken or missing keeps what was made before it was, so it is mended.
fn mended(world: &World) -> Vec<(Thing, usize)> {
    let triggers = (0..3).map(Thing::Trigger).filter(|thing| world.get(thing) == Some(&BROKEN_TRIGGER));
    let contents = (0..CONTENTS.len()).map(Thing::Content);
    let contents = contents.filter(|thing| [0, BROKEN].contains(world.get(thing).unwrap_or(&0)));
    // A profile that names a cluster which is not there withdraws nothing.
    let names = (0..2).any(|name| world.get(&Thing::Profile(name)) == Some(&2));
    let cluster = Some(Thing::Cluster(1)).filter(|thing| names && world.get(thing).unwrap_or(&0) == &0);
    triggers.chain(contents).chain(cluster).map(|thing| (thing, 1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// However triggers, profiles, clusters, ConfigMaps and reports come, change and go: the rows are those of a renderer that is
    /// told only what is true in the end, in another order.
    #[test]
    fn what_is_there_does_not_depend_on_the_way_there(
        changes in proptest::collection::vec((things(), any::<bool>()), 0..30),
        order in any::<u64>(),
    ) {
        let (mut world, mut way) = (World::new(), Fixture::empty());
        for ((thing, form), pause) in changes {
            way.tell(thing, form);
            world.insert(thing, form);
            if pause {
                way.settle();
            }
        }
        for (thing, form) in mended(&world) {
            way.tell(thing, form);
            world.insert(thing, form);
        }
        way.settle();
        let mut truth: Vec<_> = world.into_iter().filter(|(_, form)| *form > 0).collect();
        let place = |index: usize| (index as u64 + 1).wrapping_mul(order | 1).rotate_left(23);
        let mut places: Vec<_> = (0..truth.len()).map(place).collect();
        truth.sort_by_cached_key(|_| places.pop());
        let mut fresh = Fixture::empty();
        for (thing, form) in truth {
            fresh.tell(thing, form);
        }
        fresh.settle();
        prop_assert_eq!(way.outcome(), fresh.outcome());
    }
}
