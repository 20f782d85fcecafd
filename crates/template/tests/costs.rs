//! Functions that are slow on purpose, or that hostile arguments make slow: each counts as many steps as it takes time,
//! so that no template holds up others for long. Steps are the same on every machine; times are printed for who
//! chooses the costs, with `cargo test --release -p sluice-template --test costs -- --ignored --nocapture`.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use sluice_template::{Callable, Data, Env, Error, ErrorKind, Limits, Options, Program, Stage, callables};

/// Calls that are dear, or that a loop makes dear.
const DEAR: &[&str] = &[
    "genPrivateKey \"rsa\"",
    "genPrivateKey \"dsa\"",
    "genPrivateKey \"ecdsa\"",
    "genPrivateKey \"ed25519\"",
    "genCA \"ca\" 1",
    "genSelfSignedCert \"a\" nil nil 1",
    "bcrypt \"x\"",
    "htpasswd \"u\" \"x\"",
    "derivePassword 1 \"long\" \"p\" \"u\" \"s\"",
    "encryptAES \"k\" $text",
    "decryptAES \"k\" (encryptAES \"k\" $text)",
    "sha1sum $long",
    "sha256sum $long",
    "sha512sum $long",
    "adler32sum $long",
    "randAlphaNum 100000",
    "randBytes 100000",
    "shuffle $text",
    "repeat 100000 \"x\"",
    "indent 4 $lines",
    "untilStep 0 10000 1",
    "until 10000",
    "sortAlpha $list",
    "uniq $list",
    "reverse $list",
    "join \",\" $list",
    "toYaml $list",
    "toJson $list",
    "fromYaml $yaml",
    "fromJson \"[1,2,3]\"",
    "regexMatch \"(a*)*(a*)*(a*)*b\" $text",
    "regexFindAll \"(.*)(.*)(.*)(.*)(.*)[b]\" $text -1",
    "regexReplaceAll \"(a|b|ab)*\" $text \"$1\"",
    "regexMatch (printf \"((a{%d}){10}){10}\" $i) \"a\"",
    "regexMatch (printf \"[[:word:]]{%d}x%d\" 20 $i) $text",
    "regexSplit \"a\" $text -1",
    "snakecase $text",
    "wrap 10 $text",
    "toDate \"2006-01-02\" \"2026-01-02\"",
    "semverCompare \"^1.2.3 || >2.0.0\" \"1.5.0\"",
    "urlParse \"http://a.b/c?d=e\"",
    "splitList \"x\" $text",
    "mulf 1.5 2.5 3.5",
    "uuidv4",
    "printf \"%d %s %v\" 1 \"a\" 2.5",
    "tpl \"{{ . }}\" 1",
    "abbrev 5 $text",
    "title $text",
    "b32enc $text",
    "replace \"a\" \"bb\" $text",
    "deepCopy $list",
    "dict \"a\" 1 \"b\" 2",
    "list 1 2 3",
    "add 1 2 3",
    "now | date \"2006-01-02\"",
    "initials $text",
    "quote $text",
    "fromToml \"a = 1\"",
    "nospace $text",
];

const PRELUDE: &str = "{{ $text := repeat 20000 \"aB \" }}{{ $long := repeat 1000000 \"x\" }}{{ $lines := repeat 10000 \"x\\n\" }}\
    {{ $list := until 2000 }}{{ $yaml := printf \"a: [%s1]\" (repeat 1000 \"x, \") }}";

fn cpu(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

#[test]
#[ignore = "prints times of keys in PEM files named by KEYS, separated by commas; needs an optimized build"]
fn print_what_given_keys_cost() {
    for file in std::env::var("KEYS").unwrap_or_default().split(',') {
        let key = std::fs::read_to_string(file).unwrap().replace('\n', "\\n");
        for call in
            ["genSelfSignedCertWithKey \"a\" nil nil 1 $k", "buildCustomCert (b64enc $c.Cert) (b64enc $k)"]
        {
            let text = format!(
                "{{{{ $k := \"{key}\" }}}}{{{{ $c := genSelfSignedCertWithKey \"a\" nil nil 1 $k }}}}\
                 {{{{ range until 10 }}}}{{{{ $x := {call} }}}}{{{{ end }}}}"
            );
            let (done, took) = timed(&text);
            println!(
                "{file} {:.30} {:?} for ten {:?}",
                call,
                took,
                done.map(|_| ()).map_err(|e| e.to_string())
            );
        }
    }
}

/// Arguments that are long, for any function.
const LONG: [&str; 13] = [
    "$s",
    "$s $s",
    "1 $s",
    "\"a\" $s",
    "$s \"a\"",
    "$s $s $s",
    "\"a\" $s \"b\"",
    "\"a\" \"b\" $s",
    "$s 1",
    "$l",
    "$l $l",
    "\"a\" $l",
    "$l 1",
];

#[test]
#[ignore = "prints times; needs an optimized build"]
fn print_what_long_arguments_cost() {
    for name in callables(Stage::Event).iter().map(Callable::name).filter(|name| !name.starts_with("gen")) {
        if name < std::env::var("FROM").unwrap_or_default().as_str() {
            continue;
        }
        for text in ["1.2.3-a ", "aB", "%41/..", " || 9"] {
            for args in LONG {
                let text = format!(
                    "{{{{ $s := repeat 20000 \"{text}\" }}}}{{{{ $l := splitList \"1\" $s }}}}\
                     {{{{ range until 20000 }}}}{{{{ $x := {name} {args} }}}}{{{{ end }}}}"
                );
                let took = timed(&text).1;
                if took > Duration::from_millis(150) {
                    println!("{took:>12.3?} {text:?}: {name} {args}");
                }
            }
        }
    }
}

/// What so many calls lead to, in which time.
fn calls(call: &str, count: usize) -> (Result<String, Error>, Duration) {
    let text = format!("{PRELUDE}{{{{ range $i := until {count} }}}}{{{{ $x := {call} }}}}{{{{ end }}}}");
    timed(&text)
}

fn timed(text: &str) -> (Result<String, Error>, Duration) {
    let begin = Instant::now();
    let before = cpu(begin);
    let program = Program::compile("dear", text, &Options { extras: true, ..Options::default() }).unwrap();
    let env = Env::new(1_763_731_200_000_000_000, [7; 32]);
    let done = program.render(&Data::Null, &env, &Limits::default());
    (done, cpu(begin).saturating_sub(before))
}

/// RSA keys take seconds to make in a build that is not optimized: here a budget is set that the very first exceeds.
#[test]
fn dear_calls_are_refused_before_they_are_made_and_named() {
    for (call, steps, fit) in [
        ("genPrivateKey \"rsa\"", 900_000, 1),
        ("genPrivateKey \"dsa\"", 900_000, 1),
        ("genCA \"ca\" 1", 300_000, 3),
        ("genSelfSignedCert \"a\" nil nil 1", 300_000, 3),
        ("bcrypt \"x\"", 240_000, 4),
        ("htpasswd \"u\" \"x\"", 240_000, 4),
        ("derivePassword 1 \"long\" \"p\" \"u\" \"s\"", 180_000, 5),
    ] {
        let name = call.split(' ').next().unwrap();
        let text = format!("{{{{ {call} }}}}");
        let program = Program::compile("dear", &text, &Options::default()).unwrap();
        let limits = Limits { steps: steps - 1, ..Limits::default() };
        let (before, begin) = (cpu(Instant::now()), Instant::now());
        let error = program.render(&Data::Null, &Env::default(), &limits).unwrap_err();
        assert!(cpu(begin).saturating_sub(before) < Duration::from_millis(20), "{call}");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        let named = format!("error calling {name}: limit: more than {} steps", steps - 1);
        assert!(error.to_string().ends_with(&named), "{error}");
        assert_eq!(Limits::default().steps / steps, fit, "{call}");
    }
}

#[test]
fn given_keys_cost_by_their_length() {
    let limits = Limits { steps: 2_000_000, ..Limits::default() };
    let env = Env::new(0, [7; 32]);
    let program = Program::compile("key", "{{ (genCA \"a\" 1).Key }}", &Options::default()).unwrap();
    let key = program.render(&Data::Null, &env, &limits).unwrap();
    for call in ["genSelfSignedCertWithKey \"a\" nil nil 1 .", "genCAWithKey \"a\" 1 ."] {
        let text = format!("{{{{ range until 3 }}}}{{{{ $x := {call} }}}}{{{{ end }}}}");
        let text = text.replace(" .}", " $}").replace(" . }", " $ }");
        let program = Program::compile("dear", &text, &Options::default()).unwrap();
        let fits = |steps| {
            program
                .render(&Data::Str(&key), &env, &Limits { steps, ..Limits::default() })
                .map_err(|e| e.kind())
        };
        // Each is a signature of 4 681 steps and a key to read of 4 000.
        assert_eq!(fits(22_000).unwrap_err(), ErrorKind::Limit, "{call}");
        assert_eq!(fits(34_000).unwrap(), "", "{call}");
    }
}

#[test]
fn long_arguments_count_whatever_a_function_does_with_them() {
    for call in
        ["add $s", "max 1 $s", "int $s", "mustToDate $s $s", "toDate $s $s", "date $s now", "title $s"]
    {
        let text = format!(
            "{{{{ $s := repeat 20000 \"1.2.3-a \" }}}}{{{{ range until 100 }}}}{{{{ $x := {call} }}}}{{{{ end }}}}"
        );
        let program = Program::compile("dear", &text, &Options::default()).unwrap();
        let limits = Limits { steps: 20_000, ..Limits::default() };
        let error = program.render(&Data::Null, &Env::default(), &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{call}: {error}");
    }
}

#[test]
#[ignore = "prints times; needs an optimized build"]
fn print_what_the_step_budget_buys() {
    let mut all = Vec::new();
    for call in DEAR {
        let (done, took) = calls(call, 100_000);
        let (mut low, mut high) = (0, 100_000);
        // How many calls fit is the same every time.
        let ends = done.as_ref().err().map(ToString::to_string).unwrap_or_else(|| "fits".to_owned());
        if took < Duration::from_secs(3) {
            while done.is_err() && high - low > 1 + low / 20 {
                let middle = usize::midpoint(low, high);
                if calls(call, middle).0.is_ok() { low = middle } else { high = middle }
            }
        }
        all.push((took, low, *call, ends));
    }
    all.sort();
    for (took, count, call, ends) in all.iter().rev() {
        println!(
            "{took:>12.3?} for {count:>6} calls of {call:50} {}",
            &ends[ends.len().saturating_sub(60)..]
        );
    }
}
