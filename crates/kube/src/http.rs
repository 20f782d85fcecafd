//! The connections of a client.

use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Builder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt as _;
use kube::client::retry::RetryPolicy;
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

/// What a connection reads at once at most, and keeps for as long as it lives. Of itself that grows to 400 KiB with the first long list,
/// for each watch of each cluster.
const BUFFER: usize = 64 << 10;
/// A connection that nobody has used for so long is closed, at the latest after as long again. A deployment takes some dozens to a cluster
/// at once, which would hold more memory than all that is known of the cluster.
const UNUSED: Duration = Duration::from_secs(30);

/// A client as [`Client::try_from`] makes it, over connections that keep less, and without lines of its own about each call.
///
/// # Errors
/// When certificates or credentials cannot be used.
pub(crate) fn client_of(config: Config) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        // Which proxies there are, and how to speak to them, the library knows.
        return Client::try_from(config);
    }
    let mut plain = HttpConnector::new();
    plain.enforce_http(false);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(plain)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections = connections().build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections);
    Ok(Client::new(service, config.default_namespace))
}

/// Connections that keep little, and not for long.
pub(crate) fn connections() -> Builder {
    let mut connections = Builder::new(TokioExecutor::new());
    // Without a timer the unused ones stay for as long as the server lets them.
    connections.pool_timer(TokioTimer::new()).pool_idle_timeout(UNUSED).http1_max_buf_size(BUFFER);
    connections
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use kube::Api;
    use kube::api::DynamicObject;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::{Value, json};

    use super::*;
    use crate::fake_api::FakeApi;

    #[tokio::test]
    async fn a_list_is_read_that_is_many_times_as_long_as_what_is_kept() {
        let note = "x".repeat(4 << 10);
        let item =
            |number: usize| json!({"metadata": {"name": number.to_string(), "annotations": {"note": note}}});
        let items: Vec<Value> = (0..500).map(item).collect();
        let list =
            json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {}, "items": items}).to_string();
        assert!(list.len() > 20 * BUFFER);
        let api = FakeApi::start(move |_| (200, list.clone()));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let all: Api<DynamicObject> = Api::all_with(api.client(), &kind);
        assert_eq!(all.list(&kube::api::ListParams::default()).await.unwrap().items.len(), 500);
    }

    #[tokio::test]
    async fn a_connection_that_nobody_uses_any_more_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (closed, is_closed) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut some = [0; 1024];
            assert!(stream.read(&mut some).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
            // The connection stays open here.
            closed.send(stream.read(&mut some).unwrap()).unwrap();
        });
        let client = client_of(Config::new(url.parse().unwrap())).unwrap();
        let asked = http::Request::get("/version").body(Vec::new()).unwrap();
        assert_eq!(client.request_text(asked).await.unwrap(), "{}");
        tokio::time::pause();
        tokio::time::advance(2 * UNUSED + Duration::from_secs(1)).await;
        assert_eq!(is_closed.await.unwrap(), 0, "nothing else was sent over it");
    }
}
