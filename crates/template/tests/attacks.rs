//! Templates that try to hurt the process: each ends with a clear error, in little time and
//! memory. Time is CPU time, so that a busy machine changes nothing, measured against the goal
//! for optimized code, with room for slow builds.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_template::{Data, Deadline, Env, ErrorKind, Limits, Options, Program};

/// What an attack may take: 100 ms when optimized.
fn allowed() -> Duration {
    if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::from_millis(100) }
}

fn options() -> Options {
    Options { extras: true, ..Options::default() }
}

/// The CPU time of this thread so far; the time of day where the system does not tell.
fn cpu(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Renders in a thread with the stack that worker threads have.
fn attack(template: &str) -> (Result<String, sluice_template::Error>, Duration) {
    let template = template.to_owned();
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let data = json!({"m": {"k": 1}, "l": [1, 2, 3], "s": "text"});
        let begin = Instant::now();
        let before = cpu(begin);
        let result = Program::compile("attack", &template, &options())
            .and_then(|p| p.render(&Data::Json(&data), &Env::default(), &Limits::default()));
        (result, cpu(begin).saturating_sub(before))
    });
    worker.unwrap().join().unwrap()
}

fn must_be_stopped(template: &str) {
    let took = stopped(template);
    assert!(took < allowed(), "{template:.120}: {took:?}");
}

/// How long it took to stop it.
fn stopped(template: &str) -> Duration {
    let (result, took) = attack(template);
    let shown: String = template.chars().take(120).collect();
    let error = result.map(|out| out.len()).expect_err(&shown);
    assert!(!error.to_string().is_empty() && error.line() >= 1, "{shown}: {error}");
    if error.kind() == ErrorKind::Limit {
        let text = error.to_string();
        assert!(text.contains("limit:") || text.contains("exceeded maximum template depth"), "{text}");
    }
    took
}

/// The peak memory of this process in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).unwrap_or(0) * 1024
}

const ATTACKS: &[&str] = &[
    "{{ range 1000000000 }}{{ end }}",
    "{{ range 1000000000 }}x{{ end }}",
    "{{ range $i := 2000 }}{{ range $j := 2000 }}{{ range $k := 2000 }}{{ end }}{{ end }}{{ end }}",
    "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
    "{{ define \"a\" }}{{ if true }}{{ with . }}{{ range .l }}{{ template \"a\" $ }}{{ end }}{{ end }}{{ end }}{{ end }}{{ template \"a\" . }}",
    "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
    "{{ $t := \"{{ tpl . . }}\" }}{{ tpl $t $t }}",
    "{{ $s := \"x\" }}{{ range 60 }}{{ $s = print $s $s }}{{ end }}{{ $s }}",
    "{{ $s := \"x\" }}{{ range 60 }}{{ $s = printf \"%s%s\" $s $s }}{{ end }}",
    "{{ $s := \"x\" }}{{ range 60 }}{{ $s = replace \"x\" \"xx\" $s }}{{ end }}",
    "{{ $s := \"x\" }}{{ range 60 }}{{ $s = regexReplaceAll \"x\" $s \"xx\" }}{{ end }}",
    "{{ regexReplaceAll \"x\" (repeat 100000 \"x\") (repeat 100000 \"y\") }}",
    "{{ regexReplaceAll \"\" (repeat 100000 \"x\") (repeat 1000 \"y\") }}",
    "{{ range 1000000 }}{{ regexMatch \"(a*)*(a*)*(a*)*b\" (repeat 10000 \"a\") }}{{ end }}",
    "{{ regexMatch \"((a{100}){100}){100}\" \"a\" | not | ternary (fail \"no\") 1 }}{{ fail \"end\" }}",
    "{{ regexFindAll \"(.*)(.*)(.*)(.*)(.*)[b]\" (repeat 2000000 \"a\") -1 }}{{ fail \"end\" }}",
    "{{ regexMatch \"[ab]*a[ab]{400}c\" (shuffle (repeat 100000 \"ab\")) }}",
    "{{ repeat 1000000000 \"x\" }}",
    "{{ repeat 1000000000 (repeat 1000 \"x\") }}",
    "{{ until 1000000000 }}",
    "{{ untilStep 0 9223372036854775807 1 }}",
    "{{ seq 1 1000000000 }}",
    "{{ printf \"%1000000000d\" 1 }}{{ fail \"end\" }}",
    "{{ printf \"%9999999d\" 1 }}",
    "{{ printf \"%.9999999f\" 1.5 }}",
    "{{ printf \"%*d\" 99999999 1 }}{{ fail \"end\" }}",
    "{{ range 1000 }}{{ printf \"%0900000d\" 1 }}{{ end }}",
    "{{ indent 100000000 \"a\\nb\" }}",
    "{{ nindent 10000 (repeat 1000000 \"\\n\") }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ $d }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ toYaml $d }}{{ fail \"end\" }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ toJson $d }}{{ fail \"end\" }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ toToml $d }}{{ fail \"end\" }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ mustToPrettyJson $d }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ deepCopy $d }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ setField $d \"a\" $d }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ $e := dict }}{{ $_ := set $e \"self\" $e }}{{ deepEqual $d $e }}",
    "{{ $d := dict \"a\" (dict) }}{{ $_ := set $d.a \"a\" $d }}{{ $e := dict \"a\" (dict) }}{{ $_ := set $e.a \"a\" $e }}{{ merge $d $e }}",
    "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ join \",\" (list $d) }}",
    "{{ $l := list }}{{ range 1000000 }}{{ $l = list $l }}{{ end }}{{ $l }}",
    "{{ $l := list 1 2 3 }}{{ range 60 }}{{ $l = concat $l $l }}{{ end }}",
    "{{ $l := list 1 2 3 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}",
    "{{ $l := list 1 }}{{ range 1000000 }}{{ $l = append $l 1 }}{{ end }}",
    "{{ $d := dict }}{{ range $i := 1000000 }}{{ $_ := set $d (print $i) (repeat 1000 \"x\") }}{{ end }}",
    "{{ uniq (until 100000) }}",
    "{{ without (until 100000) (until 100000) | uniq }}",
    "{{ sortAlpha (until 10000000) }}",
    "{{ fromYaml \"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\" | toJson }}{{ fail \"end\" }}",
    "{{ fromYaml (repeat 100000 \"[\") }}",
    "{{ fromYaml (repeat 100000 \"- \") }}",
    "{{ fromYaml (repeat 100000 \"a: \\n \") }}{{ fail \"end\" }}",
    "{{ fromJson (repeat 100000 \"[\") }}",
    "{{ fromJson (repeat 100000 \"{\\\"a\\\":\") }}",
    "{{ fromToml (print \"a = \" (repeat 100000 \"[\")) }}",
    "{{ mulf 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 1e300 | fail }}",
    "{{ range 1000000 }}{{ addf 1e308 1e-308 }}{{ end }}",
    "{{ range 1000000 }}{{ bcrypt \"x\" }}{{ end }}",
    "{{ randAlphaNum 1000000000 }}",
    "{{ randBytes 1000000000 }}",
    "{{ shuffle (repeat 2000000 \"x\") | len }}{{ fail \"end\" }}",
    "{{ range 1000000 }}{{ sha512sum (repeat 100000 \"x\") }}{{ end }}",
    "{{ range 1000000 }}{{ snakecase (repeat 100000 \"aB\") }}{{ end }}",
    "{{ wrap 1 (repeat 1000000 \"x \") | len }}{{ wrapWith 1 (repeat 1000 \"-\") (repeat 100000 \"xx\") }}",
    "{{ splitList \"\" (repeat 2000000 \"x\") | join (repeat 1000 \"y\") }}",
    "{{ split \"\" (repeat 2000000 \"x\") | len }}{{ fail \"end\" }}",
    "{{ $_ := set .m \"k\" .m }}{{ .m }}",
    "{{ range $i := 1000000 }}{{ $_ := set $.m (print $i) $.m }}{{ end }}",
];

#[test]
fn every_attack_ends_with_an_error_in_time_and_memory() {
    let before = peak();
    let mut took: Vec<_> = ATTACKS.iter().map(|template| (stopped(template), template)).collect();
    took.sort();
    let grown = peak().saturating_sub(before);
    println!("{} attacks, {} MiB more at the peak; the slowest:", ATTACKS.len(), grown >> 20);
    took.iter().rev().take(5).for_each(|(time, template)| println!("{time:?} {template:.70}"));
    // Four hashes fit into a render. What one takes depends on the machine more than other work does.
    let hash = stopped("{{ bcrypt \"x\" | fail }}");
    let within =
        |template: &str| if template.contains("bcrypt") { allowed().max(hash * 5) } else { allowed() };
    assert!(took.iter().all(|(time, template)| *time < within(template)), "{took:?}");
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);
}

#[test]
fn deep_texts_are_refused() {
    for (open, middle, close) in
        [("(", "1", ")"), ("{{if 1}}", "", "{{end}}"), ("{{range 1}}", "", "{{end}}")]
    {
        let wrap = |text: &str| if open == "(" { format!("{{{{ {text} }}}}") } else { text.to_owned() };
        must_be_stopped(&wrap(&format!("{}{middle}{}", open.repeat(100_000), close.repeat(100_000))));
    }
    must_be_stopped(&format!("{{{{ if 1 }}}}{}{{{{ end }}}}", "{{ else if 1 }}".repeat(50_000)));
    must_be_stopped(&"{{".repeat(100_000));
    must_be_stopped(&"x".repeat((1 << 20) + 1));
}

#[test]
fn doubling_calls_without_recursion_run_out_of_steps() {
    let mut text = String::from("{{ define \"t0\" }}x{{ end }}");
    for i in 1..40 {
        text.push_str(&format!("{{{{ define \"t{i}\" }}}}{{{{ template \"t{} \" }}}}{{{{ template \"t{}\" . }}}}{{{{ template \"t{}\" . }}}}{{{{ end }}}}", i - 1, i - 1, i - 1).replace(&format!("{{{{ template \"t{} \" }}}}", i - 1), ""));
    }
    text.push_str("{{ template \"t39\" . }}");
    must_be_stopped(&text);
}

#[test]
fn the_deadline_ends_a_render() {
    let end = Instant::now() + Duration::from_millis(20);
    let limits = Limits {
        steps: u64::MAX,
        deadline: Some(Deadline::when(move || Instant::now() >= end)),
        ..Limits::default()
    };
    let program = Program::compile("t", "{{ range 10000000000 }}{{ end }}", &options()).unwrap();
    let error = program.render(&Data::Null, &Env::default(), &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("the deadline has passed"), "{error}");
}

#[test]
fn the_callers_data_is_never_changed() {
    let data = json!({"m": {"a": 1, "b": {"c": [1, 2]}}});
    let before = data.clone();
    let template = "{{ $_ := set .m \"a\" 2 }}{{ $_ := set .m.b \"c\" 3 }}{{ $_ := unset .m \"b\" }}{{ .m }}";
    let program = Program::compile("t", template, &Options::default()).unwrap();
    for _ in 0..2 {
        let out = program.render(&Data::Json(&data), &Env::default(), &Limits::default()).unwrap();
        assert_eq!(out, "map[a:2]");
    }
    assert_eq!(data, before);
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let program = Program::compile("t", "{{ .n }}", &Options::default()).unwrap();
    shared(&program);
    let data = json!({"n": 5});
    shared(&data);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let out = program.render(&Data::Json(&data), &Env::default(), &Limits::default());
                assert_eq!(out.unwrap(), "5");
            });
        }
    });
}
