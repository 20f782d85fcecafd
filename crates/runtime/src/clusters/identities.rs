//! Whose registrations may use the identity that a cloud gives to this process.

// D-1070: a cluster may be reached with the identity that a cloud gives to the stages.

use std::str::FromStr;
use std::sync::Arc;

/// Namespaces whose registrations may use the identity of this process; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityNamespaces(Arc<[String]>);

// === impl IdentityNamespaces ===

impl IdentityNamespaces {
    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether those of this namespace may.
    pub(super) fn allow(&self, namespace: &str) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed == namespace)
    }
}

/// Names with commas between them; `*` is every namespace.
impl FromStr for IdentityNamespaces {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let is_name =
            |name: &&str| name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        if let Some(wrong) = names.clone().find(|name| *name != "*" && !is_name(name)) {
            return Err(format!("{wrong:?} is no namespace; write names with commas between them, or *"));
        }
        Ok(Self(names.map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn no_namespace_may_unless_it_is_named() {
        let of = |text: &str| text.parse::<IdentityNamespaces>().unwrap();
        assert!(!of("").any() && !of(" , ").allow(""));
        assert!(of("a, b").allow("b") && !of("a, b").allow("c"));
        assert!(of("*").allow("c"));
        let error = "a,B".parse::<IdentityNamespaces>().unwrap_err();
        assert!(error.starts_with("\"B\" is no namespace"), "{error}");
    }
}
