//! Methods of Go objects that templates can call: versions, times, durations.

use std::{collections::HashMap, rc::Rc, sync::LazyLock};

use super::{dates::time_methods, semver};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Function, Row},
    text::lossy,
    value::{IntTy, Object, UintTy, Value},
};

type Methods = HashMap<&'static str, Function>;

static VERSION: LazyLock<Methods> = LazyLock::new(|| methods(VERSION_TABLE));
static TIME: LazyLock<Methods> = LazyLock::new(|| methods(time_methods::TABLE));
static DURATION: LazyLock<Methods> = LazyLock::new(|| methods(time_methods::DURATION_TABLE));
static NAMED: LazyLock<Methods> = LazyLock::new(|| methods(time_methods::NAMED_TABLE));

fn methods(table: &'static [Row]) -> Methods {
    let all = table.iter().map(|row| Function::from_row(row, false));
    all.map(|function| (function.name, function)).collect()
}

/// The method of an object.
pub(crate) fn find(object: &Rc<Object>, name: &str) -> Option<&'static Function> {
    match **object {
        Object::Version(_) => VERSION.get(name),
        Object::Time(_) => TIME.get(name),
        Object::Certificate(_) => None,
    }
}

/// The method of a named integer type.
pub(crate) fn of_number(value: &Value<'_>, name: &str) -> Option<&'static Function> {
    match value {
        Value::Int(IntTy::Duration, _) => DURATION.get(name),
        Value::Int(IntTy::Month | IntTy::Weekday, _) => NAMED.get(name),
        _ => None,
    }
}

/// The methods of `*semver.Version`; the receiver comes before the arguments.
pub(crate) const VERSION_TABLE: &[Row] = &[
    ("Major() uint64", |_, a| number(a, |v| v.major), "The major number."),
    ("Minor() uint64", |_, a| number(a, |v| v.minor), "The minor number."),
    ("Patch() uint64", |_, a| number(a, |v| v.patch), "The patch number."),
    ("Prerelease() string", |cx, a| text(cx, a, |v| v.pre.clone()), "The prerelease."),
    ("Metadata() string", |cx, a| text(cx, a, |v| v.metadata.clone()), "The build metadata."),
    ("Original() string", |cx, a| text(cx, a, |v| v.original.clone()), "The text it was parsed from."),
    ("String() string", |cx, a| text(cx, a, semver::to_string), "The canonical text."),
    ("Compare(other version) int", |_, a| compare(a).map(|o| Value::int(o as i64)), "-1, 0 or 1."),
    (
        "Equal(other version) bool",
        |_, a| compare(a).map(|o| Value::Bool(o.is_eq())),
        "Whether they are equal.",
    ),
    (
        "LessThan(other version) bool",
        |_, a| compare(a).map(|o| Value::Bool(o.is_lt())),
        "Whether it is older.",
    ),
    (
        "LessThanEqual(other version) bool",
        |_, a| compare(a).map(|o| Value::Bool(o.is_le())),
        "Whether it is not newer.",
    ),
    (
        "GreaterThan(other version) bool",
        |_, a| compare(a).map(|o| Value::Bool(o.is_gt())),
        "Whether it is newer.",
    ),
    (
        "GreaterThanEqual(other version) bool",
        |_, a| compare(a).map(|o| Value::Bool(o.is_ge())),
        "Whether it is not older.",
    ),
    (
        "IncMajor() version",
        |cx, a| increment(cx, a, |v| (v.major.checked_add(1), Some(0), Some(0)), "major"),
        "The next major version.",
    ),
    (
        "IncMinor() version",
        |cx, a| increment(cx, a, |v| (Some(v.major), v.minor.checked_add(1), Some(0)), "minor"),
        "The next minor version.",
    ),
    ("IncPatch() version", |cx, a| increment(cx, a, next_patch, "patch"), "The next patch version."),
    ("SetPrerelease(prerelease string) version", set_prerelease, "With another prerelease."),
    ("SetMetadata(metadata string) version", set_metadata, "With other build metadata."),
];

fn version<'v>(value: &'v Value<'_>) -> Result<&'v semver::Version, Fail> {
    match value {
        Value::Object(object) => match &**object {
            Object::Version(version) => Ok(version),
            _ => Err("not a version".into()),
        },
        _ => Err("not a version".into()),
    }
}

fn number<'a>(args: &[Value<'a>], of: fn(&semver::Version) -> u64) -> CallResult<'a> {
    Ok(Value::Uint(UintTy::Uint64, of(version(&args[0])?)))
}

fn text<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], of: fn(&semver::Version) -> String) -> CallResult<'a> {
    let text = of(version(&args[0])?);
    cx.string(text)
}

fn compare(args: &[Value<'_>]) -> Result<std::cmp::Ordering, Fail> {
    Ok(semver::compare(version(&args[0])?, version(&args[1])?))
}

type Parts = (Option<u64>, Option<u64>, Option<u64>);

/// A prerelease comes before its own version.
fn next_patch(v: &semver::Version) -> Parts {
    let patch = if v.pre.is_empty() { v.patch.checked_add(1) } else { Some(v.patch) };
    (Some(v.major), Some(v.minor), patch)
}

fn increment<'a>(
    cx: &mut Cx<'a>,
    args: &[Value<'a>],
    parts: fn(&semver::Version) -> Parts,
    name: &str,
) -> CallResult<'a> {
    let old = version(&args[0])?;
    let (Some(major), Some(minor), Some(patch)) = parts(old) else {
        return Err(format!("{name} version increment would overflow uint64").into());
    };
    let next = semver::Version { major, minor, patch, ..semver::Version::default() };
    with_original(cx, old, next)
}

/// The original text of a derived version keeps only the `v`.
fn with_original<'a>(cx: &mut Cx<'a>, old: &semver::Version, next: semver::Version) -> CallResult<'a> {
    let prefix = if old.original.starts_with('v') { "v" } else { "" };
    let original = format!("{prefix}{}", semver::to_string(&next));
    Ok(cx.object(Object::Version(semver::Version { original, ..next })))
}

fn set_prerelease<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let pre = lossy(args[1].bytes());
    semver::check_pre(&pre)?;
    let old = version(&args[0])?;
    with_original(cx, old, semver::Version { pre, ..old.clone() })
}

fn set_metadata<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let metadata = lossy(args[1].bytes());
    semver::check_metadata(&metadata)?;
    let old = version(&args[0])?;
    with_original(cx, old, semver::Version { metadata, ..old.clone() })
}
