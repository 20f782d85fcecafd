//! What a browser asks for, as it asks: HTTP/1.1.
#![allow(clippy::unwrap_used, dead_code)]

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What was answered; the headers in lower case.
pub struct Said {
    pub code: u16,
    pub headers: String,
    pub body: String,
    /// The headers as they came.
    head: String,
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// All values of a header, whose name is in lower case.
    pub fn all(&self, name: &str) -> Vec<String> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.filter(|(known, _)| known.to_lowercase() == name).map(|(_, value)| value.to_owned()).collect()
    }
}

/// Gets what is there, with more lines of headers.
pub async fn get(address: SocketAddr, path: &str, more: &str) -> Said {
    send(address, "GET", path, more).await
}

pub async fn send(address: SocketAddr, method: &str, path: &str, more: &str) -> Said {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let host = if more.contains("host:") { String::new() } else { format!("host: {address}\r\n") };
    stream
        .write_all(format!("{method} {path} HTTP/1.1\r\n{host}connection: close\r\n{more}\r\n").as_bytes())
        .await
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap();
    let code = headers.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, headers) = (headers.to_owned(), headers.to_lowercase());
    let body = if headers.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
    Said { code, headers, body, head }
}

fn unchunked(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
