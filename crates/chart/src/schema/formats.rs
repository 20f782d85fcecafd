//! The formats that Helm's library knows, what it takes for each, and what it says of the rest. Drafts up to 7 check them.

use std::net::Ipv6Addr;

use sluice_template::{check_go_date, check_go_pattern, go_url};

type Check = Result<(), String>;
/// What a text of this format must be.
type Format = (&'static str, fn(&str) -> Check);

/// What is checked by name.
pub(super) const FORMATS: &[Format] = &[
    ("date", check_go_date),
    ("date-time", date_time),
    ("duration", duration),
    ("email", email),
    ("hostname", hostname),
    ("ipv4", ipv4),
    ("ipv6", ipv6),
    ("iri", uri),
    ("iri-reference", uri_reference),
    ("json-pointer", json_pointer),
    ("period", period),
    ("regex", check_go_pattern),
    ("relative-json-pointer", relative_json_pointer),
    ("semver", semver),
    ("time", time),
    ("uri", uri),
    ("uri-reference", uri_reference),
    ("uri-template", uri_template),
    ("uuid", uuid),
];

/// What another library knows besides, and Helm's does not: everything is such a text.
pub(super) const UNKNOWN: [&str; 2] = ["idn-email", "idn-hostname"];

/// Why a text is not of a format.
pub(super) fn reason(format: &str, text: &str) -> Option<String> {
    let (_, check) = FORMATS.iter().find(|(name, _)| *name == format)?;
    check(text).err()
}

fn require(holds: bool, or_else: &str) -> Check {
    if holds { Ok(()) } else { Err(or_else.to_owned()) }
}

fn named<'w>(what: &'w str) -> impl Fn(String) -> String + 'w {
    move |error| format!("{what}: {error}")
}

/// Every character is one of these.
fn only(text: &str, allowed: impl Fn(char) -> bool) -> Check {
    match text.chars().find(|char| !allowed(*char)) {
        Some(other) => Err(format!("invalid character {other:?}")),
        None => Ok(()),
    }
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits that a text begins with, and what follows.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn json_pointer(text: &str) -> Check {
    if text.is_empty() {
        return Ok(());
    }
    require(text.starts_with('/'), "not starting with /")?;
    let escapes = text.split('~').skip(1);
    require(escapes.into_iter().all(|rest| rest.starts_with(['0', '1'])), "~ must be followed by 0 or 1")
}

fn relative_json_pointer(text: &str) -> Check {
    let (digits, rest) = split_digits(text);
    require(!digits.is_empty(), "must start with non-negative integer")?;
    require(digits.len() == 1 || !digits.starts_with('0'), "starts with zero")?;
    if rest == "#" { Ok(()) } else { json_pointer(rest) }
}

fn uuid(text: &str) -> Check {
    let groups: Vec<&str> = text.split('-').collect();
    require(groups.len() == 5, "must have 5 elements")?;
    for (index, (group, length)) in groups.into_iter().zip([8, 4, 4, 4, 12]).enumerate() {
        let wrong = format!("element {} must be {length} characters long", index + 1);
        require(group.len() == length, &wrong)?;
        if let Some(other) = group.chars().find(|char| !char.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {other:?}"));
        }
    }
    Ok(())
}

fn duration(text: &str) -> Check {
    let rest = text.strip_prefix('P').ok_or("must start with P")?;
    require(!rest.is_empty(), "nothing after P")?;
    if let Some(weeks) = rest.strip_suffix('W') {
        require(!weeks.is_empty(), "no number in week")?;
        return require(are_digits(weeks), "invalid week");
    }
    for (index, part) in rest.split('T').enumerate() {
        require(index == 0 || !part.is_empty(), "no time elements")?;
        let units = *["YMD", "HMS"].get(index).ok_or("more than one T")?;
        elements(part, units)?;
    }
    Ok(())
}

/// Numbers with units, which stand in this order.
fn elements(mut text: &str, all: &str) -> Check {
    let mut left = all;
    while !text.is_empty() {
        let (digits, rest) = split_digits(text);
        require(!digits.is_empty(), "missing number")?;
        let unit = rest.chars().next().ok_or("missing unit")?;
        let Some(at) = left.find(unit) else {
            let wrong = if all.contains(unit) {
                format!("unit {unit:?} out of order")
            } else {
                format!("invalid unit {unit:?}")
            };
            return Err(wrong);
        };
        (left, text) = (&left[at + 1..], &rest[unit.len_utf8()..]);
    }
    Ok(())
}

fn ipv4(text: &str) -> Check {
    let groups: Vec<&str> = text.split('.').collect();
    require(groups.len() == 4, "expected four decimals")?;
    for group in groups {
        require(group.len() < 2 || !group.starts_with('0'), "leading zeros")?;
        let digits = group.strip_prefix(['+', '-']).unwrap_or(group);
        if digits.is_empty() || !are_digits(digits) {
            return Err(format!("strconv.Atoi: parsing {group:?}: invalid syntax"));
        }
        let number: i64 =
            group.parse().map_err(|_| format!("strconv.Atoi: parsing {group:?}: value out of range"))?;
        require((0..256).contains(&number), "decimal must be between 0 and 255")?;
    }
    Ok(())
}

fn ipv6(text: &str) -> Check {
    require(text.contains(':'), "missing colon")?;
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    let is_zone = !text.contains('%') || !zone.is_empty();
    if !is_zone || address.parse::<Ipv6Addr>().is_err() {
        return Err(format!("ParseAddr({text:?}): unable to parse IP"));
    }
    require(zone.is_empty(), "zone id is not a part of ipv6 address")
}

fn hostname(text: &str) -> Check {
    let text = text.strip_suffix('.').unwrap_or(text);
    require(text.len() <= 253, "more than 253 characters long")?;
    for label in text.split('.') {
        require((1..64).contains(&label.len()), "label must be 1 to 63 characters long")?;
        require(!label.starts_with('-'), "label starts with hyphen")?;
        require(!label.ends_with('-'), "label ends with hyphen")?;
        only(label, |char| char.is_ascii_alphanumeric() || char == '-')?;
    }
    Ok(())
}

fn email(text: &str) -> Check {
    require(text.len() <= 254, "more than 255 characters long")?;
    let (local, domain) = text.rsplit_once('@').ok_or("missing @")?;
    require(local.len() <= 64, "local part more than 64 characters long")?;
    match local.strip_prefix('"').filter(|quoted| !quoted.is_empty()) {
        Some(quoted) => {
            let last = quoted.chars().next_back().map_or(0, char::len_utf8);
            let inner = &quoted[..quoted.len() - last];
            let wrong = "backslash and quote are not allowed within quoted local part";
            require(!inner.contains(['\\', '"']), wrong)?;
        }
        None => {
            require(!local.starts_with('.'), "starts with dot")?;
            require(!local.ends_with('.'), "ends with dot")?;
            require(!local.contains(".."), "consecutive dots")?;
            only(local, |char| char.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(char))?;
        }
    }
    if let Some(address) = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        return match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(named("invalid ipv6 address")),
            None => ipv4(address).map_err(named("invalid ipv4 address")),
        };
    }
    hostname(domain).map_err(named("invalid domain"))
}

/// Two numbers with a colon between them, as minutes and seconds are; `wrong` says what is no number.
fn numbers<const N: usize>(text: &str, wrong: &str, negative: &str) -> Result<[i64; N], String> {
    let mut numbers = [0; N];
    let mut parts = text.splitn(N, ':');
    for number in &mut numbers {
        let part = parts.next().unwrap_or_default();
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        require(!digits.is_empty() && are_digits(digits), wrong)?;
        *number = part.parse().map_err(|_| wrong.to_owned())?;
        require(*number >= 0, negative)?;
    }
    Ok(numbers)
}

fn time(text: &str) -> Check {
    require(text.len() >= 9, "less than 9 characters long")?;
    let is_colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    require(is_colon(2) && is_colon(5), "missing colon in correct place")?;
    let (clock, rest) = text.split_at_checked(8).ok_or("invalid hour/min/sec")?;
    let [hour, minute, second] = numbers(clock, "invalid hour/min/sec", "non-positive hour/min/sec")?;
    require(hour < 24 && minute < 60 && second <= 60, "hour/min/sec out of range")?;
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let (digits, rest) = split_digits(fraction);
            require(!digits.is_empty(), "no digits in second fraction")?;
            rest
        }
        None => rest,
    };
    let of_day = 60 * hour + minute - offset(rest)?;
    let of_day = if of_day < 0 { of_day + 24 * 60 } else { of_day };
    require(second < 60 || of_day == 24 * 60 - 1, "invalid leap second")
}

/// Minutes before UTC.
fn offset(text: &str) -> Result<i64, String> {
    if text.eq_ignore_ascii_case("z") {
        return Ok(0);
    }
    require(text.len() == 6, "offset must be 6 characters long")?;
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err("offset must begin with plus/minus".to_owned()),
    };
    let clock = text.get(1..).filter(|clock| clock.as_bytes().get(2) == Some(&b':'));
    let clock = clock.ok_or("missing colon in offset in correct place")?;
    let [hours, minutes] = numbers(clock, "invalid hour/min in offset", "non-positive hour/min in offset")?;
    require(hours < 24 && minutes < 60, "hour/min in offset out of range")?;
    Ok(sign * (60 * hours + minutes))
}

fn date_time(text: &str) -> Check {
    require(text.len() >= 20, "less than 20 characters long")?;
    require(matches!(text.as_bytes().get(10), Some(b't' | b'T')), "11th character must be t or T")?;
    let (date, rest) = text.split_at_checked(10).ok_or("11th character must be t or T")?;
    check_go_date(date).map_err(named("invalid date element"))?;
    time(&rest[1..]).map_err(named("invalid time element"))
}

fn period(text: &str) -> Check {
    let (start, end) = text.split_once('/').ok_or("missing slash")?;
    if start.starts_with('P') {
        duration(start).map_err(named("invalid start duration"))?;
        return date_time(end).map_err(named("invalid end date-time"));
    }
    date_time(start).map_err(named("invalid start date-time"))?;
    if end.starts_with('P') {
        return duration(end).map_err(named("invalid end duration"));
    }
    date_time(end).map_err(named("invalid end date-time"))
}

/// The scheme of a URL as Go reads it, where an address in it is one.
fn scheme(text: &str) -> Result<String, String> {
    let url = go_url(text)?;
    if url.hostname.contains(':') {
        let is_bracketed = url.host.contains('[') && url.host.contains(']');
        require(is_bracketed, "ipv6 address not enclosed in brackets")?;
        ipv6(&url.hostname).map_err(named("invalid ipv6 address"))?;
    }
    Ok(url.scheme)
}

fn uri(text: &str) -> Check {
    require(!scheme(text)?.is_empty(), "relative url")
}

fn uri_reference(text: &str) -> Check {
    require(!text.contains('\\'), "contains \\")?;
    scheme(text).map(drop)
}

fn uri_template(text: &str) -> Check {
    scheme(text)?;
    for part in go_url(text)?.raw_path.split('/') {
        let mut is_open = false;
        for char in part.chars().filter(|char| matches!(char, '{' | '}')) {
            require(is_open == (char == '}'), "nested curly braces")?;
            is_open = !is_open;
        }
        require(!is_open, "no matching closing brace")?;
    }
    Ok(())
}

fn semver(text: &str) -> Check {
    let is_letter = |char: char| char.is_ascii_alphanumeric() || char == '-';
    let foreign = |id: &str| id.chars().find(|char| !is_letter(*char));
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    if let Some(build) = build {
        require(!build.is_empty(), "build is empty")?;
        for id in build.split('.') {
            require(!id.is_empty(), "build identifier is empty")?;
            if let Some(other) = foreign(id) {
                return Err(format!("invalid character {other:?} in build identifier"));
            }
        }
    }
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    for id in before.into_iter().flat_map(|before| before.split('.')) {
        require(!id.is_empty(), "pre-release identifier is empty")?;
        if let Some(other) = foreign(id) {
            return Err(format!("invalid character {other:?} in pre-release identifier"));
        }
        let has_zero = are_digits(id) && id.len() > 1 && id.starts_with('0');
        require(!has_zero, "pre-release numeric identifier starts with zero")?;
    }
    let numbers: Vec<&str> = core.split('.').collect();
    require(numbers.len() == 3, "versionCore must have 3 numbers separated by dot")?;
    for (number, name) in numbers.into_iter().zip(["major", "minor", "patch"]) {
        require(!number.is_empty(), &format!("{name} is empty"))?;
        require(number.len() == 1 || !number.starts_with('0'), &format!("{name} starts with zero"))?;
        require(are_digits(number), &format!("{name} contains non-digit"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_each_format_are_taken() {
        let good = [
            ("date", "2024-02-29"),
            ("date-time", "2024-02-29T23:59:60Z"),
            ("date-time", "2024-02-29t00:59:60.25+01:00"),
            ("duration", "P1Y2M3DT4H5M6S"),
            ("duration", "P3W"),
            ("email", "a.b+c@example.com"),
            ("email", "\"a b\"@[IPv6:::1]"),
            ("email", "a@[127.0.0.1]"),
            ("hostname", "a-1.example.com."),
            ("ipv4", "127.0.0.1"),
            ("ipv6", "::ffff:1.2.3.4"),
            ("iri", "https://[::1]:80/a"),
            ("json-pointer", "/a~0b/~1"),
            ("period", "2024-01-01T00:00:00Z/P1D"),
            ("period", "P1D/2024-01-01T00:00:00Z"),
            ("regex", "^a+$"),
            ("relative-json-pointer", "0#"),
            ("relative-json-pointer", "12/a"),
            ("semver", "1.0.0-rc.1+build.5"),
            ("time", "12:00:00-05:30"),
            ("uri", "mailto:a"),
            ("uri-reference", "a/b?c#d"),
            ("uri-template", "/a/{b}/c"),
            ("uuid", "123e4567-e89b-12d3-A456-426614174000"),
        ];
        for (format, text) in good {
            assert_eq!(reason(format, text), None, "{format} {text}");
        }
    }

    #[test]
    fn why_a_text_is_not_of_a_format_is_said_as_helm_says_it() {
        let bad = [
            (
                "date-time",
                "2020-13-01T00:00:00Z",
                "invalid date element: parsing time \"2020-13-01\": month out of range",
            ),
            ("date-time", "2020-10-01 00:00:00Z", "11th character must be t or T"),
            ("duration", "P1D2M", "unit 'M' out of order"),
            ("duration", "PT", "no time elements"),
            ("email", "a..b@c", "consecutive dots"),
            ("email", "a@-b", "invalid domain: label starts with hyphen"),
            ("hostname", "a_b", "invalid character '_'"),
            ("hostname", "a..b", "label must be 1 to 63 characters long"),
            ("ipv4", "1.2.3.x", "strconv.Atoi: parsing \"x\": invalid syntax"),
            ("ipv4", "1.2.3.04", "leading zeros"),
            ("ipv6", "::1%eth0", "zone id is not a part of ipv6 address"),
            ("json-pointer", "/~2", "~ must be followed by 0 or 1"),
            ("relative-json-pointer", "01", "starts with zero"),
            ("semver", "1.02.3", "minor starts with zero"),
            ("time", "12:00:60Z", "invalid leap second"),
            ("time", "24:00:00Z", "hour/min/sec out of range"),
            ("time", "12:00:00+0530", "offset must be 6 characters long"),
            ("uri", "a/b", "relative url"),
            ("uri-template", "/{a{b}}", "nested curly braces"),
            ("uuid", "123e4567-e89b-12d3-a456-42661417400g", "non-hex character 'g'"),
        ];
        for (format, text, expected) in bad {
            assert_eq!(reason(format, text).as_deref(), Some(expected), "{format} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in "[PTWYMDHS0-9a-z:./~%@\\[\\]\"\\\\{}+\\-é]{0,30}") {
            FORMATS.iter().for_each(|(name, _)| drop(reason(name, &text)));
        }
    }
}
