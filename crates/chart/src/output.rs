//! What `helm template` prints.

use crate::{
    ignore::matches,
    manifest::{Manifest, split},
    render::Rendered,
};

/// What is printed.
#[derive(Debug, Clone, Default)]
pub struct Show {
    /// The files in `crds/` too.
    pub include_crds: bool,
    /// No hooks that are tests.
    pub skip_tests: bool,
    /// Nothing but the documents of these templates, such as `templates/service.yaml`; `*` stands for any name.
    pub only: Vec<String>,
}

// === impl Rendered ===

impl Rendered {
    /// The text of all documents, as `helm template` prints it.
    ///
    /// # Errors
    /// Which of the wanted templates does not exist or prints nothing.
    pub fn show(&self, show: &Show) -> Result<String, String> {
        let mut text = String::new();
        let crds = self.crds.iter().filter(|_| show.include_crds);
        for manifest in crds.chain(&self.manifests) {
            push(&mut text, manifest);
        }
        let mut text = format!("{}\n", text.trim());
        for hook in self.hooks.iter().filter(|hook| !(show.skip_tests && hook.is_test())) {
            push(&mut text, &hook.manifest);
        }
        if show.only.is_empty() { Ok(text) } else { only(&text, &show.only) }
    }
}

fn push(text: &mut String, manifest: &Manifest) {
    text.push_str(&format!("---\n# Source: {}\n{}\n", manifest.path, manifest.content));
}

fn only(text: &str, wanted: &[String]) -> Result<String, String> {
    let documents = split(text);
    let mut shown = String::new();
    for pattern in wanted {
        let before = shown.len();
        for document in &documents {
            if source(document).is_some_and(|source| matches(pattern, source) == Ok(true)) {
                shown.push_str(&format!("---\n{document}\n"));
            }
        }
        if shown.len() == before {
            return Err(format!("could not find template {pattern} in chart"));
        }
    }
    Ok(shown)
}

/// The template's path below the chart's name.
fn source(document: &str) -> Option<&str> {
    let (_, rest) = document.split_once("# Source: ")?;
    let line = rest.lines().next().unwrap_or(rest);
    line.split_once('/').map(|(_, path)| path).filter(|path| !path.is_empty())
}
