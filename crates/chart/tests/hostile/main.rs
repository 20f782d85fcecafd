//! Charts whose authors want to do harm: each ends with an error that says why.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use serde_json::Map;
use sluice_chart::{Capabilities, Chart, Error, LoadLimits, Options, Release, Rendered};
use sluice_template::Env;

mod charts;

/// What a chart may take of memory.
const MOST_KIB: u64 = 256 << 10;

/// Milliseconds of a processor that were taken when the chart that is tried began.
static BEGUN: AtomicU64 = AtomicU64::new(0);

const CHART: &str = "apiVersion: v2\nname: app\nversion: 1.0.0\n";

fn mk_files(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let own = [("Chart.yaml", CHART)];
    own.iter().chain(files).map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

fn zipped(tar: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(tar).unwrap();
    encoder.finish().unwrap()
}

/// The head of a file in an archive, which says that the file has this size.
fn mk_head(name: &str, size: u64, kind: tar::EntryType) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_size(size);
    header.set_entry_type(kind);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn load(archive: &[u8]) -> Error {
    Chart::from_archive(archive, LoadLimits::default()).unwrap_err()
}

fn render_files(files: &BTreeMap<String, Vec<u8>>) -> Result<Rendered, Error> {
    render(&Chart::from_folder(files, LoadLimits::default())?)
}

fn render(chart: &Chart) -> Result<Rendered, Error> {
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let env = Env::new(0, [1; 32]);
    sluice_chart::render(chart, &Map::new(), &release, &Capabilities::default(), &env, &Options::default())
}

#[test]
fn a_file_that_says_it_is_huge_is_not_waited_for() {
    for size in [101 << 20, 1 << 40, u64::MAX >> 1] {
        let error = load(&zipped(&mk_head("app/a", size, tar::EntryType::Regular)));
        assert!(matches!(error, Error::Limit(_) | Error::Load(_)), "{error}");
    }
}

#[test]
fn an_archive_of_heads_alone_has_an_end() {
    let head = mk_head("app/d/", 0, tar::EntryType::Directory);
    let error = load(&zipped(&head.repeat(10_000)));
    assert_eq!(error, Error::Load("no files in chart archive".into()));
}

#[test]
fn archives_within_an_archive_share_its_limits() {
    let limits = LoadLimits { unpacked_bytes: 200_000, ..LoadLimits::default() };
    let inner = Chart::pack(&mk_files(&[("big.txt", &"x".repeat(90_000))]), limits).unwrap();
    let mut files = mk_files(&[]);
    for at in 0..3 {
        files.insert(format!("charts/c{at}.tgz"), inner.clone());
    }
    let archive = Chart::pack(&files, limits).unwrap();
    let error = Chart::from_archive(&archive, limits).unwrap_err();
    assert!(matches!(&error, Error::Limit(text) if text.contains("maximum size 200000")), "{error}");
}

#[test]
fn a_link_out_of_the_chart_gives_nothing_of_the_machine() {
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
        let mut header = tar::Header::new_gnu();
        header.set_path("app/values.yaml").unwrap();
        header.set_link_name("/etc/passwd").unwrap();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_cksum();
        let mut tar = mk_head("app/Chart.yaml", CHART.len() as u64, tar::EntryType::Regular);
        tar.extend_from_slice(CHART.as_bytes());
        tar.resize(1024, 0);
        tar.extend_from_slice(header.as_bytes());
        tar.resize(4096, 0);
        let chart = Chart::from_archive(&zipped(&tar), LoadLimits::default());
        assert!(chart.is_err() || chart.unwrap().values.is_empty(), "{kind:?}");
    }
}

#[test]
fn values_that_multiply_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..12 {
        let list = vec![format!("*a{}", at - 1); 10].join(", ");
        text += &format!("a{at}: &a{at} [{list}]\n");
    }
    let error = render_files(&mk_files(&[("values.yaml", &text)])).unwrap_err();
    assert!(error.to_string().contains("excessive aliasing"), "{error}");
}

#[test]
fn values_that_are_too_deep_are_refused() {
    for text in [
        format!("a: {}", "[".repeat(100_000)),
        format!("a: {}1{}", "{b: ".repeat(20_000), "}".repeat(20_000)),
    ] {
        assert!(render_files(&mk_files(&[("values.yaml", &text)])).is_err());
    }
}

#[test]
fn aliases_within_aliases_are_refused() {
    let mut files = mk_files(&[]);
    let wanted = |name: &str| {
        let one = |at: usize| format!("- {{name: {name}, version: 1.0.0, alias: {name}{at}}}\n");
        (0..20).map(one).collect::<String>()
    };
    for depth in 0..10 {
        let path = format!("{}Chart.yaml", "charts/c/".repeat(depth));
        let name = if depth == 0 { "app" } else { "c" };
        let list = if depth == 9 { String::new() } else { format!("dependencies:\n{}", wanted("c")) };
        files.insert(path, format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n{list}").into_bytes());
    }
    let error = render_files(&files).unwrap_err();
    assert!(
        matches!(&error, Error::Limit(text) if text.ends_with("aliases have more than 200000 values")),
        "{error}"
    );
}

#[test]
fn a_schema_that_leads_to_itself_or_out_ends() {
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}}"##,
        r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#,
        r#"{"$ref": "file:///etc/passwd"}"#,
        r#"{"properties": {"a": {"pattern": "^(a+)+$"}}}"#,
    ] {
        let values = format!("a: {}!\n", "a".repeat(200));
        let files = mk_files(&[("values.schema.json", schema), ("values.yaml", &values)]);
        let text = render_files(&files).map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        assert!(!text.contains("root:"), "{text}");
    }
}

#[test]
fn texts_that_grow_are_refused() {
    for text in [
        "{{ $x := \"x\" }}{{ range until 100 }}{{ $x = print $x $x }}{{ end }}",
        "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) (repeat 10000 \"x\") }}{{ end }}",
        "{{ range until 100 }}{{ $x := tpl (repeat 100000 \"{{ 1 }}\") $ }}{{ end }}",
        "{{ $x := .Files.Glob \"**\" }}{{ range until 1000000 }}{{ $x = $.Files.Glob \"**\" }}{{ end }}",
    ] {
        let error = render_files(&mk_files(&[("templates/a.yaml", text)])).unwrap_err();
        assert!(matches!(&error, Error::Limit(text) if text.contains("limit")), "{text}: {error}");
    }
}

/// Whatever is long in a chart, what is said of it is not.
#[test]
fn what_is_said_is_short() {
    let long = "x".repeat(100_000);
    let named = |name: &str| {
        let mut tar = mk_head("x", name.len() as u64, tar::EntryType::GNULongName);
        tar.extend_from_slice(name.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
        tar.extend(mk_head("app/a", 0, tar::EntryType::Regular));
        load(&zipped(&tar))
    };
    let folder = |files: &[(&str, &str)]| render_files(&mk_files(files)).unwrap_err();
    let path = format!("templates/{}.yaml", "x".repeat(4000));
    let below = format!("charts/{}.tgz", "x".repeat(4000));
    for (error, said) in [
        (named(&long), "limit: a header"),
        (named(&format!("app/{}", &long[..5000])), "more than 4096 bytes"),
        (named(&long[..4096]), "outside the base directory"),
        (folder(&[("values.yaml", &format!("--- {long}\n"))]), "document separator"),
        (folder(&[("values.schema.json", &format!("{{\"type\": \"{long}\"}}"))]), "values"),
        (folder(&[("templates/a.yaml", &format!("{{{{ fail \"{long}\" }}}}"))]), "execution error"),
        (folder(&[("templates/a.yaml", &format!("{{{{ {long} }}}}"))]), "not defined"),
        (folder(&[(&path, "a: [")]), "YAML parse error"),
        (folder(&[(&below, "no archive")]), "gzipped archive"),
    ] {
        let text = error.to_string();
        assert!(text.contains(said), "{text}");
        assert!(text.len() <= 2048, "{} bytes: {said}", text.len());
    }
    let mut values = Map::new();
    let texts = [
        sluice_chart::read_values(&format!("--- {long}\n")).unwrap_err().to_string(),
        sluice_chart::set(&mut values, &long).unwrap_err(),
    ];
    texts.iter().for_each(|text| assert!(text.len() <= 2048, "{} bytes", text.len()));
}

/// Milliseconds of a processor that this process has taken: whoever else is at work does not count.
fn taken() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ');
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

/// The peak of memory is that of what comes.
fn begin() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    BEGUN.store(taken(), Ordering::Relaxed);
}

/// One of them, in the process that [`each_ends_with_a_clear_error_within_its_memory`] starts for it.
#[test]
#[ignore = "it is started by another test"]
fn one_chart() {
    let name = env::var("SLUICE_HOSTILE").unwrap();
    let (_, run, said) = charts::ALL.iter().find(|(known, ..)| *known == name).unwrap();
    let error = run().map_or_else(|error| error.to_string(), |()| "none".to_owned());
    let millis = taken() - BEGUN.load(Ordering::Relaxed);
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak={} millis={millis} said={}", peak.trim().trim_end_matches(" kB"), error.contains(said));
    println!("error={:?}", error.chars().take(300).collect::<String>());
}

/// `cargo test --release -p sluice-chart --test hostile -- --nocapture each_ends` prints how long each takes.
#[test]
fn each_ends_with_a_clear_error_within_its_memory() {
    let mut wrong = Vec::new();
    for (name, ..) in charts::ALL {
        if env::var("SLUICE_HOSTILE_ONLY").is_ok_and(|only| !name.contains(&only)) {
            continue;
        }
        // One that has no end ends itself, and one that wants everything gets 2 GiB.
        let mut child = Command::new("sh");
        child
            .args(["-c", "ulimit -t 20; ulimit -v 2097152; exec \"$0\" \"$@\""])
            .arg(env::current_exe().unwrap());
        child.args(["--exact", "one_chart", "--ignored", "--nocapture"]).env("SLUICE_HOSTILE", name);
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let value = |field: &str| {
            let found = text.split_whitespace().find_map(|word| word.strip_prefix(field)?.strip_prefix('='));
            found.unwrap_or_default().to_owned()
        };
        let (peak, error) =
            (value("peak").parse::<u64>(), text.lines().find(|line| line.starts_with("error=")));
        println!("{name}: {} ms, {} MiB", value("millis"), peak.clone().unwrap_or_default() >> 10);
        if value("said") != "true" || peak.is_ok_and(|peak| peak > MOST_KIB) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{name}: {text} {stderr} {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_damaged_archive_is_read_or_refused(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>()
    ) {
        let mut tar = mk_head("app/Chart.yaml", CHART.len() as u64, tar::EntryType::Regular);
        tar.extend_from_slice(CHART.as_bytes());
        tar.resize(1024, 0);
        tar.extend(mk_head("app/values.yaml", 5, tar::EntryType::Regular));
        tar.extend_from_slice(b"a: 1\n");
        tar.resize(4096, 0);
        for (at, byte) in damage {
            let at = at.index(1600);
            tar[at] = byte;
        }
        tar.truncate(512 + cut.index(3584));
        if let Ok(chart) = Chart::from_archive(&zipped(&tar), LoadLimits::default()) {
            render(&chart).ok();
        }
    }

    #[test]
    fn any_values_and_schema_are_taken_or_refused(values in "[-a&*:{}\\[\\]!|> \\n0-9#'\"]{0,60}", schema in "[{}\\[\\]\",:a$#/ref0-9]{0,40}") {
        let template = "v: {{ toYaml .Values | nindent 2 }}\n";
        let files = [("values.yaml", values.as_str()), ("values.schema.json", schema.as_str()), ("templates/a.yaml", template)];
        render_files(&mk_files(&files)).ok();
    }
}
