//! Semantic versions as the Masterminds library reads them: `v`, missing parts, leading zeros.

mod constraint;
mod order;

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::{lossy, quote::quoted},
    value::{Object, Value},
};

pub(crate) use order::compare;

pub(crate) const TABLE: &[Row] = &[
    (
        "semver(version string) version",
        semver,
        "The parsed version, with methods such as `Major` and `IncMinor`.",
    ),
    (
        "semverCompare(constraint string, version string) bool",
        semver_compare,
        "Whether the version satisfies the constraint.",
    ),
];

/// A parsed version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) pre: String,
    pub(crate) metadata: String,
    pub(crate) original: String,
}

/// Longer versions are refused.
const MAX_LEN: usize = 256;

/// Parses a version.
pub(crate) fn parse(text: &str) -> Result<Version, Fail> {
    if text.len() > MAX_LEN {
        return Err(format!("version string is too long (max {MAX_LEN} bytes)").into());
    }
    let invalid = || Fail::from("invalid semantic version");
    let rest = text.strip_prefix('v').unwrap_or(text);
    let (rest, metadata) = split_tail(rest, '+');
    let (numbers, pre) = split_tail(rest, '-');
    let parts: Vec<&str> = numbers.split('.').collect();
    let well_formed = parts.len() <= 3
        && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
        && pre.is_none_or(is_dotted)
        && metadata.is_none_or(is_dotted);
    if !well_formed {
        return Err(invalid());
    }
    let number = |at: usize| match parts.get(at) {
        None => Ok(0),
        Some(digits) => digits.parse::<u64>().map_err(|_| {
            let what = format!("parsing {}: value out of range", quoted(digits));
            Fail::from(format!("error parsing version segment: strconv.ParseUint: {what}"))
        }),
    };
    let (major, minor, patch) = (number(0)?, number(1)?, number(2)?);
    check_pre(pre.unwrap_or(""))?;
    Ok(Version {
        major,
        minor,
        patch,
        pre: pre.unwrap_or("").into(),
        metadata: metadata.unwrap_or("").into(),
        original: text.into(),
    })
}

fn split_tail(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Identifiers with dots between them.
pub(super) fn is_dotted(text: &str) -> bool {
    text.split('.').all(is_identifier)
}

/// A prerelease of dotted identifiers; numbers must not start with a zero.
pub(crate) fn check_pre(pre: &str) -> Result<(), Fail> {
    if pre.is_empty() {
        return Ok(());
    }
    for part in pre.split('.') {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            if part.len() > 1 && part.starts_with('0') {
                return Err("version segment starts with 0".into());
            }
        } else if !is_identifier(part) {
            return Err("invalid prerelease string".into());
        }
    }
    Ok(())
}

/// Build metadata of dotted identifiers.
pub(crate) fn check_metadata(metadata: &str) -> Result<(), Fail> {
    if metadata.is_empty() || is_dotted(metadata) { Ok(()) } else { Err("invalid metadata string".into()) }
}

/// The version in its canonical form.
pub(crate) fn to_string(v: &Version) -> String {
    let mut out = format!("{}.{}.{}", v.major, v.minor, v.patch);
    for (mark, tail) in [('-', &v.pre), ('+', &v.metadata)] {
        if !tail.is_empty() {
            out.push(mark);
            out.push_str(tail);
        }
    }
    out
}

/// Whether a text is a version.
pub fn is_version(text: &str) -> bool {
    parse(text).is_ok()
}

/// Which of two versions is newer; nothing if one of them cannot be read.
pub fn compare_versions(a: &str, b: &str) -> Option<std::cmp::Ordering> {
    Some(order::compare(&parse(a).ok()?, &parse(b).ok()?))
}

/// Whether a version satisfies a constraint; false if one of them cannot be read.
pub fn version_satisfies(constraint: &str, version: &str) -> bool {
    match (constraint::parse(constraint), parse(version)) {
        (Ok(constraints), Ok(version)) => constraint::check(&constraints, &version),
        _ => false,
    }
}

fn semver<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let version = parse(&lossy(args[0].bytes()))?;
    Ok(cx.object(Object::Version(version)))
}

fn semver_compare<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(16)?;
    let constraints = constraint::parse(&lossy(args[0].bytes()))?;
    let version = parse(&lossy(args[1].bytes()))?;
    Ok(Value::Bool(constraint::check(&constraints, &version)))
}
