//! The order of versions; metadata does not count.

use std::cmp::Ordering;

use super::Version;

/// Compares two versions.
pub(crate) fn compare(a: &Version, b: &Version) -> Ordering {
    let numbers = (a.major, a.minor, a.patch).cmp(&(b.major, b.minor, b.patch));
    numbers.then_with(|| match (a.pre.is_empty(), b.pre.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare_pre(&a.pre, &b.pre),
    })
}

/// Compares prereleases part by part; a missing part comes first.
pub(super) fn compare_pre(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => match compare_part(x.unwrap_or(""), y.unwrap_or("")) {
                Ordering::Equal => {}
                order => return order,
            },
        }
    }
}

fn compare_part(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (a.parse::<u64>(), b.parse::<u64>()) {
        _ if a.is_empty() => Ordering::Less,
        _ if b.is_empty() => Ordering::Greater,
        (Ok(x), Ok(y)) => {
            if x > y {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => {
            if a > b {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}
