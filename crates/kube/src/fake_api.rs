//! An API server for tests of this crate and of the shells: it answers each request as a function says, and remembers
//! what it was asked.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use kube::Client;

#[cfg(test)]
pub(crate) mod inside;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// How many came before it.
    pub number: usize,
    /// `GET`, `PATCH` and so on.
    pub method: String,
    /// Its path, with the query.
    pub path: String,
    /// Its headers; names in lower case.
    headers: Vec<(String, String)>,
    /// What was sent with it; mostly JSON, or nothing.
    pub body: String,
}

impl Request {
    /// The value of a header, whose name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A server that has an address and no certificate.
pub struct FakeApi {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl FakeApi {
    /// Listens until the process ends. The answer is a status and a body; each has a connection of its own.
    pub fn start(answer: impl Fn(&Request) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let taken = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let number = taken.lock().unwrap().len();
                let Some(request) = read(&mut stream, number) else { continue };
                let (status, body) = answer(&request);
                taken.lock().unwrap().push(request);
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status} _\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
                // A client that has enough need not read it.
                drop(stream.get_mut().write_all((head + &body).as_bytes()));
            }
        });
        Self { address, requests }
    }

    /// Its address, with the scheme and without a slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of it.
    pub fn client(&self) -> Client {
        crate::http::client_of(kube::Config::new(self.url().parse().unwrap())).unwrap()
    }

    /// A kubeconfig of it.
    pub fn kubeconfig(&self) -> String {
        let server = self.url();
        serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": server}}], "users": [{"name": "fake", "user": {}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}]})
        .to_string()
    }

    /// What it was asked so far, in this order.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &mut impl BufRead, number: usize) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    for line in stream.by_ref().lines() {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Request { number, method, path, headers, body: String::from_utf8(body).ok()? })
}
