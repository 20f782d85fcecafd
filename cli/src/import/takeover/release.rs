//! Helm's record of a release: which objects it has, of which chart, and with which values.

use std::io::Read as _;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sluice_api::{Digest, ObjectKey, object, yaml};
use sluice_protocol::rows::Release;

/// No record is larger when it is unpacked; the Secret that it is in has at most 1 MiB.
const LARGEST: u64 = 64 << 20;

/// What Helm has installed.
#[derive(Debug, PartialEq)]
pub(super) struct Installed {
    pub(super) release: Release,
    pub(super) objects: Vec<ObjectKey>,
}

/// The newest record that says `deployed`, among Secrets of one release.
pub(super) fn newest(secrets: &[Value]) -> Option<&Value> {
    let deployed = secrets.iter().filter(|secret| object::label(secret, "status") == Some("deployed"));
    deployed.max_by_key(|secret| {
        object::label(secret, "version").and_then(|version| version.parse::<u64>().ok()).unwrap_or(0)
    })
}

/// Reads a record from its Secret. `is_namespaced` says whether objects of a kind are in a namespace.
///
/// # Errors
/// Which part of it cannot be read.
pub(super) fn read(secret: &Value, is_namespaced: impl Fn(&ObjectKey) -> bool) -> anyhow::Result<Installed> {
    let packed = STANDARD.decode(object::text(secret, &["data", "release"])).context("its data")?;
    let packed = STANDARD.decode(packed).context("its data")?;
    let mut text = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(&packed[..]).take(LARGEST);
    unpacked.read_to_end(&mut text).context("it cannot be unpacked")?;
    let record: Value = serde_json::from_slice(&text).context("it is no JSON")?;
    let namespace = object::namespace(secret);
    let documents = yaml::documents(object::text(&record, &["manifest"])).context("its manifest")?;
    let mut objects: Vec<ObjectKey> = documents.iter().filter_map(ObjectKey::of).collect();
    for key in &mut objects {
        match is_namespaced(key) {
            true if key.namespace.is_empty() => namespace.clone_into(&mut key.namespace),
            true => {}
            false => key.namespace.clear(),
        }
    }
    let chart = |field: &str| object::text(&record, &["chart", "metadata", field]).to_owned();
    // Renderers read values as Helm does: every number is a float.
    let config = record.get("config").filter(|config| !config.is_null()).map(Value::to_string);
    let values = sluice_chart::read_values(&config.unwrap_or_default()).context("its values")?;
    let release = Release {
        repository: String::new(),
        version: chart("version"),
        app_version: chart("appVersion"),
        values: digest(&values),
    };
    Ok(Installed { release, objects })
}

/// As renderers make it of the values that they give to a chart.
fn digest(values: &Map<String, Value>) -> String {
    let text = serde_json::to_string(values).unwrap_or_default();
    Digest::of(&[text.as_bytes()]).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use serde_json::json;

    use super::*;

    fn secret(version: u32, status: &str, record: &Value) -> Value {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(record.to_string().as_bytes()).unwrap();
        let text = STANDARD.encode(STANDARD.encode(packed.finish().unwrap()));
        json!({"kind": "Secret", "metadata": {"namespace": "web", "name": format!("sh.helm.release.v1.site.v{version}"),
            "labels": {"name": "site", "owner": "helm", "status": status, "version": version.to_string()}}, "data": {"release": text}})
    }

    fn record() -> Value {
        let manifest = "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: rbac.authorization.k8s.io/v1\n\
            kind: ClusterRole\nmetadata: {name: b, namespace: x}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: c, namespace: d}\n";
        json!({"name": "site", "version": 2, "config": {"b": 1, "a": {"c": true}}, "manifest": manifest,
            "chart": {"metadata": {"name": "site", "version": "1.2.0", "appVersion": "9"}}})
    }

    #[test]
    fn a_record_names_its_objects_where_they_are_and_its_values_by_their_digest() {
        let is_namespaced = |key: &ObjectKey| key.gvk.kind != "ClusterRole";
        let installed = read(&secret(2, "deployed", &record()), is_namespaced).unwrap();
        let names: Vec<String> = installed.objects.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Service web/a", "ClusterRole b", "Secret d/c"]);
        let text = r#"{"a":{"c":true},"b":1.0}"#;
        assert_eq!(installed.release.values, Digest::of(&[text.as_bytes()]).to_string());
        assert_eq!((installed.release.version, installed.release.app_version), ("1.2.0".into(), "9".into()));
        let mut bare = record();
        bare["config"] = Value::Null;
        let installed = read(&secret(2, "deployed", &bare), |_| true).unwrap();
        assert_eq!(installed.release.values, Digest::of(&[b"{}"]).to_string());
    }

    #[test]
    fn the_newest_record_that_is_deployed_counts() {
        let all = [
            secret(9, "superseded", &record()),
            secret(10, "deployed", &record()),
            secret(9, "deployed", &record()),
            secret(11, "failed", &record()),
        ];
        assert_eq!(object::label(newest(&all).unwrap(), "version"), Some("10"));
        assert_eq!(newest(&all[3..]), None);
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        let mut broken = secret(1, "deployed", &record());
        for text in ["", "x", "eA==", "eHg="] {
            broken["data"]["release"] = text.into();
            assert!(read(&broken, |_| true).is_err(), "{text}");
        }
    }
}
