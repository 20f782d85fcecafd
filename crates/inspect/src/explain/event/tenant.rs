//! EventSources of tenants: they are told only of what their account in the cluster may list.

use sluice_api::cloud_event::is_event;
use sluice_api::{ObjectKey, few};
use sluice_matcher_core::Program;
use sluice_protocol::About;
use sluice_protocol::interest::Complete;

use super::{Facts, OfEvent, Source, Steps, Verdict, is_told};

/// The account in the cluster that a source is watched as; empty for the agent itself.
fn viewer(source: &Source) -> &str {
    source.program.as_ref().map_or("", Program::viewer)
}

/// Whether a source looks at this object and its account sees it.
pub(super) fn sees(program: &Program, of: &OfEvent, key: &ObjectKey) -> bool {
    let is_seen = |(object, viewer): &(ObjectKey, String)| {
        object == key && (is_event(key) || program.viewer() == viewer)
    };
    program.watches(key) && of.sights.iter().any(is_seen)
}

/// Whether all that a source looks at is seen by others alone.
pub(super) fn sees_nothing(program: &Program, of: &OfEvent) -> bool {
    let mut watched = of.objects.iter().map(|(key, _)| key).filter(|key| program.watches(key)).peekable();
    watched.peek().is_some() && watched.all(|key| !sees(program, of, key))
}

/// That an account does not see what others do.
pub(super) fn unseen(facts: &Facts, source: &Source, of: &OfEvent, steps: &mut Steps) -> Verdict {
    let watched: Vec<&ObjectKey> = of.objects.iter().map(|(key, _)| key).collect();
    let who = match viewer(source) {
        "" => "the agent itself".to_owned(),
        account => format!("ServiceAccount projectsveltos/{account} of the cluster"),
    };
    let says =
        format!("EventSource {} looks as {who}, which does not see {}", source.name, few(", ", &watched));
    if source.live && !is_told(source, of, facts.shards) {
        let says = format!("{says}; its agent has not told of all yet");
        steps.unknown("event", says, "ask again; `sluice problems` says whether it may list them");
        return Verdict::Unknown;
    }
    steps.no(
        "event",
        says,
        "let the account list and watch the kind there, or correct the labels of the EventSource",
    );
    Verdict::No
}

/// Whether a problem is of a watch that a tenant's source needs.
pub(super) fn concerns(about: &About, source: &Source) -> bool {
    let About::Tenant(about, account) = about else { return false };
    let kinds = source.kinds().unwrap_or_default();
    *account == viewer(source) && matches!(&**about, About::Watch(gvk) if kinds.contains(gvk))
}

/// Whether an agent has told all objects that a source selects.
pub(super) fn covers(complete: &Complete, source: &Source) -> bool {
    match viewer(source) {
        "" => complete.covers(&source.name),
        _ => complete.covers_tenants(&source.name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_protocol::Revision;
    use sluice_protocol::interest::Lacking;

    use super::super::super::tests::{event_source, labelled, replace, service};
    use super::super::tests::{event, of, of_front, steps, told};
    use super::*;

    /// What is said of `shop/front` where the source is of tenant `x`, and these see the object.
    fn seen_by(viewers: &[&str], lacking: &[Lacking]) -> Vec<(String, Verdict, String)> {
        let mut facts = event();
        let mut source = event_source(&labelled());
        source["metadata"]["labels"] = json!({"projectsveltos.io/admin-name": "x"});
        replace(&mut facts, source);
        told(&mut facts);
        let of = of(&mut facts);
        of.sights = viewers.iter().map(|viewer| (service("front"), (*viewer).to_owned())).collect();
        of.told[0].lacking = lacking.to_vec();
        of.told[0].revision = Revision::new(7);
        let explained = of_front(&facts);
        let all = steps(&explained).into_iter();
        all.map(|(about, verdict, says)| (about.to_owned(), verdict, says.to_owned())).collect()
    }

    #[test]
    fn what_the_account_sees_is_an_event_and_what_others_see_is_not() {
        let all = Lacking::nothing("s");
        let said = seen_by(&["", "x"], &all);
        assert!(
            said.iter().any(|(about, verdict, _)| about == "event" && *verdict == Verdict::Yes),
            "{said:?}"
        );
        let said = seen_by(&[""], &all);
        let (_, verdict, says) = said.iter().find(|(about, ..)| about == "event").unwrap();
        assert_eq!(*verdict, Verdict::No);
        assert_eq!(
            says,
            "EventSource s looks as ServiceAccount projectsveltos/x of the cluster, which does not see Service shop/front"
        );
        let said = seen_by(&["y"], &[Lacking::Objects("s".into())]);
        let (_, verdict, says) = said.iter().find(|(about, ..)| about == "event").unwrap();
        assert_eq!(*verdict, Verdict::Unknown);
        assert!(says.ends_with("; its agent has not told of all yet"), "{says}");
    }
}
