//! The engine as the product uses it: stages, structs, extras, certificates.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use sluice_template::{Data, Env, ErrorKind, Limits, MissingKey, Options, Program, Stage, to_json, to_yaml};

fn reference<'a>(name: &'a str, namespace: &'a str) -> Data<'a> {
    Data::Struct(
        "v1.ObjectReference",
        vec![
            ("Kind", Data::Str("Service")),
            ("Namespace", Data::Str(namespace)),
            ("Name", Data::Str(name)),
            ("UID", Data::Str("")),
            ("APIVersion", Data::Str("v1")),
            ("ResourceVersion", Data::Str("")),
            ("FieldPath", Data::Str("")),
        ],
    )
}

fn render_with(template: &str, dot: &Data<'_>, env: &Env<'_>, options: &Options) -> Result<String, String> {
    let program = Program::compile("t", template, options).map_err(|e| e.to_string())?;
    program.render(dot, env, &Limits::default()).map_err(|e| e.to_string())
}

fn render(template: &str, dot: &Data<'_>) -> Result<String, String> {
    render_with(template, dot, &Env::default(), &Options::default())
}

fn extras(template: &str, dot: &Data<'_>, env: &Env<'_>) -> Result<String, String> {
    render_with(template, dot, env, &Options { extras: true, ..Options::default() })
}

#[test]
fn references_are_structs_with_fields() {
    let dot = Data::Map(vec![
        ("MatchingResource", reference("web", "shop")),
        ("MatchingResources", Data::List(vec![reference("a", "x"), reference("b", "y")])),
    ]);
    let cases = [
        ("{{ .MatchingResource.Namespace }}/{{ .MatchingResource.Name }}", "shop/web"),
        ("{{ range .MatchingResources }}{{ .Name }};{{ end }}", "a;b;"),
        (
            "{{ printf \"%T %T\" .MatchingResource .MatchingResources }}",
            "v1.ObjectReference []v1.ObjectReference",
        ),
        (
            "{{ toJson .MatchingResource }}",
            r#"{"kind":"Service","namespace":"shop","name":"web","apiVersion":"v1"}"#,
        ),
        ("{{ toYaml .MatchingResource }}", "apiVersion: v1\nkind: Service\nname: web\nnamespace: shop"),
        ("{{ .MatchingResource }}", "{Service shop web  v1  }"),
        ("{{ printf \"%+v\" (index .MatchingResources 1).Name }}", "b"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(template, &dot).as_deref(), Ok(expected), "{template}");
    }
    assert_eq!(
        render("{{ .MatchingResource.Nope }}", &dot).unwrap_err(),
        "template: t:1:20: executing \"t\" at <.MatchingResource.Nope>: can't evaluate field Nope in type interface {}"
    );
}

#[test]
fn integers_and_floats_compare_by_value_in_the_product_only() {
    let data = json!({"port": 443, "float": 443.0, "big": 9_007_199_254_740_993_i64});
    let dot = Data::Json(&data);
    let template = "{{ eq .port 443 }} {{ eq .float 443 }} {{ lt .float 444 }} {{ ge .port 442.5 }} {{ eq .big 9007199254740992.0 }}";
    assert_eq!(render(template, &dot).as_deref(), Ok("true true true true false"));
    let strict = Options { lenient_numbers: false, ..Options::default() };
    let error = render_with("{{ eq .float 443 }}", &dot, &Env::default(), &strict).unwrap_err();
    assert!(error.ends_with("incompatible types for comparison: float64 and int"), "{error}");
}

#[test]
fn writes_are_seen_on_every_path_within_a_render() {
    let object = json!({"metadata": {"name": "web", "uid": "u"}, "spec": {"replicas": 1}});
    let dot = Data::Map(vec![("Resource", Data::Json(&object)), ("Again", Data::Json(&object))]);
    let template = "{{ $_ := setField .Resource \"spec.replicas\" (int64 5) }}{{ .Again.spec.replicas }} {{ .Resource.metadata }}";
    assert_eq!(render(template, &dot).as_deref(), Ok("5 map[name:web]"));
    let template = "{{ $_ := set . \"new\" 1 }}{{ .new }}{{ $_ := unset $ \"new\" }}{{ hasKey . \"new\" }}";
    assert_eq!(render(template, &dot).as_deref(), Ok("1false"));
}

#[test]
fn the_deploy_stage_finds_declared_resources() {
    let config = json!({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "apiVersion": "v1", "data": {"k": "v"}});
    let env = Env::default().with_resource("Config", &config);
    let options = Options { stage: Stage::Deploy, extras: true, ..Options::default() };
    let dot = Data::Map(vec![]);
    let cases = [
        ("{{ (getResource \"Config\").data.k }}", "v"),
        ("{{ getField \"Config\" \"metadata.name\" }}", "c"),
        ("[{{ copy \"Nope\" }}]", "[]"),
        ("{{ (lookup \"v1\" \"ConfigMap\" \"n\" \"c\").data.k }}", "v"),
        ("{{ lookup \"v1\" \"ConfigMap\" \"n\" \"other\" }}", "map[]"),
    ];
    for (template, expected) in cases {
        assert_eq!(render_with(template, &dot, &env, &options).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn extras_include_templates_and_texts() {
    let data = json!({"name": "web", "text": "{{ .name | upper }}"});
    let (dot, env) = (Data::Json(&data), Env::default());
    let cases = [
        ("{{ define \"x\" }}<{{ .name }}>{{ end }}{{ include \"x\" . | upper }}", "<WEB>"),
        ("{{ tpl .text . }}", "WEB"),
        ("{{ tpl \"{{ tpl .text . | lower }}\" . }}", "web"),
        ("{{ required \"a name\" .name }}", "web"),
        ("{{ range fromYamlDocuments \"a: 1\\n---\\nb: 2\" }}{{ toJson . }}{{ end }}", r#"{"a":1}{"b":2}"#),
        ("{{ $x := tpl \"{{ dict \\\"k\\\" .name | toJson }}\" . }}{{ (fromJson $x).k }}", "web"),
    ];
    for (template, expected) in cases {
        assert_eq!(extras(template, &dot, &env).as_deref(), Ok(expected), "{template}");
    }
    assert_eq!(
        extras("{{ required \"a name\" \"\" }}", &dot, &env).unwrap_err(),
        "template: t:1:3: executing \"t\" at <required \"a name\" \"\">: error calling required: a name"
    );
    assert_eq!(
        extras("{{ include \"nope\" . }}", &dot, &env).unwrap_err(),
        "template: t:1:3: executing \"t\" at <include \"nope\" .>: error calling include: template \"nope\" not defined"
    );
    let nested = extras("{{ define \"x\" }}\n{{ fail \"deep\" }}{{ end }}{{ include \"x\" . }}", &dot, &env)
        .unwrap_err();
    assert_eq!(nested, "template: t:2:3: executing \"x\" at <fail \"deep\">: error calling fail: deep");
}

#[test]
fn extras_do_not_exist_unless_asked_for() {
    for name in ["include", "tpl", "required", "lookup", "fromYamlDocuments"] {
        let error = render(&format!("{{{{ {name} }}}}"), &Data::Null).unwrap_err();
        assert_eq!(error, format!("template: t:1: function \"{name}\" not defined"));
    }
}

#[test]
fn errors_have_kinds_and_places() {
    let parse = Program::compile("t", "a\n{{ end }}", &Options::default()).unwrap_err();
    assert_eq!((parse.kind(), parse.line(), parse.column()), (ErrorKind::Parse, 2, None));
    let program = Program::compile("t", "a\n  {{ .x }}", &Options::default()).unwrap();
    let data = json!({});
    let exec = program.render(&Data::Json(&data), &Env::default(), &Limits::default()).unwrap_err();
    assert_eq!((exec.kind(), exec.line(), exec.column()), (ErrorKind::Exec, 2, Some(5)));
    let limits = Limits { output_bytes: 3, ..Limits::default() };
    let program = Program::compile("t", "abcd", &Options::default()).unwrap();
    let limit = program.render(&Data::Null, &Env::default(), &limits).unwrap_err();
    assert_eq!(limit.kind(), ErrorKind::Limit);
}

#[test]
fn time_and_randomness_come_from_the_surroundings() {
    let env = Env::new(1_700_000_000_000_000_000, [3; 32]);
    let run = |template: &str| render_with(template, &Data::Null, &env, &Options::default()).unwrap();
    assert_eq!(
        run("{{ now | date \"2006-01-02T15:04:05\" }} {{ now.Year }} {{ now.Month }}"),
        "2023-11-14T22:13:20 2023 November"
    );
    assert_eq!(run("{{ ago (now.Add -90000000000) }}"), "1m30s");
    assert_eq!(run("{{ uuidv4 }} {{ randAlphaNum 8 }}"), run("{{ uuidv4 }} {{ randAlphaNum 8 }}"));
    let other = Env::new(0, [4; 32]);
    assert_ne!(
        run("{{ uuidv4 }}"),
        render_with("{{ uuidv4 }}", &Data::Null, &other, &Options::default()).unwrap()
    );
}

#[test]
fn certificates_are_made_from_given_keys() {
    let env = Env::new(1_700_000_000_000_000_000, [5; 32]);
    for kind in ["ecdsa", "ed25519"] {
        let template = format!(
            "{{{{ $ca := genCAWithKey \"ca\" 365 (genPrivateKey \"{kind}\") }}}}\
             {{{{ $c := genSignedCertWithKey \"web\" (list \"10.0.0.1\") (list \"web.shop\") 30 $ca (genPrivateKey \"{kind}\") }}}}\
             {{{{ $c.Cert }}}}{{{{ $b := buildCustomCert ($c.Cert | b64enc) ($c.Key | b64enc) }}}}{{{{ eq $b.Cert $c.Cert }}}}"
        );
        let out = render_with(&template, &Data::Null, &env, &Options::default()).unwrap();
        assert!(
            out.starts_with("-----BEGIN CERTIFICATE-----\n")
                && out.ends_with("-----END CERTIFICATE-----\ntrue"),
            "{out}"
        );
    }
    let template =
        "{{ encryptAES \"k\" \"secret\" | decryptAES \"k\" }} {{ htpasswd \"u\" \"p\" | trunc 9 }}";
    assert_eq!(
        render_with(template, &Data::Null, &env, &Options::default()).as_deref(),
        Ok("secret u:$2a$10$")
    );
}

#[test]
fn steady_certificates_stay_until_they_are_renewed() {
    const DAY: i64 = 86_400_000_000_000;
    let cert = |day: i64, days: i64, seed: u8| {
        let env = Env::new(1_700_000_000_000_000_000 + day * DAY, [seed; 32]).with_steady_certificates();
        let template = format!("{{{{ (genCAWithKey \"ca\" {days} (genPrivateKey \"ed25519\")).Cert }}}}");
        render_with(&template, &Data::Null, &env, &Options::default()).unwrap()
    };
    let renewals = |seed: u8| -> Vec<i64> {
        (1..800).filter(|day| cert(*day, 800, seed) != cert(*day - 1, 800, seed)).collect()
    };
    let days = renewals(5);
    assert!(days.len() == 8 || days.len() == 7, "each eighth: {days:?}");
    assert!(days.windows(2).all(|pair| pair[1] - pair[0] == 100), "{days:?}");
    assert_ne!(days, renewals(6), "not everything on one day");
    assert_ne!(cert(0, 0, 5), cert(1, 0, 5), "what is not valid at all begins now");
    cert(0, i64::MAX, 5);
}

#[test]
fn the_encoders_print_as_go_does() {
    let object = json!({"b": "<&>", "a": [1, 1.0, 1e21, null, "yes", "x: y"], "n": {}});
    assert_eq!(to_json(&object), r#"{"a":[1,1,1e+21,null,"yes","x: y"],"b":"\u003c\u0026\u003e","n":{}}"#);
    assert_eq!(to_yaml(&object), "a:\n- 1\n- 1\n- 1e+21\n- null\n- \"yes\"\n- 'x: y'\nb: <&>\n\"n\": {}\n");
    assert_eq!(to_yaml(&Json::Null), "null\n");
}

#[test]
fn a_text_of_blank_lines_begins_on_the_line_of_its_sign() {
    // What `yaml.v3` prints with four spaces: the first break ends the line of the sign.
    for (text, wanted) in [
        ("\n", "k: |4+\nl:\n    - |4+\n    - x\nm:\n    \"n\": |4+"),
        ("\n\n", "k: |4+\n\nl:\n    - |4+\n\n    - x\nm:\n    \"n\": |4+\n"),
        ("\na", "k: |4-\n    a\nl:\n    - |4-\n      a\n    - x\nm:\n    \"n\": |4-\n        a"),
        (
            "\n\na\n\n",
            "k: |4+\n\n    a\n\nl:\n    - |4+\n\n      a\n\n    - x\nm:\n    \"n\": |4+\n\n        a\n",
        ),
        (" a\n", "k: |4\n     a\nl:\n    - |4\n       a\n    - x\nm:\n    \"n\": |4\n         a"),
        ("a\n\n", "k: |+\n    a\n\nl:\n    - |+\n      a\n\n    - x\nm:\n    \"n\": |+\n        a\n"),
    ] {
        let object = json!({"k": text, "l": [text, "x"], "m": {"n": text}});
        let dot = Data::Map(vec![("Resource", Data::Json(&object))]);
        let options = Options { stage: Stage::Event, ..Options::default() };
        let printed = render_with("{{ copy .Resource }}", &dot, &Env::default(), &options);
        assert_eq!(printed.as_deref(), Ok(wanted), "{text:?}");
    }
}

#[test]
fn missing_keys_follow_the_option() {
    let data = json!({"a": {}});
    let run = |missing_key| {
        let options = Options { missing_key, ..Options::default() };
        render_with("{{ .a.b }}", &Data::Json(&data), &Env::default(), &options)
    };
    assert_eq!(run(MissingKey::Default).as_deref(), Ok("<no value>"));
    assert_eq!(run(MissingKey::Zero).as_deref(), Ok("<no value>"));
    assert!(run(MissingKey::Error).unwrap_err().ends_with("map has no entry for key \"b\""));
}
