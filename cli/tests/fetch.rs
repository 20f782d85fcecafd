//! Commands that fetch charts: from an index and from a registry, both on loopback.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sluice_api::digest::sveltos_hash;
use sluice_chart::{Chart, LoadLimits};

mod common;

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
/// `user:hidden-word` as the header has it.
const LOGIN: &str = "Basic dXNlcjpoaWRkZW4td29yZA==";

/// Pages by path, and the header without which nothing is given.
#[derive(Default)]
struct Served {
    pages: BTreeMap<String, Vec<u8>>,
    wanted: Option<String>,
    asked: usize,
}

/// A server that answers until the test ends.
struct Server {
    address: String,
    served: Arc<Mutex<Served>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = Arc::<Mutex<Served>>::default();
        let shared = served.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &shared)));
        let server = Self { address, served };
        let archives = ["1.2.0", "1.10.0"].map(archive);
        let mut entries = Vec::new();
        for (version, archive) in ["1.2.0", "1.10.0"].into_iter().zip(&archives) {
            let digest = sveltos_hash(archive);
            entries.push(json!({"name": "web", "version": version, "digest": digest, "urls": [format!("web-{version}.tgz")]}));
            server.serve(&format!("/charts/web-{version}.tgz"), archive.clone());
            let layer =
                json!({"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest});
            server.serve(
                &format!("/v2/charts/web/manifests/{version}"),
                json!({"layers": [layer]}).to_string(),
            );
            server.serve(&format!("/v2/charts/web/blobs/{digest}"), archive.clone());
        }
        let index = json!({"apiVersion": "v1", "entries": {"web": entries}});
        server.serve("/charts/index.yaml", index.to_string());
        server.serve("/v2/charts/web/tags/list", json!({"tags": ["1.2.0", "1.10.0"]}).to_string());
        server
    }

    fn serve(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.served.lock().unwrap().pages.insert(path.to_owned(), body.into());
    }

    fn index(&self) -> String {
        format!("http://{}/charts", self.address)
    }

    fn asked(&self) -> usize {
        std::mem::take(&mut self.served.lock().unwrap().asked)
    }
}

fn archive(version: &str) -> Vec<u8> {
    let head = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {v: '{{ .Chart.Version }}'}\n";
    let files = [("Chart.yaml".to_owned(), head.into()), ("templates/a.yaml".to_owned(), map.into())];
    Chart::pack(&files.into(), LoadLimits::default()).unwrap()
}

fn answer(mut stream: TcpStream, served: &Mutex<Served>) {
    let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let mut served = served.lock().unwrap();
    served.asked += 1;
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let header = |name: &str| {
        lines.iter().find_map(|line| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
        })
    };
    let (status, body) = match served.pages.get(path) {
        _ if served.wanted.is_some() && header("authorization") != served.wanted => {
            ("401 Unauthorized", &[][..])
        }
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &[][..]),
    };
    let challenge = "WWW-Authenticate: Basic realm=\"r\"\r\n";
    let head = format!(
        "HTTP/1.1 {status}\r\n{challenge}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Who has gone does not read it.
    let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn manifests(dir: &Path, repository: &str) {
    fs::write(dir.join("profile.yaml"), MANIFESTS.replace("REPOSITORY", repository)).unwrap();
}

#[test]
fn a_build_fetches_what_it_is_told_to_and_nothing_else() {
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
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
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    manifests(dir.path(), &server.index());
    let arguments = [".", "--fetch", "--chart-cache", "cache"];
    let (code, first, error) = sluice("build", &arguments, dir.path());
    assert_eq!((code, error.as_str()), (Some(0), ""), "{first}");
    server.served.lock().unwrap().pages.clear();
    let (_, second, _) = sluice("build", &arguments, dir.path());
    assert!(second.starts_with(first.trim_end()), "{second}");
    assert!(second.contains("answers 404 Not Found; correct the address, the name or the version; what was fetched before is used"), "{second}");
    let (code, text, _) = sluice("build", &[".", "--fetch"], dir.path());
    assert!(code == Some(1) && text.contains("answers 404") && !text.contains("tried again"), "{text}");
}

#[test]
fn a_template_is_of_an_index_or_of_a_registry() {
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
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
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    server.served.lock().unwrap().wanted = Some(LOGIN.to_owned());
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
