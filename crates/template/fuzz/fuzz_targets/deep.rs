//! Any text, repeated until it is deep, is read, printed, copied and merged on a small stack: nothing overflows it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sluice_template::{Data, Env, Limits, Options, Program};

/// An eighth of what a thread has in production.
const STACK: usize = 256 << 10;

const USES: [&str; 7] = [
    "{{ $x := fromYaml $t }}",
    "{{ $x := fromYamlArray $t }}",
    "{{ $x := fromJson $t }}",
    "{{ $x := fromJsonArray $t }}",
    "{{ $x := fromToml $t }}",
    "{{ $x := tpl $t . }}",
    "{{ $x := dict }}{{ range $i := 5000 }}{{ $x = ternary (dict $.key $x) (list $x) (contains $.key $.t) }}{{ end }}",
];

const AFTER: &str = "{{ $y := toYaml $x }}{{ $y := toJson $x }}{{ $y := toToml $x }}{{ $y := deepCopy $x }}\
    {{ $y := printf \"%v %#v\" $x $x }}{{ $y := deepEqual $x (deepCopy $x) }}{{ $y := merge (dict \"a\" $x) (dict \"a\" $x) }}";

static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let program = |one: &&str| {
        let text = format!("{{{{ $t := print (repeat .n .key) .t }}}}{one}{AFTER}");
        Program::compile("deep", &text, &Options::default()).expect("the template is well-formed")
    };
    USES.iter().map(program).collect()
});

fuzz_target!(|input: (u16, &str, &str)| {
    let (count, key, text) = input;
    let (key, text) = (key.to_owned(), text.to_owned());
    let run = move || {
        let fields = [("n", Data::Int(i64::from(count))), ("key", Data::Str(&key)), ("t", Data::Str(&text))];
        let dot = Data::Map(fields.into());
        let limits = Limits { steps: 300_000, memory_bytes: 8 << 20, ..Limits::default() };
        for program in PROGRAMS.iter() {
            program.render(&dot, &Env::default(), &limits).ok();
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread starts").join().expect("no panic");
});
