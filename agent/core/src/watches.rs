//! Which watches an interest row asks for.

use std::collections::BTreeSet;

use sluice_api::Gvk;
use sluice_api::model::EventSource;
use sluice_protocol::interest::Interest;

/// One watch: a kind, narrowed as far as the server can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchSpec {
    /// The kind.
    pub gvk: Gvk,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The label selector; empty for all.
    pub labels: String,
}

/// The watches of all sources. Sources that cannot be read ask for none; the matcher reports them.
pub(crate) fn wanted(interest: &Interest) -> BTreeSet<WatchSpec> {
    let sources = interest.sources.iter().filter_map(|source| EventSource::read(&source.manifest).ok());
    let selectors = sources.flat_map(|source| source.selectors);
    let spec = |selector: sluice_api::model::ResourceSelector| WatchSpec {
        labels: selector.labels.to_string(),
        gvk: selector.gvk,
        namespace: selector.namespace,
        name: selector.name,
    };
    let all: BTreeSet<_> = selectors.map(spec).collect();
    let contained = |spec: &WatchSpec| all.iter().any(|other| other != spec && other.contains(spec));
    all.iter().filter(|spec| !contained(spec)).cloned().collect()
}

impl WatchSpec {
    /// Whether every object of `other` is also one of this watch.
    fn contains(&self, other: &Self) -> bool {
        let wider = |own: &str, others: &str| own.is_empty() || own == others;
        self.gvk == other.gvk
            && wider(&self.namespace, &other.namespace)
            && wider(&self.name, &other.name)
            && wider(&self.labels, &other.labels)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_protocol::interest::Source;

    use super::*;

    fn interest(selectors: Value) -> Interest {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": selectors}});
        Interest {
            revision: 1,
            sources: vec![Source { name: "s".into(), changed: 1, manifest: manifest.into() }],
        }
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
    fn broken_sources_ask_for_nothing() {
        assert!(wanted(&interest(json!([{"version": "v1"}]))).is_empty());
    }
}
