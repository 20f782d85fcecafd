//! Which watches an interest row asks for.
//!
//! Two watches of one kind are never of one moment: an object whose labels change would go from one to the other, and be in
//! neither in between, or be shown by the slower one as it was before. So no two of them can show the same object. Where
//! selections of a kind may have an object in common, now or after its labels have changed, one watch shows them all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::model::{EventSource, ResourceSelector};
use sluice_api::{Gvk, Selector, object};
use sluice_protocol::interest::{Interest, Source};

/// Objects of one kind, narrowed as far as a server can.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// Group, version and kind, as discovery of the cluster has them.
    pub gvk: Gvk,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The labels; empty for all.
    pub labels: Selector,
}

// D-0816: a tenant's EventSource sees what the tenant may see.
/// One watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchSpec {
    /// As whom the server is asked: the name of a ServiceAccount in `projectsveltos` of the cluster; empty for the agent itself.
    pub viewer: String,
    /// What the server is asked for.
    pub scope: Selection,
    /// What of it is wanted.
    selections: BTreeSet<Selection>,
}

// D-0804: an EventSource that cannot be read keeps its watches.
/// What each source asks for, by name; `None` for one that could never be read. One that cannot be read any more, for a
/// typing error or because it is of a newer version, asks for what it asked for `before`: the matcher reports it.
pub(crate) fn by_source(interest: &Interest, before: &Wishes) -> Wishes {
    let wish = |source: &Source| {
        let wish = match EventSource::read(&source.manifest) {
            Ok(read) => Some(Wish {
                viewer: read.tenant.map_or_else(String::new, |account| account.name),
                events: !read.criteria.is_empty(),
                selections: read.selectors.into_iter().map(Selection::from).collect(),
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
    /// As whom its objects are watched; empty for the agent itself.
    pub(crate) viewer: String,
    pub(crate) selections: BTreeSet<Selection>,
    /// Whether it asks for CloudEvents.
    pub(crate) events: bool,
}

/// The watches that are needed for it.
pub(crate) fn wanted(wishes: &Wishes) -> BTreeSet<WatchSpec> {
    let mut by_viewer = BTreeMap::<&str, BTreeSet<&Selection>>::new();
    for wish in wishes.values().flatten() {
        by_viewer.entry(&wish.viewer).or_default().extend(&wish.selections);
    }
    by_viewer.into_iter().flat_map(|(viewer, all)| wanted_by(viewer, &all)).collect()
}

// D-0802: no two watches can show one object to one viewer.
fn wanted_by(viewer: &str, all: &BTreeSet<&Selection>) -> Vec<WatchSpec> {
    let contained = |one: &Selection| all.iter().any(|other| **other != *one && other.contains(one));
    let mut watches = Vec::<WatchSpec>::new();
    for selection in all.iter().filter(|selection| !contained(selection)) {
        let mut watch = WatchSpec {
            viewer: viewer.to_owned(),
            scope: (*selection).clone(),
            selections: BTreeSet::from([(*selection).clone()]),
        };
        // A scope that has grown may reach others.
        while let Some(index) = watches.iter().position(|other| watch.scope.meets(&other.scope)) {
            let other = watches.swap_remove(index);
            watch.scope = watch.scope.with(&other.scope);
            watch.selections.extend(other.selections);
        }
        watches.push(watch);
    }
    watches
}

// === impl Selection ===

impl From<ResourceSelector> for Selection {
    fn from(selector: ResourceSelector) -> Self {
        let ResourceSelector { gvk, namespace, name, labels, .. } = selector;
        Self { gvk, namespace, name, labels }
    }
}

impl Selection {
    /// Whether every object of `other` is also one of this.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let wider = |own: &str, others: &str| own.is_empty() || own == others;
        self.gvk == other.gvk
            && wider(&self.namespace, &other.namespace)
            && wider(&self.name, &other.name)
            && (self.labels.is_empty() || self.labels == other.labels)
    }

    /// Whether an object may be one of both, now or when its labels have changed.
    fn meets(&self, other: &Self) -> bool {
        let meet = |own: &str, others: &str| own.is_empty() || others.is_empty() || own == others;
        self.gvk == other.gvk && meet(&self.namespace, &other.namespace) && meet(&self.name, &other.name)
    }

    /// What contains both, of one kind.
    fn with(&self, other: &Self) -> Self {
        let common = |own: &str, others: &str| if own == others { own.to_owned() } else { String::new() };
        Self {
            gvk: self.gvk.clone(),
            namespace: common(&self.namespace, &other.namespace),
            name: common(&self.name, &other.name),
            labels: if self.labels == other.labels { self.labels.clone() } else { Selector::default() },
        }
    }

    /// Whether an object of the kind is selected. One without namespace is in every namespace, as for a server.
    pub fn selects(&self, object: &Value) -> bool {
        let text = |field| object::text(object, &["metadata", field]);
        let namespace = text("namespace");
        (self.namespace.is_empty() || namespace.is_empty() || self.namespace == namespace)
            && (self.name.is_empty() || self.name == text("name"))
            && self.labels.matches(object::at(object, &["metadata", "labels"]))
    }
}

// === impl WatchSpec ===

impl WatchSpec {
    /// Whether an object that the server shows is wanted.
    pub fn wants(&self, object: &Value) -> bool {
        // The server has looked at the only one.
        self.selections.len() == 1 || self.selections.iter().any(|selection| selection.selects(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use sluice_protocol::Revision;

    fn interest(selectors: Value) -> Wishes {
        after(selectors, &Wishes::new())
    }

    fn after(selectors: Value, before: &Wishes) -> Wishes {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": selectors}});
        let sources = vec![Source { name: "s".into(), changed: Revision::new(1), manifest: manifest.into() }];
        by_source(&Interest { revision: Revision::new(1), sources, ..Interest::default() }, before)
    }

    /// The scopes of what is wanted, as `namespace/name labels`.
    fn scopes(selectors: Value) -> Vec<String> {
        let scope =
            |spec: WatchSpec| format!("{}/{} {}", spec.scope.namespace, spec.scope.name, spec.scope.labels);
        wanted(&interest(selectors)).into_iter().map(scope).collect()
    }

    fn services(namespace: &str, name: &str, label: &str) -> Value {
        let filters: Vec<_> = [label]
            .iter()
            .filter(|label| !label.is_empty())
            .map(|label| json!({"key": label, "operation": "Has"}))
            .collect();
        json!({"version": "v1", "kind": "Service", "namespace": namespace, "name": name, "labelFilters": filters})
    }

    #[test]
    fn labels_and_places_are_left_to_the_server() {
        assert_eq!(scopes(json!([services("eng", "x", "a")])), ["eng/x a"]);
    }

    #[test]
    fn what_can_have_no_object_in_common_is_watched_apart() {
        let apart = json!([
            services("eng", "", "a"),
            services("ops", "", "a"),
            services("web", "x", ""),
            services("web", "y", "b")
        ]);
        assert_eq!(scopes(apart), ["eng/ a", "ops/ a", "web/x ", "web/y b"]);
        let kinds = json!([services("", "", ""), {"version": "v1", "kind": "Pod", "name": "p"}]);
        assert_eq!(scopes(kinds).len(), 2);
    }

    #[test]
    fn what_can_have_an_object_in_common_is_one_watch() {
        assert_eq!(
            scopes(json!([services("eng", "", ""), services("", "", "")])),
            ["/ "],
            "one is in the other"
        );
        assert_eq!(scopes(json!([services("eng", "", "a"), services("eng", "", "b")])), ["eng/ "]);
        assert_eq!(scopes(json!([services("eng", "", "a"), services("", "x", "a")])), ["/ a"]);
        let bridge = json!([services("eng", "", "a"), services("ops", "y", ""), services("", "x", "")]);
        assert_eq!(scopes(bridge), ["/ "], "what contains two of them may reach a third one");
    }

    #[test]
    fn of_a_scope_that_serves_many_only_what_one_of_them_selects_is_wanted() {
        let both = wanted(&interest(json!([services("eng", "", "a"), services("", "x", "b")])));
        let watch = both.first().expect("one watch");
        let wants = |namespace: &str, name: &str, labels: Value| {
            watch.wants(&json!({"metadata": {"namespace": namespace, "name": name, "labels": labels}}))
        };
        assert!(wants("eng", "y", json!({"a": ""})) && wants("ops", "x", json!({"b": ""})));
        assert!(!wants("ops", "y", json!({"a": "", "b": ""})) && !wants("eng", "y", json!({"b": ""})));
        assert!(
            wants("", "y", json!({"a": ""})),
            "who asks for a namespace of a kind that has none gets all"
        );
    }

    #[test]
    fn another_selection_is_another_watch_also_of_the_same_scope() {
        let two = wanted(&interest(json!([services("", "", "a"), services("", "", "b")])));
        let three =
            wanted(&interest(json!([services("", "", "a"), services("", "", "b"), services("", "", "c")])));
        assert_ne!(two, three, "what the third one selects has to be listed");
        let inside = wanted(&interest(json!([
            services("", "", "a"),
            services("", "", "b"),
            services("eng", "", "a")
        ])));
        assert_eq!(two, inside, "nothing has to");
    }

    #[test]
    fn tenants_share_no_watch_with_each_other_or_with_the_agent() {
        let source = |name: &str, labels: Value| Source {
            name: name.into(),
            changed: Revision::new(1),
            manifest: json!({"kind": "EventSource", "metadata": {"name": name, "labels": labels},
                "spec": {"resourceSelectors": [services("", "", "a")]}})
            .into(),
        };
        let account = |name: &str| json!({"projectsveltos.io/serviceaccount-name": name, "projectsveltos.io/serviceaccount-namespace": "t"});
        let sources = vec![
            source("own", json!({})),
            source("x", account("x")),
            source("x-too", account("x")),
            source("y", json!({"projectsveltos.io/admin-name": "y"})),
        ];
        let interest = Interest { revision: Revision::new(1), sources, ..Interest::default() };
        let viewers = |spec: WatchSpec| spec.viewer;
        let all: Vec<_> = wanted(&by_source(&interest, &Wishes::new())).into_iter().map(viewers).collect();
        assert_eq!(all, ["", "t--x", "y"]);
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
