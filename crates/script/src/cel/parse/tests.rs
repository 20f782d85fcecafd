#![allow(clippy::unwrap_used)]

use super::*;

/// An expression with all that is in it; brackets around a part leave no trace.
fn read(source: &str) -> String {
    format!("{:?}", parse(source).unwrap_or_else(|wrong| panic!("{source}: {wrong}")))
}

fn wrong(source: &str) -> String {
    parse(source).unwrap_err().to_string()
}

fn assert_same(cases: &[(&str, &str)]) {
    for (source, grouped) in cases {
        assert_eq!(read(source), read(grouped), "{source}");
    }
}

#[test]
fn what_binds_tighter_is_grouped_first() {
    assert_same(&[
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 * 2 + 3", "(1 * 2) + 3"),
        ("1 - 2 / 3 % 4", "1 - ((2 / 3) % 4)"),
        ("1 + 2 == 3 - 4", "(1 + 2) == (3 - 4)"),
        ("1 < 2 && 3 >= 4 || 5 != 6", "((1 < 2) && (3 >= 4)) || (5 != 6)"),
        ("true || false && true", "true || (false && true)"),
        ("1 + 1 in [2] && true", "((1 + 1) in [2]) && true"),
        ("true || false ? 1 + 2 : 3 == 4", "(true || false) ? (1 + 2) : (3 == 4)"),
    ]);
}

#[test]
fn grouping_changes_what_is_read() {
    assert_ne!(read("(1 + 2) * 3"), read("1 + 2 * 3"));
    assert_ne!(read("(true || false) && true"), read("true || false && true"));
    assert_ne!(read("1 - (2 - 3)"), read("1 - 2 - 3"));
}

#[test]
fn equals_are_grouped_from_the_left() {
    assert_same(&[
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("1 / 2 * 3", "(1 / 2) * 3"),
        ("1 < 2 == true", "(1 < 2) == true"),
        ("1 == 2 in [true]", "(1 == 2) in [true]"),
    ]);
}

#[test]
fn conditions_are_grouped_from_the_right() {
    assert_same(&[("true ? 1 : false ? 2 : 3", "true ? 1 : (false ? 2 : 3)")]);
    assert_eq!(wrong("true ? false ? 1 : 2 : 3"), "1:14: \"?\" stands where \":\" is expected");
}

#[test]
fn a_sign_binds_tighter_than_operators_and_looser_than_members() {
    assert_same(&[
        ("!true == false", "(!true) == false"),
        ("-resource.a + 1", "(-(resource.a)) + 1"),
        ("!resource.a[0]", "!(resource.a[0])"),
        ("!resource.a.size()", "!(resource.a.size())"),
        ("- - resource", "-(-resource)"),
    ]);
}

#[test]
fn the_sign_of_a_literal_belongs_to_it() {
    assert!(matches!(parse("-9223372036854775808"), Ok(Expr::Int(i64::MIN))));
    assert!(matches!(parse("-1.5"), Ok(Expr::Double(value)) if value == -1.5));
    assert!(matches!(parse("--1"), Ok(Expr::Negate(inner)) if matches!(*inner, Expr::Int(-1))));
    assert!(matches!(parse("-1u"), Ok(Expr::Negate(_))), "what has no sign has none to give");
    assert_eq!(wrong("9223372036854775808"), "1:1: the number is too large for 64 bits");
    assert_eq!(wrong("-9223372036854775809"), "1:2: the number is too large for 64 bits");
}

#[test]
fn long_chains_are_one_expression() {
    let chain = |symbol: &str| vec!["true"; 1_000].join(symbol);
    assert!(matches!(parse(&chain(" && ")), Ok(Expr::And(parts)) if parts.len() == 1_000));
    assert!(matches!(parse(&chain(" || ")), Ok(Expr::Or(parts)) if parts.len() == 1_000));
    assert!(
        matches!(parse("true && (false && true)"), Ok(Expr::And(parts)) if parts.len() == 2),
        "brackets nest"
    );
}

#[test]
fn members_are_read_one_after_the_other() {
    assert_same(&[
        ("resource.a.b[0].c", "((((resource).a).b)[0]).c"),
        ("resource.a[1 + 2]", "resource.a[(1 + 2)]"),
        (".resource.a", "resource.a"),
    ]);
}

#[test]
fn a_word_of_the_language_is_no_field() {
    for word in ["in", "true", "false", "null"] {
        assert_eq!(
            wrong(&format!("resource.{word}")),
            format!("1:10: {word:?} stands where a field is expected")
        );
    }
    for word in ["if", "for", "package", "resource", "int", "size"] {
        assert!(parse(&format!("resource.{word}")).is_ok(), "{word}");
    }
}

#[test]
fn words_that_are_kept_are_no_names() {
    for word in ["as", "break", "const", "if", "in", "let", "package", "while"] {
        assert_eq!(
            wrong(&format!("1 == {word}")),
            format!("1:6: {word:?} is kept by CEL and cannot be a name")
        );
        assert!(wrong(&format!("[1].all({word}, true)")).contains("the name of its variable"), "{word}");
    }
}

#[test]
fn a_word_of_the_language_is_no_variable() {
    for word in ["in", "true", "false", "null"] {
        let wrong = wrong(&format!("[1].exists({word}, {word} == 1)"));
        assert!(wrong.ends_with("the first argument of a macro is the name of its variable"), "{wrong}");
    }
}

#[test]
fn lists_and_maps_may_end_in_a_comma() {
    assert_same(&[("[1, 2,]", "[1, 2]"), ("{1: 2,}", "{1: 2}"), ("[,]", "[]"), ("{,}", "{}")]);
    assert_eq!(wrong("[1,,]"), "1:4: \",\" stands where an expression is expected");
    assert_eq!(wrong("size([1],)"), "1:10: \")\" stands where an expression is expected");
    assert_eq!(wrong("[1 2]"), "1:4: a number stands where \",\" is expected");
    assert_eq!(wrong("{1, 2}"), "1:3: \",\" stands where \":\" is expected");
}

#[test]
fn the_variable_of_a_macro_hides_what_is_called_so_outside() {
    assert!(
        matches!(parse("[1].map(resource, resource)"), Ok(Expr::Fold(fold)) if matches!(fold.body, Expr::Local(0)))
    );
    let nested = parse("[1].map(x, [2].map(x, x))").unwrap();
    let Expr::Fold(outer) = nested else { panic!() };
    let Expr::Fold(inner) = outer.body else { panic!() };
    assert!(matches!(inner.body, Expr::Local(1)), "the inner one");
}

#[test]
fn the_variable_of_a_macro_is_known_in_it_and_nowhere_else() {
    assert!(parse("[1].map(x, [x].map(y, x + y))").is_ok());
    for source in ["[x].map(x, 1)", "[1].map(x, 1) == x", "[1].map(x, [1].map(y, 1) == y)"] {
        assert!(wrong(source).contains("is not known; the object is the variable resource"), "{source}");
    }
}

#[test]
fn each_macro_has_its_form() {
    for name in ["all", "exists", "exists_one", "map", "filter"] {
        assert!(parse(&format!("[1].{name}(x, true)")).is_ok(), "{name}");
        assert!(
            wrong(&format!("[1].{name}(x)"))
                .contains("the first argument of a macro is the name of its variable"),
            "{name}"
        );
        assert!(
            wrong(&format!("[1].{name}(1, true)"))
                .contains("the first argument of a macro is the name of its variable"),
            "{name}"
        );
        assert!(
            wrong(&format!("[1].{name}(x, true, 1, 2)"))
                .contains("a macro has a variable and one expression"),
            "{name}"
        );
        assert!(
            wrong(&format!("{name}([1], x, true)")).contains(&format!("there is no function {name}")),
            "{name}"
        );
    }
    assert!(parse("[1].map(x, true, x)").is_ok());
    assert!(wrong("[1].filter(x, true, x)").contains("map may have a condition before it"));
}

#[test]
fn the_macro_has_asks_for_a_field() {
    assert!(matches!(parse("has(resource.a.b)"), Ok(Expr::Has(_, field)) if &*field == "b"));
    for source in ["has(1)", "has(resource['a'])", "has(resource.a.size())", "has(resource.a == 1)"] {
        assert_eq!(wrong(source), "1:1: has(…) asks for a field: write has(resource.field)", "{source}");
    }
    assert_eq!(wrong("has(resource.a, resource.b)"), "1:15: \",\" stands where \")\" is expected");
    assert!(wrong("resource.has(a)").contains("there is no function has"));
}

#[test]
fn functions_are_called_in_their_form_with_their_arguments() {
    assert_eq!(wrong("resource.int()"), "1:10: int is called as int(value)");
    assert_eq!(wrong("startsWith('a', 'b')"), "1:1: startsWith is called as value.startsWith(…)");
    assert_eq!(wrong("getHours(resource)"), "1:1: getHours is called as value.getHours(…)");
    for source in [
        "int()",
        "int(1, 2)",
        "'a'.contains()",
        "'a'.contains('b', 'c')",
        "size()",
        "'a'.size(1)",
        "resource.getHours('a', 'b')",
    ] {
        assert!(wrong(source).ends_with(" has too many or too few arguments"), "{source}");
    }
    assert_same(&[("size('a')", "'a'.size()"), ("matches('a', 'b')", "'a'.matches('b')")]);
}

#[test]
fn a_pattern_that_stands_in_the_rule_is_compiled_with_it() {
    assert!(matches!(parse("'a'.matches('^a')"), Ok(Expr::Matches(..))));
    assert!(matches!(parse("'a'.matches('^' + 'a')"), Ok(Expr::Call(..))));
    assert_eq!(wrong("true && 'a'.matches('[')"), "1:13: \"[\" is no pattern: unclosed character class");
    assert!(wrong("'a'.matches('a{1000}{1000}')").contains("is no pattern: "), "it would be too large");
}

#[test]
fn types_are_known_by_their_names() {
    for name in [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    ] {
        assert!(matches!(parse(name), Ok(Expr::Type(read)) if read == name), "{name}");
    }
    for name in ["google", "google.protobuf", "google.protobuf.Any", "float"] {
        assert!(wrong(name).contains("is not known"), "{name}");
    }
}

#[test]
fn what_the_language_has_elsewhere_is_refused_where_it_stands() {
    assert_eq!(wrong("resource.?a"), "1:10: \"?\" stands where a field is expected");
    assert_eq!(wrong("resource[?0]"), "1:10: \"?\" stands where an expression is expected");
    assert_eq!(wrong("Pod{a: 1}"), "1:1: \"Pod\" is not known; the object is the variable resource");
    assert_eq!(wrong("resource{a: 1}"), "1:9: \"{\" follows where the rule could end");
    assert_eq!(wrong("[1].sortBy(x, x)"), "1:5: there is no function sortBy");
    assert_eq!(
        wrong("optional.of(1)"),
        "1:1: \"optional\" is not known; the object is the variable resource"
    );
}

#[test]
fn the_place_of_what_is_wrong_is_counted_in_characters_of_its_line() {
    assert_eq!(wrong("true &&\n  'é' == )"), "2:10: \")\" stands where an expression is expected");
    assert_eq!(wrong("(true"), "1:6: the end stands where \")\" is expected");
    assert_eq!(wrong(""), "1:1: the end stands where an expression is expected");
}

#[test]
fn a_rule_has_64_kibibytes_at_most() {
    let of = |length: usize| format!("true{}", " ".repeat(length - 4));
    assert!(parse(&of(LONGEST)).is_ok());
    assert_eq!(wrong(&of(LONGEST + 1)), "1:1: the rule is longer than 65536 bytes");
}

#[test]
fn a_rule_nests_so_deep_and_no_deeper() {
    let brackets = |count: usize| format!("{}1{}", "(".repeat(count), ")".repeat(count));
    assert!(parse(&brackets(DEPTH - 1)).is_ok());
    assert!(wrong(&brackets(DEPTH)).ends_with("the rule nests deeper than 100; write it as several rules"));
    let fields = |count: usize| format!("resource{}", ".a".repeat(count));
    assert!(parse(&fields(DEPTH - 1)).is_ok());
    assert!(wrong(&fields(DEPTH)).ends_with("the rule nests deeper than 100; write it as several rules"));
}
