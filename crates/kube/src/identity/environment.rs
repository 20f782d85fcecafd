//! What a cloud puts into the environment of a process.

use std::sync::Arc;

/// What a variable says.
type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Variables by name; cheap to clone.
#[derive(Clone)]
pub(crate) struct Environment(Arc<Variable>);

// === impl Environment ===

impl Environment {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }

    /// These variables and no others.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, String); N]) -> Self {
        let known: std::collections::HashMap<String, String> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self(Arc::new(move |name| known.get(name).cloned()))
    }

    /// A variable that says something.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.0(name).filter(|value| !value.is_empty())
    }
}
