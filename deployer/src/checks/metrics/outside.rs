//! A Prometheus that is asked from here, with credentials that are in the cluster: they are said to no other server.

// D-1068: tenants name no server of the own network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use kube::Api;
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Map, Value};
use sluice_kube::outside::{HttpClient, client_of};
use sluice_kube::{Raw, segment};

use super::{Asker, LIMIT};
use crate::failure::root;

/// See the module.
pub(super) struct Outside {
    url: String,
    http: HttpClient,
    credentials: Option<Credentials>,
}

/// Who asks.
struct Credentials {
    /// The Secret that they are of, as messages call it.
    from: String,
    header: HeaderValue,
}

// === impl Outside ===

impl Outside {
    /// A server of this address.
    ///
    /// # Errors
    /// It must not be asked, or its credentials cannot be read.
    pub(super) async fn open(
        url: &str,
        secret: Option<&(String, String)>,
        asker: &Asker<'_>,
    ) -> Result<Self, String> {
        let uri = url.parse::<Uri>().map_err(|_| format!("{url} is no address; correct metricSource.url"))?;
        let reach = asker.hosts.reach(&uri, asker.of_tenant).map_err(|error| format!("{url}: {error}"))?;
        let credentials = match secret {
            None => None,
            Some(name) => Some(Credentials::read(name, asker).await?),
        };
        Ok(Self {
            url: url.to_owned(),
            http: client_of(uri, reach).map_err(|error| error.to_string())?,
            credentials,
        })
    }

    /// The answer to what is asked. What the server says besides is not repeated: it may be what it was told.
    pub(super) async fn ask(&self, asked: &str) -> Result<Value, String> {
        let url = &self.url;
        let mut request = Request::get(format!("{url}{asked}"));
        if let Some(credentials) = &self.credentials {
            request = request.header(AUTHORIZATION, credentials.header.clone());
        }
        let request = request.body(Body::empty()).map_err(|error| error.to_string())?;
        let answer = (self.http)(request).await.map_err(|error| format!("{url}: {}", root(&error)))?;
        let (head, body) = answer.into_parts();
        if !head.status.is_success() {
            return Err(format!("{url} answers {}{}", head.status, self.remedy(head.status)));
        }
        let read = Limited::new(body, LIMIT).collect().await;
        let body = read.map_err(|error| format!("{url}: its answer cannot be read: {error}"))?.to_bytes();
        serde_json::from_slice(&body)
            .map_err(|_| format!("{url} answers as no Prometheus does; correct metricSource.path"))
    }

    fn remedy(&self, status: StatusCode) -> String {
        match (status.as_u16(), &self.credentials) {
            (401 | 403, Some(credentials)) => format!("; correct what {} has", credentials.from),
            (401 | 403, None) => "; name a Secret with credentials in metricSource.secretRef".to_owned(),
            (300..=399, _) => "; name the address that it leads to, redirections are not followed".to_owned(),
            (404, _) => "; correct metricSource.path".to_owned(),
            (400 | 422, _) => "; correct the query".to_owned(),
            _ => String::new(),
        }
    }
}

// === impl Credentials ===

impl Credentials {
    /// Reads them with the rights of who asks.
    async fn read((namespace, name): &(String, String), asker: &Asker<'_>) -> Result<Self, String> {
        let from = format!("Secret {namespace}/{name} of the cluster");
        let secrets = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
        let secrets: Api<Raw> = Api::namespaced_with(asker.client.clone(), &segment(namespace), &secrets);
        let secret = match secrets.get_opt(&segment(name)).await {
            Ok(Some(secret)) => secret.value,
            Ok(None) => {
                return Err(format!("there is no {from}; create it, or take metricSource.secretRef out"));
            }
            Err(error) => return Err(format!("{from}: {}", root(&error))),
        };
        let header = header(&secret).map_err(|why| format!("{from} {why}"))?;
        Ok(Self { from, header })
    }
}

/// The header of what a Secret has: a token counts before a user and a password.
fn header(secret: &Value) -> Result<HeaderValue, String> {
    let none = Map::new();
    let data = secret.get("data").and_then(Value::as_object).unwrap_or(&none);
    let value = |key: &str| {
        let text = data.get(key).and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok())?;
        String::from_utf8(text).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let header = match (value("token"), value("username"), value("password")) {
        (Some(token), ..) => format!("Bearer {token}"),
        (None, Some(user), Some(password)) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        _ => return Err("has neither a token nor a username and a password; add them".to_owned()),
    };
    let mut header = HeaderValue::try_from(header)
        .map_err(|_| "is no header; remove line breaks from its token".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use serde_json::json;
    use sluice_api::model::{MetricServer, Metrics};
    use sluice_kube::fake_api::{FakeApi, Request as Asked};
    use sluice_kube::outside::OwnHosts;

    use super::*;

    const TOKEN: &str = "hunter2";

    fn secret(data: &[(&str, &str)]) -> Value {
        let data: Map<_, _> =
            data.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into())).collect();
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "s"}, "data": data})
    }

    /// A cluster with a Secret that holds the token.
    fn cluster() -> FakeApi {
        FakeApi::start(|asked: &Asked| match asked.path.starts_with("/api/v1/namespaces/n/secrets/s") {
            true => (200, secret(&[("token", TOKEN)]).to_string()),
            false => (404, json!({"kind": "Status", "code": 404, "reason": "NotFound"}).to_string()),
        })
    }

    /// A Prometheus that answers this, and repeats who asks.
    fn prometheus(status: u16) -> FakeApi {
        FakeApi::start(move |asked: &Asked| {
            let who = asked.header("authorization").unwrap_or_default().to_owned();
            let is_asked = asked.path == "/api/v1/query?query=up";
            let number = if is_asked && who == format!("Bearer {TOKEN}") { "2" } else { "1" };
            let data = json!({"resultType": "scalar", "result": [1, number]});
            (status, json!({"status": "success", "data": data, "error": who}).to_string())
        })
    }

    async fn fetch(
        url: &str,
        secret: Option<&str>,
        of_tenant: bool,
        hosts: OwnHosts,
    ) -> Result<BTreeMap<String, f64>, String> {
        drop(sluice_runtime::install_defaults());
        let secret = secret.map(|name| ("n".to_owned(), name.to_owned()));
        let source = MetricServer::Outside { url: url.to_owned(), secret };
        let queries = vec![("up".to_owned(), "up".to_owned())];
        let client = cluster().client();
        let asker = Asker { client: &client, hosts: &hosts, of_tenant };
        asker.fetch(&Metrics { source, path: "/api/v1/query".into(), queries }).await
    }

    fn no_hosts() -> OwnHosts {
        OwnHosts::named("--metric-hosts", [])
    }

    #[tokio::test]
    async fn a_server_outside_is_asked_with_the_credentials_of_a_secret_of_the_cluster() {
        let server = prometheus(200);
        let with = fetch(&server.url(), Some("s"), false, no_hosts()).await;
        assert_eq!(with, Ok([("up".to_owned(), 2.0)].into()));
        let without = fetch(&server.url(), None, false, no_hosts()).await;
        assert_eq!(without, Ok([("up".to_owned(), 1.0)].into()));
        let lacking = fetch(&server.url(), Some("other"), false, no_hosts()).await.unwrap_err();
        assert!(lacking.starts_with("there is no Secret n/other of the cluster; create it"), "{lacking}");
    }

    #[tokio::test]
    async fn what_a_server_says_of_credentials_is_not_repeated() {
        for (status, remedy) in
            [(401, "; correct what Secret n/s of the cluster has"), (302, "redirections"), (500, "")]
        {
            let said = fetch(&prometheus(status).url(), Some("s"), false, no_hosts()).await.unwrap_err();
            assert!(said.contains(&format!("answers {status}")) && said.contains(remedy), "{said}");
            assert!(!said.contains(TOKEN), "{said}");
        }
    }

    #[tokio::test]
    async fn a_tenant_names_no_server_of_the_own_network() {
        let server = prometheus(200);
        let url = server.url();
        for refused in [
            url.clone(),
            url.replace("127.0.0.1", "localhost"),
            url.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        ] {
            let said = fetch(&refused, None, true, no_hosts()).await.unwrap_err();
            assert!(said.contains("of the own network") && said.ends_with("in --metric-hosts"), "{said}");
        }
        let allowed = OwnHosts::named("--metric-hosts", ["127.0.0.1".to_owned()]);
        assert!(fetch(&url, Some("s"), true, allowed).await.is_ok());
    }

    #[test]
    fn a_token_counts_before_a_password() {
        let said =
            |data: &[(&str, &str)]| header(&secret(data)).map(|header| header.to_str().unwrap().to_owned());
        let login = [("username", "u"), ("password", "p\n")];
        assert_eq!(said(&login).unwrap(), "Basic dTpw");
        assert_eq!(said(&[login[0], ("token", "t"), login[1]]).unwrap(), "Bearer t");
        for lacking in [&[][..], &login[..1], &[("token", " ")]] {
            assert!(said(lacking).unwrap_err().contains("neither a token nor"));
        }
        assert!(said(&[("token", "a\nb")]).unwrap_err().contains("line breaks"));
        assert!(header(&secret(&[("token", "t")])).unwrap().is_sensitive());
    }
}
