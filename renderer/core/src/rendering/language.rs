//! In which language the values of a ConfigMap or Secret are templates.

use serde_json::Value;
use sluice_api::object;

use crate::error::{Error, Result};

/// What chooses it; Go templates without it.
const ENGINE: &str = "sluice.dev/engine";

/// A template language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    Go,
    Tera,
}

// === impl Language ===

impl Language {
    /// The language of a referenced object.
    ///
    /// # Errors
    /// The annotation and what it may say.
    pub(crate) fn of(referenced: &Value) -> Result<Self> {
        match object::annotation(referenced, ENGINE) {
            None | Some("go") => Ok(Self::Go),
            Some("tera") => Ok(Self::Tera),
            Some(other) => Err(Error::value(
                format!("annotation {ENGINE}: {other:?}"),
                "is no template engine; use \"tera\" or \"go\", or remove the annotation",
            )),
        }
    }

    /// Whether a text may hold anything but itself.
    pub(crate) fn has_actions(self, text: &str) -> bool {
        let marks: &[&str] = match self {
            Self::Go => &["{{"],
            Self::Tera => &["{{", "{%", "{#"],
        };
        marks.iter().any(|mark| text.contains(mark))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(engine: Value) -> Result<Language, String> {
        Language::of(&json!({"metadata": {"annotations": {ENGINE: engine}}}))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_means_go() {
        assert_eq!(Language::of(&json!({})), Ok(Language::Go));
        assert_eq!(of(json!("go")), Ok(Language::Go));
        assert_eq!(of(json!("tera")), Ok(Language::Tera));
    }

    #[test]
    fn other_engines_are_named_with_what_there_is() {
        let error = of(json!("jinja")).unwrap_err();
        assert!(
            error.starts_with("annotation sluice.dev/engine: \"jinja\" is no template engine"),
            "{error}"
        );
        assert!(error.contains("\"tera\" or \"go\""), "{error}");
    }

    #[test]
    fn only_what_has_actions_is_rendered() {
        assert!(Language::Tera.has_actions("{% if x %}") && !Language::Go.has_actions("{% if x %}"));
        assert!(!Language::Tera.has_actions("{a: 1}"));
    }
}
