//! Values and texts that are nested 20 000 deep: no function that meets them overflows the stack. Everything runs on
//! a stack far smaller than that of production's threads, so that an overflow shows.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use sluice_template::{Calls, Data, Env, ErrorKind, Limits, Options, Program, Stage, VALUE_DEPTH, callables};

/// An eighth of what a production thread has; frames of debug builds are several times larger.
const STACK: usize = if cfg!(debug_assertions) { 512 << 10 } else { 256 << 10 };

/// Values that are made 20 000 deep by a loop, under names.
const VALUES: &str = "{{ $maps := dict \"a\" 1 }}{{ range until 20000 }}{{ $maps = dict \"a\" $maps }}{{ end }}\
    {{ $others := dict \"a\" 1 }}{{ range until 20000 }}{{ $others = dict \"a\" $others }}{{ end }}\
    {{ $lists := list 1 }}{{ range until 20000 }}{{ $lists = list $lists }}{{ end }}\
    {{ $mixed := list 1 }}{{ range until 10000 }}{{ $mixed = list (dict \"a\" $mixed) }}{{ end }}";

fn on_a_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap()
}

fn options() -> Options {
    Options { extras: true, ..Options::default() }
}

/// What a template says on a small stack.
fn render(template: &str) -> Result<String, sluice_template::Error> {
    let template = template.to_owned();
    on_a_small_stack(move || {
        let data = json!({"m": {"k": 1}});
        let limits = Limits { steps: 4_000_000, memory_bytes: 256 << 20, ..Limits::default() };
        let program = Program::compile("deep", &template, &options())?;
        program.render(&Data::Json(&data), &Env::default(), &limits)
    })
}

/// The template is refused for its depth, and the error says what the limit is and where it is set.
fn too_deep(template: &str) {
    let error = render(template).expect_err(template);
    let (text, shown) = (error.to_string(), &template[template.len().saturating_sub(120)..]);
    assert_eq!(error.kind(), ErrorKind::Limit, "{shown}: {text}");
    assert!(text.contains(&format!("nested deeper than {VALUE_DEPTH}")), "{shown}: {text}");
    assert!(text.contains("value_depth"), "{shown}: {text}");
}

#[test]
fn readers_refuse_texts_that_are_too_deep() {
    for text in [
        r#"fromToml (printf "%sb=1" (repeat 20000 "a."))"#,
        r#"fromToml (printf "[%sb]" (repeat 20000 "a."))"#,
        r#"fromToml (printf "[[%sb]]" (repeat 20000 "a."))"#,
        r#"fromToml (printf "x = {%sb=1}" (repeat 20000 "a."))"#,
        r#"fromToml (printf "[%sb]\n%sb=1" (repeat 60 "a.") (repeat 60 "a."))"#,
        r#"fromToml (printf "x = %s" (repeat 20000 "["))"#,
        r#"fromToml (printf "x = %s" (repeat 20000 "{a="))"#,
        r#"fromToml (printf "x = %s" (repeat 20000 "[{a.b="))"#,
        r#"fromJson (repeat 20000 "[")"#,
        r#"fromJson (repeat 20000 "{\"a\":")"#,
        r#"fromJsonArray (repeat 20000 "[{\"a\":")"#,
        r#"mustFromJson (repeat 20000 "[")"#,
        r#"fromYaml (repeat 20000 "[")"#,
        r#"fromYaml (repeat 20000 "{a: ")"#,
        r#"fromYaml (repeat 9000 "- ")"#,
        r#"fromYaml (repeat 9000 "? ")"#,
        r#"fromYamlArray (repeat 9000 "- ? ")"#,
    ] {
        too_deep(&format!("{{{{ $x := {text} }}}}"));
    }
}

#[test]
fn what_fits_is_read_and_written() {
    let levels = VALUE_DEPTH - 2;
    for template in [
        format!("{{{{ fromToml (printf \"%sb=1\" (repeat {levels} \"a.\")) | toToml }}}}"),
        format!("{{{{ fromYamlArray (printf \"%s1\" (repeat {levels} \"- \")) | toYaml }}}}"),
        format!(
            "{{{{ fromJsonArray (printf \"%s%s\" (repeat {levels} \"[\") (repeat {levels} \"]\")) | toJson }}}}"
        ),
    ] {
        let text = render(&template).unwrap();
        assert!(text.len() >= levels, "{template}: {text}");
    }
}

#[test]
fn every_function_that_goes_into_a_value_refuses_one_that_is_too_deep() {
    for value in ["$maps", "$lists", "$mixed"] {
        for call in [
            "toYaml $",
            "toJson $",
            "mustToJson $",
            "toPrettyJson $",
            "toRawJson $",
            "toToml (dict \"a\" $)",
            "deepCopy $",
            "mustDeepCopy $",
            "toString $",
            "print $",
            "println $",
            "printf \"%v\" $",
            "printf \"%#v\" $",
            "printf \"%d\" $",
            "quote $",
            "squote $",
            "cat $",
            "html $",
            "js $",
            "urlquery $",
            "join \",\" (list $ $)",
            "toStrings (list $)",
            "sortAlpha (list $ $)",
        ] {
            too_deep(&format!("{VALUES}{{{{ $x := {} }}}}", call.replace('$', value)));
        }
        too_deep(&format!("{VALUES}{{{{ {value} }}}}"));
    }
    for call in [
        "deepEqual $maps $others",
        "has $maps (list $others)",
        "without (list $others) $maps",
        "uniq (list $maps $others)",
        "merge $maps $others",
        "mustMerge $maps $others",
        "mergeOverwrite $maps $others",
        "mustMergeOverwrite $maps $others",
        "setField .m \"k\" $maps",
    ] {
        too_deep(&format!("{VALUES}{{{{ $x := {call} }}}}"));
    }
}

#[test]
fn what_looks_at_the_surface_takes_any_depth() {
    let path = "\"a\" ".repeat(1_000);
    for call in [
        "len $maps",
        "typeOf $maps",
        "kindOf $lists",
        "empty $maps",
        "default 1 $maps | kindOf",
        "coalesce $maps $lists | kindOf",
        "keys $maps",
        "first $lists | kindOf",
        "concat $lists $lists | len",
        "reverse $lists | len",
        &format!("dig {path} \"none\" $maps | kindOf"),
        &format!("index $maps {path} | kindOf"),
        "$maps.a.a.a.a | kindOf",
        "and $maps $lists | kindOf",
        "not $maps",
    ] {
        let text = render(&format!("{VALUES}{{{{ {call} }}}}"));
        assert!(text.is_ok(), "{:.60}: {text:?}", call);
    }
}

#[test]
fn no_function_overflows_the_stack() {
    let prelude = "{{ $x := list 1 }}{{ range until 2000 }}{{ $x = list (dict \"a\" $x) }}{{ end }}{{ $m := first $x }}";
    for name in callables(Stage::Event).iter().map(sluice_template::Callable::name) {
        for args in ["$x", "$x $x", "$m $m $m", "\"a\" $x", "$m \"a\"", "\"a\" $m $x", "$m \"a\" $x"] {
            // That the process is still there is what is asked; most calls are errors of types.
            render(&format!("{prelude}{{{{ {name} {args} }}}}")).ok();
        }
    }
}

#[test]
fn no_text_overflows_the_stack_of_a_function() {
    let texts = ["(", "[", "a.", "(?:a|", "[^[", "<", "- ", "*"];
    for name in callables(Stage::Event).iter().map(sluice_template::Callable::name) {
        let calls = ["$s", "$s $s", "\"a\" $s", "$s \"a\"", "$s $s $s", "1 $s"];
        for text in texts {
            for args in calls {
                render(&format!("{{{{ $s := repeat 20000 \"{text}\" }}}}{{{{ {name} {args} }}}}")).ok();
            }
        }
    }
    for text in ["{{if 1}}", "{{(", "{{range .}}", "{{define \"a\"}}"] {
        render(&format!("{{{{ tpl (repeat 20000 `{text}`) 1 }}}}")).ok();
    }
}

fn nested(key: &str, depth: usize) -> Json {
    let wrap = |inner: Json| if key.is_empty() { json!([inner]) } else { json!({ key: inner }) };
    (0..depth).fold(json!(1), |inner, _| wrap(inner))
}

#[test]
fn other_engines_get_no_answers_that_are_too_deep() {
    on_a_small_stack(|| {
        let find = |name| callables(Stage::Event).into_iter().find(|f| f.name() == name).unwrap();
        let deep = nested("", VALUE_DEPTH + 5);
        let call = Calls::default().call(find("list"), &[deep], &Env::default(), &Limits::default());
        let error = call.unwrap_err();
        assert!(error.kind == ErrorKind::Limit && error.text.contains("value_depth"), "{error}");
    });
}

#[test]
fn cycles_are_refused_like_depth_and_go_when_the_render_ends() {
    for call in ["toYaml $d", "toJson $d", "deepCopy $d", "print $d", "toToml $d", "merge $d $e"] {
        too_deep(&format!(
            "{{{{ $d := dict }}}}{{{{ $_ := set $d \"self\" $d }}}}{{{{ $e := dict \"self\" (dict) }}}}\
             {{{{ $_ := set $e.self \"self\" $e }}}}{{{{ $x := {call} }}}}"
        ));
    }
}

#[test]
fn deep_values_go_without_recursion_however_they_are_held() {
    for held in [
        "{{ $d := dict }}{{ range until 20000 }}{{ $_ := set $d \"a\" (list $d) }}{{ end }}",
        "{{ $d := dict }}{{ range until 20000 }}{{ $e := dict }}{{ $_ := set $e \"a\" $d }}{{ $d = $e }}{{ end }}",
        "{{ $l := list }}{{ range until 20000 }}{{ $l = append (list) $l }}{{ end }}",
        "{{ range until 20000 }}{{ $_ := set $.m \"k\" (dict \"a\" $.m.k) }}{{ end }}",
        "{{ $l := list }}{{ range until 20000 }}{{ $l = tuple $l }}{{ end }}{{ $l = 1 }}",
    ] {
        assert_eq!(render(held).unwrap(), "", "{held}");
    }
}

#[test]
fn a_deep_template_with_a_deep_value_at_its_end_fits_the_stack_of_production() {
    let mut text = String::from("{{ define \"t0\" }}{{ deepCopy . | toYaml }}{{ toJson . }}{{ end }}");
    for i in 1..99 {
        write!(text, "{{{{ define \"t{i}\" }}}}{{{{ include \"t{}\" . }}}}{{{{ end }}}}", i - 1).unwrap();
    }
    text.push_str("{{ include \"t98\" . }}");
    let run = move || {
        let data = nested("a", VALUE_DEPTH - 1);
        let program = Program::compile("deep", &text, &options()).unwrap();
        program.render(&Data::Json(&data), &Env::default(), &Limits::default()).map(|text| text.len())
    };
    let done = std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
    assert!(done.unwrap() > VALUE_DEPTH);
}
