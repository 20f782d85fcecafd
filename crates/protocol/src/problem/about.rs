//! What a problem is about.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sluice_api::model::{ClusterSetId, NAMESPACE as SYSTEM, registration, user_object};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};

use crate::Shard;
use crate::rows::EventCause;

/// What a problem is about. Its text form names the user's object first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum About {
    /// The cluster itself.
    Cluster,
    /// How the cluster is reached.
    Kubeconfig,
    /// Whether the token by which it is reached can be renewed.
    Token,
    /// What its registration says.
    Registration,
    /// Whether the cluster is ready for its first add-on.
    Readiness,
    /// Whether the deployer is heard that is in a cluster which pulls.
    Presence,
    /// Whether the cluster is well.
    Liveness,
    /// What is asked of the cluster: its interest row.
    Interest,
    /// The version and the kinds of the cluster.
    Capabilities,
    /// A watch of objects of this kind in the cluster.
    Watch(Gvk),
    /// A watch of objects of this kind in the management cluster.
    ManagementWatch(String),
    /// CloudEvents on this channel.
    CloudEvents(String),
    /// An object of the cluster.
    Object(ObjectKey),
    /// An EventSource, by its name.
    Source(String),
    /// What an EventSource makes of one object.
    Match(String, ObjectKey),
    /// A trigger as a whole, for example one whose template is wrong.
    Trigger(TriggerId),
    /// What a trigger makes of an event.
    Event(Arc<EventCause>),
    /// A profile on its way to one cluster.
    Profile(ProfileId),
    /// A cluster set as a whole.
    ClusterSet(ClusterSetId),
    /// A stream, by its name: what is wrong concerns everything in it.
    Stream(String),
    /// The shard that is called so.
    Shard(String),
    /// The row with this subject.
    Row(String),
    /// A message on this subject, which may be anybody's.
    Message(String),
    /// What is written of this kind to the management cluster.
    Projections(String),
    /// What this shard of the renderers would withdraw of a fleet: what waits in one is approved by itself.
    Withdrawals(Shard),
    /// A manifest, as it describes itself.
    Manifest(String),
    /// More objects of the cluster than are listed.
    Further,
    /// One of these that cannot be on another cluster.
    On(Box<About>, ClusterRef),
    /// One of these as a tenant sees it: its account in `projectsveltos` of the cluster, by name.
    Tenant(Box<About>, String),
}

// === impl About ===

impl About {
    /// The same as this viewer sees it; empty for the agent itself.
    #[must_use]
    pub fn seen_by(self, viewer: &str) -> Self {
        if viewer.is_empty() { self } else { Self::Tenant(Box::new(self), viewer.to_owned()) }
    }

    /// Whether it is about an EventSource, or what that makes of an object.
    pub fn is_of_source(&self, source: &str) -> bool {
        matches!(self, Self::Source(name) | Self::Match(name, _) if name == source)
    }

    /// Whether it is about what an EventSource makes of this object.
    pub fn is_match_of(&self, object: &ObjectKey) -> bool {
        matches!(self, Self::Match(_, key) if key == object)
    }

    /// The object that a user can mend: what a user wrote, or the registration of the cluster that the problem is of.
    pub fn user_object(&self, cluster: Option<&ClusterRef>) -> Option<ObjectKey> {
        match self {
            Self::Cluster
            | Self::Kubeconfig
            | Self::Token
            | Self::Registration
            | Self::Readiness
            | Self::Presence
            | Self::Liveness => cluster.and_then(registration),
            Self::Source(name) | Self::Match(name, _) => Some(user_object("EventSource", "", name)),
            Self::Trigger(id) => Some(user_object(id.kind(), "", id.name())),
            Self::Event(event) => Some(user_object(event.trigger.kind(), "", event.trigger.name())),
            Self::Profile(id) if id.is_role_request() => Some(user_object(id.kind(), "", id.object_name())),
            Self::Profile(id) => Some(user_object(id.kind(), &id.namespace, &id.name)),
            Self::ClusterSet(id) => Some(user_object(id.kind(), &id.namespace, &id.name)),
            Self::On(about, _) | Self::Tenant(about, _) => about.user_object(cluster),
            // It is in a cluster, where it has another meaning.
            Self::Object(_)
            | Self::Interest
            | Self::Capabilities
            | Self::Watch(_)
            | Self::ManagementWatch(_)
            | Self::CloudEvents(_)
            | Self::Stream(_)
            | Self::Shard(_)
            | Self::Row(_)
            | Self::Message(_)
            | Self::Projections(_)
            | Self::Withdrawals(_)
            | Self::Manifest(_)
            | Self::Further => None,
        }
    }

    /// What it is about besides the user's object, as people read it; empty where that is all.
    pub fn besides(&self) -> String {
        match self {
            Self::Match(_, object) => object.to_string(),
            Self::Event(event) => match &event.item {
                None => format!("EventSource {}", event.source),
                Some(item) => format!("EventSource {}, {item}", event.source),
            },
            Self::On(about, cluster) => match about.besides().as_str() {
                "" => format!("on {cluster}"),
                besides => format!("{besides}, on {cluster}"),
            },
            _ => String::new(),
        }
    }

    /// By what metrics count it: the kind of a user's object, or one of a few words.
    pub fn word(&self) -> &str {
        match self {
            Self::Cluster => "cluster",
            Self::Kubeconfig => "kubeconfig",
            Self::Token => "token",
            Self::Registration => "registration",
            Self::Readiness => "readiness",
            Self::Presence => "presence",
            Self::Liveness => "liveness",
            Self::Interest => "interest",
            Self::Capabilities => "capabilities",
            Self::Watch(_) | Self::ManagementWatch(_) => "watch",
            Self::CloudEvents(_) => "CloudEvents",
            Self::Object(key) => &key.gvk.kind,
            Self::Source(_) | Self::Match(..) => "EventSource",
            Self::Trigger(id) => id.kind(),
            Self::Event(event) => event.trigger.kind(),
            Self::Profile(id) => id.kind(),
            Self::ClusterSet(id) => id.kind(),
            Self::Stream(_) => "stream",
            Self::Shard(_) => "shard",
            Self::Row(_) => "row",
            Self::Message(_) => "message",
            Self::Projections(_) => "projections",
            Self::Withdrawals(_) => "withdrawals",
            Self::Manifest(_) => "manifest",
            Self::Further => "further",
            Self::On(about, _) | Self::Tenant(about, _) => about.word(),
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Kubeconfig => f.write_str("kubeconfig"),
            Self::Token => f.write_str("token of the kubeconfig"),
            Self::Registration => f.write_str("registration"),
            Self::Readiness => f.write_str("readiness of the cluster"),
            Self::Presence => f.write_str("deployer in the cluster"),
            Self::Liveness => f.write_str("liveness of the cluster"),
            Self::Interest => f.write_str("interest"),
            Self::Capabilities => f.write_str("what the cluster can do"),
            Self::Watch(gvk) => write!(f, "watch of {gvk}"),
            Self::ManagementWatch(kind) => write!(f, "watch of {kind} in the management cluster"),
            Self::CloudEvents(channel) => write!(f, "CloudEvents on {channel}"),
            Self::Object(object) => write!(f, "{object}"),
            Self::Source(name) => write!(f, "EventSource {name}"),
            Self::Match(name, object) => write!(f, "EventSource {name}, {object}"),
            Self::Trigger(id) => f.write_str(&id.described()),
            Self::Event(event) => {
                write!(f, "{}, EventSource {}", event.trigger.described(), event.source)?;
                event.item.iter().try_for_each(|item| write!(f, ", {item}"))
            }
            Self::Profile(id) => write!(f, "{id}"),
            Self::ClusterSet(id) => write!(f, "{id}"),
            Self::Stream(name) => write!(f, "stream {name}"),
            Self::Shard(name) => write!(f, "shard {name}"),
            Self::Row(subject) => write!(f, "row {subject}"),
            Self::Message(subject) => write!(f, "message {subject}"),
            Self::Projections(kind) => write!(f, "projections of kind {kind}"),
            Self::Withdrawals(shard) => write!(f, "withdrawals of shard {:02}", shard.get()),
            Self::Manifest(described) => f.write_str(described),
            Self::Further => f.write_str("further objects"),
            Self::On(about, cluster) => write!(f, "{about}, on {cluster}"),
            Self::Tenant(about, viewer) => write!(f, "{about}, as ServiceAccount {SYSTEM}/{viewer}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::ClusterKind;

    use super::*;

    fn service() -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: "x".into() }
    }

    #[test]
    fn the_users_object_is_known_whatever_depends_on_it() {
        let cluster = ClusterRef::sveltos("n", "c");
        let capi = ClusterRef { kind: ClusterKind::Capi, ..cluster.clone() };
        let of = |about: About| about.user_object(Some(&cluster)).map(|key| key.to_string());
        let some = |text: &str| Some(text.to_owned());
        let trigger = TriggerId::new("EventTrigger", "t");
        let event =
            EventCause { trigger: trigger.clone(), cluster: cluster.clone(), source: "s".into(), item: None };
        assert_eq!(of(About::Kubeconfig), some("SveltosCluster n/c"));
        assert_eq!(of(About::Token), some("SveltosCluster n/c"));
        assert_eq!(About::Cluster.user_object(Some(&capi)), None);
        assert_eq!(About::Cluster.user_object(None), None);
        assert_eq!(of(About::Event(event.into())), some("EventTrigger t"));
        assert_eq!(of(About::Match("s".into(), service())), some("EventSource s"));
        assert_eq!(of(About::Profile(ProfileId::new("n", "p"))), some("Profile n/p"));
        assert_eq!(of(About::Profile(ProfileId::role_request("r"))), some("RoleRequest r"));
        assert_eq!(of(About::On(Box::new(About::Trigger(trigger)), cluster.clone())), some("EventTrigger t"));
        for about in [About::Interest, About::Further, About::Shard("3".into()), About::Object(service())] {
            assert_eq!(of(about), None);
        }
    }

    #[test]
    fn its_text_is_the_users_object_and_what_else_it_is_about() {
        let cluster = ClusterRef::sveltos("n", "c");
        let trigger = TriggerId::new("EventTrigger", "t");
        let cause =
            EventCause { trigger, cluster: cluster.clone(), source: "s".into(), item: Some(service()) };
        let event = About::Event(cause.into());
        for about in [About::Match("s".into(), service()), event.clone(), About::On(Box::new(event), cluster)]
        {
            let object = about.user_object(None).unwrap();
            assert_eq!(about.to_string(), format!("{object}, {}", about.besides()));
        }
        assert_eq!(About::Source("s".into()).besides(), "");
    }

    #[test]
    fn what_tenants_see_is_told_apart() {
        let watch = || About::Watch(service().gvk);
        assert_eq!(watch().seen_by(""), watch());
        let tenants = watch().seen_by("team--x");
        assert_eq!(tenants.to_string(), "watch of v1/Service, as ServiceAccount projectsveltos/team--x");
        assert_eq!((tenants.word(), tenants.user_object(None)), ("watch", None));
    }

    #[test]
    fn it_comes_back_as_it_was() {
        for about in [
            About::Cluster,
            About::Watch(service().gvk),
            About::Watch(service().gvk).seen_by("x"),
            About::Match("s".into(), service()),
            About::ClusterSet(ClusterSetId { namespace: "n".into(), name: "s".into() }),
            About::On(Box::new(About::Profile(ProfileId::cluster("p"))), ClusterRef::sveltos("n", "c")),
        ] {
            let text = serde_json::to_string(&about).unwrap();
            assert_eq!(serde_json::from_str::<About>(&text).unwrap(), about, "{text}");
        }
    }
}
