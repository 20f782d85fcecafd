//! What an object waits for, in which order it is applied, and what is checked.

use serde_json::Value;
use sluice_api::model::{CheckPoint, Feature, prerequisites};
use sluice_api::{Gvk, ProfileId, few, object};
use sluice_deployer_core::Wave;
use sluice_protocol::rows::{Desired, Policy, State};

use super::Part;
use super::facts::Facts;
use crate::addons::OF_CHART;

/// Everything, in the order in which it comes.
pub(super) fn order(facts: &Facts) -> Vec<Part> {
    let manifest = facts.manifest().map(|object| &**object);
    let checks = |point| manifest.map_or_else(Vec::new, |manifest| checks(manifest, point));
    let mut parts = manifest.map_or_else(Vec::new, |manifest| named(facts, manifest));
    parts.extend(checks(CheckPoint::PreDeploy));
    match facts.on_bus.as_ref().ok().and_then(|on_bus| on_bus.newest.as_ref()) {
        Some((_, desired)) => parts.extend(applied(desired)),
        None => parts.extend(manifest.into_iter().flat_map(written)),
    }
    let after = [CheckPoint::Health, CheckPoint::PreDelete, CheckPoint::PostDelete];
    parts.extend(after.into_iter().flat_map(checks));
    parts
}

/// The profiles that it names.
fn named(facts: &Facts, manifest: &Value) -> Vec<Part> {
    let own = ProfileId::new(&*facts.key.namespace, &*facts.key.name);
    let mut parts = Vec::new();
    for (field, is_dependency) in [("dependsOn", true), ("transitionFrom", false)] {
        for other in prerequisites(&own, object::at(manifest, &["spec", field])) {
            let says = if is_dependency { needed(facts, &other) } else { followed(facts, &other) };
            parts.push(Part { what: field.to_owned(), which: other.to_string(), says });
        }
    }
    parts
}

/// How far a profile is that is waited for.
fn needed(facts: &Facts, other: &ProfileId) -> String {
    if facts.on_bus.is_err() {
        return "where it is cannot be told".to_owned();
    }
    let (mut there, mut not): (usize, Vec<String>) = (0, Vec::new());
    for (cluster, status) in facts.said_of(other) {
        match status.state {
            State::Provisioned => there += 1,
            _ => not.push(cluster.path()),
        }
    }
    let is_written = facts.object(other.kind(), &other.namespace, other.object_name()).is_some();
    let mut says = match (is_written || facts.management.is_err(), there + not.len()) {
        (false, 0) => return "there is none".to_owned(),
        (true, 0) => return "it is on no cluster".to_owned(),
        (_, all) => format!("provisioned on {there} of its {all} clusters"),
    };
    if !not.is_empty() {
        says.push_str(&format!(", not on {}", few(", ", &not)));
    }
    says
}

/// Where a profile still is that it takes over from.
fn followed(facts: &Facts, other: &ProfileId) -> String {
    let still: Vec<String> = facts.said_of(other).map(|(cluster, _)| cluster.path()).collect();
    match (&facts.on_bus, still.is_empty()) {
        (Err(_), _) => "where it still is cannot be told".to_owned(),
        (Ok(_), true) => "it is on no cluster any more".to_owned(),
        (Ok(_), false) => format!("still on {}", few(", ", &still)),
    }
}

/// One list of checks.
fn checks(manifest: &Value, point: CheckPoint) -> Vec<Part> {
    let entries = object::at(manifest, &["spec", point.field()]).and_then(Value::as_array);
    let part = |entry: &Value| {
        let feature = Feature::named(object::text(entry, &["featureID"]));
        let (lane, of) = (feature.map_or("", lane), object::text(entry, &["kind"]));
        let says = match (point, of) {
            (CheckPoint::PreDeploy, _) => format!("before anything of {lane} is written"),
            (CheckPoint::Health, _) => format!("once all of {lane} is there, and from then on"),
            (CheckPoint::PreDelete, _) => format!("before anything of {lane} is deleted"),
            (CheckPoint::PostDelete, _) => format!("once all of {lane} has gone"),
        };
        let of = if of.is_empty() { String::new() } else { format!("; looks at {of}") };
        Part {
            what: point.field().to_owned(),
            which: object::text(entry, &["name"]).to_owned(),
            says: format!("{says}{of}"),
        }
    };
    entries.into_iter().flatten().map(part).collect()
}

fn lane(feature: Feature) -> &'static str {
    match feature {
        Feature::Helm => "helmCharts",
        Feature::Resources => "policyRefs",
        Feature::Kustomize => "kustomizationRefs",
    }
}

/// What a row applies: one entry of a lane after another, and each in waves of kinds.
fn applied(desired: &Desired) -> Vec<Part> {
    let of_lane = |(feature, is_chart): (Feature, bool)| {
        let policies = desired.policies.iter().filter(move |policy| (policy.kind == OF_CHART) == is_chart);
        policies.enumerate().map(move |(number, policy)| {
            let which = match &policy.release {
                Some(release) => {
                    format!("release {}/{}, version {}", policy.namespace, policy.name, release.version)
                }
                None => format!("{} {}", policy.kind, place(&policy.namespace, &policy.name)),
            };
            Part { what: format!("{} {}", lane(feature), number + 1), which, says: waves(policy) }
        })
    };
    [(Feature::Helm, true), (Feature::Resources, false)].into_iter().flat_map(of_lane).collect()
}

/// The kinds of its objects, wave by wave.
fn waves(policy: &Policy) -> String {
    let mut waves: std::collections::BTreeMap<Wave, Vec<(String, usize)>> = Default::default();
    for object in &policy.objects {
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        let kinds = waves.entry(Wave::of(&gvk)).or_default();
        match kinds.iter_mut().find(|(kind, _)| *kind == gvk.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((gvk.kind, 1)),
        }
    }
    let kind = |(kind, count): (String, usize)| if count == 1 { kind } else { format!("{count} {kind}") };
    let wave = |kinds: Vec<(String, usize)>| kinds.into_iter().map(kind).collect::<Vec<_>>().join(", ");
    let waves: Vec<String> = waves.into_values().map(wave).collect();
    if waves.is_empty() { "nothing".to_owned() } else { waves.join(", then ") }
}

/// What is written, where nothing of it is rendered.
fn written(manifest: &Value) -> Vec<Part> {
    let entries = |field: &str| object::at(manifest, &["spec", field]).and_then(Value::as_array);
    let part = |field: &str, number: usize, which: String| Part {
        what: format!("{field} {}", number + 1),
        which,
        says: "not rendered".to_owned(),
    };
    let text = |entry: &Value, field: &str| object::text(entry, &[field]).to_owned();
    let charts = entries("helmCharts").into_iter().flatten().enumerate().map(|(number, entry)| {
        let release = place(&text(entry, "releaseNamespace"), &text(entry, "releaseName"));
        part("helmCharts", number, format!("release {release}, version {}", text(entry, "chartVersion")))
    });
    let policies = entries("policyRefs").into_iter().flatten().enumerate().map(|(number, entry)| {
        let name = place(&text(entry, "namespace"), &text(entry, "name"));
        part("policyRefs", number, format!("{} {name}", text(entry, "kind")))
    });
    charts.chain(policies).collect()
}

fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
