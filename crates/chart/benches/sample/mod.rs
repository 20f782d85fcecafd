//! A chart as people write them: eight kinds of objects for each of five parts of an application, and helpers.

use std::collections::BTreeMap;

const PARTS: [&str; 5] = ["frontend", "backend", "worker", "cache", "search"];

const KINDS: [(&str, &str); 8] = [
    ("deployment", include_str!("deployment.yaml")),
    ("service", include_str!("service.yaml")),
    ("ingress", include_str!("ingress.yaml")),
    ("configmap", include_str!("configmap.yaml")),
    ("autoscaler", include_str!("autoscaler.yaml")),
    ("budget", include_str!("budget.yaml")),
    ("account", include_str!("account.yaml")),
    ("policy", include_str!("policy.yaml")),
];

/// The chart's files: 40 templates that print something, and one of helpers.
pub fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut add = |name: String, text: String| files.insert(name, text);
    add("Chart.yaml".into(), "apiVersion: v2\nname: shop\nversion: 1.4.2\nappVersion: \"3.1\"\n".into());
    add("templates/_helpers.tpl".into(), include_str!("helpers.tpl").into());
    let mut values = "global:\n  registry: registry.example.com\n  labels: {team: shop}\n".to_owned();
    for part in PARTS {
        values.push_str(&include_str!("values.yaml").replace("PART", part));
        for (kind, text) in KINDS {
            add(format!("templates/{part}-{kind}.yaml"), text.replace("PART", part));
        }
    }
    add("values.yaml".into(), values);
    files
}
