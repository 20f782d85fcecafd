//! What is expected was printed by `json.Marshal` of Go 1.26.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn string(bytes: &[u8], html: bool) -> String {
    let mut out = Vec::new();
    push_string(&mut out, bytes, html);
    String::from_utf8(out).unwrap()
}

#[test]
fn floats_have_an_exponent_where_go_writes_one() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (2.0, "2"),
        (-3.0, "-3"),
        (2.5, "2.5"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (9.99e-7, "9.99e-7"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (1e-100, "1e-100"),
        (5e-324, "5e-324"),
        (1e20, "100000000000000000000"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
        (18_446_744_073_709_551_615.0, "18446744073709552000"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (-2.25e22, "-2.25e+22"),
        (1e300, "1e+300"),
        (f64::MAX, "1.7976931348623157e+308"),
    ] {
        assert_eq!(float(value), expected, "{value:e}");
    }
}

#[test]
fn strings_are_escaped_as_go_escapes_them() {
    for (bytes, expected) in [
        (&b"<a href=\"x\">&amp;</a>"[..], r#""\u003ca href=\"x\"\u003e\u0026amp;\u003c/a\u003e""#),
        (b"\x00\x01\x08\x0c\n\r\t\x1f\x7f", "\"\\u0000\\u0001\\b\\f\\n\\r\\t\\u001f\x7f\""),
        ("\u{2028}\u{2029}\u{2027}".as_bytes(), "\"\\u2028\\u2029\u{2027}\""),
        ("é€𝄞".as_bytes(), "\"é€𝄞\""),
        (b"\xff\xfea\xe2\x80", r#""\ufffd\ufffda\ufffd\ufffd""#),
        (b"\xed\xa0\x80", r#""\ufffd\ufffd\ufffd""#),
        (b"back\\slash/", r#""back\\slash/""#),
        (b"", r#""""#),
    ] {
        assert_eq!(string(bytes, true), expected);
    }
    assert_eq!(string(b"<a>&", false), r#""<a>&""#);
}

#[test]
fn values_are_on_one_line_with_sorted_keys() {
    let value = json!({"b": [1, 2.0, 1e21, true, null, {}], "a": "<&>", "c": [], "<": -1});
    let expected = r#"{"\u003c":-1,"a":"\u003c\u0026\u003e","b":[1,2,1e+21,true,null,{}],"c":[]}"#;
    assert_eq!(String::from_utf8(to_vec(&value)).unwrap(), expected);
}

proptest! {
    #[test]
    fn every_string_is_read_as_it_was(text in any::<String>(), html in any::<bool>()) {
        let back: String = serde_json::from_str(&string(text.as_bytes(), html)).unwrap();
        prop_assert_eq!(back, text);
    }

    #[test]
    fn every_finite_number_is_read_as_it_was(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        prop_assert_eq!(float(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
    }

    #[test]
    fn no_bytes_make_a_text_that_is_no_json(bytes in any::<Vec<u8>>()) {
        prop_assert!(serde_json::from_str::<String>(&string(&bytes, true)).is_ok());
    }
}
