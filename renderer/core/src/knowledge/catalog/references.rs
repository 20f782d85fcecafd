//! Who refers to a ConfigMap or Secret by name, as far as that is written: names may be templates.

// D-0912: what a tenant generates is for that tenant.

use sluice_api::ServiceAccount;
use sluice_api::model::{Generator, PolicyRef, ResourceRef, SpecCommon};

use super::{Catalog, ContentKey};

impl Catalog {
    /// A trigger or profile that may refer to this name and is not of this account, in words.
    pub(crate) fn other_reader(&self, key: &ContentKey, account: &ServiceAccount) -> Option<String> {
        let profiles = self.profiles.values().filter_map(|read| read.as_ref().as_ref().ok());
        let profile = profiles
            .filter(|profile| profile.account.as_ref() != Some(account) && refers(&profile.common, key))
            .map(|profile| profile.id.to_string());
        let triggers = self.triggers.values().filter_map(|read| read.as_ref().as_ref().ok());
        let trigger = triggers
            .filter(|trigger| trigger.account.as_ref() != Some(account))
            .filter(|trigger| {
                let generators = trigger.generators.iter();
                refers(&trigger.common, key) || generators.clone().any(|generator| is_made_of(generator, key))
            })
            .map(|trigger| format!("{} {}", trigger.kind, trigger.name));
        profile.chain(trigger).next()
    }
}

fn refers(common: &SpecCommon, key: &ContentKey) -> bool {
    let SpecCommon { policy_refs, patches_from, job_refs, resource_refs, helm_charts, .. } = common;
    let values = helm_charts.iter().flat_map(|chart| &chart.values_from);
    let of_policy =
        |PolicyRef { kind, namespace, name, .. }: &PolicyRef| is_key((kind, namespace, name), key);
    let of_resource =
        |ResourceRef { kind, namespace, name, .. }: &ResourceRef| is_key((kind, namespace, name), key);
    policy_refs.iter().chain(patches_from).chain(job_refs).any(of_policy)
        || resource_refs.iter().any(of_resource)
        || values.into_iter().any(|values| is_key((&values.kind, &values.namespace, &values.name), key))
}

fn is_made_of(generator: &Generator, key: &ContentKey) -> bool {
    is_key((generator.kind, &generator.namespace, &generator.name), key)
}

fn is_key((kind, namespace, name): (&str, &str, &str), key: &ContentKey) -> bool {
    kind == key.0 && may_be(namespace, &key.1) && may_be(name, &key.2)
}

/// Whether a text that may be a template may become this name. One that says nothing of it by itself is meant for other names.
fn may_be(text: &str, name: &str) -> bool {
    let Some((first, rest)) = text.split_once("{{") else { return text == name };
    let literals = rest.split("{{").map(|part| part.split_once("}}").map_or("", |(_, literal)| literal));
    let mut between: Vec<&str> = literals.collect();
    let last = between.pop().unwrap_or_default();
    if first.len() + last.len() + between.iter().map(|literal| literal.len()).sum::<usize>() == 0 {
        return false;
    }
    let inner = name.strip_prefix(first).and_then(|name| name.strip_suffix(last));
    let found = inner.and_then(|mut inner| {
        for literal in between {
            inner = &inner[inner.find(literal)? + literal.len()..];
        }
        Some(())
    });
    found.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_may_become_what_its_own_words_allow() {
        for (text, name, expected) in [
            ("made", "made", true),
            ("made", "made-x", false),
            ("made-{{ .Resource.metadata.name }}", "made-x", true),
            ("made-{{ .Resource.metadata.name }}", "other-x", false),
            ("{{ .A }}-made", "x-made", true),
            ("a-{{ .A }}-b-{{ .B }}-c", "a-1-b-2-c", true),
            ("a-{{ .A }}-b-{{ .B }}-c", "a-1-2-c", false),
            ("{{ .A }}", "anything", false),
            ("{{ .A }}{{ .B }}", "anything", false),
            ("aa{{ .A }}aa", "aaa", false),
        ] {
            assert_eq!(may_be(text, name), expected, "{text} {name}");
        }
    }
}
