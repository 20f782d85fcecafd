//! A chart of 40 templates: rendered when it is parsed already, and loaded and rendered; beside Helm in the same run, as
//! a process and as a library, where there is one.
//!
//! `HELM` names Helm's program; without it, `helm` is looked for on the `PATH`.
#![allow(clippy::unwrap_used)]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]

mod sample;

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use divan::Bencher;
use serde_json::Map;
use sluice_chart::{Capabilities, Chart, Compiled, LoadLimits, Options, Release, Rendered};
use sluice_template::Env;

/// As in the renderer.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The best of so many windows of this length counts, here and in the oracle.
const WINDOWS: (u32, Duration) = (3, Duration::from_millis(500));

fn archive() -> Vec<u8> {
    let files = sample::files().into_iter().map(|(name, text)| (name, text.into_bytes()));
    Chart::pack(&files.collect::<BTreeMap<_, _>>(), LoadLimits::default()).unwrap()
}

fn load(archive: &[u8]) -> Chart {
    Chart::from_archive(archive, LoadLimits::default()).unwrap()
}

fn render(chart: &Chart, compiled: &Compiled) -> Rendered {
    let release = Release { name: "site".into(), namespace: "web".into(), revision: 1, is_upgrade: false };
    let options = Options { compiled: compiled.clone(), ..Options::default() };
    let env = Env::new(1_700_000_000_000_000_000, [7; 32]);
    sluice_chart::render(chart, &Map::new(), &release, &Capabilities::default(), &env, &options).unwrap()
}

#[divan::bench]
fn render_compiled(bencher: Bencher<'_, '_>) {
    let (chart, compiled) = (load(&archive()), Compiled::default());
    bencher.bench_local(|| render(black_box(&chart), &compiled));
}

#[divan::bench]
fn parse_and_render(bencher: Bencher<'_, '_>) {
    let chart = load(&archive());
    bencher.bench_local(|| render(black_box(&chart), &Compiled::default()));
}

#[divan::bench]
fn load_and_render(bencher: Bencher<'_, '_>) {
    let archive = archive();
    bencher.bench_local(|| render(&load(black_box(&archive)), &Compiled::default()));
}

/// Calls per second.
fn rate(mut call: impl FnMut()) -> f64 {
    let mut best: f64 = 0.0;
    for _ in 0..WINDOWS.0 {
        let (start, mut count) = (Instant::now(), 0u32);
        while start.elapsed() < WINDOWS.1 {
            call();
            count += 1;
        }
        best = best.max(f64::from(count) / start.elapsed().as_secs_f64());
    }
    best
}

/// The first of these programs that answers.
fn program(names: &[PathBuf], ask: &str) -> Option<PathBuf> {
    let answers = |name: &&PathBuf| Command::new(name).arg(ask).output().is_ok_and(|o| o.status.success());
    names.iter().find(answers).cloned()
}

fn helm_process(chart: &Path) -> Option<f64> {
    let named = env::var_os("HELM").map(PathBuf::from);
    let helm = program(&named.into_iter().chain([PathBuf::from("helm")]).collect::<Vec<_>>(), "version")?;
    let run = || {
        let mut command = Command::new(&helm);
        command.args(["template", "site"]).arg(chart).args(["--namespace", "web"]).stderr(Stdio::null());
        command.output().unwrap()
    };
    let first = run();
    let ours = render(&load(&archive()), &Compiled::default()).show(&Default::default()).unwrap();
    assert_eq!(String::from_utf8(first.stdout).unwrap(), ours, "Helm prints something else");
    Some(rate(|| assert!(run().status.success())))
}

/// Renders per second of the chart that is loaded already, and of one that is loaded each time.
fn helm_library(chart: &Path) -> Option<(f64, f64)> {
    let go = program(&["go".into(), "/usr/local/go/bin/go".into()], "version")?;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oracle");
    let binary = chart.with_file_name("oracle");
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&binary).arg(".").current_dir(folder);
    if !build.status().ok()?.success() {
        return None;
    }
    let window = format!("{}ms", WINDOWS.1.as_millis());
    let output = Command::new(&binary).args(["-bench", &window]).arg(chart).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (cached, whole) = text.trim().split_once(' ')?;
    Some((cached.parse().ok()?, whole.parse().ok()?))
}

fn beside_helm() {
    let archive = archive();
    let folder = env::temp_dir().join(format!("sluice-chart-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("chart.tgz");
    fs::write(&path, &archive).unwrap();
    let (chart, compiled) = (load(&archive), Compiled::default());
    let cached = rate(|| drop(black_box(render(&chart, &compiled))));
    let whole = rate(|| drop(black_box(render(&load(&archive), &Compiled::default()))));
    let documents = render(&chart, &compiled).manifests.len();
    println!(
        "{} templates, {documents} manifests, parsed: {} KiB",
        chart.templates.len(),
        compiled.bytes() >> 10
    );
    println!("compiled chart: {:.2} ms ({cached:.0}/s); loaded each time: {whole:.0}/s", 1000.0 / cached);
    match helm_process(&path) {
        Some(helm) => println!(
            "helm template as a process: {helm:.1}/s; loaded each time is {:.0} times that",
            whole / helm
        ),
        None => println!("helm template as a process: no helm to compare with; name one with HELM"),
    }
    match helm_library(&path) {
        Some((helm, helm_whole)) => println!(
            "Helm's engine as a library: {helm:.0}/s, {:.1} times; loaded each time: {helm_whole:.0}/s, {:.1} times",
            cached / helm,
            whole / helm_whole
        ),
        None => println!("Helm's engine as a library: no Go toolchain to compare with"),
    }
    fs::remove_dir_all(&folder).unwrap();
}

fn main() {
    divan::main();
    // Whoever names a bench wants that one alone.
    if env::args().skip(1).all(|argument| argument.starts_with("--")) {
        beside_helm();
    }
}
