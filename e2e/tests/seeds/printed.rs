//! What the documents print of clusters, compared with what `sluice build` makes.
//!
//! What they print was read from API servers of their time: these had filled in defaults, so what is made must be contained in
//! it. Marks of Sveltos have another form since, but for the hash, which was over the same and a line feed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sluice_api::digest::sveltos_hash;
use sluice_api::{object, yaml};
use sluice_e2e::scenario::{MANAGEMENT, Scenario, difference};

use super::blocks::{Claim, squeezed};

/// Labels and annotations with this in their name are marks of Sveltos.
const MARK: &str = "projectsveltos.io/";

/// What is not made as a document prints it.
pub fn complaints(claim: &Claim) -> Vec<String> {
    let (after, at) =
        (claim.after.unwrap(), claim.at.as_deref().expect("a claim of what is made names a place"));
    let built = Scenario::load(&claim.scenario).unwrap().states().unwrap()[after].build().unwrap();
    let made =
        if at == MANAGEMENT { built.management } else { built.clusters.get(at).cloned().unwrap_or_default() };
    let printed = yaml::documents(&claim.text()).unwrap();
    let told = |printed: &Value| {
        let wrong = complaint(printed, &made)?;
        Some(format!("{}: {}: {} {wrong}", claim.scenario, claim.file, object::describe(printed)))
    };
    printed.iter().filter_map(told).collect()
}

fn complaint(printed: &Value, made: &[Value]) -> Option<String> {
    let name = |object: &Value| (object["kind"].clone(), object::describe(object));
    let Some(made) = made.iter().find(|made| name(made) == name(printed)) else {
        return Some("is not made".to_owned());
    };
    if printed["kind"] == "EventReport" {
        return report_complaint(printed, made);
    }
    let plain = without_marks(made);
    difference("", &tight(&plain), Some(&tight(printed))).or_else(|| hash_complaint(printed, &plain))
}

/// An object as it was rendered.
fn without_marks(made: &Value) -> Value {
    let mut plain = made.clone();
    let metadata = plain["metadata"].as_object_mut().unwrap();
    for field in ["labels", "annotations"] {
        if let Some(Value::Object(map)) = metadata.remove(field) {
            let own: Map<String, Value> = map.into_iter().filter(|(name, _)| !name.contains(MARK)).collect();
            if !own.is_empty() {
                metadata.insert(field.to_owned(), own.into());
            }
        }
    }
    plain
}

/// A value whose texts have no white space: a page may show a text in another form.
fn tight(value: &Value) -> Value {
    match value {
        Value::String(text) => squeezed(text).into(),
        Value::Array(items) => items.iter().map(tight).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), tight(value))).collect(),
        other => other.clone(),
    }
}

fn hash_complaint(printed: &Value, plain: &Value) -> Option<String> {
    let wanted = object::annotation(printed, "projectsveltos.io/hash")?;
    let hash = sveltos_hash(format!("{plain}\n").as_bytes());
    (hash != wanted).then(|| format!("has the hash {hash}"))
}

fn report_complaint(printed: &Value, made: &Value) -> Option<String> {
    let (carried, carries) = (resources(made), resources(printed));
    difference("", &said(made), Some(&said(printed)))
        .or_else(|| {
            (carried.is_empty() || carried.len() != carries.len()).then(|| format!("carries {carried:?}"))
        })
        .or_else(|| {
            carried.iter().zip(&carries).find_map(|(made, printed)| difference("", made, Some(printed)))
        })
}

/// What is different in an EventReport that is there. Of what it carries, servers choose the rest.
pub fn report_there_complaint(printed: &Value, there: &Value) -> Option<String> {
    let chosen = |service: &Value| {
        let spec =
            ["ports", "selector", "type"].map(|field| (field.to_owned(), service["spec"][field].clone()));
        json!({"name": object::describe(service), "labels": service["metadata"]["labels"], "spec": Value::from_iter(spec)})
    };
    let carries = |report: &Value| resources(report).iter().map(chosen).collect::<Value>();
    difference("", &said(printed), Some(&said(there)))
        .or_else(|| difference("", &carries(printed), Some(&carries(there))))
}

/// What an EventReport says of itself, without what it carries, and without what servers add.
fn said(report: &Value) -> Value {
    let mut spec = report["spec"].clone();
    spec.as_object_mut().unwrap().remove("resources");
    json!({"metadata": {"name": object::name(report), "namespace": object::namespace(report), "labels": report["metadata"]["labels"]},
        "spec": spec})
}

/// The objects that an EventReport carries.
fn resources(report: &Value) -> Vec<Value> {
    let text = STANDARD.decode(object::text(report, &["spec", "resources"])).unwrap();
    yaml::documents(&String::from_utf8(text).unwrap()).unwrap()
}

#[test]
fn what_is_made_in_another_way_is_noticed() {
    let printed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"projectsveltos.io/hash": "x"}},
        "data": {"k": "a: 1"}});
    let made = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    assert_eq!(complaint(&printed, &[]).unwrap(), "is not made");
    assert!(complaint(&printed, &[made(json!({"k": "a: 2"}))]).unwrap().contains("at .data.k"));
    assert!(
        complaint(&printed, &[made(json!({"k": " a:\n 1\n"}))]).unwrap().contains("has the hash sha256:")
    );
}
