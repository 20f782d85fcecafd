//! Templates in the worker, hostile ones above all. This program is its own worker, so it has no test harness: a test
//! that fails ends it. Assertions are about outcomes and memory, not about time.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sluice_template::{Deadline, Engine, Limits, TextError};
use sluice_tera::Workers;

fn main() {
    sluice_tera::serve_if_asked();
    let tests: [(&str, fn()); 9] = [
        ("a worker renders", a_worker_renders),
        ("errors are Tera's", errors_are_teras),
        ("endless loops are stopped", endless_loops_are_stopped),
        ("growing values are stopped", growing_values_are_stopped),
        ("deep nesting is stopped", deep_nesting_is_stopped),
        ("sizes are checked before a worker sees them", sizes_are_checked),
        ("a deadline of the caller counts", a_deadline_of_the_caller_counts),
        ("a killed worker is replaced", a_killed_worker_is_replaced),
        ("a worker has nothing but its pipes", a_worker_has_nothing_but_its_pipes),
    ];
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for (name, test) in tests.iter().filter(|(name, _)| name.contains(&wanted)) {
        println!("test {name} ...");
        test();
    }
    println!("all tests passed");
}

/// Limits that make tests short; the time is long enough for a busy machine.
fn limits() -> Limits {
    Limits { wall: Duration::from_millis(700), worker_bytes: 64 << 20, ..Limits::default() }
}

/// A render that the template must not win: its error has one of the parts, and the next render works. Where time is
/// not among the parts, there is plenty of it.
fn is_stopped(workers: &Workers, text: &str, parts: &[&str]) {
    let shown: String = text.chars().take(100).collect();
    let limits = if parts.contains(&LATE) { limits() } else { patient() };
    let error = common::render(workers, text, &limits).map(|out| out.len()).expect_err(&shown);
    assert!(parts.iter().any(|part| error.text().contains(part)), "{shown}: {error}");
    assert_eq!(
        error.is_limit(),
        error.text().starts_with("limit: ") || error.text().contains(": limit: "),
        "{error}"
    );
    let next = common::render(workers, "{{ Resource.metadata.name }}", &patient());
    assert_eq!(next.as_deref().ok(), Some("web"), "after {shown}");
}

/// For renders that must succeed on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(20);
const LATE: &str = "limit: the render took longer than 700ms and was stopped";
const MEMORY: &str = "limit: the render needed more than 64 MiB of memory and was stopped";

fn patient() -> Limits {
    Limits { wall: PATIENCE, ..limits() }
}

fn a_worker_renders() {
    let workers = Workers::new();
    for text in [
        "{{ Resource.metadata.name | upper }}",
        "{{ Cluster.metadata.name }}",
        "{{ Resource.metadata.name | upper }}",
    ] {
        let wanted = common::render(&sluice_tera::InProcess::default(), text, &limits());
        assert_eq!(common::render(&workers, text, &patient()), wanted);
    }
    assert_eq!(workers.idle().len(), 1, "one worker is enough for one render at a time");
    let large = format!("{}{{{{ Resource.metadata.name }}}}", "x".repeat(900_000));
    assert_eq!(common::render(&workers, &large, &patient()).unwrap().len(), 900_003);
}

fn errors_are_teras() {
    let workers = Workers::new();
    let error = common::render(&workers, "a\n{{ Resource.nope.name }}", &patient()).unwrap_err();
    assert!(error.text().contains("tera: ") && error.text().contains("--> t:2:"), "{error}");
    let error = common::render(&workers, "{{ fail(message='limit: on purpose') }}", &patient()).unwrap_err();
    assert!(error.text().contains("error calling fail: limit: on purpose") && !error.is_limit(), "{error}");
    assert_eq!(workers.idle().len(), 1, "a template that fails costs no worker");
}

fn endless_loops_are_stopped() {
    let workers = Workers::new();
    let loops = "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% for c in range(end=100000) %}\
                 {% endfor %}{% endfor %}{% endfor %}";
    is_stopped(&workers, loops, &[LATE]);
    let captured = format!("{{% set x %}}{loops}{{% endset %}}");
    is_stopped(&workers, &captured, &[LATE]);
    is_stopped(&workers, "{% for a in range(end=1000000000) %}{% endfor %}", &["exceeds the limit"]);
    let out = "{% for a in range(end=100000) %}{% for b in range(end=100000) %}some text {{ b }}{% endfor %}{% endfor %}";
    is_stopped(&workers, out, &["limit: more than 4194304 bytes of output"]);
}

fn growing_values_are_stopped() {
    let workers = Workers::new();
    let doubled = |what: &str| {
        format!(
            "{{% set s = {what} %}}{{% for i in range(end=60) %}}{{% set_global s = DOUBLE %}}{{% endfor %}}"
        )
    };
    is_stopped(&workers, &doubled("'x'").replace("DOUBLE", "s ~ s"), &[MEMORY]);
    is_stopped(&workers, &doubled("[1]").replace("DOUBLE", "[...s, ...s]"), &[MEMORY]);
    is_stopped(&workers, &doubled("'x'").replace("DOUBLE", "s | replace(old='x', new='xx')"), &["limit: "]);
    let shared = doubled("[1]").replace("DOUBLE", "[s, s]");
    is_stopped(&workers, &format!("{shared}{{{{ s | toJson | len }}}}"), &[MEMORY, LATE]);
    is_stopped(
        &workers,
        &format!("{shared}{{{{ s }}}}"),
        &[MEMORY, LATE, "limit: more than 4194304 bytes of output"],
    );
    let captured = "{% set x %}{% for a in range(end=100000) %}{% for b in range(end=100000) %}0123456789\
                    {% endfor %}{% endfor %}{% endset %}";
    is_stopped(&workers, captured, &[MEMORY, LATE]);
    for call in [
        "repeat(count=1000000000, text='x')",
        "until(count=1000000000)",
        "printf(format='%1000000000d', args=[1])",
    ] {
        let error = common::render(&workers, &format!("{{{{ {call} | len }}}}"), &patient());
        assert!(
            error.as_ref().is_err_and(|e| e.is_limit() && e.text().contains("limit: "))
                || error.is_ok_and(|out| out.len() < 100),
            "{call}"
        );
    }
}

fn deep_nesting_is_stopped() {
    let workers = Workers::new();
    let nested =
        "{% set l = [] %}{% for i in range(end=100000) %}{% set_global l = [l] %}{% endfor %}{{ l }}";
    is_stopped(&workers, nested, &["limit: the render nested too deeply and was stopped", MEMORY]);
    let component = "{% component a(n) %}{{ <a n={n}/> }}{% endcomponent a %}{{ <a n={1}/> }}";
    is_stopped(&workers, component, &["recursion depth"]);
    is_stopped(&workers, &format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)), &["tera: "]);
    is_stopped(&workers, &"{% if true %}".repeat(50_000), &["tera: "]);
    is_stopped(&workers, "{% include 't' %}", &["tera: "]);
}

fn sizes_are_checked() {
    let workers = Workers::new();
    let error = common::render(&workers, &"{{ 1 }}".repeat(200_000), &limits()).unwrap_err();
    assert_eq!(error, TextError::Limit("limit: a template of more than 1048576 bytes".to_owned()));
    let small = Limits { worker_bytes: 4096, ..limits() };
    let error = common::render(&workers, &"{{ 1 }}".repeat(1000), &small).unwrap_err();
    assert!(error.is_limit() && error.text().starts_with("limit: template and variables are"), "{error}");
    assert!(workers.idle().is_empty(), "no worker was needed to say so");
}

fn a_deadline_of_the_caller_counts() {
    let (workers, asked) = (Workers::new(), std::sync::Arc::new(AtomicU32::new(0)));
    let count = asked.clone();
    let deadline = Deadline::when(move || count.fetch_add(1, Ordering::Relaxed) >= 3);
    let limits = Limits { wall: Duration::from_secs(3600), deadline: Some(deadline), ..limits() };
    let endless = "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% endfor %}{% endfor %}";
    let error = common::render(&workers, endless, &limits).unwrap_err();
    assert!(error.is_limit() && error.text().contains("and was stopped"), "{error}");
    assert!(asked.load(Ordering::Relaxed) >= 4);
}

fn a_killed_worker_is_replaced() {
    let workers = Workers::new();
    assert_eq!(common::render(&workers, "{{ 1 }}", &patient()).as_deref().ok(), Some("1"));
    let first = workers.idle();
    kill(first[0]);
    assert_eq!(
        common::render(&workers, "{{ 2 }}", &patient()).as_deref().ok(),
        Some("2"),
        "between two renders"
    );
    assert_ne!(workers.idle(), first);

    // In the middle of a render: a second worker gets it. When that is killed too, the render fails, and no other.
    let workers = std::sync::Arc::new(Workers::new());
    let before = children();
    let endless = "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% endfor %}{% endfor %}";
    let rendering = {
        let workers = workers.clone();
        std::thread::spawn(move || common::render(workers.as_ref() as &dyn Engine, endless, &patient()))
    };
    let busy = |not: u32| loop {
        if let Some(child) =
            children().into_iter().find(|child| *child != not && !before.contains(child) && is_busy(*child))
        {
            break child;
        }
        std::thread::yield_now();
    };
    let first = busy(0);
    kill(first);
    kill(busy(first));
    let error = rendering.join().unwrap().unwrap_err();
    assert!(
        error.is_limit() && error.text().contains("limit: the render ended its worker (signal: 9"),
        "{error}"
    );
    assert_eq!(common::render(workers.as_ref(), "{{ 3 }}", &patient()).as_deref().ok(), Some("3"));
}

fn a_worker_has_nothing_but_its_pipes() {
    let file = std::fs::File::open("/proc/self/status").unwrap();
    let workers = Workers::new();
    assert_eq!(common::render(&workers, "{{ 1 }}", &patient()).as_deref().ok(), Some("1"));
    let id = workers.idle()[0];
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count();
    assert_eq!(open, 3);
    assert!(std::fs::read(format!("/proc/{id}/environ")).unwrap().is_empty());
    let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    let hard = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().rev().nth(if name.contains("nice") { 0 } else { 1 }).unwrap().to_owned()
    };
    assert_eq!(
        (hard("Max open files"), hard("Max core file size"), hard("Max file size")),
        ("3".into(), "0".into(), "0".into())
    );
    let space: u64 = hard("Max address space").parse().unwrap();
    assert!(space < 1 << 30, "{space}");
    drop(file);
    drop(workers);
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "a worker ends with its owner");
}

fn kill(id: u32) {
    assert!(std::process::Command::new("kill").arg("-9").arg(id.to_string()).status().unwrap().success());
}

/// The processes that this one has started.
fn children() -> Vec<u32> {
    let own = std::process::id();
    let text = std::fs::read_dir("/proc/self/task").unwrap().flat_map(|task| {
        std::fs::read_to_string(task.unwrap().path().join("children"))
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    text.filter_map(|id| id.parse().ok()).filter(|id| *id != own).collect()
}

/// Whether a worker has taken a CPU second's share that only a template can have asked for.
fn is_busy(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse::<u32>().ok());
    ticks.is_some_and(|ticks| ticks >= 20)
}
