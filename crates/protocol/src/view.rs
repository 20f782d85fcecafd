//! How new the knowledge is that a row was made from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// For each source of knowledge (an interest row, a kind of the management cluster) its version. Every row has one and
/// few of them differ: cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Arc<BTreeMap<String, u64>>);

impl View {
    /// Notes that `source` has been seen at `version`; older versions change nothing.
    pub fn note(&mut self, source: &str, version: u64) {
        if self.0.get(source).is_none_or(|&known| known < version) {
            Arc::make_mut(&mut self.0).insert(source.to_owned(), version);
        }
    }

    /// Takes the newer of both, source by source.
    pub fn merge(&mut self, other: &Self) {
        if Arc::ptr_eq(&self.0, &other.0) {
            return;
        }
        for (source, &version) in other.0.iter() {
            self.note(source, version);
        }
    }

    /// Whether nothing in `needed` is newer than this.
    pub fn covers(&self, needed: &Self) -> bool {
        needed.0.iter().all(|(source, &version)| self.0.get(source).is_some_and(|&known| known >= version))
    }

    /// The sources of which `needed` has a newer version, with that version.
    pub fn lacks(&self, needed: &Self) -> Vec<String> {
        let newer = |(source, version): &(&String, &u64)| self.version(source) < **version;
        needed.0.iter().filter(newer).map(|(source, version)| format!("{source} {version}")).collect()
    }

    /// The version of `source`, 0 when unknown.
    pub fn version(&self, source: &str) -> u64 {
        self.0.get(source).copied().unwrap_or(0)
    }

    /// Reads the text form; parts that cannot be read are left out.
    pub fn parse(text: &str) -> Self {
        let part = |part: &str| {
            part.rsplit_once('=')
                .and_then(|(source, version)| Some((source.to_owned(), version.parse().ok()?)))
        };
        Self(Arc::new(text.split(' ').filter_map(part).collect()))
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (source, version)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{source}={version}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_covers_what_is_not_newer() {
        let mut view = View::parse("a=3 b=5");
        assert!(view.covers(&View::parse("a=3")) && view.covers(&View::default()));
        assert!(!view.covers(&View::parse("a=4")) && !view.covers(&View::parse("c=1")));
        view.merge(&View::parse("a=9 b=1"));
        assert_eq!(view.to_string(), "a=9 b=5");
    }
}
