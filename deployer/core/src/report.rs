//! The ClusterReport: what a profile with `syncMode: DryRun` would change in a cluster.

// D-1058: what a dry run would change is tried on the server, and nothing is written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sluice_api::model::CONFIG_GROUP;
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, names};

/// Bytes of lines that fit into one object; etcd refuses requests above 1.5 MiB.
const BYTES: usize = 900 * 1024;
/// Bytes of one message.
const MESSAGE: usize = 16 * 1024;
/// Says how much is left out of one that would be larger.
const LEFT_OUT: &str = "sluice.dev/left-out";

/// What would become of the objects of a profile in a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The cluster.
    pub cluster: ClusterRef,
    /// The profile.
    pub profile: ProfileId,
    /// What would become of each object, and of each release by `namespace/name`; `None` when there is no report any more.
    pub lines: Option<ReportLines>,
}

/// By what they are about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportLines {
    /// Objects.
    pub objects: BTreeMap<ObjectKey, ReportLine>,
    /// Releases, with the version of the chart, by `namespace/name`.
    pub releases: BTreeMap<String, (String, ReportLine)>,
}

/// What would become of one object or release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// What would be done.
    pub action: Action,
    /// Why, or the difference.
    pub message: String,
    /// Whether it is of a chart.
    pub of_chart: bool,
}

/// What would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// It would be made.
    Create,
    /// It would be changed.
    Update,
    /// It would go.
    Delete,
    /// Another profile has it and keeps it.
    Conflict,
    /// It could not be done.
    Error,
    /// A release would be made.
    Install,
    /// A release would become one of another version.
    Upgrade,
    /// A release would have other values.
    UpdateValues,
}

impl Action {
    /// As the API has it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Nothing => "No Action",
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Delete => "Delete",
            Self::Conflict => "Conflict",
            Self::Error => "Error",
            Self::Install => "Install",
            Self::Upgrade => "Upgrade",
            Self::UpdateValues => "Update Values",
        }
    }
}

impl ReportLine {
    /// Of an object of a reference or of a chart.
    pub(crate) fn new(action: Action, message: impl Into<String>, of_chart: bool) -> Self {
        Self { action, message: message.into(), of_chart }
    }
}

impl Report {
    /// That nothing is tried any more.
    pub(crate) fn gone(cluster: &ClusterRef, profile: &ProfileId) -> Self {
        Self { cluster: cluster.clone(), profile: profile.clone(), lines: None }
    }
}

/// The key of the ClusterReport and the object; `None` when it should not exist.
pub fn cluster_report(report: &Report) -> (ObjectKey, Option<Value>) {
    let Report { cluster, profile, lines } = report;
    let (key, mut object) = skeleton(cluster, profile);
    let Some(lines) = lines else { return (key, None) };
    let (mut room, mut left_out) = (BYTES, 0_usize);
    let mut fits = |line: &Value| {
        let bytes = line.to_string().len();
        let fits = bytes <= room;
        if fits {
            room -= bytes;
        } else {
            left_out += 1;
        }
        fits
    };
    let mut status = json!({});
    let releases: Vec<_> =
        lines.releases.iter().map(|(path, line)| release(path, line)).filter(&mut fits).collect();
    let of = |of_chart| {
        let lines = lines.objects.iter().filter(move |(_, line)| line.of_chart == of_chart);
        lines.map(|(key, line)| resource(key, line))
    };
    let plain: Vec<_> = of(false).filter(&mut fits).collect();
    let of_charts: Vec<_> = of(true).filter(&mut fits).collect();
    for (field, list) in
        [("releaseReports", releases), ("resourceReports", plain), ("helmResourceReports", of_charts)]
    {
        if !list.is_empty() {
            status[field] = list.into();
        }
    }
    object["status"] = status;
    if left_out > 0 {
        object["metadata"]["annotations"][LEFT_OUT] = format!("{left_out} more lines do not fit").into();
    }
    (key, Some(object))
}

/// What the ClusterReport of a profile on a cluster is called, and whose it is.
pub(crate) fn skeleton(cluster: &ClusterRef, profile: &ProfileId) -> (ObjectKey, Value) {
    let prefix = if profile.namespace.is_empty() { "" } else { "p--" };
    let key = ObjectKey {
        gvk: Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterReport"),
        namespace: cluster.namespace.clone(),
        name: format!("{prefix}{}--{}--{}", profile.name, cluster.kind.lower(), cluster.name),
    };
    let label = if profile.namespace.is_empty() { "cluster-profile-name" } else { "profile-name" };
    let labels = [
        (format!("projectsveltos.io/{label}"), profile.name.as_str()),
        ("projectsveltos.io/cluster-name".to_owned(), &cluster.name),
        ("projectsveltos.io/cluster-type".to_owned(), cluster.kind.title()),
    ];
    let labels = labels.into_iter().filter(|(_, value)| names::is_label_value(value));
    let labels: Map<String, Value> = labels.map(|(key, value)| (key, value.into())).collect();
    let object = json!({
        "apiVersion": key.gvk.api_version(),
        "kind": key.gvk.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": labels},
        "spec": {"clusterNamespace": cluster.namespace, "clusterName": cluster.name},
    });
    (key, object)
}

/// The field of the release's name is called `chartName`.
fn release(path: &str, (version, line): &(String, ReportLine)) -> Value {
    let (namespace, name) = path.split_once('/').unwrap_or(("", path));
    json!({
        "chartName": name,
        "releaseNamespace": namespace,
        "chartVersion": version,
        "action": line.action.title(),
        "message": clipped(&line.message),
    })
}

fn resource(key: &ObjectKey, line: &ReportLine) -> Value {
    let mut resource = json!({
        "name": key.name, "group": key.gvk.group, "version": key.gvk.version, "kind": key.gvk.kind,
    });
    if !key.namespace.is_empty() {
        resource["namespace"] = key.namespace.clone().into();
    }
    json!({"resource": resource, "action": line.action.title(), "message": clipped(&line.message)})
}

fn clipped(text: &str) -> String {
    if text.len() <= MESSAGE {
        return text.to_owned();
    }
    let end = (0..=MESSAGE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(kind: &str, name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: "n".into(), name: name.into() }
    }

    fn report(lines: ReportLines) -> Report {
        let (cluster, profile) = (ClusterRef::sveltos("fleet", "c"), ProfileId::cluster("p"));
        Report { cluster, profile, lines: Some(lines) }
    }

    #[test]
    fn names_and_words_are_those_of_the_api() {
        let line = |action, of_chart| ReportLine::new(action, "why", of_chart);
        let lines = ReportLines {
            objects: [
                (key("ConfigMap", "a"), line(Action::Nothing, false)),
                (key("Service", "b"), line(Action::Create, true)),
            ]
            .into(),
            releases: [("n/r".to_owned(), ("1.2.3".to_owned(), line(Action::UpdateValues, true)))].into(),
        };
        let (key, object) = cluster_report(&report(lines));
        let object = object.unwrap();
        assert_eq!((key.namespace.as_str(), key.name.as_str()), ("fleet", "p--sveltos--c"));
        assert_eq!(object["spec"], json!({"clusterNamespace": "fleet", "clusterName": "c"}));
        let resource = |kind: &str, name: &str| json!({"group": "", "version": "v1", "kind": kind, "namespace": "n", "name": name});
        let expected = json!({
            "releaseReports": [{"chartName": "r", "releaseNamespace": "n", "chartVersion": "1.2.3", "action": "Update Values", "message": "why"}],
            "resourceReports": [{"resource": resource("ConfigMap", "a"), "action": "No Action", "message": "why"}],
            "helmResourceReports": [{"resource": resource("Service", "b"), "action": "Create", "message": "why"}],
        });
        assert_eq!(object["status"], expected);
        let of_team = Report { profile: ProfileId::new("team", "p"), ..report(ReportLines::default()) };
        assert_eq!(cluster_report(&of_team).0.name, "p--p--sveltos--c");
        let gone = Report::gone(&ClusterRef::sveltos("fleet", "c"), &ProfileId::cluster("p"));
        assert_eq!(cluster_report(&gone), (key, None));
    }

    #[test]
    fn one_that_is_too_large_says_what_is_left_out() {
        let long = "é".repeat(20_000);
        let line = ReportLine::new(Action::Update, long, false);
        let objects = (0..200).map(|index| (key("ConfigMap", &index.to_string()), line.clone())).collect();
        let (_, object) = cluster_report(&report(ReportLines { objects, ..ReportLines::default() }));
        let object = object.unwrap();
        assert!(object.to_string().len() < 1_000_000);
        let kept = object["status"]["resourceReports"].as_array().unwrap().len();
        let told = object["metadata"]["annotations"][LEFT_OUT].as_str().unwrap();
        assert_eq!(told, format!("{} more lines do not fit", 200 - kept));
        let message = object["status"]["resourceReports"][0]["message"].as_str().unwrap();
        assert!(message.ends_with("… 23616 more bytes"), "{}", &message[message.len() - 40..]);
    }
}
