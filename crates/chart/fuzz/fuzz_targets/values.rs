//! Any values of a chart, of its dependency and of its user, with any schema, fit together or are refused.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use serde_json::Map;
use sluice_chart::{Capabilities, Chart, LoadLimits, Options, Release};
use sluice_template::Env;

const CHART: &str = "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: sub, version: 1.x, condition: sub.enabled, \
    tags: [t], import-values: [data, {child: a.b, parent: c}]}\n- {name: sub, version: 1.x, alias: other}\n";
const SUB: &str = "apiVersion: v2\nname: sub\nversion: 1.0.0\n";
const TEMPLATE: &str = "v: {{ toYaml .Values | nindent 2 }}\n";

fuzz_target!(|input: (&str, &str, &str, &str, &str)| {
    let (own, below, user, set, schema) = input;
    let files = [
        ("Chart.yaml", CHART),
        ("values.yaml", own),
        ("values.schema.json", schema),
        ("templates/a.yaml", TEMPLATE),
        ("charts/sub/Chart.yaml", SUB),
        ("charts/sub/values.yaml", below),
        ("charts/sub/templates/a.yaml", TEMPLATE),
    ];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let Ok(chart) = Chart::from_folder(&BTreeMap::from(files), LoadLimits::default()) else { return };
    let mut values = Map::new();
    if let Ok(read) = sluice_chart::read_values(user) {
        sluice_chart::merge(&mut values, read);
    }
    sluice_chart::set(&mut values, set).ok();
    let release = Release { name: "r".into(), namespace: "n".into(), revision: 1, is_upgrade: false };
    let (env, options) = (Env::new(0, [0; 32]), Options::default());
    sluice_chart::render(&chart, &values, &release, &Capabilities::default(), &env, &options).ok();
});
