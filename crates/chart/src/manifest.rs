//! From rendered texts to manifests and hooks.

use sluice_template::TextError;

use crate::{
    error::Error,
    kinds::install_order,
    warning::Warnings,
    yaml::{self, Fields},
};

/// A rendered document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The template it comes from, from the root chart's name on.
    pub path: String,
    /// Its kind; empty if it has none.
    pub kind: String,
    /// The text, without the line that separates documents.
    pub content: String,
}

/// A document that is not part of the release but is run at certain moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The object's name.
    pub name: String,
    /// What is applied when it is run.
    pub manifest: Manifest,
    /// When it is run.
    pub events: Vec<HookEvent>,
    /// The lower ones are run first.
    pub weight: i64,
    /// When it is deleted: `before-hook-creation`, `hook-succeeded`, `hook-failed`.
    pub delete_policies: Vec<String>,
}

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// After rendering, before anything is created.
    PreInstall,
    /// After everything is created.
    PostInstall,
    /// Before anything is deleted.
    PreDelete,
    /// After everything is deleted.
    PostDelete,
    /// Before anything is changed.
    PreUpgrade,
    /// After everything is changed.
    PostUpgrade,
    /// Before an older revision comes back.
    PreRollback,
    /// After an older revision has come back.
    PostRollback,
    /// When somebody asks for tests.
    Test,
}

/// What the start of a document says.
#[derive(Default)]
struct Head {
    kind: String,
    name: String,
    annotations: Vec<(String, String)>,
}

const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";

// === impl HookEvent ===

impl HookEvent {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }
}

// === impl Hook ===

impl Hook {
    /// Whether it is only run when somebody asks for tests.
    pub fn is_test(&self) -> bool {
        self.events.contains(&HookEvent::Test)
    }
}

/// Splits texts into manifests and hooks, each in the order of installation.
pub(crate) fn sorted(
    files: &[(String, String)],
    warnings: &mut Warnings,
) -> Result<(Vec<Manifest>, Vec<Hook>), Error> {
    let mut files: Vec<&(String, String)> = files.iter().collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let (mut manifests, mut hooks) = (Vec::new(), Vec::new());
    for (path, text) in files {
        for document in split(text) {
            let head = Head::read(document)
                .map_err(|error| error.reworded(|text| format!("YAML parse error on {path}: {text}")))
                .map_err(|error| Error::of(error, Error::manifest))?;
            let manifest =
                Manifest { path: path.clone(), kind: head.kind.clone(), content: document.to_owned() };
            match head.annotation(HOOK) {
                None => manifests.push(manifest),
                Some(events) => {
                    let hook = head.hook(events, manifest);
                    if hook.is_none() {
                        warnings.inform("skipping unknown hooks", || vec![("hookTypes", events.to_owned())]);
                    }
                    hooks.extend(hook);
                }
            }
        }
    }
    manifests.sort_by(|a, b| install_order(&a.kind, &b.kind));
    hooks.sort_by(|a, b| install_order(&a.manifest.kind, &b.manifest.kind));
    Ok((manifests, hooks))
}

/// The documents of a text; empty ones are left out.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let mut documents = Vec::new();
    let (mut start, mut line) = (0, 0);
    loop {
        let rest = &text[line..];
        if let Some(after) = rest.strip_prefix("---") {
            documents.push(&text[start..line]);
            start = text.len() - after.trim_start_matches([' ', '\t']).len();
            // What follows on the same line belongs to the next document.
            line = start;
        }
        match text[line..].find('\n') {
            Some(at) => line += at + 1,
            None => break,
        }
    }
    documents.push(&text[start..]);
    documents.into_iter().filter(|d| !d.trim().is_empty()).map(str::trim_start).collect()
}

// === impl Head ===

impl Head {
    fn read(document: &str) -> Result<Self, TextError> {
        let json = yaml::read_fields(document, &["apiVersion", "kind", "metadata"])?;
        let Some(fields) = Fields::of(&json, "SimpleHead", "util.SimpleHead")? else {
            return Ok(Self::default());
        };
        fields.text("apiVersion")?;
        let kind = fields.text("kind")?;
        let Some(metadata) = fields.get("metadata") else { return Ok(Self { kind, ..Self::default() }) };
        match Fields::of(metadata, ".metadata", "struct")
            .map_err(|_| fields.wrong_struct("metadata", metadata))?
        {
            None => Ok(Self { kind, ..Self::default() }),
            Some(metadata) => Ok(Self {
                kind,
                name: metadata.text("name")?,
                annotations: metadata.text_map("annotations")?,
            }),
        }
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The hook, unless one of its events is unknown.
    fn hook(&self, events: &str, manifest: Manifest) -> Option<Hook> {
        let words =
            |text: &str| -> Vec<String> { text.split(',').map(|w| w.trim().to_lowercase()).collect() };
        let events: Option<Vec<HookEvent>> = words(events).iter().map(|word| HookEvent::of(word)).collect();
        let weight = self.annotation(WEIGHT).and_then(|text| text.parse().ok()).unwrap_or(0);
        let delete_policies = self.annotation(DELETE_POLICY).map(words).unwrap_or_default();
        Some(Hook { name: self.name.clone(), manifest, events: events?, weight, delete_policies })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_are_split_at_dashes_that_begin_a_line() {
        assert_eq!(split("\n---\na: 1\n---   \n\n---\nb: 2 ---\n"), ["a: 1\n", "b: 2 ---\n"]);
        assert_eq!(split("---a: 1\n---- b\n"), ["a: 1\n", "- b\n"]);
        assert!(split(" \n--- \n---").is_empty());
    }

    fn mk_files(text: &str) -> Vec<(String, String)> {
        vec![("c/templates/a.yaml".to_owned(), text.to_owned())]
    }

    #[test]
    fn hooks_have_events_weights_and_policies() {
        let text = "kind: Job\nmetadata:\n  name: j\n  annotations:\n    helm.sh/hook: Pre-Install, test-success\n    \
                    helm.sh/hook-weight: -5\n    helm.sh/hook-delete-policy: hook-succeeded,Hook-Failed\n";
        let (manifests, hooks) = sorted(&mk_files(text), &mut Warnings::default()).unwrap();
        assert!(manifests.is_empty());
        let hook = &hooks[0];
        assert_eq!((hook.name.as_str(), hook.weight), ("j", -5));
        assert_eq!(hook.events, [HookEvent::PreInstall, HookEvent::Test]);
        assert_eq!(hook.delete_policies, ["hook-succeeded", "hook-failed"]);
        assert!(hook.is_test());
    }

    #[test]
    fn a_hook_of_an_unknown_event_is_left_out() {
        let text = "kind: Job\nmetadata:\n  annotations:\n    helm.sh/hook: someday\n";
        let (manifests, hooks) = sorted(&mk_files(text), &mut Warnings::default()).unwrap();
        assert!(manifests.is_empty() && hooks.is_empty());
    }

    #[test]
    fn kinds_are_in_the_order_of_installation() {
        let text = "kind: Zebra\n---\nkind: Service\n---\nkind: Ape\n---\nkind: Namespace\n";
        let (manifests, _) = sorted(&mk_files(text), &mut Warnings::default()).unwrap();
        let kinds: Vec<_> = manifests.iter().map(|m| m.kind.as_str()).collect();
        assert_eq!(kinds, ["Namespace", "Service", "Ape", "Zebra"]);
    }
}
