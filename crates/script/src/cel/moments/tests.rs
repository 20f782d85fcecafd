#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn duration(text: &str) -> i128 {
    parse_duration(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}")).as_nanos()
}

fn moment(text: &str) -> Timestamp {
    parse_timestamp(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

fn why<T: std::fmt::Debug>(result: Result<T, Fault>) -> String {
    match result.unwrap_err() {
        Fault::Data(text) => text,
        limit @ Fault::Limit(_) => panic!("{limit:?}"),
    }
}

#[test]
fn durations_have_units_as_go_writes_them() {
    for (text, nanos) in [
        ("1ns", 1),
        ("1us", 1_000),
        ("1µs", 1_000),
        ("1μs", 1_000),
        ("1ms", 1_000_000),
        ("1s", 1_000_000_000),
        ("1m", 60_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1h1m1s1ms1us1ns", 3_661_001_001_001),
        ("1s1h", 3_601_000_000_000),
        ("-1.5h", -5_400_000_000_000),
        ("+2m", 120_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("0", 0),
        ("-0", 0),
        ("0.3ns", 0),
        ("0.0000000005s", 0),
        ("0.1234567899999999999999999s", 123_456_789),
    ] {
        assert_eq!(duration(text), nanos, "{text}");
    }
}

#[test]
fn what_is_no_duration_is_told() {
    for text in [
        "",
        "-",
        "+",
        "1",
        "1d",
        "s",
        ".s",
        "1.2.3s",
        "1 s",
        "h1",
        "1s2",
        "--1s",
        "1S",
        "é",
        "99999999999999999999s",
    ] {
        let expected = format!("{text:?} is no duration; write 1h30m or 1.5s");
        assert_eq!(why(parse_duration(text)), expected);
    }
}

#[test]
fn a_duration_has_64_bits_of_nanoseconds() {
    assert_eq!(duration("9223372036854775807ns"), i128::from(i64::MAX));
    assert_eq!(duration("-2562047h47m16.854775808s"), i128::from(i64::MIN));
    for text in ["9223372036854775808ns", "2562047h47m16.854775808s", "2562048h"] {
        assert_eq!(why(parse_duration(text)), format!("{text:?} is no duration; write 1h30m or 1.5s"));
    }
}

#[test]
fn durations_are_written_in_seconds() {
    for (text, expected) in
        [("1h", "3600s"), ("1.5s", "1.5s"), ("-90m", "-5400s"), ("1ns", "0.000000001s"), ("0s", "0s")]
    {
        assert_eq!(written(parse_duration(text).unwrap()), expected);
    }
}

#[test]
fn sums_and_differences_of_durations_do_not_wrap_around() {
    let (most, one) = (SignedDuration::from_nanos(i64::MAX), SignedDuration::from_nanos(1));
    assert_eq!(sum(most, SignedDuration::from_nanos(-1)), Ok(SignedDuration::from_nanos(i64::MAX - 1)));
    assert_eq!(why(sum(most, one)), "range: the duration has more than 64 bits of nanoseconds");
    assert_eq!(negated(most), Ok(SignedDuration::from_nanos(-i64::MAX)));
    assert_eq!(
        why(negated(SignedDuration::from_nanos(i64::MIN))),
        "range: the duration has more than 64 bits of nanoseconds"
    );
}

#[test]
fn timestamps_are_those_of_rfc_3339() {
    assert_eq!(moment("1970-01-01T00:00:00Z"), Timestamp::UNIX_EPOCH);
    assert_eq!(moment("1970-01-01T02:30:00+02:30"), Timestamp::UNIX_EPOCH);
    assert_eq!(moment("1970-01-01T00:00:00.000000001Z").as_nanosecond(), 1);
    for text in [
        "",
        "1970-01-01",
        "1970-01-01 00:00:00Z",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00Z",
        "1970-02-30T00:00:00Z",
        "é970-01-01T00:00:00Z",
    ] {
        assert_eq!(
            why(parse_timestamp(text)),
            format!("{text:?} is no timestamp; write 2026-01-31T08:00:00Z")
        );
    }
}

#[test]
fn timestamps_are_of_the_years_1_to_9999() {
    let range = "range: the timestamp is not in the years 1 to 9999";
    assert_eq!(timestamp(*SECONDS.start()), Ok(moment("0001-01-01T00:00:00Z")));
    assert_eq!(timestamp(*SECONDS.end() - 26 * 3600), Ok(moment("9999-12-30T21:59:59Z")));
    for seconds in [SECONDS.start() - 1, *SECONDS.end(), SECONDS.end() + 1, i64::MIN, i64::MAX] {
        assert_eq!(why(timestamp(seconds)), range);
    }
    let second = SignedDuration::from_secs(1);
    assert_eq!(why(later(moment("9999-12-30T22:00:00.999999999Z"), second)), range);
    assert_eq!(why(later(moment("0001-01-01T00:00:00Z"), -second)), range);
}

#[test]
fn between_two_timestamps_is_a_duration_where_it_fits() {
    let (first, last) = (moment("2026-01-01T00:00:00Z"), moment("2026-01-02T00:00:00.5Z"));
    assert_eq!(between(last, first), Ok(SignedDuration::from_millis(86_400_500)));
    assert_eq!(between(first, last), Ok(SignedDuration::from_millis(-86_400_500)));
    assert_eq!(
        why(between(moment("9999-01-01T00:00:00Z"), moment("0001-01-01T00:00:00Z"))),
        "range: the duration has more than 64 bits of nanoseconds"
    );
}

#[test]
fn parts_of_a_timestamp_are_those_of_its_zone() {
    let moment = moment("2026-03-29T00:30:00Z");
    let hour = |zone: &str| part_of_timestamp(Part::Hours, moment, Some(zone));
    for (zone, expected) in [
        ("UTC", 0),
        ("", 0),
        ("Europe/Berlin", 1),
        ("+05:30", 6),
        ("05:30", 6),
        ("-01:00", 23),
        ("-00:45", 23),
    ] {
        assert_eq!(hour(zone), Ok(expected), "{zone}");
    }
    for zone in ["Nowhere/Town", "+2", "+xx:00", "99:00", ":", "+02:00:00"] {
        assert_eq!(why(hour(zone)), format!("{zone:?} is no time zone; write Europe/Berlin or +02:00"));
    }
}

#[test]
fn months_and_days_are_counted_from_zero_but_for_the_date() {
    let last = moment("2024-12-31T23:59:58.999Z");
    let part = |part: Part| part_of_timestamp(part, last, None).unwrap();
    let parts = [Part::FullYear, Part::Month, Part::Date, Part::DayOfMonth, Part::DayOfWeek, Part::DayOfYear]
        .map(part);
    assert_eq!(parts, [2024, 11, 31, 30, 2, 365]);
    assert_eq!([Part::Hours, Part::Minutes, Part::Seconds, Part::Milliseconds].map(part), [23, 59, 58, 999]);
    assert_eq!(part_of_timestamp(Part::DayOfWeek, moment("2026-03-01T00:00:00Z"), None), Ok(0), "a Sunday");
}

#[test]
fn parts_of_a_duration_are_all_of_it_in_that_unit() {
    let duration = parse_duration("-1h30m1.5s").unwrap();
    let part = |part: Part| part_of_duration(part, duration);
    assert_eq!(
        [Part::Hours, Part::Minutes, Part::Seconds, Part::Milliseconds].map(part),
        [-1, -90, -5401, -5_401_500].map(Some)
    );
    assert_eq!(
        [Part::FullYear, Part::Month, Part::Date, Part::DayOfMonth, Part::DayOfWeek, Part::DayOfYear]
            .map(part),
        [None; 6]
    );
}

proptest! {
    #[test]
    fn any_text_is_a_duration_or_is_told(text in "[-+.0-9nuµmsh]{0,12}|\\PC{0,8}") {
        if let Ok(duration) = parse_duration(&text) {
            prop_assert!(i64::try_from(duration.as_nanos()).is_ok());
        }
        drop(parse_timestamp(&text));
    }

    #[test]
    fn a_duration_that_is_written_in_nanoseconds_is_read_back(nanos in any::<i64>()) {
        prop_assume!(nanos != i64::MIN);
        prop_assert_eq!(duration(&format!("{nanos}ns")), i128::from(nanos));
    }

    #[test]
    fn a_moment_is_as_much_later_as_it_is_told(seconds in *SECONDS.start()..250_000_000_000, more in -1_000_000_000_000..1_000_000_000_000_i64) {
        let (moment, more) = (timestamp(seconds).unwrap(), SignedDuration::from_millis(more));
        if let Ok(later) = later(moment, more) {
            prop_assert_eq!(between(later, moment), Ok(more));
        }
    }
}
