//! `.helmignore`: which files of a folder do not belong to the chart.

use crate::error::{Error, load};

/// The rules of a folder, the built-in one included.
pub(crate) struct Rules(Vec<Rule>);

struct Rule {
    pattern: String,
    negated: bool,
    only_folders: bool,
    /// Matched against the last part of the path alone.
    only_name: bool,
}

// === impl Rules ===

impl Rules {
    /// Reads the text of a `.helmignore`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut rules = Vec::new();
        for line in text.lines().chain(["templates/.?*"]) {
            rules.extend(Rule::parse(line)?);
        }
        Ok(Self(rules))
    }

    /// Whether a file, or a folder with everything in it, is left out.
    pub(crate) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        for rule in &self.0 {
            if rule.negated {
                if (rule.only_folders && !is_folder) || !rule.matches(path) {
                    return true;
                }
            } else if (!rule.only_folders || is_folder) && rule.matches(path) {
                return true;
            }
        }
        false
    }
}

// === impl Rule ===

impl Rule {
    fn parse(line: &str) -> Result<Option<Self>, Error> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        if line.contains("**") {
            return Err(load("double-star (**) syntax is not supported"));
        }
        if matches(line, "abc").is_err() {
            return Err(load("syntax error in pattern"));
        }
        let (negated, rest) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (only_folders, rest) = rest.strip_suffix('/').map_or((false, rest), |rest| (true, rest));
        let (pattern, only_name) = match rest.strip_prefix('/') {
            Some(rest) => (rest, false),
            None => (rest, !rest.contains('/')),
        };
        Ok(Some(Self { pattern: pattern.to_owned(), negated, only_folders, only_name }))
    }

    fn matches(&self, path: &str) -> bool {
        let path = if self.only_name { path.rsplit('/').next().unwrap_or(path) } else { path };
        matches(&self.pattern, path).unwrap_or(false)
    }
}

/// A pattern that is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern;

/// Go's `filepath.Match`: `*` and `?` stop at a slash, `[a-z]`, `[^a]`, `\`.
pub(crate) fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let pattern: Vec<char> = pattern.chars().collect();
    check(&pattern)?;
    let name: Vec<char> = name.chars().collect();
    Ok(here(&pattern, &name, &mut 100_000))
}

/// The parts of a class: its negation, its ranges, and what follows it.
type Class<'p> = (bool, Vec<(char, char)>, &'p [char]);

fn class(pattern: &[char]) -> Result<Class<'_>, BadPattern> {
    let (negated, mut rest) = match pattern.split_first() {
        Some(('^', rest)) => (true, rest),
        _ => (false, pattern),
    };
    let mut ranges = Vec::new();
    loop {
        if let (Some((']', after)), false) = (rest.split_first(), ranges.is_empty()) {
            return Ok((negated, ranges, after));
        }
        let (from, after) = member(rest)?;
        rest = after;
        let mut to = from;
        if let Some(('-', after)) = rest.split_first() {
            (to, rest) = member(after)?;
        }
        ranges.push((from, to));
    }
}

fn member(pattern: &[char]) -> Result<(char, &[char]), BadPattern> {
    let (c, rest) = match pattern.split_first() {
        None | Some(('-' | ']', _)) => return Err(BadPattern),
        Some(('\\', rest)) => rest.split_first().ok_or(BadPattern)?,
        Some((c, rest)) => (c, rest),
    };
    if rest.is_empty() { Err(BadPattern) } else { Ok((*c, rest)) }
}

fn check(mut pattern: &[char]) -> Result<(), BadPattern> {
    while let Some((c, rest)) = pattern.split_first() {
        pattern = match c {
            '[' => class(rest)?.2,
            '\\' => rest.split_first().ok_or(BadPattern)?.1,
            _ => rest,
        };
    }
    Ok(())
}

fn here(pattern: &[char], name: &[char], budget: &mut u32) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let Some((c, rest)) = pattern.split_first() else { return name.is_empty() };
    match c {
        '*' => {
            let end = name.iter().position(|c| *c == '/').unwrap_or(name.len());
            (0..=end).any(|at| here(rest, &name[at..], budget))
        }
        '?' => name.first().is_some_and(|c| *c != '/') && here(rest, &name[1..], budget),
        '[' => {
            let Ok((negated, ranges, after)) = class(rest) else { return false };
            let within = |c: &char| ranges.iter().any(|(from, to)| from <= c && c <= to) != negated;
            name.first().is_some_and(|c| *c != '/' && within(c)) && here(after, &name[1..], budget)
        }
        '\\' => {
            let Some((c, rest)) = rest.split_first() else { return false };
            name.first() == Some(c) && here(rest, &name[1..], budget)
        }
        c => name.first() == Some(c) && here(rest, &name[1..], budget),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rules_match_names_paths_and_folders() {
        let rules = Rules::parse("# comment\n*.bak\n/top.txt\ndocs/\na/b*\n").unwrap();
        for (path, folder, ignored) in [
            ("x/y.bak", false, true),
            ("top.txt", false, true),
            ("x/top.txt", false, false),
            ("docs", true, true),
            ("docs", false, false),
            ("a/bcd", false, true),
            ("templates/.hidden", false, true),
            ("templates/a.yaml", false, false),
        ] {
            assert_eq!(rules.ignores(path, folder), ignored, "{path}");
        }
    }

    #[test]
    fn a_negated_rule_leaves_out_everything_else() {
        let rules = Rules::parse("!*.yaml\n").unwrap();
        assert!(rules.ignores("a.txt", false));
        assert!(!rules.ignores("a.yaml", false));
    }

    #[test]
    fn patterns_that_are_none_are_refused() {
        assert!(Rules::parse("a/**/b").is_err());
        assert!(Rules::parse("[a").is_err());
        assert_eq!(matches("[^a-c]x", "dx"), Ok(true));
        assert_eq!(matches("[^a-c]x", "bx"), Ok(false));
        assert_eq!(matches("a\\*", "a*"), Ok(true));
    }
}
