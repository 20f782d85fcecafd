//! Version constraints: `>=1.2 <2 || ~3.1`, `1.2 - 1.4`, `1.x`, `^0.2.3`.

use std::{cmp::Ordering, sync::LazyLock};

use regex::{Captures, Regex};

use super::{Version, compare, order::compare_pre, parse as parse_version};
use crate::{exec::Fail, text::quote::quoted};

const VERSION: &str = concat!(
    r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?",
    r"(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
);
const OPS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";

static ONE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"^\s*({OPS})\s*({VERSION})\s*$")).ok());
static FIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"({OPS})\s*({VERSION})")).ok());
static RANGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"\s*({VERSION})\s+-\s+({VERSION})\s*")).ok());
static VALID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"^(\s*({OPS})\s*({VERSION})\s*)((?:\s+|,\s*)({OPS})\s*({VERSION})\s*)*$")).ok()
});

/// Alternatives of conditions that must all hold.
pub(super) type Constraints = Vec<Vec<Condition>>;

/// One condition, such as `>=1.2`.
#[derive(Debug)]
pub(super) struct Condition {
    op: String,
    version: Version,
    /// Some part was left out or is a wildcard.
    dirty: bool,
    minor_dirty: bool,
    patch_dirty: bool,
}

const MAX_LEN: usize = 512;
const MAX_GROUPS: usize = 32;

fn improper(text: &str) -> Fail {
    format!("improper constraint: {}", quoted(text)).into()
}

/// Parses a constraint.
pub(super) fn parse(text: &str) -> Result<Constraints, Fail> {
    if text.len() > MAX_LEN {
        return Err(format!("constraint string is too long (max {MAX_LEN} bytes)").into());
    }
    let text = rewrite_ranges(text);
    let groups: Vec<&str> = text.split("||").collect();
    if groups.len() > MAX_GROUPS {
        return Err(format!("too many constraint groups (max {MAX_GROUPS})").into());
    }
    groups.into_iter().map(parse_group).collect()
}

fn parse_group(group: &str) -> Result<Vec<Condition>, Fail> {
    let (Some(valid), Some(find)) = (VALID.as_ref(), FIND.as_ref()) else { return Err(improper(group)) };
    if !valid.is_match(group) {
        return Err(improper(group));
    }
    find.find_iter(group).map(|m| parse_condition(m.as_str())).collect()
}

/// `1.2 - 1.4` is `>= 1.2, <= 1.4 `.
fn rewrite_ranges(text: &str) -> String {
    let Some(range) = RANGE.as_ref() else { return text.to_owned() };
    let mut out = text.to_owned();
    for m in range.captures_iter(text) {
        let replacement = format!(">= {}, <= {} ", &m[1], &m[11]);
        out = out.replacen(&m[0], &replacement, 1);
    }
    out
}

fn parse_condition(text: &str) -> Result<Condition, Fail> {
    let captures = ONE.as_ref().and_then(|r| r.captures(text)).ok_or_else(|| improper(text))?;
    let wild = |at: usize| {
        let part = group(&captures, at).trim_start_matches('.');
        part.is_empty() || matches!(part, "x" | "X" | "*")
    };
    let tail = group(&captures, 6);
    let (minor_dirty, patch_dirty, dirty, version) = if wild(3) {
        (false, false, true, format!("0.0.0{tail}"))
    } else if wild(4) {
        (true, false, true, format!("{}.0.0{tail}", group(&captures, 3)))
    } else if wild(5) {
        (false, true, true, format!("{}{}.0{tail}", group(&captures, 3), group(&captures, 4)))
    } else {
        (false, false, false, group(&captures, 2).to_owned())
    };
    let version = parse_version(&version).map_err(|_| Fail::from("constraint parser error"))?;
    Ok(Condition { op: group(&captures, 1).to_owned(), version, dirty, minor_dirty, patch_dirty })
}

fn group<'t>(captures: &Captures<'t>, at: usize) -> &'t str {
    captures.get(at).map_or("", |m| m.as_str())
}

/// Whether a version satisfies the constraints.
pub(super) fn check(constraints: &Constraints, version: &Version) -> bool {
    constraints.iter().any(|all| {
        let pre = all.iter().any(|c| !c.version.pre.is_empty());
        all.iter().all(|c| c.holds(version, pre))
    })
}

// === impl Condition ===

impl Condition {
    /// Prereleases satisfy only alternatives that name a prerelease.
    fn holds(&self, v: &Version, include_pre: bool) -> bool {
        if !v.pre.is_empty() && !include_pre {
            return false;
        }
        let order = compare(v, &self.version);
        match self.op.as_str() {
            "!=" => self.differs(v),
            ">" => self.greater(v, order),
            "<" => order == Ordering::Less,
            ">=" | "=>" => order != Ordering::Less,
            "<=" | "=<" => self.at_most(v, order),
            "~" | "~>" => self.tilde(v, order),
            "^" => self.caret(v, order),
            _ if self.dirty => self.tilde(v, order),
            _ => order == Ordering::Equal,
        }
    }

    fn differs(&self, v: &Version) -> bool {
        let c = &self.version;
        if self.dirty {
            if c.major != v.major {
                return true;
            }
            if c.minor != v.minor && !self.minor_dirty {
                return true;
            }
            if self.minor_dirty {
                return false;
            }
            if c.patch != v.patch && !self.patch_dirty {
                return true;
            }
            if self.patch_dirty {
                let pre = !v.pre.is_empty() || !c.pre.is_empty();
                return pre && compare_pre(&v.pre, &c.pre) != Ordering::Equal;
            }
        }
        compare(v, c) != Ordering::Equal
    }

    fn greater(&self, v: &Version, order: Ordering) -> bool {
        let c = &self.version;
        if self.dirty {
            if v.major != c.major {
                return v.major > c.major;
            }
            if self.minor_dirty {
                return false;
            }
            if self.patch_dirty {
                return v.minor > c.minor;
            }
        }
        order == Ordering::Greater
    }

    fn at_most(&self, v: &Version, order: Ordering) -> bool {
        let c = &self.version;
        if !self.dirty {
            return order != Ordering::Greater;
        }
        v.major <= c.major && !(v.major == c.major && v.minor > c.minor && !self.minor_dirty)
    }

    fn tilde(&self, v: &Version, order: Ordering) -> bool {
        let c = &self.version;
        if order == Ordering::Less {
            return false;
        }
        let zero = c.major == 0 && c.minor == 0 && c.patch == 0;
        if zero && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        v.major == c.major && (v.minor == c.minor || self.minor_dirty)
    }

    fn caret(&self, v: &Version, order: Ordering) -> bool {
        let c = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if c.major > 0 || self.minor_dirty {
            return v.major == c.major;
        }
        if v.major > 0 {
            return false;
        }
        if c.minor > 0 || self.patch_dirty {
            return v.minor == c.minor;
        }
        v.minor == 0 && v.patch == c.patch
    }
}
