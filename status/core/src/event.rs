//! Kubernetes Events of users' objects: that something is wrong with one, and that nothing is any more. Two for an object at
//! most, whatever happens how often: each is written again, with its newest text and time.

// D-0607: two Kubernetes Events for an object at most.

use serde_json::{Value, json};
use sluice_api::{Digest, Gvk, ObjectKey, object};

use crate::condition::{clipped, complaint, timestamp};

/// API servers take no longer message, bytes.
const LONGEST: usize = 1024;
/// Events of objects without a namespace are in this one.
const NAMESPACE: &str = "default";
/// Who says so.
const COMPONENT: &str = "sluice-renderer";

/// The Event that is due when the object's status was `before` and becomes `after`, if one is.
pub(crate) fn of(
    key: &ObjectKey,
    uid: &str,
    before: Option<&Value>,
    after: &Value,
    now: i64,
) -> Option<(ObjectKey, Value)> {
    let (old, new) = (before.and_then(complaint), complaint(after));
    let (kind, reason, message) = match (old, new) {
        (_, Some(new)) if old != Some(new) => ("Warning", "Problem", new.to_owned()),
        (Some(old), None) => ("Normal", "Resolved", format!("no longer: {old}")),
        _ => return None,
    };
    let namespace = if key.namespace.is_empty() { NAMESPACE } else { &key.namespace };
    // The name of an object may be as long as that of its Event may be.
    let hashed = || Digest::of(&[key.name.as_bytes()]).to_string();
    let of = if key.name.len() > 200 { hashed() } else { key.name.clone() };
    let name = format!("{of}.{}", format!("{}-{reason}", key.gvk.kind).to_lowercase());
    let about = json!({"apiVersion": key.gvk.api_version(), "kind": key.gvk.kind, "namespace": key.namespace,
        "name": key.name, "uid": uid});
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": about,
        "type": kind,
        "reason": reason,
        "message": clipped(&message, LONGEST - 4),
        "firstTimestamp": timestamp(now),
        "lastTimestamp": timestamp(now),
        "count": 1,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
    });
    let gvk = Gvk::new("", "v1", "Event");
    Some((ObjectKey { gvk, namespace: namespace.to_owned(), name: object::name(&event).to_owned() }, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey {
            gvk: Gvk::new("config.projectsveltos.io", "v1beta1", "Profile"),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    fn status(message: Option<&str>) -> Value {
        let Some(message) = message else {
            return json!({"conditions": [{"type": "Ready", "status": "True"}]});
        };
        json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Problem", "message": message}]})
    }

    fn told(before: Option<&str>, after: Option<&str>) -> Option<[String; 2]> {
        let (_, event) = of(&key("team", "p"), "7", Some(&status(before)), &status(after), 0)?;
        Some(["type", "message"].map(|field| object::text(&event, &[field]).to_owned()))
    }

    #[test]
    fn what_is_wrong_from_now_on_and_what_is_no_more_is_told_and_nothing_else() {
        let warning = |text: &str| Some(["Warning".to_owned(), text.to_owned()]);
        assert_eq!(told(None, Some("a")), warning("a"));
        assert_eq!(told(Some("a"), Some("b")), warning("b"));
        assert_eq!(told(Some("a"), None), Some(["Normal".into(), "no longer: a".into()]));
        assert_eq!((told(None, None), told(Some("a"), Some("a"))), (None, None));
    }

    #[test]
    fn an_event_is_found_by_its_object_and_is_where_api_servers_want_it() {
        let (place, told) = of(&key("", "p"), "7", None, &status(Some("a")), 0).unwrap();
        assert_eq!(place.to_string(), "Event default/p.profile-problem");
        assert_eq!(told["involvedObject"]["uid"], "7");
        assert_eq!(told["involvedObject"]["namespace"], "");
        assert_eq!(told["lastTimestamp"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn no_text_is_longer_than_api_servers_take() {
        let (long, name) = ("ä".repeat(3000), "n".repeat(253));
        let (place, told) = of(&key("team", &name), "7", None, &status(Some(&long)), 0).unwrap();
        assert!(place.name.len() <= 253 && place.name.is_ascii(), "{}", place.name);
        assert!(object::text(&told, &["message"]).len() <= LONGEST);
    }
}
