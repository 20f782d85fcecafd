//! Profiles and triggers as people write them: `Kind/name` or `Kind/namespace/name`.

use sluice_api::model::{CONFIG_GROUP, LIB_GROUP};
use sluice_api::{Gvk, ObjectKey, kinds};

/// A profile.
pub(crate) fn profile(text: &str) -> Result<ObjectKey, String> {
    read(text, &profiles()).ok_or_else(|| "write ClusterProfile/name or Profile/namespace/name".to_owned())
}

/// A profile or a trigger.
pub(crate) fn maker(text: &str) -> Result<ObjectKey, String> {
    let triggers = ["EventTrigger", "EventBasedAddOn"].map(|kind| Gvk::new(LIB_GROUP, "v1beta1", kind));
    let all: Vec<Gvk> = profiles().into_iter().chain(triggers).collect();
    let remedy = "write ClusterProfile/name, Profile/namespace/name or EventTrigger/name";
    read(text, &all).ok_or_else(|| remedy.to_owned())
}

fn profiles() -> [Gvk; 2] {
    ["ClusterProfile", "Profile"].map(|kind| Gvk::new(CONFIG_GROUP, "v1beta1", kind))
}

/// An object of one of these kinds, of which only a Profile has a namespace.
fn read(text: &str, kinds: &[Gvk]) -> Option<ObjectKey> {
    let parts: Vec<&str> = text.split('/').collect();
    let (kind, namespace, name) = match parts[..] {
        [kind, name] => (kind, "", name),
        [kind, namespace, name] => (kind, namespace, name),
        _ => return None,
    };
    let gvk = kinds.iter().find(|gvk| kinds::is_called(gvk, kind))?;
    let is_whole = !name.is_empty() && (gvk.kind == "Profile") != namespace.is_empty();
    is_whole.then(|| ObjectKey { gvk: gvk.clone(), namespace: namespace.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_maker_is_written_with_its_kind() {
        let named = |text: &str| maker(text).map(|key| key.to_string());
        assert_eq!(named("ClusterProfile/p").unwrap(), "ClusterProfile p");
        assert_eq!(named("profiles/n/p").unwrap(), "Profile n/p");
        assert_eq!(named("eventtrigger/t").unwrap(), "EventTrigger t");
        for wrong in ["p", "Profile/p", "ClusterProfile/n/p", "ClusterProfile/", "Pod/x", "", "Profile//p"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_profile_is_no_trigger() {
        let named = |text: &str| profile(text).map(|key| key.to_string());
        assert_eq!(named("clusterprofiles/p").unwrap(), "ClusterProfile p");
        assert_eq!(named("profile.config.projectsveltos.io/n/p").unwrap(), "Profile n/p");
        for wrong in ["p", "Profile/p", "ClusterProfile/", "Profile//p", "EventTrigger/t"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }
}
