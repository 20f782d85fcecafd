//! Charts of a build come from its `sources/`, and from nowhere else.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use sluice_dryrun::{Input, Options, Output, build_at, make};

const PROFILE: &str = "
apiVersion: lib.projectsveltos.io/v1beta1
kind: SveltosCluster
metadata: {namespace: default, name: c, labels: {env: fv}}
---
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {name: p}
spec:
  clusterSelector: {matchLabels: {env: fv}}
  helmCharts:
  - repositoryURL: https://charts.example.com
    repositoryName: example
    chartName: example/web
    chartVersion: VERSION
    releaseName: site
    releaseNamespace: web
";
const SETTINGS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {v: '{{ .Chart.Version }}'}\n";

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder with two versions of a chart, and a profile that wants this one.
fn folder(version: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "profile.yaml", &PROFILE.replace("VERSION", version));
    let mut sources = "charts:\n".to_owned();
    for version in ["1.2.0", "1.10.0"] {
        let head = format!("apiVersion: v2\nname: web\nversion: {version}\n");
        write(dir.path(), &format!("sources/web-{version}/Chart.yaml"), &head);
        write(dir.path(), &format!("sources/web-{version}/templates/a.yaml"), SETTINGS);
        sources +=
            &format!("- {{repository: \"https://charts.example.com/\", chart: web, path: web-{version}}}\n");
    }
    write(dir.path(), "sources/sources.yaml", &sources);
    dir
}

fn built(dir: &Path) -> Output {
    build_at(&Input::read(dir).unwrap(), 0)
}

#[test]
fn the_newest_chart_that_fits_is_deployed() {
    for (version, expected) in [("1.x", "1.10.0"), ("1.2.0", "1.2.0"), ("\"\"", "1.10.0")] {
        let output = built(folder(version).path());
        assert_eq!(output.problems, [] as [serde_json::Value; 0]);
        let object = &output.clusters["default/c"][0];
        assert_eq!(
            (&object["data"]["v"], &object["metadata"]["namespace"]),
            (&expected.into(), &"web".into())
        );
        assert_eq!(object["metadata"]["labels"]["projectsveltos.io/reason"], "Helm");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
        assert_eq!(object["metadata"]["annotations"]["projectsveltos.io/reference-kind"], "HelmChart");
    }
}

#[test]
fn what_is_not_there_is_named_and_not_fetched() {
    let output = built(folder("2.x").path());
    let error = output.problems[0]["error"].as_str().unwrap();
    assert!(
        error.contains("chart web 2.x of https://charts.example.com: nothing is fetched here"),
        "{error}"
    );
    assert!(
        error.contains("add `- {repository: \"https://charts.example.com\", chart: \"web\", path: …}`"),
        "{error}"
    );
}

#[test]
fn sources_that_cannot_be_read_are_named() {
    for (sources, part) in [
        (
            "charts: [{repository: r, chart: c, path: ../x}]",
            "sources.yaml: charts[0].path: \"../x\" leads out of sources/",
        ),
        ("charts: [{repository: r, chart: c, path: nowhere}]", "charts[0].path: nowhere: "),
        ("charts: [{repository: r, path: x}]", "missing field `chart`"),
        ("chart: []", "unknown field `chart`"),
    ] {
        let dir = folder("1.x");
        write(dir.path(), "sources/sources.yaml", sources);
        let error = Input::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_a_cluster_can_do_is_said_by_a_file_in_its_folder() {
    let dir = folder("1.10.0");
    let asks = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\n\
        data: {v: '{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has \"example.com/v1\" }}'}\n";
    write(dir.path(), "sources/web-1.10.0/templates/a.yaml", asks);
    let asked = || {
        let output = built(dir.path());
        assert_eq!(output.problems, [] as [serde_json::Value; 0]);
        output.clusters["default/c"][0]["data"]["v"].clone()
    };
    assert_eq!(asked(), "v1.37.0 false", "as helm template assumes");
    let file = "clusters/default/c/capabilities.yaml";
    write(dir.path(), file, "kubeVersion: v1.33.4\napiVersions: [example.com/v1]\n");
    assert_eq!(asked(), "v1.33.4 true");
    write(dir.path(), file, "apiVersions: [example.com/v1]\n");
    assert_eq!(asked(), "v1.37.0 true");
    for (text, part) in
        [("kubeVersion: new", "kubeVersion: invalid kube version 'new'"), ("version: 1", "unknown field")]
    {
        write(dir.path(), file, text);
        let error = Input::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("capabilities.yaml") && error.contains(part), "{error}");
    }
}

#[test]
fn hooks_are_a_note_and_nothing_is_in_the_way() {
    let dir = folder("1.10.0");
    let hook =
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: post-install}}\n";
    write(dir.path(), "sources/web-1.10.0/templates/hook.yaml", hook);
    let shown = || {
        let made = make(Input::read(dir.path()).unwrap(), &Options { now: 0, ..Options::default() });
        let mut text = Vec::new();
        made.write_yaml(&mut text).unwrap();
        (made.is_well(), String::from_utf8(text).unwrap())
    };
    let (is_well, text) = shown();
    assert!(is_well && text.contains("\n# note: renderer  ClusterProfile p: spec.helmCharts[0]: "), "{text}");
    assert!(text.contains("hooks are not run (Job h)") && !text.contains("# problem"), "{text}");
    // Beside a problem it is the last that is said.
    let broken =
        PROFILE.replace("VERSION", "1.10.0").replace("releaseNamespace: web", "releaseNamespace: Web");
    write(dir.path(), "broken.yaml", &broken[broken.find("---").unwrap()..].replace("name: p", "name: q"));
    let (is_well, text) = shown();
    assert!(!is_well && text.contains("# problem: ") && text.contains("# note: "), "{text}");
}
