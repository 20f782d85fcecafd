//! Any bytes, any archive of entries, and any archive of files, are a chart or are refused, and take no more memory than a chart
//! may; what is a chart renders or says why not.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::sync::OnceLock;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use serde_json::Map;
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release};
use sluice_template::Env;

fn render(chart: &Chart) {
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let (env, options) = (Env::new(0, [0; 32]), Options::default());
    sluice_chart::render(chart, &Map::new(), &release, &Capabilities::default(), &env, &options).ok();
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes what is written");
    encoder.finish().expect("memory takes what is written")
}

/// The archive of these entries. Whatever the last one says of its size comes: zeros follow, more than any limit lets through.
fn archive(entries: &[u8]) -> Vec<u8> {
    static ZEROS: OnceLock<Vec<u8>> = OnceLock::new();
    let mut bytes = zipped(entries);
    bytes.extend(ZEROS.get_or_init(|| zipped(&vec![0; 64 << 20])));
    bytes
}

/// KiB of memory, by their name in what the system says of this process.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the system tells of its processes");
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok());
    value.expect("the system counts memory")
}

/// Reads an archive, whose limits are [`LIMITS`].
fn read(bytes: &[u8]) -> Option<Chart> {
    fs::write("/proc/self/clear_refs", "5").expect("the peak is of what comes");
    let before = memory("VmRSS");
    let chart = Chart::from_archive(bytes, LIMITS);
    let taken = memory("VmHWM").saturating_sub(before);
    assert!(taken < MOST_KIB, "{taken} KiB");
    if let Err(error) = &chart {
        assert!(error.to_string().len() <= 2048, "{error}");
    }
    chart.ok()
}

const LIMITS: LoadLimits = LoadLimits { unpacked_bytes: 1 << 20, file_bytes: 1 << 18, files: 100, depth: 3 };
/// What YAML of a mebibyte is read into is many times as large.
const MOST_KIB: u64 = 48 << 10;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, BTreeMap<String, Vec<u8>>)| {
    let (bytes, entries, files) = input;
    let limits = LIMITS;
    for bytes in [bytes, archive(&entries)] {
        if let Some(chart) = read(&bytes) {
            render(&chart);
        }
    }
    let Ok(packed) = Chart::pack(&files, limits) else { return };
    let folder = Chart::from_folder(&files, limits);
    if let (Some(packed), Ok(folder)) = (read(&packed), &folder) {
        render(&packed);
        render(folder);
    }
});
