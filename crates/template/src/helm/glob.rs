//! The patterns of `.Files.Glob`: `*` and `?` stop at a slash, `**` does not; `[a-z]`, `[!abc]`, `{a,b}`, `\`.

/// A pattern; one that cannot be read matches everything.
pub(crate) struct Glob(Vec<Part>);

enum Part {
    Char(char),
    /// `?`
    One,
    /// `*`
    Some,
    /// `**`
    All,
    /// A range or a list, and whether it is negated.
    Class {
        negated: bool,
        chars: Vec<(char, char)>,
    },
    /// `{…,…}`
    Any(Vec<Vec<Part>>),
}

struct Reader<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
}

/// Why a pattern cannot be read; nobody is told.
struct Bad;

// === impl Glob ===

impl Glob {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut reader = Reader { rest: pattern.chars().peekable() };
        match reader.parts(0) {
            Ok(parts) => Self(parts),
            Err(Bad) => Self(vec![Part::All]),
        }
    }

    /// Whether the whole name matches; every comparison takes one from the budget.
    pub(crate) fn matches(&self, name: &str, budget: &mut u64) -> bool {
        let name: Vec<char> = name.chars().collect();
        let parts: Vec<&Part> = self.0.iter().collect();
        matches(&parts, &name, budget)
    }
}

fn matches(parts: &[&Part], name: &[char], budget: &mut u64) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    let Some((first, rest)) = parts.split_first() else { return name.is_empty() };
    match first {
        Part::Char(c) => name.first() == Some(c) && matches(rest, &name[1..], budget),
        Part::One => name.first().is_some_and(|c| *c != '/') && matches(rest, &name[1..], budget),
        Part::Class { negated, chars } => {
            let within = |c: &char| chars.iter().any(|(from, to)| from <= c && c <= to) != *negated;
            name.first().is_some_and(within) && matches(rest, &name[1..], budget)
        }
        Part::Some | Part::All => {
            let stops = matches!(first, Part::Some);
            for at in 0..=name.len() {
                if matches(rest, &name[at..], budget) {
                    return true;
                }
                if stops && name.get(at) == Some(&'/') {
                    break;
                }
            }
            false
        }
        Part::Any(choices) => choices.iter().any(|choice| {
            let joined: Vec<&Part> = choice.iter().chain(rest.iter().copied()).collect();
            matches(&joined, name, budget)
        }),
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads to the end, or within braces to the comma or brace that ends a choice.
    fn parts(&mut self, depth: usize) -> Result<Vec<Part>, Bad> {
        let mut parts = Vec::new();
        while let Some(&c) = self.rest.peek() {
            if depth > 0 && matches!(c, ',' | '}') {
                return Ok(parts);
            }
            self.rest.next();
            parts.push(match c {
                '\\' => Part::Char(self.rest.next().ok_or(Bad)?),
                '?' => Part::One,
                '*' if self.rest.next_if_eq(&'*').is_some() => Part::All,
                '*' => Part::Some,
                '[' => self.class()?,
                '{' if depth < 8 => self.choices(depth + 1)?,
                '{' => return Err(Bad),
                other => Part::Char(other),
            });
        }
        if depth > 0 { Err(Bad) } else { Ok(parts) }
    }

    fn choices(&mut self, depth: usize) -> Result<Part, Bad> {
        let mut choices = Vec::new();
        loop {
            choices.push(self.parts(depth)?);
            match self.rest.next() {
                Some(',') => {}
                Some('}') => return Ok(Part::Any(choices)),
                _ => return Err(Bad),
            }
        }
    }

    fn class(&mut self) -> Result<Part, Bad> {
        let negated = self.rest.next_if_eq(&'!').is_some();
        let mut members: Vec<char> = Vec::new();
        let mut range = None;
        loop {
            match self.rest.next().ok_or(Bad)? {
                ']' => break,
                '\\' => members.push(self.rest.next().ok_or(Bad)?),
                '-' if members.len() == 1 => {
                    let to = self.rest.next().ok_or(Bad)?;
                    range = Some((members[0], to));
                    if self.rest.next() != Some(']') || members[0] > to {
                        return Err(Bad);
                    }
                    break;
                }
                other => members.push(other),
            }
        }
        if members.is_empty() {
            return Err(Bad);
        }
        let chars = range.map_or_else(|| members.iter().map(|c| (*c, *c)).collect(), |r| vec![r]);
        Ok(Part::Class { negated, chars })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).matches(name, &mut 100_000)
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        assert!(is("config/*.yaml", "config/a.yaml"));
        assert!(!is("config/*.yaml", "config/b/a.yaml"));
        assert!(is("config/**.yaml", "config/b/a.yaml"));
        assert!(is("**", "a/b/c"));
        assert!(!is("*", "a/b"));
        assert!(is("**/*.txt", "a/b.txt"));
        assert!(!is("**/*.txt", "b.txt"));
    }

    #[test]
    fn classes_and_choices() {
        assert!(is("f[0-9].{txt,md}", "f3.md"));
        assert!(!is("f[!0-9].{txt,md}", "f3.md"));
        assert!(is("{a/*,b/{c,d}}", "b/d"));
        assert!(is("\\*", "*"));
        assert!(!is("?", "/"));
    }

    #[test]
    fn what_cannot_be_read_matches_everything() {
        assert!(is("a[", "anything/at/all"));
        assert!(is("{a", "anything/at/all"));
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let mut budget = 1000;
        let pattern = Glob::new(&"*a".repeat(30));
        assert!(!pattern.matches(&"a".repeat(200).replace("aaaaaaaaaa", "aaaaaaaaab"), &mut budget));
    }
}
