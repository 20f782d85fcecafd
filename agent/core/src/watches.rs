//! Which watches an interest row asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::model::EventSource;
use sluice_api::{Gvk, ObjectKey, Selector, object};
use sluice_protocol::interest::{Interest, Source};

/// One watch: a kind, narrowed as far as the server can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchSpec {
    /// Group, version and kind, as discovery of the cluster has them.
    pub gvk: Gvk,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The label selector; empty for all.
    pub labels: String,
}

/// What each source asks for, by name; `None` for one that could never be read. One that cannot be read any more, for a
/// typing error or because it is of a newer version, asks for what it asked for `before`: the matcher reports it.
pub(crate) fn by_source(interest: &Interest, before: &Wishes) -> Wishes {
    let spec = |selector: sluice_api::model::ResourceSelector| WatchSpec {
        labels: selector.labels.to_string(),
        gvk: selector.gvk,
        namespace: selector.namespace,
        name: selector.name,
    };
    let wish = |source: &Source| {
        let wish = match EventSource::read(&source.manifest) {
            Ok(read) => Some(Wish {
                events: !read.criteria.is_empty(),
                watches: read.selectors.into_iter().map(spec).collect(),
            }),
            Err(_) => before.get(&source.name).cloned().flatten(),
        };
        (source.name.clone(), wish)
    };
    interest.sources.iter().map(wish).collect()
}

/// What sources ask for, by name.
pub(crate) type Wishes = BTreeMap<String, Option<Wish>>;

/// What one source asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) watches: BTreeSet<WatchSpec>,
    /// Whether it asks for CloudEvents.
    pub(crate) events: bool,
}

/// The watches that are needed for it.
pub(crate) fn wanted(wishes: &Wishes) -> BTreeSet<WatchSpec> {
    let all: BTreeSet<_> = wishes.values().flatten().flat_map(|wish| &wish.watches).collect();
    let contained = |spec: &WatchSpec| all.iter().any(|other| **other != *spec && other.contains(spec));
    all.iter().filter(|spec| !contained(spec)).map(|spec| (*spec).clone()).collect()
}

impl WatchSpec {
    /// Whether every object of `other` is also one of this watch.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let wider = |own: &str, others: &str| own.is_empty() || own == others;
        self.gvk == other.gvk
            && wider(&self.namespace, &other.namespace)
            && wider(&self.name, &other.name)
            && wider(&self.labels, &other.labels)
    }

    /// Whether the watch shows an object.
    pub(crate) fn shows(&self, key: &ObjectKey, object: &Value) -> bool {
        let of_all = |own: &str, its: &str| own.is_empty() || own == its;
        let labels = || Selector::parse(&self.labels).unwrap_or_default();
        self.gvk == key.gvk
            && of_all(&self.namespace, &key.namespace)
            && of_all(&self.name, &key.name)
            && labels().matches(object::at(object, &["metadata", "labels"]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn interest(selectors: Value) -> Wishes {
        after(selectors, &Wishes::new())
    }

    fn after(selectors: Value, before: &Wishes) -> Wishes {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": selectors}});
        let sources = vec![Source { name: "s".into(), changed: 1, manifest: manifest.into() }];
        by_source(&Interest { revision: 1, sources }, before)
    }

    #[test]
    fn labels_and_places_are_left_to_the_server() {
        let specs = wanted(&interest(json!([{"version": "v1", "kind": "Service", "namespace": "eng",
            "labelFilters": [{"key": "a", "operation": "Equal", "value": "b"}]}])));
        let spec = specs.first().expect("one watch");
        assert_eq!((spec.namespace.as_str(), spec.labels.as_str()), ("eng", "a=b"));
    }

    #[test]
    fn a_watch_inside_another_is_not_needed() {
        let specs = wanted(&interest(json!([
            {"version": "v1", "kind": "Service", "namespace": "eng"}, {"version": "v1", "kind": "Service"}, {"version": "v1", "kind": "Pod", "name": "p"}])));
        assert_eq!(specs.len(), 2);
    }

    #[test]
    fn a_source_that_cannot_be_read_any_more_asks_for_what_it_asked_for() {
        let broken = json!([{"version": "v1"}]);
        let never = interest(broken.clone());
        assert_eq!((wanted(&never).len(), &never["s"]), (0, &None));
        let before = interest(json!([{"version": "v1", "kind": "Service"}]));
        assert_eq!(after(broken, &before), before);
    }
}
