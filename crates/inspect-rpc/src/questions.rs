//! Questions as they come: everything in them is checked before anybody is asked.

use sluice_api::model::user_object;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_dryrun::Sources;
use sluice_inspect::{
    AddonFilter, EventsFilter, InspectError, JournalFilter, ProblemFilter, Question, ResourceFilter, STAGES,
    Target, UsageFilter, destination,
};
use sluice_proto::inspect::v1 as proto;
use sluice_proto::inspect::v1::explain_request::About;

use crate::convert::resource::CORE;

/// The stages that tell what they do.
const TELLING: [&str; 3] = ["matcher", "renderer", "deployer"];

type Checked<T> = Result<T, InspectError>;

pub(crate) fn trace(asked: proto::TraceRequest) -> Checked<Target> {
    let cluster = needed_cluster(&asked.cluster)?;
    let object = asked.object.ok_or_else(|| {
        invalid("object", "it is needed; write its kind and name, such as {\"kind\": \"ConfigMap\", \"name\": \"settings\"}")
    })?;
    target("object", cluster, object)
}

pub(crate) fn explain(asked: proto::ExplainRequest) -> Checked<Question> {
    let cluster = needed_cluster(&asked.cluster)?;
    match asked.about {
        Some(About::Trigger(name)) => Ok(Question::Trigger { name: needed("trigger", name)?, cluster }),
        Some(About::Profile(proto::Profile { namespace, name })) => {
            Ok(Question::Profile { namespace, name: needed("profile.name", name)?, cluster })
        }
        Some(About::Object(object)) => Ok(Question::Object(target("object", cluster, object)?)),
        Some(About::Event(object)) => Ok(Question::Event(target("event", cluster, object)?)),
        None => Err(invalid("about", "it is needed; name an object, a trigger, a profile or an event")),
    }
}

pub(crate) fn rollout(asked: proto::RolloutRequest) -> Checked<ObjectKey> {
    let proto::RolloutRequest { kind, namespace, name } = asked;
    if !["ClusterProfile", "Profile", "EventTrigger", "EventBasedAddOn"].contains(&kind.as_str()) {
        let says = format!(
            "{kind:?} is not rolled out; write ClusterProfile, Profile, EventTrigger or EventBasedAddOn"
        );
        return Err(invalid("kind", &says));
    }
    if (kind == "Profile") == namespace.is_empty() {
        return Err(invalid(
            "namespace",
            "a Profile has one, and nothing else has; write it for a Profile alone",
        ));
    }
    Ok(user_object(&kind, &namespace, &needed("name", name)?))
}

pub(crate) fn journal(asked: proto::WatchJournalRequest) -> Checked<JournalFilter> {
    Ok(JournalFilter {
        stage: stage(asked.stage, &TELLING)?,
        cluster: some_cluster(&asked.cluster)?,
        object: text(asked.object),
    })
}

pub(crate) fn problems(asked: proto::ListProblemsRequest) -> Checked<ProblemFilter> {
    Ok(ProblemFilter { stage: stage(asked.stage, &STAGES)?, cluster: some_cluster(&asked.cluster)? })
}

pub(crate) fn addons(asked: proto::ListAddonsRequest) -> Checked<AddonFilter> {
    let charts = match proto::AddonType::try_from(asked.r#type) {
        Ok(proto::AddonType::Unspecified) => None,
        Ok(proto::AddonType::HelmChart) => Some(true),
        Ok(proto::AddonType::Resource) => Some(false),
        Err(_) => {
            let says =
                format!("{} is no type of add-ons; write one of AddonType, or leave it out", asked.r#type);
            return Err(invalid("type", &says));
        }
    };
    if !asked.profile.is_empty() && !asked.profile.contains('/') {
        let says = format!("{:?} has no kind; write Kind/name, such as ClusterProfile/web", asked.profile);
        return Err(invalid("profile", &says));
    }
    Ok(AddonFilter {
        namespace: text(asked.namespace),
        cluster: text(asked.cluster),
        profile: text(asked.profile),
        charts,
    })
}

pub(crate) fn events(asked: proto::ListEventsRequest) -> Checked<EventsFilter> {
    Ok(EventsFilter { cluster: some_cluster(&asked.cluster)?, event_source: text(asked.event_source) })
}

pub(crate) fn usage(asked: proto::ListUsageRequest) -> UsageFilter {
    UsageFilter { kind: text(asked.kind), namespace: text(asked.namespace), name: text(asked.name) }
}

pub(crate) fn resources(asked: proto::ListResourcesRequest) -> ResourceFilter {
    let group = text(asked.group).map(|group| if group == CORE { String::new() } else { group });
    ResourceFilter {
        group,
        kind: text(asked.kind),
        namespace: text(asked.namespace),
        cluster_namespace: text(asked.cluster_namespace),
        cluster: text(asked.cluster),
        full: asked.full,
    }
}

pub(crate) fn shards(asked: proto::ListShardsRequest) -> Checked<Option<String>> {
    stage(asked.stage, &STAGES)
}

pub(crate) fn diff(asked: &proto::DiffRequest) -> Checked<Option<ClusterRef>> {
    if asked.files.is_empty() {
        return Err(invalid("files", "there is none; send the manifests that you mean to apply"));
    }
    some_cluster(&asked.cluster)
}

/// The charts that come with a difference.
pub(crate) fn charts(sent: Vec<proto::Chart>) -> Checked<Sources> {
    let mut sources = Sources::default();
    for (place, proto::Chart { repository, name, archive }) in sent.into_iter().enumerate() {
        let field = |field: &str| format!("charts[{place}].{field}");
        let repository = needed(&field("repository"), repository)?;
        let name = needed(&field("name"), name)?;
        let added = sources.add_archive(&repository, &name, archive);
        added.map_err(|error| invalid(&field("archive"), &format!("{name}: {error}")))?;
    }
    Ok(sources)
}

fn target(field: &str, cluster: ClusterRef, object: proto::Object) -> Checked<Target> {
    let proto::Object { kind, namespace, name } = object;
    let kind = needed(&format!("{field}.kind"), kind)?;
    let name = needed(&format!("{field}.name"), name)?;
    Ok(Target { cluster, kind, namespace, name })
}

fn needed_cluster(written: &str) -> Checked<ClusterRef> {
    destination(written).map_err(|remedy| invalid("cluster", &format!("{written:?} is none; {remedy}")))
}

fn some_cluster(written: &str) -> Checked<Option<ClusterRef>> {
    Some(written).filter(|written| !written.is_empty()).map(needed_cluster).transpose()
}

fn stage(written: String, known: &[&str]) -> Checked<Option<String>> {
    if written.is_empty() || known.contains(&written.as_str()) {
        return Ok(text(written));
    }
    Err(invalid("stage", &format!("{written:?} is none; write one of {}", known.join(", "))))
}

fn needed(field: &str, written: String) -> Checked<String> {
    if written.is_empty() { Err(invalid(field, "it is needed")) } else { Ok(written) }
}

/// A text that restricts the answer, unless it is empty.
pub(crate) fn text(written: String) -> Option<String> {
    Some(written).filter(|written| !written.is_empty())
}

fn invalid(field: &str, says: &str) -> InspectError {
    InspectError::Invalid(format!("{field}: {says}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_understood_is_said_with_its_field_and_the_remedy() {
        let said = |error: InspectError| error.to_string();
        let bare = trace(proto::TraceRequest { cluster: "n/c".into(), object: None }).unwrap_err();
        assert!(said(bare).starts_with("object: it is needed; write its kind and name"));
        let nowhere = explain(proto::ExplainRequest { cluster: "c".into(), about: None }).unwrap_err();
        assert!(said(nowhere).starts_with("cluster: \"c\" is none; write namespace/name"));
        let nothing = explain(proto::ExplainRequest { cluster: "n/c".into(), about: None }).unwrap_err();
        assert!(
            said(nothing)
                .starts_with("about: it is needed; name an object, a trigger, a profile or an event")
        );
        let nameless = proto::Object { kind: "Service".into(), ..Default::default() };
        let nameless = proto::ExplainRequest { cluster: "n/c".into(), about: Some(About::Event(nameless)) };
        assert_eq!(said(explain(nameless).unwrap_err()), "event.name: it is needed");
        let asked = |kind: &str, namespace: &str| {
            rollout(proto::RolloutRequest {
                kind: kind.into(),
                namespace: namespace.into(),
                name: "p".into(),
            })
        };
        assert!(said(asked("Pod", "").unwrap_err()).starts_with("kind: \"Pod\" is not rolled out; write "));
        assert!(said(asked("Profile", "").unwrap_err()).starts_with("namespace: a Profile has one"));
        assert_eq!(asked("Profile", "n").unwrap().to_string(), "Profile n/p");
        let nobody = proto::WatchJournalRequest { stage: "agent".into(), ..Default::default() };
        assert!(said(journal(nobody).unwrap_err()).ends_with("write one of matcher, renderer, deployer"));
        let profile = proto::ListAddonsRequest { profile: "p".into(), ..Default::default() };
        assert!(
            said(addons(profile).unwrap_err()).starts_with("profile: \"p\" has no kind; write Kind/name")
        );
        let unknown = proto::ListAddonsRequest { r#type: 9, ..Default::default() };
        assert!(said(addons(unknown).unwrap_err()).starts_with("type: 9 is no type"));
        assert!(said(diff(&proto::DiffRequest::default()).unwrap_err()).starts_with("files: there is none"));
        let chart = |name: &str| proto::Chart {
            repository: "https://charts.example".into(),
            name: name.into(),
            archive: b"no archive".to_vec(),
        };
        assert_eq!(said(charts(vec![chart("")]).unwrap_err()), "charts[0].name: it is needed");
        assert!(said(charts(vec![chart("web")]).unwrap_err()).starts_with("charts[0].archive: web: "));
    }
}
