//! Any bytes, and any archive of files, are a chart or are refused; what is a chart renders or says why not.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use serde_json::Map;
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release};
use sluice_template::Env;

fn render(chart: &Chart) {
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let (env, options) = (Env::new(0, [0; 32]), Options::default());
    sluice_chart::render(chart, &Map::new(), &release, &Capabilities::default(), &env, &options).ok();
}

fuzz_target!(|input: (Vec<u8>, BTreeMap<String, Vec<u8>>)| {
    let (bytes, files) = input;
    let limits = LoadLimits { unpacked_bytes: 1 << 20, file_bytes: 1 << 18, files: 100, depth: 3 };
    if let Ok(chart) = Chart::from_archive(&bytes, limits) {
        render(&chart);
    }
    let Ok(packed) = Chart::pack(&files, limits) else { return };
    let read = Chart::from_folder(&files, limits);
    if let (Ok(packed), Ok(read)) = (Chart::from_archive(&packed, limits), &read) {
        render(&packed);
        render(read);
    }
});
