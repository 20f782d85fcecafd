//! What is said when two profiles claim one object.

use sluice_api::{ObjectKey, ProfileId};

use crate::request::OwningProfile;

/// The live object says that it belongs to another profile.
pub(crate) fn owned_by(key: &ObjectKey, owner: &OwningProfile) -> String {
    let name = ProfileId::of_path(&owner.name);
    let name = if name.is_role_request() { name.object_name() } else { &owner.name };
    conflict(key, &format!("{} {name}", owner.kind), &owner.reference)
}

/// Another profile deploys the object.
pub(crate) fn conflict(key: &ObjectKey, profile: &str, reference: &str) -> String {
    format!(
        "A conflict was detected while deploying resource {key}. The profile currently deploying this resource is {profile}, because of {reference}. \
         Give this profile a lower tier, or remove the resource from one of them."
    )
}

/// Another profile has the release.
pub(crate) fn release_conflict(release: &str, profile: &str, given_back: Option<&String>) -> String {
    if let Some(why) = given_back {
        return format!(
            "release {release} was given back to {profile}, since it cannot be as this profile wants it: {why}; it is tried again when \
             this profile changes"
        );
    }
    format!(
        "release {release} is managed by {profile}, which keeps it; give this profile a lower tier, or rename or remove the \
         release in one of them"
    )
}
