#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use sluice_api::Gvk;

use super::*;

const NOT_FOUND: &str =
    r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}"#;
const GROUPS: &str = r#"{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}"#;

/// A server that gives these answers, one for each connection: a status and a body.
fn server(answers: Vec<(&'static str, &'static str)>) -> Client {
    drop(crate::install_defaults());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let mut request = BufReader::new(listener.accept().unwrap().0);
            let mut length = 0;
            for line in request.by_ref().lines().map(|line| line.unwrap().to_lowercase()) {
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            request.read_exact(&mut vec![0; length]).unwrap();
            let head =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            request.get_mut().write_all((head + body).as_bytes()).unwrap();
        }
    });
    Client::try_from(kube::Config::new(format!("http://{address}").parse().unwrap())).unwrap()
}

async fn delete(answers: Vec<(&'static str, &'static str)>) -> Outcome {
    let gvk = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary");
    let key = ObjectKey { gvk, namespace: "default".into(), name: "s".into() };
    Outcome::of(write(&server(answers), "test", &key, &PendingWrite::Gone).await, &key)
}

#[tokio::test]
async fn what_the_server_says_is_absent_need_not_be_deleted() {
    assert!(matches!(delete(vec![("404 Not Found", NOT_FOUND)]).await, Outcome::Written));
}

#[tokio::test]
async fn the_404_of_a_proxy_deletes_nothing() {
    let proxy = ("404 Not Found", "<html>no upstream</html>");
    assert!(!matches!(delete(vec![proxy, proxy, proxy]).await, Outcome::Written));
}

#[tokio::test]
async fn there_is_no_object_of_a_kind_that_discovery_does_not_know() {
    let unknown = ("404 Not Found", "404 page not found");
    assert!(matches!(delete(vec![unknown, unknown, ("200 OK", GROUPS)]).await, Outcome::Written));
}
