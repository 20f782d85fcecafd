//! Charts that want to take all time or all memory. Each is made here, and ends with an error.

use std::{collections::BTreeMap, fmt::Write as _};

use sluice_chart::{Chart, Error, LoadLimits};

use super::{mk_files, mk_head, render, zipped};

/// What becomes of a chart.
type Outcome = Result<(), Error>;

/// A hostile chart: what it does, and what is said of it.
pub type Hostile = (&'static str, fn() -> Outcome, &'static str);

pub const ALL: &[Hostile] = &[
    (
        "loops in loops",
        || template("{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}"),
        "limit: ",
    ),
    ("a loop that computes", || template(COMPUTES), "limit: "),
    ("a chart that includes itself", || template(&defined("{{ include \"x\" . }}")), "nested reference name"),
    ("a chart that includes itself twice", || template(&defined("{{ include \"y\" . }}")), "limit: "),
    (
        "a text that is a template of itself",
        || template(&defined("{{ tpl \"{{ include \\\"x\\\" . }}\" . }}")),
        "nested reference name",
    ),
    (
        "templates that are parsed again and again",
        || template("{{ range until 100000 }}{{ tpl (repeat 20000 \"{{ 1 }}\") $ }}{{ end }}"),
        "limit: ",
    ),
    (
        "a text that doubles",
        || template("{{ $x := \"x\" }}{{ range until 100 }}{{ $x = print $x $x }}{{ end }}"),
        "limit: ",
    ),
    ("a repeated text", || template("{{ repeat 2000000000 \"x\" }}"), "limit: "),
    (
        "a map that grows",
        || {
            template(
                "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) (repeat 10000 \"x\") }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "a map that is copied",
        || {
            template(
                "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) . }}{{ end }}{{ range until 1000 }}{{ $x := deepCopy $d }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "a list of lists",
        || template("{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}"),
        "limit: ",
    ),
    (
        "YAML that multiplies",
        || template(&format!("{{{{ fail (fromYaml {:?}).Error }}}}", multiplied(12))),
        "excessive aliasing",
    ),
    (
        "JSON that is read and written",
        || {
            template(
                "{{ $x := until 20000 | toJson }}{{ range until 100000 }}{{ $y := fromJsonArray $x | toJson }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "words that are searched",
        || {
            template(
                "{{ $x := repeat 100000 \"a\" }}{{ range until 100000 }}{{ $y := regexFindAll \"(a|b|ab)*c\" $x -1 }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "keys that are made",
        || template("{{ range until 100000 }}{{ $x := genPrivateKey \"ecdsa\" }}{{ end }}"),
        "limit: ",
    ),
    (
        "passwords that are derived",
        || {
            template(
                "{{ range until 100000 }}{{ $x := derivePassword 1 \"long\" \"a\" \"b\" \"c\" }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "hashes",
        || {
            template(
                "{{ $x := repeat 1000000 \"a\" }}{{ range until 100000 }}{{ $y := sha256sum $x }}{{ end }}",
            )
        },
        "limit: ",
    ),
    (
        "passwords that are hashed",
        || template("{{ range until 100000 }}{{ $x := bcrypt \"a\" }}{{ end }}"),
        "limit: ",
    ),
    (
        "files that are read",
        || template("{{ range until 1000000 }}{{ $x := $.Files.Glob \"**\" }}{{ end }}"),
        "limit: ",
    ),
    (
        "blocks in blocks",
        || template(&format!("{}{}", "{{ if true }}".repeat(100_000), "{{ end }}".repeat(100_000))),
        "nested deeper than 100",
    ),
    ("a large template", || template(&"{{ $x := 1 }}".repeat(400_000)), "more than 4194304 bytes"),
    ("a template of many parts", || template(&format!("{{{{ print{} }}}}", " 1".repeat(2_000_000))), "parts"),
    ("many large templates", || templates(200, &"{{ $x := 1 }}".repeat(25_000)), "limit: "),
    ("many documents", || template("{{ range until 1500000 }}a: 1\n---\n{{ end }}"), "limit: "),
    ("a document of many lines", || template("{{ range until 3000000 }}- a\n{{ end }}"), "limit: "),
    ("many values", || values("a: [", &"1,".repeat(2_500_000), "]\n"), "limit: "),
    ("many keys", || values("", &numbered(300_000), ""), "limit: "),
    ("values of many charts", values_of_many_charts, "limit: "),
    ("values that multiply", || values("", &multiplied(12), ""), "excessive aliasing"),
    ("deep values", || values("a: ", &"{b: ".repeat(20_000), &"}".repeat(20_000)), "deep"),
    (
        "many conditions",
        || head(&format!("dependencies:\n{}", "- {name: c, condition: a.b}\n".repeat(150_000))),
        "limit: ",
    ),
    ("a schema that multiplies", || schema(&doubled("allOf")), "limit: "),
    ("a schema that multiplies by choice", || schema(&doubled("anyOf")), "limit: "),
    ("a schema that leads far", || schema(&chained(50_000)), "limit: "),
    ("a schema of large patterns", || schema(&patterns(2_000)), "limit: "),
    ("a schema that reads a long text for many formats", formats, "limit: "),
    ("a schema that refuses each of many values", || listed(r#"{"items": {"type": "null"}}"#), "want null"),
    ("a schema that wants many values to differ", || listed(r#"{"uniqueItems": true}"#), "are equal"),
    (
        "a pattern that tries everything",
        || schema(r#"{"patternProperties": {"^(a+)+\\1$": {"type": "string"}}}"#),
        "is not a",
    ),
    ("an archive that unpacks to much", bomb, "maximum size"),
    (
        "an archive of many files",
        || archive(mk_head("app/a", 0, tar::EntryType::Regular).repeat(100_000)),
        "limit: ",
    ),
    ("an archive within an archive", bomb_within, "maximum size"),
    ("archives of headers within an archive", headers_within, "maximum size"),
    ("a name that is as long as a chart", || described(tar::EntryType::GNULongName, b""), "limit: a header"),
    ("a link that is as long as a chart", || described(tar::EntryType::GNULongLink, b""), "limit: a header"),
    (
        "attributes that are as long as a chart",
        || described(tar::EntryType::XHeader, PATH),
        "limit: a header",
    ),
    (
        "attributes of all files",
        || described(tar::EntryType::XGlobalHeader, PATH),
        "Chart.yaml file is missing",
    ),
    ("a file of many holes", holes, "limit: a header"),
    ("names of which each is long", long_names, "limit: the names of files"),
];

/// How a path begins among the attributes of a file.
const PATH: &[u8] = b"199229440 path=";

const COMPUTES: &str = "{{ $x := 0 }}{{ range $i := until 100000000 }}{{ $x = add $x (mul $i 3) (len (printf \"%d\" $i)) }}{{ end }}";

fn template(text: &str) -> Outcome {
    files(&[("templates/a.yaml", text)])
}

fn templates(count: usize, text: &str) -> Outcome {
    let mut all = mk_files(&[]);
    all.extend((0..count).map(|at| (format!("templates/{at}.yaml"), text.as_bytes().to_vec())));
    folder(&all)
}

fn values(before: &str, text: &str, after: &str) -> Outcome {
    files(&[("values.yaml", &format!("{before}{text}{after}"))])
}

fn head(more: &str) -> Outcome {
    files(&[("Chart.yaml", &format!("apiVersion: v2\nname: app\nversion: 1.0.0\n{more}"))])
}

fn schema(text: &str) -> Outcome {
    let values: String = (0..2_000).map(|at| format!("{}{at}: x\n", "a".repeat(40))).collect();
    files(&[("values.schema.json", text), ("values.yaml", &values)])
}

fn files(files: &[(&str, &str)]) -> Outcome {
    folder(&mk_files(files))
}

fn folder(files: &BTreeMap<String, Vec<u8>>) -> Outcome {
    run(&Chart::pack(files, LoadLimits::default())?)
}

fn archive(tar: Vec<u8>) -> Outcome {
    let archive = zipped(&tar);
    drop(tar);
    run(&archive)
}

/// What the chart takes begins here; what its making took does not count.
fn run(archive: &[u8]) -> Outcome {
    super::begin();
    render(&Chart::from_archive(archive, LoadLimits::default())?).map(drop)
}

/// Many values, of which the last two are equal, and a schema for all of them.
fn listed(schema: &str) -> Outcome {
    let schema = format!(r#"{{"properties": {{"a": {schema}}}}}"#);
    let values: String = (0..90_000).map(|at| format!("- {}\n", at.min(89_998))).collect();
    files(&[("values.schema.json", &schema), ("values.yaml", &format!("a:\n{values}"))])
}

/// A template `x` with this body, and `y` that includes itself twice.
fn defined(body: &str) -> String {
    let both = "{{ include \"y\" (print . 1) }}{{ include \"y\" (print . 2) }}";
    let twice = format!("{{{{ define \"y\" }}}}{{{{ if lt (len .) 90 }}}}{both}{{{{ end }}}}{{{{ end }}}}");
    format!("{{{{ define \"x\" }}}}{body}{{{{ end }}}}{twice}{{{{ include \"x\" \"\" }}}}")
}

/// Lists of ten aliases each.
fn multiplied(levels: usize) -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..levels {
        let list = vec![format!("*a{}", at - 1); 10].join(", ");
        writeln!(text, "a{at}: &a{at} [{list}]").ok();
    }
    text
}

fn numbered(count: usize) -> String {
    (0..count).map(|at| format!("a{at}: {at}\n")).collect()
}

fn values_of_many_charts() -> Outcome {
    let mut all = mk_files(&[]);
    for at in 0..20 {
        let chart = format!("apiVersion: v2\nname: c{at}\nversion: 1.0.0\n");
        all.insert(format!("charts/c{at}/Chart.yaml"), chart.into_bytes());
        all.insert(format!("charts/c{at}/values.yaml"), numbered(100_000).into_bytes());
    }
    folder(&all)
}

/// Definitions that each want the next one twice.
fn doubled(keyword: &str) -> String {
    let mut text =
        "{\"additionalProperties\": {\"$ref\": \"#/definitions/d0\"}, \"definitions\": {".to_owned();
    for at in 0..40 {
        let next = format!("{{\"$ref\": \"#/definitions/d{}\"}}", at + 1);
        write!(text, "\"d{at}\": {{\"{keyword}\": [{next}, {next}]}}, ").ok();
    }
    text + "\"d40\": {\"type\": \"number\"}}}"
}

/// Definitions that each lead to the next one.
fn chained(count: usize) -> String {
    let mut text =
        "{\"additionalProperties\": {\"$ref\": \"#/definitions/d0\"}, \"definitions\": {".to_owned();
    for at in 0..count {
        write!(text, "\"d{at}\": {{\"$ref\": \"#/definitions/d{}\"}}, ", at + 1).ok();
    }
    format!("{text}\"d{count}\": {{\"type\": \"number\"}}}}}}")
}

fn patterns(count: usize) -> String {
    let all: Vec<String> =
        (0..count).map(|at| format!("{{\"pattern\": \"^(\\\\pL{{1,200}}){{2}}{at}$\"}}")).collect();
    format!("{{\"additionalProperties\": {{\"anyOf\": [{}]}}}}", all.join(", "))
}

fn formats() -> Outcome {
    let all = vec![r#"{"format": "json-pointer"}"#; 2_000].join(", ");
    // Later drafts look at no format.
    let draft = "http://json-schema.org/draft-07/schema#";
    let schema = format!("{{\"$schema\": \"{draft}\", \"properties\": {{\"a\": {{\"allOf\": [{all}]}}}}}}");
    let values = format!("a: /{}\n", "a".repeat(1 << 20));
    files(&[("values.schema.json", &schema), ("values.yaml", &values)])
}

/// 200 MiB of zeros.
fn bomb() -> Outcome {
    let mut tar = Vec::new();
    for at in 0..50 {
        tar.extend(mk_head(&format!("app/{at}"), 4 << 20, tar::EntryType::Regular));
        tar.resize(tar.len() + (4 << 20), 0);
    }
    archive(tar)
}

fn bomb_within() -> Outcome {
    let mut tar = Vec::new();
    for at in 0..20 {
        tar.extend(mk_head(&format!("c/{at}"), 5 << 20, tar::EntryType::Regular));
        tar.resize(tar.len() + (5 << 20), 0);
    }
    let inner = zipped(&tar);
    drop(tar);
    let mut all = mk_files(&[]);
    (0..9).for_each(|at| drop(all.insert(format!("charts/c{at}.tgz"), inner.clone())));
    folder(&all)
}

/// Charts within a chart, of which each is 100 MiB of folders.
fn headers_within() -> Outcome {
    const INNER: &str = "name: c\nversion: 1.0.0\n";
    let mut tar = mk_head("c/Chart.yaml", INNER.len() as u64, tar::EntryType::Regular);
    tar.extend_from_slice(INNER.as_bytes());
    tar.resize(1024, 0);
    tar.extend(mk_head("c/d/", 0, tar::EntryType::Directory).repeat(200 << 10));
    let inner = zipped(&tar);
    drop(tar);
    let mut all = mk_files(&[]);
    (0..9).for_each(|at| drop(all.insert(format!("charts/c{at}.tgz"), inner.clone())));
    folder(&all)
}

/// A file about which a header of this kind says 190 MiB.
fn described(kind: tar::EntryType, begin: &[u8]) -> Outcome {
    const SIZE: usize = 190 << 20;
    let mut tar = mk_head("x", SIZE as u64, kind);
    tar.extend(begin);
    tar.resize(512 + SIZE - 1, b'a');
    tar.push(if begin.is_empty() { 0 } else { b'\n' });
    tar.extend(mk_head("app/a", 0, tar::EntryType::Regular));
    archive(tar)
}

/// A sparse file of no bytes, whose parts are described in 50 MiB.
fn holes() -> Outcome {
    let mut header = tar::Header::new_gnu();
    header.set_path("app/a").unwrap();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.as_gnu_mut().unwrap().isextended = [1];
    header.set_cksum();
    let mut part = tar::GnuExtSparseHeader::new();
    part.isextended = [1];
    for part in &mut part.sparse {
        part.offset = *b"00000000000\0";
        part.numbytes = *b"00000000000\0";
    }
    let mut tar = header.as_bytes().to_vec();
    tar.extend(part.as_bytes().repeat(100 << 10));
    archive(tar)
}

/// Files whose names have 4 000 bytes each.
fn long_names() -> Outcome {
    let mut tar = Vec::new();
    for at in 0..10_000 {
        tar.extend(mk_head("x", 4001, tar::EntryType::GNULongName));
        tar.extend(format!("app/{at:03996}\0").into_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
        tar.extend(mk_head("app/a", 0, tar::EntryType::Regular));
    }
    archive(tar)
}
