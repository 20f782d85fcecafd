//! A chart repository and registry on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;
use sluice_api::digest::sveltos_hash;

/// `user:hidden-word` as the header has it.
pub const LOGIN: &str = "Basic dXNlcjpoaWRkZW4td29yZA==";

/// Pages by path, and the header without which nothing is given.
#[derive(Default)]
struct Served {
    pages: BTreeMap<String, Vec<u8>>,
    wanted: Option<String>,
    asked: usize,
}

/// A server that answers until the test ends.
pub struct Server {
    pub address: String,
    served: Arc<Mutex<Served>>,
}

impl Server {
    /// A server of these versions of the chart `web`, by an index and as a registry.
    pub fn start(charts: &[(&str, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = Arc::<Mutex<Served>>::default();
        let shared = served.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &shared)));
        let server = Self { address, served };
        let mut entries = Vec::new();
        for (version, archive) in charts {
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
        server.serve(
            "/v2/charts/web/tags/list",
            json!({"tags": charts.iter().map(|(version, _)| version).collect::<Vec<_>>()}).to_string(),
        );
        server
    }

    pub fn serve(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.served.lock().unwrap().pages.insert(path.to_owned(), body.into());
    }

    pub fn index(&self) -> String {
        format!("http://{}/charts", self.address)
    }

    /// How often something was asked for since the last time.
    pub fn asked(&self) -> usize {
        std::mem::take(&mut self.served.lock().unwrap().asked)
    }

    /// Gives nothing any more.
    pub fn forget(&self) {
        self.served.lock().unwrap().pages.clear();
    }

    /// Gives nothing without this header.
    pub fn want(&self, authorization: &str) {
        self.served.lock().unwrap().wanted = Some(authorization.to_owned());
    }
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
