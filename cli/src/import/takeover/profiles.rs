//! Whose a deployed object is: the profile that its marks name, and what Sluice calls the same.
//!
//! A profile that a user wrote keeps its name. Of one that a trigger made of an event Sveltos draws the name at random, where the
//! trigger has no `profileNameFormat`; Sluice makes it of the event. The labels of the profile say which event that is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::cloud_event::{EventKey, item_of};
use sluice_api::model::{EventSource, MADE_OF_EVENTS, Trigger};
use sluice_api::{ClusterKind, ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId, object};
use sluice_protocol::rows::{Cause, EventCause};

/// Of profiles without a namespace: ClusterProfiles, and RoleRequests, whose names are no name of an object.
const CLUSTER_WIDE: &str = "ClusterProfile";

/// A profile, as an inventory has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownProfile {
    /// What Sluice calls it.
    pub(super) profile: ProfileId,
    pub(super) cause: Cause,
    /// Whether its objects stay when it goes.
    pub(super) leave: bool,
}

/// All profiles of the management cluster, by kind and by the names that objects may have of them. Or why one is not known.
#[derive(Debug, Default)]
pub(super) struct KnownProfiles(BTreeMap<(&'static str, String), Result<KnownProfile, String>>);

/// What is needed to tell which event a profile was made of.
struct Known {
    triggers: BTreeMap<String, Trigger>,
    sources: BTreeMap<String, BTreeSet<Gvk>>,
    /// Kinds of what EventReports name, by EventSource, namespace and name.
    reported: BTreeMap<(String, String, String), BTreeSet<Gvk>>,
}

// === impl KnownProfiles ===

impl KnownProfiles {
    /// Of the objects of the management cluster.
    pub(super) fn of(objects: &[Value]) -> Self {
        let known = Known::of(objects);
        let mut profiles = Self::default();
        for manifest in objects {
            let kind = match object::text(manifest, &["kind"]) {
                "ClusterProfile" => CLUSTER_WIDE,
                "Profile" => "Profile",
                "RoleRequest" => {
                    let own = ProfileId::role_request(object::name(manifest));
                    let known = KnownProfile {
                        cause: Cause::Profile(own.clone()),
                        profile: own.clone(),
                        leave: false,
                    };
                    profiles.0.insert((CLUSTER_WIDE, own.path()), Ok(known));
                    continue;
                }
                _ => continue,
            };
            let former = ProfileId::new(object::namespace(manifest), object::name(manifest)).path();
            let profile = known.read(manifest, &former);
            // Who is asked once more finds objects that say already what Sluice calls it.
            if let Ok(profile) = &profile {
                profiles.0.insert((kind, profile.profile.path()), Ok(profile.clone()));
            }
            profiles.0.insert((kind, former), profile);
        }
        profiles
    }

    /// The profile that marks name. Of a Profile they may name it without its namespace, which is that of its cluster.
    pub(super) fn find(&self, kind: &str, name: &str, namespace: &str) -> Result<&KnownProfile, String> {
        let kind = if kind == "Profile" { "Profile" } else { CLUSTER_WIDE };
        let of = |name: String| self.0.get(&(kind, name));
        let found = of(name.to_owned()).or_else(|| of(format!("{namespace}/{name}")));
        match found {
            Some(known) => known.as_ref().map_err(Clone::clone),
            None => Err(format!("{kind} {name} is not in the management cluster")),
        }
    }
}

// === impl Known ===

impl Known {
    fn of(objects: &[Value]) -> Self {
        let of_kind =
            |kind: &'static str| objects.iter().filter(move |object| object::text(object, &["kind"]) == kind);
        let triggers = of_kind("EventBasedAddOn").chain(of_kind("EventTrigger"));
        let mut known = Self {
            triggers: triggers.filter_map(|t| Trigger::read(t).ok()).map(|t| (t.name.clone(), t)).collect(),
            sources: BTreeMap::new(),
            reported: BTreeMap::new(),
        };
        for source in of_kind("EventSource").filter_map(|source| EventSource::read(source).ok()) {
            let kinds = source.selectors.into_iter().map(|selector| selector.gvk).collect();
            known.sources.insert(source.name, kinds);
        }
        for report in of_kind("EventReport") {
            let source = object::text(report, &["spec", "eventSourceName"]);
            let matches = object::at(report, &["spec", "matchingResources"]).and_then(Value::as_array);
            for item in matches.into_iter().flatten() {
                let text = |field: &str| object::text(item, &[field]).to_owned();
                let gvk = Gvk::parse(&text("apiVersion"), &text("kind"));
                let key = (source.to_owned(), text("namespace"), text("name"));
                known.reported.entry(key).or_default().insert(gvk);
            }
        }
        known
    }

    fn read(&self, manifest: &Value, former: &str) -> Result<KnownProfile, String> {
        let leave = object::text(manifest, &["spec", "stopMatchingBehavior"]) == "LeavePolicies";
        let label = |name: &str| object::label(manifest, &format!("{MADE_OF_EVENTS}{name}"));
        let own = ProfileId::of_path(former);
        let Some(trigger) = label("eventtriggername") else {
            return Ok(KnownProfile { cause: Cause::Profile(own.clone()), profile: own, leave });
        };
        let Some(trigger) = self.triggers.get(trigger) else {
            return Err(format!("EventTrigger {trigger}, which made it, is not there"));
        };
        let cause = self.event(manifest, trigger)?;
        // A name by a format is the same on both sides.
        let profile = match trigger.profile_name_format {
            Some(_) => own,
            None => ProfileId::cluster(cause.profile_name()),
        };
        Ok(KnownProfile { profile, cause: cause.into(), leave })
    }

    /// The event that a profile was made of, by its labels.
    fn event(&self, manifest: &Value, trigger: &Trigger) -> Result<EventCause, String> {
        let label = |name: &str| object::label(manifest, &format!("{MADE_OF_EVENTS}{name}"));
        let needed =
            |name: &str| label(name).ok_or_else(|| format!("it has no label {MADE_OF_EVENTS}{name}"));
        let kind =
            if label("clustertype") == Some("Capi") { ClusterKind::Capi } else { ClusterKind::Sveltos };
        let cluster = ClusterRef {
            kind,
            namespace: needed("clusterNamespace")?.to_owned(),
            name: needed("clustername")?.to_owned(),
        };
        let source = match label("eventsourcename") {
            Some(source) => source,
            None => needed("eventreportname")?,
        };
        let item = match (label("resourcename"), label("cesource")) {
            (Some(name), _) => {
                let namespace = label("resourcenamespace").unwrap_or_default();
                Some(ObjectKey {
                    gvk: self.kind(source, namespace, name)?,
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            (None, Some(from)) => Some(cloud_event(from, label("cesubject").unwrap_or_default())?),
            (None, None) => None,
        };
        Ok(EventCause {
            trigger: TriggerId::new(&trigger.kind, &trigger.name),
            cluster,
            source: source.to_owned(),
            item,
        })
    }

    /// The kind of the object that an event is: labels do not say it.
    fn kind(&self, source: &str, namespace: &str, name: &str) -> Result<Gvk, String> {
        let Some(kinds) = self.sources.get(source) else {
            return Err(format!("EventSource {source} is not there"));
        };
        let key = (source.to_owned(), namespace.to_owned(), name.to_owned());
        let reported = self.reported.get(&key).into_iter().flatten();
        let may_be = |gvk: &&Gvk| kinds.len() == 1 || reported.clone().any(|other| gvk.is_kind_of(other));
        let found: Vec<&Gvk> = kinds.iter().filter(may_be).collect();
        match &found[..] {
            [one] => Ok((*one).clone()),
            _ => Err(format!(
                "EventSource {source} selects several kinds, and no EventReport says of which {namespace}/{name} is"
            )),
        }
    }
}

/// The CloudEvent of these labels. In labels each `/` has become `-`.
fn cloud_event(source: &str, subject: &str) -> Result<ObjectKey, String> {
    if source.contains('-') || subject.contains('-') {
        return Err(format!(
            "its CloudEvent is of {source:?} and {subject:?}, in which a \"-\" may stand for a \"/\""
        ));
    }
    let key = EventKey {
        source: source.into(),
        subject: subject.into(),
        kind: String::new(),
        channel: String::new(),
    };
    Ok(item_of(&key.object_key()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn trigger(spec: &Value) -> Value {
        let mut manifest = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "t"},
            "spec": {"sourceClusterSelector": {"matchLabels": {"a": "b"}}, "eventSourceName": "s", "oneForEvent": true}});
        manifest["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        manifest
    }

    fn source(kinds: &[&str]) -> Value {
        let selector = |kind: &&str| json!({"group": "", "version": "v1", "kind": kind});
        let selectors: Vec<Value> = kinds.iter().map(selector).collect();
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"resourceSelectors": selectors}})
    }

    fn made(labels: &[(&str, &str)]) -> Value {
        let always = [
            ("eventtriggername", "t"),
            ("clusterNamespace", "n"),
            ("clustername", "c"),
            ("clustertype", "Sveltos"),
            ("eventsourcename", "s"),
        ];
        let labels: BTreeMap<String, &str> = always
            .iter()
            .chain(labels)
            .map(|(name, value)| (format!("{MADE_OF_EVENTS}{name}"), *value))
            .collect();
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
            "metadata": {"name": "sveltos-abcdefghijabcdefghij", "labels": labels}, "spec": {}})
    }

    fn known_as(objects: &[Value]) -> Result<KnownProfile, String> {
        KnownProfiles::of(objects).find("ClusterProfile", "sveltos-abcdefghijabcdefghij", "n").cloned()
    }

    #[test]
    fn what_users_wrote_keeps_its_name_and_a_profile_is_found_without_its_namespace() {
        let profile = |kind: &str, namespace: &str| json!({"kind": kind, "metadata": {"name": "p", "namespace": namespace}, "spec": {"stopMatchingBehavior": "LeavePolicies"}});
        let profiles = KnownProfiles::of(&[profile("ClusterProfile", ""), profile("Profile", "n")]);
        let of_cluster = profiles.find("ClusterProfile", "p", "n").unwrap();
        assert_eq!((of_cluster.profile.path(), of_cluster.leave), ("p".to_owned(), true));
        assert_eq!(profiles.find("Profile", "p", "n").unwrap().profile, ProfileId::new("n", "p"));
        assert_eq!(
            profiles.find("Profile", "n/p", "n").unwrap().cause,
            Cause::Profile(ProfileId::new("n", "p"))
        );
        assert!(
            profiles
                .find("ClusterProfile", "q", "n")
                .unwrap_err()
                .contains("q is not in the management cluster")
        );
    }

    #[test]
    fn a_role_request_is_a_profile_too() {
        let request = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "RoleRequest", "metadata": {"name": "r"}});
        let profiles = KnownProfiles::of(&[request]);
        let found = profiles.find("RoleRequest", "rolerequest:r", "n").unwrap();
        let own = ProfileId::role_request("r");
        assert_eq!((&found.profile, &found.cause), (&own, &Cause::Profile(own.clone())));
    }

    #[test]
    fn what_an_event_led_to_gets_the_name_that_follows_from_the_event() {
        let labels = [("resourcename", "web"), ("resourcenamespace", "default")];
        let found = known_as(&[trigger(&json!({})), source(&["Service"]), made(&labels)]).unwrap();
        let Cause::Event(cause) = &found.cause else { panic!("{found:?}") };
        assert_eq!(cause.item.as_ref().unwrap().to_string(), "Service default/web");
        assert_eq!(found.profile, ProfileId::cluster(cause.profile_name()));
        // It is found by that name as well.
        let profiles = KnownProfiles::of(&[trigger(&json!({})), source(&["Service"]), made(&labels)]);
        assert_eq!(profiles.find("ClusterProfile", &found.profile.path(), "").unwrap(), &found);
        // All together, and by a format.
        let together =
            known_as(&[trigger(&json!({"oneForEvent": false})), source(&["Service", "Pod"]), made(&[])])
                .unwrap();
        assert!(matches!(together.cause, Cause::Event(cause) if cause.item.is_none()));
        let named = known_as(&[
            trigger(&json!({"profileNameFormat": "x-{{ .Cluster.metadata.name }}"})),
            source(&["Service"]),
            made(&labels),
        ]);
        assert_eq!(named.unwrap().profile.path(), "sveltos-abcdefghijabcdefghij");
    }

    #[test]
    fn the_kind_is_that_of_the_report_where_a_source_has_several() {
        let labels = [("resourcename", "web"), ("resourcenamespace", "default")];
        let objects = [trigger(&json!({})), source(&["Service", "Pod"]), made(&labels)];
        assert!(known_as(&objects).unwrap_err().contains("several kinds"));
        let report = json!({"kind": "EventReport", "metadata": {"name": "r"}, "spec": {"eventSourceName": "s",
            "matchingResources": [{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web"}]}});
        let found = known_as(&[&objects[..], &[report]].concat()).unwrap();
        assert!(matches!(found.cause, Cause::Event(cause) if cause.item.as_ref().unwrap().gvk.kind == "Pod"));
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        let labels = [("resourcename", "web")];
        assert!(known_as(&[source(&["Pod"]), made(&labels)]).unwrap_err().contains("EventTrigger t"));
        assert!(known_as(&[trigger(&json!({})), made(&labels)]).unwrap_err().contains("EventSource s"));
        let events = |source_label: &str| {
            known_as(&[
                trigger(&json!({})),
                source(&[]),
                made(&[("cesource", source_label), ("cesubject", "x")]),
            ])
        };
        assert!(events("a-b").unwrap_err().contains("CloudEvent"));
        assert!(
            matches!(events("a").unwrap().cause, Cause::Event(cause) if cause.item.as_ref().unwrap().namespace == "a")
        );
    }
}
