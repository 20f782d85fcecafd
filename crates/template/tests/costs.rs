//! Functions that are slow on purpose, or that hostile arguments make slow: each counts as many steps as it takes time,
//! so that no template holds up others for long. Steps are the same on every machine; times are printed for who
//! chooses the costs, with `cargo test --release -p sluice-template --test costs -- --ignored --nocapture`.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use sluice_template::{Data, Env, Error, Kind, Limits, Options, Program};

/// Calls that are dear, and how many of each fit into a render at least and at most.
const DEAR: &[(&str, usize, usize)] = &[
    ("genPrivateKey \"rsa\"", 1, 1),
    ("genPrivateKey \"dsa\"", 1, 4),
    ("genPrivateKey \"ecdsa\"", 50, 2_000),
    ("genPrivateKey \"ed25519\"", 50, 5_000),
    ("genCA \"ca\" 1", 2, 8),
    ("genSelfSignedCert \"a\" nil nil 1", 2, 8),
    ("bcrypt \"x\"", 2, 20),
    ("htpasswd \"u\" \"x\"", 2, 20),
    ("derivePassword 1 \"long\" \"p\" \"u\" \"s\"", 2, 20),
    ("encryptAES \"k\" $text", 5, 50_000),
    ("decryptAES \"k\" (encryptAES \"k\" $text)", 5, 50_000),
    ("sha1sum $long", 5, 5_000),
    ("sha256sum $long", 5, 5_000),
    ("sha512sum $long", 5, 5_000),
    ("adler32sum $long", 5, 5_000),
    ("randAlphaNum 100000", 5, 5_000),
    ("randBytes 100000", 5, 5_000),
    ("shuffle $text", 5, 5_000),
    ("repeat 100000 \"x\"", 5, 50_000),
    ("indent 4 $lines", 5, 5_000),
    ("untilStep 0 10000 1", 5, 5_000),
    ("until 10000", 5, 5_000),
    ("sortAlpha $list", 5, 5_000),
    ("uniq $list", 0, 5_000),
    ("reverse $list", 5, 50_000),
    ("join \",\" $list", 5, 5_000),
    ("toYaml $list", 5, 5_000),
    ("toJson $list", 5, 5_000),
    ("fromYaml $yaml", 5, 5_000),
    ("fromJson \"[1,2,3]\"", 5, 500_000),
    ("regexMatch \"(a*)*(a*)*(a*)*b\" $text", 0, 5_000),
    ("regexFindAll \"(.*)(.*)(.*)(.*)(.*)[b]\" $text -1", 0, 5_000),
    ("regexReplaceAll \"(a|b|ab)*\" $text \"$1\"", 0, 5_000),
    ("regexMatch (printf \"((a{%d}){10}){10}\" $i) \"a\"", 0, 5_000),
    ("regexMatch (printf \"[[:word:]]{%d}x%d\" 20 $i) $text", 0, 5_000),
    ("regexSplit \"a\" $text -1", 0, 5_000),
    ("snakecase $text", 5, 5_000),
    ("wrap 10 $text", 5, 5_000),
    ("toDate \"2006-01-02\" \"2026-01-02\"", 5, 500_000),
    ("semverCompare \"^1.2.3 || >2.0.0\" \"1.5.0\"", 5, 500_000),
    ("urlParse \"http://a.b/c?d=e\"", 5, 500_000),
    ("splitList \"x\" $text", 5, 50_000),
    ("mulf 1.5 2.5 3.5", 5, 500_000),
    ("uuidv4", 5, 500_000),
    ("printf \"%d %s %v\" 1 \"a\" 2.5", 5, 500_000),
    ("tpl \"{{ . }}\" 1", 5, 50_000),
    ("abbrev 5 $text", 5, 500_000),
    ("title $text", 5, 5_000),
    ("b32enc $text", 5, 5_000),
    ("replace \"a\" \"bb\" $text", 5, 5_000),
    ("deepCopy $list", 5, 5_000),
    ("dict \"a\" 1 \"b\" 2", 5, 500_000),
    ("list 1 2 3", 5, 500_000),
    ("add 1 2 3", 5, 500_000),
    ("now | date \"2006-01-02\"", 5, 500_000),
    ("initials $text", 5, 5_000),
    ("quote $text", 5, 5_000),
    ("fromToml \"a = 1\"", 5, 500_000),
    ("nospace $text", 5, 5_000),
];

const PRELUDE: &str = "{{ $text := repeat 20000 \"aB \" }}{{ $long := repeat 1000000 \"x\" }}{{ $lines := repeat 10000 \"x\\n\" }}\
    {{ $list := until 2000 }}{{ $yaml := printf \"a: [%s1]\" (repeat 1000 \"x, \") }}";

fn cpu(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// What so many calls lead to, in which time.
fn calls(call: &str, count: usize) -> (Result<String, Error>, Duration) {
    let text = format!("{PRELUDE}{{{{ range $i := until {count} }}}}{{{{ $x := {call} }}}}{{{{ end }}}}");
    let begin = Instant::now();
    let before = cpu(begin);
    let program = Program::compile("dear", &text, &Options { extras: true, ..Options::default() }).unwrap();
    let env = Env::new(1_763_731_200_000_000_000, [7; 32]);
    let done = program.render(&Data::Null, &env, &Limits::default());
    (done, cpu(begin).saturating_sub(before))
}

#[test]
#[ignore = "prints times; needs an optimized build"]
fn print_what_the_step_budget_buys() {
    let mut all = Vec::new();
    for (call, ..) in DEAR {
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
