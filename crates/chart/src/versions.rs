//! Which version of a chart is meant, of those that a repository has.

use std::cmp::Ordering;

use sluice_template::{compare_versions, is_version, version_satisfies};

/// The version that `wanted` names, as Helm chooses it: that very text where there is one, else the newest that satisfies it
/// as a range. Nothing wanted is the newest that is no prerelease.
pub fn best_version<'v>(wanted: &str, versions: impl IntoIterator<Item = &'v str>) -> Option<&'v str> {
    let wanted = wanted.trim();
    let range = if wanted.is_empty() { "*" } else { wanted };
    let mut best = None;
    for version in versions.into_iter().filter(|version| is_version(version)) {
        if version == wanted {
            return Some(version);
        }
        let is_newer = |best| compare_versions(version, best) == Some(Ordering::Greater);
        if version_satisfies(range, version) && best.is_none_or(is_newer) {
            best = Some(version);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: [&str; 6] = ["1.2.0", "1.10.0", "2.0.0-rc.1", "not a version", "1.9.3", "1.9.3+build.2"];

    #[test]
    fn the_newest_that_fits_is_taken() {
        let best = |wanted| best_version(wanted, VERSIONS);
        assert_eq!((best(""), best("1.x"), best("~1.9")), (Some("1.10.0"), Some("1.10.0"), Some("1.9.3")));
        assert_eq!((best(">=2.0.0-0"), best("^3"), best("nonsense")), (Some("2.0.0-rc.1"), None, None));
    }

    #[test]
    fn what_is_named_exactly_wins() {
        assert_eq!(best_version("1.9.3+build.2", VERSIONS), Some("1.9.3+build.2"));
        assert_eq!(best_version(" 1.2.0 ", VERSIONS), Some("1.2.0"));
        assert_eq!(best_version("2.0.0-rc.1", VERSIONS), Some("2.0.0-rc.1"));
    }
}
