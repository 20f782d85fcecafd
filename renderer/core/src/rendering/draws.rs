//! For whom and where random values are drawn: nobody else who renders the same text or chart draws the same.
//!
//! A destination is called by its registration. Its own name for itself, such as the uid of a namespace, comes from its agent:
//! whoever owns one cluster would only have to tell that of another one to be given what is drawn for that.

use sluice_api::model::{Sharing, Trigger};
use sluice_api::{ClusterRef, Digest, ServiceAccount, TriggerId};
use sluice_protocol::rows::Cause;

// D-0914: random functions draw the same everywhere and for nobody else.
/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draws {
    /// Nobody in particular draws as everybody did formerly.
    asker: Option<Digest>,
    sharing: Sharing,
}

// === impl Draws ===

impl Draws {
    /// What is drawn for a cause, with what its profile or trigger says of sharing.
    pub(crate) fn of(cause: &Cause, account: Option<&ServiceAccount>, sharing: Sharing) -> Self {
        let is_tenant = account.is_some()
            || matches!(cause, Cause::Profile(id) if id.kind() != "ClusterProfile" || !id.namespace.is_empty());
        // Who is a tenant would draw what others have.
        let sharing = if is_tenant && sharing == Sharing::AsFormerly { Sharing::No } else { sharing };
        if sharing == Sharing::AsFormerly {
            return Self::default();
        }
        match cause {
            Cause::Profile(id) => Self::by([id.kind(), &id.namespace, &id.name], account, sharing),
            Cause::Event(event) => Self::by(["", "", event.trigger.as_str()], account, sharing),
        }
    }

    /// What is drawn for a trigger before there is an event.
    pub(crate) fn of_trigger(trigger: &Trigger) -> Self {
        let id = TriggerId::new(&trigger.kind, &trigger.name);
        Self::by(["", "", id.as_str()], trigger.account.as_ref(), Sharing::No)
    }

    fn by(who: [&str; 3], account: Option<&ServiceAccount>, sharing: Sharing) -> Self {
        let account = account.map_or(["", ""], |account| [&*account.namespace, &*account.name]);
        let parts: Vec<&[u8]> = who.iter().chain(&account).map(|part| part.as_bytes()).collect();
        Self { asker: Some(Digest::of(&parts)), sharing }
    }

    /// What stands for who asks and for the place that it is for; nothing where all draw the same.
    pub(crate) fn scope(&self, place: Option<&ClusterRef>) -> Option<Digest> {
        let asker = self.asker?;
        let place = place.filter(|_| self.sharing == Sharing::No);
        let place = place.map_or(["", "", ""], |place| [place.kind.lower(), &*place.namespace, &*place.name]);
        let parts = [&[asker.as_bytes() as &[u8]], &place.map(str::as_bytes)[..]].concat();
        Some(Digest::of(&parts))
    }

    /// Whether destinations draw different values.
    pub(crate) fn differ(&self) -> bool {
        self.asker.is_some() && self.sharing == Sharing::No
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use sluice_api::ProfileId;
    use sluice_protocol::rows::EventCause;

    use super::*;

    fn event(kind: &str, trigger: &str) -> Cause {
        Cause::from(EventCause {
            trigger: TriggerId::new(kind, trigger),
            cluster: ClusterRef::sveltos("default", "a"),
            source: "s".into(),
            item: None,
        })
    }

    #[test]
    fn whoever_asks_and_wherever_it_is_for_draws_something_of_its_own() {
        let account = |name: &str| ServiceAccount { namespace: "t".into(), name: name.into() };
        let causes = [
            Cause::Profile(ProfileId::cluster("p")),
            Cause::Profile(ProfileId::cluster("q")),
            Cause::Profile(ProfileId::new("n", "p")),
            Cause::Profile(ProfileId::new("m", "p")),
            event("EventTrigger", "p"),
            event("EventBasedAddOn", "p"),
        ];
        let places = [
            None,
            Some(ClusterRef::sveltos("n", "a")),
            Some(ClusterRef::sveltos("m", "a")),
            Some(ClusterRef::sveltos("n", "b")),
            Some(ClusterRef::management()),
        ];
        let accounts = [None, Some(account("x")), Some(account("y"))];
        let mut scopes = HashSet::new();
        for (cause, account) in causes.iter().flat_map(|cause| accounts.iter().map(move |one| (cause, one))) {
            let draws = Draws::of(cause, account.as_ref(), Sharing::No);
            scopes.extend(
                places.iter().map(|place| draws.scope(place.as_ref()).map(|scope| scope.to_string())),
            );
        }
        assert_eq!(scopes.len(), causes.len() * accounts.len() * places.len());
    }

    #[test]
    fn destinations_share_where_that_is_asked_for_and_askers_never() {
        let (a, b) = (ClusterRef::sveltos("n", "a"), ClusterRef::sveltos("n", "b"));
        let shared = |name: &str| Draws::of(&event("EventTrigger", name), None, Sharing::Destinations);
        assert_eq!(shared("t").scope(Some(&a)), shared("t").scope(Some(&b)));
        assert_ne!(shared("t").scope(Some(&a)), shared("u").scope(Some(&a)));
        assert!(!shared("t").differ());
    }

    #[test]
    fn only_who_is_no_tenant_draws_as_formerly() {
        let account = ServiceAccount { namespace: "t".into(), name: "x".into() };
        let scope = |cause: &Cause, account| Draws::of(cause, account, Sharing::AsFormerly).scope(None);
        assert_eq!(scope(&event("EventTrigger", "t"), None), None);
        assert_eq!(scope(&Cause::Profile(ProfileId::cluster("p")), None), None);
        assert!(scope(&event("EventTrigger", "t"), Some(&account)).is_some());
        assert!(scope(&Cause::Profile(ProfileId::new("n", "p")), None).is_some());
    }
}
