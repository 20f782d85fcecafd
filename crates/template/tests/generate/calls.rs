//! Function calls with arguments of the right types, most of the time.

use rand::{Rng, seq::IndexedRandom};

use super::Writer;

/// A function and the kinds of its arguments: `s`tring, `i`nteger, `n`umber, `l`ist, `m`ap,
/// `a`ny, `b`oolean, `f`ormat, `r`egular expression, `d`ate layout, `v`ersion,
/// `c`onstraint; `I`, `S` and `M` are never anything else.
pub type Signature = (&'static str, &'static str);

pub const CORE: &[Signature] = &[
    ("and", "aa"),
    ("or", "aa"),
    ("not", "a"),
    ("len", "a"),
    ("len", "l"),
    ("index", "li"),
    ("index", "ms"),
    ("print", "aa"),
    ("print", "aaa"),
    ("println", "aa"),
    ("printf", "fa"),
    ("printf", "faa"),
    ("html", "a"),
    ("js", "a"),
    ("urlquery", "a"),
    ("eq", "aa"),
    ("eq", "nn"),
    ("eq", "aaa"),
    ("ne", "nn"),
    ("lt", "nn"),
    ("le", "nn"),
    ("gt", "nn"),
    ("ge", "aa"),
    ("toYaml", "a"),
    ("toYaml", "m"),
    ("toJson", "a"),
    ("fromYaml", "s"),
    ("fromJson", "s"),
    ("fromJsonArray", "s"),
    ("fromYamlArray", "s"),
    ("toToml", "m"),
    ("fromToml", "s"),
    ("index", "lii"),
    ("call", "a"),
];

pub const SPRIG: &[Signature] = &[
    ("upper", "s"),
    ("lower", "s"),
    ("title", "s"),
    ("untitle", "s"),
    ("trim", "s"),
    ("trimAll", "ss"),
    ("trimSuffix", "ss"),
    ("trimPrefix", "ss"),
    ("trunc", "is"),
    ("substr", "iis"),
    ("contains", "ss"),
    ("hasPrefix", "ss"),
    ("hasSuffix", "ss"),
    ("replace", "sss"),
    ("repeat", "is"),
    ("plural", "ssi"),
    ("nospace", "s"),
    ("initials", "s"),
    ("abbrev", "is"),
    ("abbrevboth", "iis"),
    ("swapcase", "s"),
    ("snakecase", "s"),
    ("camelcase", "s"),
    ("kebabcase", "s"),
    ("wrap", "is"),
    ("wrapWith", "iss"),
    ("quote", "aa"),
    ("squote", "aa"),
    ("cat", "aaa"),
    ("indent", "is"),
    ("nindent", "is"),
    ("join", "sl"),
    ("split", "ss"),
    ("splitn", "sis"),
    ("splitList", "ss"),
    ("toStrings", "l"),
    ("sortAlpha", "l"),
    ("toString", "a"),
    ("int", "a"),
    ("int64", "a"),
    ("float64", "a"),
    ("atoi", "s"),
    ("toDecimal", "a"),
    ("add1", "n"),
    ("add", "nnn"),
    ("sub", "nn"),
    ("mul", "nn"),
    ("div", "nn"),
    ("mod", "nn"),
    ("max", "nn"),
    ("min", "nn"),
    ("maxf", "nn"),
    ("minf", "nn"),
    ("ceil", "n"),
    ("floor", "n"),
    ("round", "ni"),
    ("until", "i"),
    ("untilStep", "iii"),
    ("seq", "i"),
    ("seq", "ii"),
    ("seq", "iii"),
    ("addf", "nn"),
    ("subf", "nn"),
    ("mulf", "nn"),
    ("divf", "nn"),
    ("add1f", "n"),
    ("list", "aaa"),
    ("first", "l"),
    ("last", "l"),
    ("rest", "l"),
    ("initial", "l"),
    ("append", "la"),
    ("prepend", "la"),
    ("concat", "ll"),
    ("reverse", "l"),
    ("chunk", "il"),
    ("uniq", "l"),
    ("without", "la"),
    ("has", "al"),
    ("compact", "l"),
    ("slice", "lii"),
    ("dict", "sasa"),
    ("get", "ms"),
    ("set", "msS"),
    ("unset", "ms"),
    ("hasKey", "ms"),
    ("pluck", "smm"),
    ("pick", "mss"),
    ("omit", "ms"),
    ("merge", "MM"),
    ("mergeOverwrite", "MM"),
    ("deepCopy", "m"),
    ("dig", "ssam"),
    ("default", "aa"),
    ("empty", "a"),
    ("coalesce", "aaa"),
    ("all", "aa"),
    ("any", "aa"),
    ("ternary", "aab"),
    ("toPrettyJson", "a"),
    ("toRawJson", "a"),
    ("mustFromJson", "s"),
    ("typeOf", "a"),
    ("kindOf", "a"),
    ("typeIs", "sa"),
    ("kindIs", "sa"),
    ("deepEqual", "aa"),
    ("base", "s"),
    ("dir", "s"),
    ("clean", "s"),
    ("ext", "s"),
    ("isAbs", "s"),
    ("b64enc", "s"),
    ("b64dec", "s"),
    ("b32enc", "s"),
    ("b32dec", "s"),
    ("sha1sum", "s"),
    ("sha256sum", "s"),
    ("adler32sum", "s"),
    ("date", "dI"),
    ("dateInZone", "dIs"),
    ("duration", "a"),
    ("durationRound", "a"),
    ("toDate", "ds"),
    ("mustToDate", "ds"),
    ("semver", "v"),
    ("semverCompare", "cv"),
    ("regexMatch", "rs"),
    ("regexFind", "rs"),
    ("regexFindAll", "rsi"),
    ("regexReplaceAll", "rss"),
    ("regexReplaceAllLiteral", "rss"),
    ("regexSplit", "rsi"),
    ("regexQuoteMeta", "s"),
    ("mustRegexMatch", "rs"),
    ("urlParse", "s"),
    ("urlJoin", "m"),
    ("fail", "s"),
    ("biggest", "nn"),
    ("mustAppend", "la"),
    ("mustUniq", "l"),
    ("mustHas", "al"),
    ("mustSlice", "li"),
    ("mustMerge", "MM"),
];

const FORMATS: &[&str] = &[
    "%v",
    "%d",
    "%s",
    "%q",
    "%T",
    "%5d",
    "%-8s|",
    "%05.2f",
    "%x",
    "%X",
    "%+v",
    "%#v",
    "%t",
    "%e",
    "%g",
    "%G",
    "%o",
    "%b",
    "%c",
    "%U",
    "%08b",
    "%%",
    "%z",
    "%",
    "%!",
    "%[2]v",
    "%[1]d",
    "%[3]v",
    "%*d",
    "%.3s",
    "%6.2f",
    "% d",
    "% x",
    "%#x",
    "%+d",
    "%-+5d|",
    "%v %v",
    "%d %s",
    "%[2]*[1]d",
    "%.*f",
    "%+q",
    "%#q",
    "%E",
    "%F",
    "%O",
    "%w",
    "%s %s %s",
    "%.1v",
    "%6v|",
    "%#o",
];
const PATTERNS: &[&str] = &[
    "a",
    "[a-z]+",
    "^a.*b$",
    "(a)(b)?",
    "\\\\d+",
    "\\\\w+",
    "\\\\s",
    "x*",
    "(?i)HELLO",
    "[",
    "a**",
    "(",
    "a{2,3}",
    "[^a]",
    "\\\\bfoo",
    "(?P<n>o)",
    ".",
    "",
    "|",
    "a|b",
    "[[:alpha:]]+",
    "\\\\p{L}",
    "(?s).",
    "\\\\",
    "a{1001}",
    "[z-a]",
    "\\\\Qa.b\\\\E",
    "\\\\x41",
    "\\\\z",
    "(?z)",
    "a+?",
    "(?:ab)+",
    "[\\\\d-]",
    "{",
    "a{,2}",
    "\\\\8",
    "\\\\pN",
    "\\\\C",
    "(?m)^l",
];
const LAYOUTS: &[&str] = &[
    "2006-01-02",
    "15:04:05",
    "Jan 2, 2006",
    "Mon Jan _2",
    "3:04PM",
    "02/01/06",
    "2006-01-02T15:04:05Z07:00",
    "Monday",
    "MST -0700",
    "002",
    "05.000",
    "January",
    "1/2",
    "pm",
    "",
];
const VERSIONS: &[&str] =
    &["1.2.3", "v1.2", "1", "2.0.0-rc.1", "1.2.3+build", "x", "1.2.3.4", "01.2.3", "1.0.0-alpha", ""];
const CONSTRAINTS: &[&str] = &[
    ">=1.0",
    "^1.2",
    "~1.2.3",
    "1.x",
    "<2 || >3",
    "1.2 - 2",
    "!=1.2.3",
    "",
    "abc",
    "=1.2.3",
    ">1.0.0-0",
    "~>1",
    "*",
    ">= 1.1, < 3",
];

/// A whole call.
pub fn call(w: &mut Writer<'_>) -> String {
    let (name, kinds) = choose(w);
    let args: Vec<String> = kinds.chars().map(|kind| argument(w, kind)).collect();
    format!("{name} {}", args.join(" "))
}

/// A call that takes its last argument from the pipe.
pub fn pipe_stage(w: &mut Writer<'_>) -> String {
    let (name, kinds) = loop {
        let (name, kinds) = choose(w);
        // What comes out of a pipe may be anything.
        if !kinds.ends_with(['I', 'S', 'M']) {
            break (name, kinds);
        }
    };
    let count = kinds.len().saturating_sub(1);
    let args: Vec<String> = kinds.chars().take(count).map(|kind| argument(w, kind)).collect();
    format!("{name} {}", args.join(" ")).trim_end().to_owned()
}

fn choose(w: &mut Writer<'_>) -> Signature {
    let table = if w.sprig && w.random.random_bool(0.75) { SPRIG } else { CORE };
    *table.choose(w.random).unwrap_or(&("print", "a"))
}

fn text(w: &mut Writer<'_>, all: &[&str]) -> String {
    format!("\"{}\"", all.choose(w.random).copied().unwrap_or_default())
}

/// A format of random flags, width, precision and verb.
fn random_format(w: &mut Writer<'_>) -> String {
    let mut format = String::from("%");
    for flag in ["#", "0", "+", "-", " "] {
        if w.random.random_bool(0.2) {
            format.push_str(flag);
        }
    }
    if w.random.random_bool(0.4) {
        format.push_str(&w.random.random_range(0..12).to_string());
    }
    if w.random.random_bool(0.3) {
        format.push_str(&format!(".{}", w.random.random_range(0..5)));
    }
    let verbs =
        ["v", "d", "s", "q", "x", "X", "o", "O", "b", "c", "U", "e", "E", "f", "F", "g", "G", "t", "T"];
    format.push_str(verbs.choose(w.random).copied().unwrap_or("v"));
    format!("\"[{format}]\"")
}

fn argument(w: &mut Writer<'_>, kind: char) -> String {
    if kind == 'I' {
        return w.random.random_range(0..2_000_000_000).to_string();
    }
    // A map that comes to contain itself would end the oracle.
    if !matches!(kind, 'S' | 'M') && w.random.random_bool(0.04) {
        return w.operand();
    }
    let nested = |w: &mut Writer<'_>, calls: &[&str]| {
        let call = calls.choose(w.random).copied().unwrap_or_default();
        format!("({call})")
    };
    match kind {
        's' if w.sprig && w.random.random_bool(0.3) => {
            let inner = w.operand();
            format!("(toString {inner})")
        }
        's' | 'S' => super::values::literal_string(w.random),
        'i' => w.random.random_range(-2..12).to_string(),
        'n' => match w.random.random_range(0..5) {
            0 => "1.5".to_owned(),
            1 => w.operand(),
            _ => w.random.random_range(-5..50).to_string(),
        },
        'b' => if w.random.random_bool(0.5) { "true" } else { "false" }.to_owned(),
        'f' if w.random.random_bool(0.5) => random_format(w),
        'f' => text(w, FORMATS),
        'r' => text(w, PATTERNS),
        'd' => text(w, LAYOUTS),
        'v' => text(w, VERSIONS),
        'c' => text(w, CONSTRAINTS),
        'l' if w.sprig => nested(
            w,
            &[
                "list 1 2 3",
                "list \"b\" \"a\" \"b\"",
                "until 4",
                "splitList \",\" \"c,a,b\"",
                "list",
                "list nil 1 \"x\" 2.5 (dict)",
                "rest (list 1)",
                "tuple 3 1 2",
            ],
        ),
        'm' | 'M' if w.sprig => nested(
            w,
            &[
                "dict \"a\" 1",
                "dict",
                "dict \"b\" (dict \"c\" \"d\") \"a\" (list 1 2)",
                "dict \"k\" nil \"f\" 1.5",
                "dict \"x\" \"y: z\" \"n\" \"no\"",
            ],
        ),
        'm' | 'M' => nested(w, &["fromJson `{\"a\":1,\"b\":{\"c\":[1,2]}}`", "fromYaml `x: [1, a]`"]),
        _ => w.operand(),
    }
}
