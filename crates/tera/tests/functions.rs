//! Templates in Tera: variables, functions, errors. Without a worker.
#![allow(clippy::unwrap_used)]

mod common;

use common::variables;
use sluice_template::{Data, Env, Limits, Options, Program, TextError};
use sluice_tera::InProcess;

fn render(text: &str) -> Result<String, TextError> {
    common::render(&InProcess::default(), text, &Limits::default())
}

#[track_caller]
fn gives(text: &str, wanted: &str) {
    assert_eq!(render(text), Ok(wanted.to_owned()), "{text}");
}

#[track_caller]
fn fails(text: &str, part: &str) {
    let error = render(text).unwrap_err();
    assert!(error.text().contains(part), "{text}: {error}");
}

#[test]
fn variables_are_those_of_go_templates() {
    gives(
        "{{ Resource.metadata.name }}/{{ MatchingResource.Name }}/{{ Cluster.metadata.name }}",
        "web/web/cluster-1",
    );
    gives(
        "{% for port in Resource.spec.ports %}{{ port.name }}={{ port.port }} {% endfor %}",
        "https=443 http=80 ",
    );
    gives("{% if Resource.metadata.annotations?.x is defined %}yes{% else %}no{% endif %}", "no");
}

#[test]
fn maps_are_walked_in_the_order_of_their_keys() {
    gives("{% for key, value in Resource.spec.selector %}{{ key }}{{ value }}{% endfor %}", "a1b2");
    gives(
        "{% set m = fromYaml(text='{z: 1, u: 2, x: 3, w: 4, v: 5}') %}{% for k, v in m %}{{ k }}{% endfor %}",
        "uvwxz",
    );
}

#[test]
fn nothing_is_escaped() {
    gives("{{ '<a href=\"x\">&' }}", "<a href=\"x\">&");
}

/// Pairs of a Go template and its twin: the output must be the same.
#[test]
fn functions_are_those_of_go_templates() {
    let pairs = [
        ("{{ .Resource.spec | toYaml | nindent 4 }}", "{{ Resource.spec | toYaml | nindent(spaces=4) }}"),
        ("{{ .Resource | toJson | sha256sum }}", "{{ Resource | toJson | sha256sum }}"),
        ("{{ .Resource.metadata.name | b64enc | quote }}", "{{ Resource.metadata.name | b64enc | quote }}"),
        ("{{ trunc 2 .Resource.metadata.name }}", "{{ trunc(length=2, text=Resource.metadata.name) }}"),
        (
            "{{ default \"x\" .Resource.spec.selector.a }}",
            "{{ Resource.spec.selector.a | default(default=\"x\") }}",
        ),
        (
            "{{ printf \"%s-%03d\" .Resource.metadata.name 7 }}",
            "{{ printf(format='%s-%03d', args=[Resource.metadata.name, 7]) }}",
        ),
        (
            "{{ omit .Resource.metadata \"labels\" \"uid\" | toYaml }}",
            "{{ Resource.metadata | omit(keys=['labels', 'uid']) | toYaml }}",
        ),
        (
            "{{ keys .Resource.spec.selector | join \",\" }}",
            "{{ Resource.spec.selector | keys | join(separator=',') }}",
        ),
        ("{{ now | date \"2006-01-02\" }}", "{{ now() | date(layout='2006-01-02') }}"),
        ("{{ (semver \"1.2.3\").Minor }}", "{% set v = semver(version='1.2.3') %}{{ v.Minor }}"),
        (
            "{{ getField .Resource \"metadata.labels.app\" }}",
            "{{ Resource | getField(path='metadata.labels.app') }}",
        ),
        ("{{ copy .Resource }}", "{{ copy(object=Resource) }}"),
        (
            "{{ setField .Resource \"metadata.name\" \"x\" }}",
            "{{ setField(object=Resource, path='metadata.name', value='x') }}",
        ),
        (
            "{{ (getResource .Resource).metadata | toJson }}",
            "{% set r = getResource(object=Resource) %}{{ r.metadata | toJson }}",
        ),
        ("{{ uuidv4 }} {{ uuidv4 }}", "{{ uuidv4() }} {{ uuidv4() }}"),
        (
            "{{ regexReplaceAll \"w(.)\" .Resource.metadata.name \"${1}w\" }}",
            "{{ regexReplaceAll(pattern='w(.)', text=Resource.metadata.name, replacement='${1}w') }}",
        ),
        ("{{ has 443 (list 443 80) }}", "{{ has(item=443, list=[443, 80]) }}"),
        ("{{ ternary \"a\" \"b\" true }}", "{{ true | ternary(yes='a', no='b') }}"),
    ];
    let (data, env) = (variables(), Env::new(1_795_276_800_000_000_000, [7; 32]));
    for (go, tera) in pairs {
        let program = Program::compile("t", go, &Options::default()).unwrap();
        gives(tera, &program.render(&Data::Json(&data), &env, &Limits::default()).unwrap());
    }
}

#[test]
fn declared_resources_are_found_in_the_deploy_stage() {
    gives("{% set secret = getResource(identifier='Secret') %}{{ secret.data.password | b64dec }}", "hi");
    gives("{{ getField(identifier='Secret', path='data.password') }}", "aGk=");
    gives("{{ copy(identifier='Secret') }}", "data:\n  password: aGk=\nmetadata: {}");
}

#[test]
fn what_writes_leaves_the_variable_as_it_was() {
    gives(
        "{% set m = set(map=Resource.spec.selector, key='c', value=3) %}{{ m | toJson }} {{ Resource.spec.selector | toJson }}",
        "{\"a\":\"1\",\"b\":\"2\",\"c\":3} {\"a\":\"1\",\"b\":\"2\"}",
    );
}

#[test]
fn an_undefined_value_is_an_error_but_where_a_function_asks_for_it() {
    fails("{{ Missing }}", "Variable `Missing` is not defined");
    fails("{{ Resource.metadata.nope | toYaml }}", "error calling toYaml: the value is undefined");
    gives("{{ Resource.metadata.nope | default(default='none') }}", "none");
}

#[test]
fn errors_have_a_place_and_name_what_is_unknown() {
    fails("a\n{{ Resource.metadata.name | nope }}", "tera: Unknown filter `nope`\n --> t:2:29");
    fails("{{ nope() }}", "Unknown function `nope`");
    fails(
        "{{ 'x' | indent(width=4) }}",
        "error calling indent: unknown argument `width`; indent takes spaces, text",
    );
    fails("{{ fail(message='broken on purpose') }}", "error calling fail: broken on purpose\n --> t:1:4");
    fails("{% for x in [1] %}", "tera: ");
    fails("{% include 't' %}", "tera: ");
    fails("{% include 'other' %}", "tera: ");
}

#[test]
fn output_and_functions_have_limits() {
    let limits = Limits { output_bytes: 10, string_bytes: 100, ..Limits::default() };
    let limited = |text| common::render(&InProcess::default(), text, &limits).unwrap_err();
    assert_eq!(
        limited("{{ 'twelve bytes' }}"),
        TextError::Limit("limit: more than 10 bytes of output".to_owned())
    );
    let error = limited("{{ repeat(count=101, text='x') | len }}");
    assert!(error.is_limit() && error.text().contains("limit: a string of more than 100 bytes"), "{error}");
    let steps = Limits { steps: 50, ..Limits::default() };
    let text = "{% for i in range(end=100) %}{{ add1(value=i) }}{% endfor %}";
    let error = common::render(&InProcess::default(), text, &steps).unwrap_err();
    assert!(error.is_limit() && error.text().contains("limit: more than 50 steps"), "{error}");
    assert!(
        !limited("{{ fail(message='limit: mine') }}").is_limit(),
        "what a template says of itself is no limit"
    );
}

#[test]
fn a_certificate_goes_from_one_function_to_another() {
    let text = "{% set ca = genCAWithKey(name='ca', days=1, key=genPrivateKey(type='ecdsa')) %}{{ ca.Cert | contains(part='BEGIN CERTIFICATE') }}";
    gives(text, "true");
}
