//! Commands that fetch charts: from an index and from a registry, both on loopback.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use serde_json::Value;
use sluice_chart::{Chart, LoadLimits};

mod common;

use common::repository::{LOGIN, Server};
use common::sluice;

const MANIFESTS: &str = "
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
  - {repositoryURL: \"REPOSITORY\", repositoryName: r, chartName: r/web, chartVersion: 1.x, releaseName: site, releaseNamespace: web}
";
fn archive(version: &str) -> Vec<u8> {
    let head = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {v: '{{ .Chart.Version }}'}\n";
    let files = [("Chart.yaml".to_owned(), head.into()), ("templates/a.yaml".to_owned(), map.into())];
    Chart::pack(&files.into(), LoadLimits::default()).unwrap()
}

fn start() -> Server {
    Server::start(&["1.2.0", "1.10.0"].map(|version| (version, archive(version))))
}

fn manifests(dir: &Path, repository: &str) {
    fs::write(dir.join("profile.yaml"), MANIFESTS.replace("REPOSITORY", repository)).unwrap();
}

#[test]
fn a_build_fetches_what_it_is_told_to_and_nothing_else() {
    let (server, dir) = (start(), tempfile::tempdir().unwrap());
    manifests(dir.path(), &server.index());
    let (code, text, _) = sluice("build", &["."], dir.path());
    assert!(
        code == Some(1) && text.contains("nothing is fetched here") && text.contains("--fetch"),
        "{text}"
    );
    assert_eq!(server.asked(), 0);
    let (code, text, error) = sluice("build", &[".", "--fetch", "-o", "json"], dir.path());
    assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
    let made: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(made["clusters"]["default/c"][0]["data"]["v"], "1.10.0");
    assert_eq!(server.asked(), 2, "the index and one archive");
}

#[test]
fn what_was_fetched_serves_while_the_repository_is_away() {
    let (server, dir) = (start(), tempfile::tempdir().unwrap());
    manifests(dir.path(), &server.index());
    let arguments = [".", "--fetch", "--chart-cache", "cache"];
    let (code, first, error) = sluice("build", &arguments, dir.path());
    assert_eq!((code, error.as_str()), (Some(0), ""), "{first}");
    server.forget();
    let (_, second, _) = sluice("build", &arguments, dir.path());
    assert!(second.starts_with(first.trim_end()), "{second}");
    assert!(second.contains("answers 404 Not Found; correct the address, the name or the version; what was fetched before is used"), "{second}");
    let (code, text, _) = sluice("build", &[".", "--fetch"], dir.path());
    assert!(code == Some(1) && text.contains("answers 404") && !text.contains("tried again"), "{text}");
}

#[test]
fn a_template_is_of_an_index_or_of_a_registry() {
    let (server, dir) = (start(), tempfile::tempdir().unwrap());
    let version = |arguments: &[&str]| {
        let (code, text, error) = sluice("template", arguments, dir.path());
        assert_eq!(code, Some(0), "{error}");
        text.lines()
            .find_map(|line| line.strip_prefix("data: {v: '"))
            .unwrap()
            .trim_end_matches("'}")
            .to_owned()
    };
    let oci = format!("oci://{}/charts/web", server.address);
    assert_eq!(version(&["web", "--repo", &server.index()]), "1.10.0");
    assert_eq!(version(&["web", "--repo", &server.index(), "--version", "~1.2"]), "1.2.0");
    assert_eq!(version(&[&oci, "--plain-http"]), "1.10.0");
    assert_eq!(version(&[&oci, "--plain-http", "--version", "1.2.0"]), "1.2.0");
    for (arguments, part) in [
        (vec!["web", "--repo", "charts.example.com"], "--repo: has no scheme"),
        (vec!["we b", "--repo", &server.index()], "CHART: is no name of a chart"),
        (vec!["web", "--repo", &server.index(), "--version", "2.x"], "has no version \"2.x\""),
        (vec!["oci://"], "CHART: "),
        (vec!["nowhere"], "reading nowhere"),
    ] {
        let (code, _, error) = sluice("template", &arguments, dir.path());
        assert!(code == Some(1) && error.contains(part), "{error}");
    }
}

/// The password comes from a file, and is in nothing that is printed.
#[test]
fn a_repository_that_wants_a_password_gets_it() {
    let (server, dir) = (start(), tempfile::tempdir().unwrap());
    server.want(LOGIN);
    fs::write(dir.path().join("password"), "hidden-word\n").unwrap();
    fs::write(dir.path().join("wrong"), "hidden-words\n").unwrap();
    let oci = format!("oci://{}/charts/web", server.address);
    for chart in [vec!["web", "--repo", &server.index()], vec![&oci, "--plain-http"]] {
        let with = |file| [chart.as_slice(), &["--username", "user", "--password-file", file]].concat();
        let (code, text, error) = sluice("template", &with("password"), dir.path());
        assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
        let (code, _, error) = sluice("template", &with("wrong"), dir.path());
        assert!(code == Some(1) && error.contains("401"), "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}

/// Nothing secret is in what a command prints or logs, nor in the arguments with which it is started, whatever comes of it.
#[test]
fn no_command_that_fetches_says_anything_secret() {
    let (server, dir) = (start(), tempfile::tempdir().unwrap());
    server.want(LOGIN);
    let access =
        "registryCredentialsConfig: {credentials: {namespace: default, name: login}, plainHTTP: true}";
    let oci = format!("oci://{}/charts", server.address);
    let secrets =
        ["hidden-word", "aGlkZGVuLXdvcmQ", "dXNlcjpoaWRkZW4td29yZA", "key-in-hiding", "a2V5LWluLWhpZGluZw"];
    fs::write(dir.path().join("password"), "hidden-word").unwrap();
    fs::write(dir.path().join("wrong"), "hidden-words").unwrap();
    let mut said = String::new();
    let mut run = |arguments: &[&str], code: i32| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sluice"));
        let output =
            command.args(arguments).current_dir(dir.path()).env("RUST_LOG", "trace").output().unwrap();
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {texts}");
        said += &texts;
    };
    for (password, code) in [("hidden-word", 0), ("hidden-words", 1)] {
        for repository in [&server.index(), &oci] {
            let profile = MANIFESTS.replace("REPOSITORY", repository);
            fs::write(
                dir.path().join("profile.yaml"),
                profile.replace("chartVersion", &format!("{access}, chartVersion")),
            )
            .unwrap();
            let login = format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{namespace: default, name: login}}\nstringData: {{username: user, password: {password}, tls.key: key-in-hiding}}\n"
            );
            fs::write(dir.path().join("login.yaml"), login).unwrap();
            run(&["build", ".", "--fetch"], code);
            run(&["build", ".", "--fetch", "-o", "json", "--chart-cache", "cache"], code);
        }
        let file = if code == 0 { "password" } else { "wrong" };
        let login = ["--username", "user", "--password-file", file];
        run(&[&["template", "web", "--repo", &server.index()], &login[..]].concat(), code);
        run(&[&["template", &format!("{oci}/web"), "--plain-http"], &login[..]].concat(), code);
    }
    run(&["template", "web", "--repo", &format!("http://user:hidden-word@{}/charts", server.address)], 1);
    assert!(said.contains("401") && said.contains("'1.10.0'"), "{said}");
    for secret in secrets {
        let line = said.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
    for entry in fs::read_dir(dir.path().join("cache/sluice-charts")).unwrap() {
        let path = entry.unwrap().path();
        let text = format!("{} {}", path.display(), String::from_utf8_lossy(&fs::read(&path).unwrap()));
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{}", path.display());
    }
}
