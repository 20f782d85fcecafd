//! The seed template over 64 Services, compiling it, and `toYaml`; beside Go in the same run
//! where there is a Go toolchain.

mod sample;

use std::{
    hint::black_box,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use divan::{Bencher, counter::ItemsCount};
use sample::{NETWORK_POLICY, services};
use serde_json::{Value as Json, json};
use sluice_template::{Data, Env, Limits, MissingKey, Options, Program, Stage, to_yaml};

const TO_YAML: &str = "{{ toYaml .Resource }}";

fn options() -> Options {
    Options { missing_key: MissingKey::Error, stage: Stage::Event, ..Options::default() }
}

fn render_all(program: &Program, dots: &[Data<'_>], env: &Env<'_>, limits: &Limits) {
    for dot in dots {
        black_box(program.render(black_box(dot), env, limits).map(|s| s.len())).ok();
    }
}

fn dots(objects: &[Json]) -> Vec<Data<'_>> {
    objects.iter().map(|o| Data::Map(vec![("Resource", Data::Json(o))])).collect()
}

fn bench_template(bencher: Bencher<'_, '_>, template: &str) {
    let objects = services();
    let dots = dots(&objects);
    let (env, limits) = (Env::default(), Limits::default());
    let Ok(program) = Program::compile("t", template, &options()) else { return };
    bencher.counter(ItemsCount::new(dots.len())).bench_local(|| render_all(&program, &dots, &env, &limits));
}

#[divan::bench]
fn render_network_policy_64(bencher: Bencher<'_, '_>) {
    bench_template(bencher, NETWORK_POLICY);
}

#[divan::bench]
fn render_to_yaml_64(bencher: Bencher<'_, '_>) {
    bench_template(bencher, TO_YAML);
}

#[divan::bench]
fn compile_network_policy() -> bool {
    Program::compile("t", black_box(NETWORK_POLICY), &options()).is_ok()
}

#[divan::bench]
fn to_yaml_of_a_service(bencher: Bencher<'_, '_>) {
    let object = services().swap_remove(1);
    bencher.bench_local(|| to_yaml(black_box(&object)).len());
}

/// Renders per second, the best of three windows of half a second, as the oracle measures.
fn rate(template: &str) -> f64 {
    let objects = services();
    let dots = dots(&objects);
    let (env, limits) = (Env::default(), Limits::default());
    let Ok(program) = Program::compile("t", template, &options()) else { return 0.0 };
    let mut best: f64 = 0.0;
    for _ in 0..3 {
        let (start, mut count) = (Instant::now(), 0u32);
        while start.elapsed() < Duration::from_millis(500) {
            render_all(&program, &dots, &env, &limits);
            count += 64;
        }
        best = best.max(f64::from(count) / start.elapsed().as_secs_f64());
    }
    best
}

fn go_rate(template: &str) -> Option<f64> {
    let go = ["go", "/usr/local/go/bin/go"]
        .into_iter()
        .find(|g| Command::new(g).arg("version").output().is_ok_and(|o| o.status.success()))?;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oracle");
    let binary = std::env::temp_dir().join("sluice-template-oracle");
    let built =
        Command::new(go).args(["build", "-o"]).arg(&binary).arg(".").current_dir(folder).status().ok()?;
    if !built.success() {
        return None;
    }
    let data: Vec<Json> = services().into_iter().map(|s| json!({"Resource": s})).collect();
    let case = json!({"group": "sprig", "missingkey": "error", "template": template, "data": data});
    let mut child = Command::new(&binary)
        .args(["-bench", "500ms"])
        .env("GOMAXPROCS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    writeln!(child.stdin.take()?, "{case}").ok()?;
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn main() {
    divan::main();
    for (name, template) in [("NetworkPolicy", NETWORK_POLICY), ("toYaml", TO_YAML)] {
        let ours = rate(template);
        match go_rate(template) {
            Some(go) => println!("{name}: {ours:.0}/s, Go {go:.0}/s, {:.2} times", ours / go),
            None => println!("{name}: {ours:.0}/s, no Go toolchain to compare with"),
        }
    }
}
