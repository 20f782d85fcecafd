//! `sluice template`: what each of its flags does, whatever the chart comes from.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sluice_chart::{Chart, LoadLimits};
use tempfile::TempDir;

mod common;

use common::repository::Server;
use common::sluice;

const FILES: &[(&str, &str)] = &[
    ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.0\n"),
    ("values.yaml", "who: chart\nmark: none\nimage: {name: web, tag: '1'}\nport: 80\n"),
    ("crds/things.yaml", "kind: CustomResourceDefinition\nmetadata: {name: things}\n"),
    (
        "templates/settings.yaml",
        "kind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}', namespace: '{{ .Release.Namespace }}'}\n\
         data: {who: '{{ .Values.who }}', mark: '{{ .Values.mark }}', image: '{{ .Values.image.name }}:{{ .Values.image.tag }}'}\n",
    ),
    (
        "templates/cluster.yaml",
        "kind: Cluster\nversion: '{{ .Capabilities.KubeVersion }}'\n\
         kinds: [{{ range list \"apps/v1\" \"a.example.com/v1\" \"b.example.com/v1/Thing\" }}{{ $.Capabilities.APIVersions.Has . }},{{ end }}]\n",
    ),
    ("templates/job.yaml", "kind: Job\nmetadata: {name: before, annotations: {helm.sh/hook: pre-install}}\n"),
    ("templates/tests/ping.yaml", "kind: Pod\nmetadata: {name: ping, annotations: {helm.sh/hook: test}}\n"),
];

const EXPECTED: &str = "---
# Source: web/templates/settings.yaml
kind: ConfigMap
metadata: {name: 'release-name', namespace: 'default'}
data: {who: 'chart', mark: 'none', image: 'web:1'}

---
# Source: web/templates/cluster.yaml
kind: Cluster
version: 'v1.37.0'
kinds: [true,false,false,]
---
# Source: web/templates/tests/ping.yaml
kind: Pod
metadata: {name: ping, annotations: {helm.sh/hook: test}}

---
# Source: web/templates/job.yaml
kind: Job
metadata: {name: before, annotations: {helm.sh/hook: pre-install}}

";

/// A folder in which the chart is a folder and an archive, and files of values.
fn mk_folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, data: &[u8]| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, data).unwrap();
    };
    FILES.iter().for_each(|(path, text)| write(&format!("web/{path}"), text.as_bytes()));
    write("web-1.2.0.tgz", &archive());
    write("first.yaml", b"who: first\nmark: first\n");
    write("second.yaml", b"mark: second\nimage: {tag: '2'}\n");
    dir
}

fn archive() -> Vec<u8> {
    let files = FILES.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    Chart::pack(&files.collect::<BTreeMap<_, _>>(), LoadLimits::default()).unwrap()
}

/// What is printed; it says nothing else.
fn printed(arguments: &[&str], dir: &Path) -> String {
    let (code, text, error) = sluice("template", arguments, dir);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments:?}");
    text
}

/// What is said of arguments that cannot be used; nothing is printed.
fn refused(arguments: &[&str], dir: &Path) -> String {
    let (code, text, error) = sluice("template", arguments, dir);
    assert_eq!((code, text.as_str()), (Some(1), ""), "{error}");
    error
}

#[test]
fn a_chart_is_printed_with_defaults() {
    let dir = mk_folder();
    assert_eq!(printed(&["web"], dir.path()), EXPECTED);
    assert_eq!(printed(&["./web/"], dir.path()), EXPECTED);
}

#[test]
fn a_folder_an_archive_an_index_and_a_registry_print_the_same_with_all_flags() {
    let (dir, server) = (mk_folder(), Server::start(&[("1.2.0", archive())]));
    let (index, oci) = (server.index(), format!("oci://{}/charts/web", server.address));
    let flags = [
        ["--release-name", "site", "--namespace", "team", "-f", "first.yaml", "--set", "image.tag=3"],
        [
            "--kube-version",
            "1.30.2",
            "-a",
            "a.example.com/v1",
            "--include-crds",
            "--skip-tests",
            "-s",
            "templates/s*",
        ],
    ]
    .concat();
    for flags in [&[][..], &flags] {
        let of = |chart: &[&str]| printed(&[chart, flags].concat(), dir.path());
        let folder = of(&["web"]);
        assert!(flags.is_empty() == (folder == EXPECTED) && folder.contains("kind: ConfigMap"), "{folder}");
        for chart in [&["web-1.2.0.tgz"][..], &["web", "--repo", &index], &[&oci, "--plain-http"]] {
            assert_eq!(of(chart), folder, "{chart:?}");
        }
    }
}

#[test]
fn the_release_has_the_name_and_namespace_that_are_said() {
    let dir = mk_folder();
    let expected = EXPECTED.replace("release-name", "site").replace("'default'", "'team'");
    assert_eq!(printed(&["web", "--release-name", "site", "--namespace", "team"], dir.path()), expected);
    assert_eq!(printed(&["web", "--release-name=site", "-n", "team"], dir.path()), expected);
    assert!(refused(&["web", "--release-name", "No"], dir.path()).contains("invalid release name"));
}

#[test]
fn the_name_of_the_release_may_be_made_by_a_template() {
    let dir = mk_folder();
    let expected = EXPECTED.replace("release-name", "site-1");
    let made = ["web", "--name-template", "{{ printf \"%s-%d\" (\"SITE\" | lower) 1 }}"];
    assert_eq!(printed(&made, dir.path()), expected);
    assert!(refused(&["web", "--name-template", "{{ nosuch }}"], dir.path()).contains("--name-template"));
}

#[test]
fn later_files_of_values_win_and_single_values_over_all() {
    let dir = mk_folder();
    let data = |arguments: &[&str]| {
        let text = printed(&[&["web"], arguments].concat(), dir.path());
        text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned()
    };
    assert_eq!(data(&["-f", "first.yaml"]), "{who: 'first', mark: 'first', image: 'web:1'}");
    let both = "{who: 'first', mark: 'second', image: 'web:2'}";
    assert_eq!(data(&["-f", "first.yaml", "--values", "second.yaml"]), both);
    let other = "{who: 'first', mark: 'first', image: 'web:2'}";
    assert_eq!(data(&["-f", "second.yaml", "-f", "first.yaml"]), other);
    let set = "{who: 'me', mark: 'x', image: 'web:3'}";
    assert_eq!(data(&["--set", "mark=x,who=me", "-f", "first.yaml", "--set", "image.tag=3"]), set);
    assert_eq!(data(&["--set", "who=one", "--set", "who=two"]), "{who: 'two', mark: 'none', image: 'web:1'}");
    assert_eq!(data(&["--set", "who=null"]), "{who: '', mark: 'none', image: 'web:1'}");
    fs::write(dir.path().join("list.yaml"), "- a\n").unwrap();
    for (arguments, part) in [
        (["-f", "none.yaml"], "reading none.yaml"),
        (["-f", "list.yaml"], "failed to parse list.yaml: "),
        (["--set", "who"], "failed parsing --set data: key \"who\" has no value"),
    ] {
        let error = refused(&[&["web"], &arguments[..]].concat(), dir.path());
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_chart_is_told_what_the_cluster_can_do() {
    let dir = mk_folder();
    let cluster = |arguments: &[&str]| {
        let only = ["web", "--show-only", "templates/cluster.yaml"];
        let text = printed(&[&only, arguments].concat(), dir.path());
        text.lines().skip(3).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(cluster(&["--kube-version", "v1.30.2"]), "version: 'v1.30.2' kinds: [true,false,false,]");
    let all = "version: 'v1.37.0' kinds: [true,true,true,]";
    assert_eq!(cluster(&["--api-versions", "a.example.com/v1,b.example.com/v1/Thing"]), all);
    assert_eq!(cluster(&["-a", "a.example.com/v1", "--api-versions", "b.example.com/v1/Thing"]), all);
    assert!(refused(&["web", "--kube-version", "new"], dir.path()).contains("new"));
}

#[test]
fn crds_are_printed_first_where_they_are_asked_for() {
    let dir = mk_folder();
    let crds =
        "---\n# Source: web/crds/things.yaml\nkind: CustomResourceDefinition\nmetadata: {name: things}\n";
    let text = printed(&["web", "--include-crds"], dir.path());
    let plain = |text: &str| text.replace("\n\n", "\n");
    assert_eq!(plain(&text), plain(&format!("{crds}{EXPECTED}")));
}

#[test]
fn tests_are_left_out_where_that_is_asked_for_and_other_hooks_are_not() {
    let dir = mk_folder();
    let at = EXPECTED.find("---\n# Source: web/templates/tests").unwrap();
    let rest = EXPECTED[at + 4..].find("---\n").unwrap() + at + 4;
    let expected = format!("{}{}", &EXPECTED[..at], &EXPECTED[rest..]);
    assert_eq!(printed(&["web", "--skip-tests"], dir.path()), expected);
}

#[test]
fn only_the_wanted_templates_are_printed_in_the_order_of_wanting() {
    let dir = mk_folder();
    let sources = |arguments: &[&str]| {
        let text = printed(&[&["web"], arguments].concat(), dir.path());
        let lines = text.lines().filter_map(|line| line.strip_prefix("# Source: web/templates/"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sources(&["--show-only", "templates/cluster.yaml"]), ["cluster.yaml"]);
    let two = ["-s", "templates/tests/ping.yaml", "-s", "templates/settings.yaml"];
    assert_eq!(sources(&two), ["tests/ping.yaml", "settings.yaml"]);
    assert_eq!(sources(&["-s", "templates/*.yaml"]), ["settings.yaml", "cluster.yaml", "job.yaml"]);
    let error = refused(&["web", "-s", "templates/none.yaml"], dir.path());
    assert!(error.contains("could not find template templates/none.yaml in chart"), "{error}");
    refused(&["web", "--skip-tests", "-s", "templates/tests/ping.yaml"], dir.path());
}

#[test]
fn what_helm_warns_of_is_said_beside_what_is_printed() {
    let dir = mk_folder();
    let (code, text, error) = sluice("template", &["web", "--set", "image=web:2,port.name=http"], dir.path());
    assert_eq!((code, text.as_str()), (Some(1), ""));
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "level=INFO msg=\"warning: skipped value for web.port: Not a table.\"");
    assert!(lines[1].starts_with("sluice: web/templates/settings.yaml:3:"), "{error}");
    let (code, text, error) = sluice("template", &["web", "--set", "port.name=http"], dir.path());
    assert_eq!((code, text.as_str(), error.lines().count()), (Some(0), EXPECTED, 1));
}
