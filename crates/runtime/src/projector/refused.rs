//! Which projections the management cluster refuses, as one problem for each kind. Pure.

use std::collections::BTreeMap;

use sluice_api::secrets::without_values;
use sluice_api::{Gvk, ObjectKey};
use sluice_kube::remedy_of_denial;
use sluice_protocol::{About, Problem};

/// Objects that cannot be written as long as nobody changes something, with the reason.
#[derive(Debug, Default)]
pub(super) struct Refused {
    kinds: BTreeMap<Gvk, BTreeMap<ObjectKey, String>>,
    told: BTreeMap<Gvk, String>,
}

impl Refused {
    /// The object was refused, or could be written (`None`). Returns what is to be told of its kind now.
    pub(super) fn outcome(
        &mut self,
        stage: &'static str,
        key: &ObjectKey,
        refused: Option<String>,
    ) -> Option<Problem> {
        match refused {
            Some(why) => drop(self.kinds.entry(key.gvk.clone()).or_default().insert(key.clone(), why)),
            None => drop(self.kinds.get_mut(&key.gvk)?.remove(key)),
        }
        let about = About::Projections(key.gvk.kind.clone());
        let Some((first, why)) = self.kinds.get(&key.gvk).and_then(BTreeMap::first_key_value) else {
            self.kinds.remove(&key.gvk);
            return self.told.remove(&key.gvk).map(|_| Problem::resolved(stage, "", about));
        };
        let text = format!("{first} cannot be written: {}", without_values(&key.gvk, why));
        if self.told.get(&key.gvk) == Some(&text) {
            return None;
        }
        self.told.insert(key.gvk.clone(), text.clone());
        Some(Problem::open(stage, "", about, text))
    }
}

/// Why an object was refused, with a remedy; `None` when it only has to be tried again.
pub(super) fn reason(error: &kube::Error) -> Option<String> {
    let kube::Error::Api(status) = error else { return None };
    let remedy = match status.code {
        408 | 409 | 429 | 500..=599 => return None,
        401 => "; the credentials of the management cluster are not valid (any more), renew them",
        404 => "; create the namespace or install the CustomResourceDefinition, it is tried again",
        403 => match remedy_of_denial(&status.message) {
            "" => "; allow it to the user of the management cluster's kubeconfig",
            remedy => remedy,
        },
        _ => "; install the CustomResourceDefinitions of this version of Sluice",
    };
    Some(format!("{}{remedy}", status.message))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use kube::core::Status;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "a".into(), name: name.into() }
    }

    #[test]
    fn a_kind_is_one_problem_until_all_of_it_can_be_written() {
        let mut refused = Refused::default();
        let mut outcome = |name: &str, why: Option<&str>| {
            refused
                .outcome("renderer", &key(name), why.map(str::to_owned))
                .map(|problem| problem.fault.map(|fault| fault.text))
        };
        assert_eq!(outcome("a", None), None);
        let text = outcome("b", Some("no")).unwrap().unwrap();
        assert!(text.contains("a/b cannot be written: no"), "{text}");
        assert_eq!(outcome("b", Some("no")), None);
        assert_eq!(outcome("c", Some("no")), None);
        let text = outcome("b", None).unwrap().unwrap();
        assert!(text.contains("a/c cannot be written: no"), "{text}");
        assert_eq!(outcome("c", None), Some(None));
        assert_eq!(outcome("c", None), None);
    }

    #[test]
    fn what_passes_by_itself_is_not_a_problem() {
        let reason = |code: u16| {
            let status = Status { code, message: "no".into(), ..Status::default() };
            reason(&kube::Error::Api(Box::new(status)))
        };
        assert_eq!((reason(409), reason(429), reason(503)), (None, None, None));
        assert!(reason(403).unwrap().contains("allow it"), "403");
        let message = "sets is forbidden: User \"u\" cannot patch resource \"sets/status\"".into();
        let denied = kube::Error::Api(Box::new(Status { code: 403, message, ..Status::default() }));
        assert!(super::reason(&denied).unwrap().contains("--only rights"), "a right lacks");
        assert!(reason(404).unwrap().contains("create the namespace"), "404");
        assert!(reason(422).unwrap().contains("CustomResourceDefinitions"), "422");
    }
}
