//! Numbers of a Prometheus that the script of a check knows.

use super::super::read::Field;
use crate::error::FieldError;

/// Where a Prometheus answers, if nothing is said.
const QUERY: &str = "/api/v1/query";

/// Numbers that a Prometheus has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Where it is.
    pub source: MetricServer,
    /// What is asked there.
    pub path: String,
    /// Names that the script knows the numbers by, with the queries.
    pub queries: Vec<(String, String)>,
}

/// Where a Prometheus is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricServer {
    /// It is a Service of the cluster.
    Service(ServiceAddress),
    /// It is anywhere else.
    Outside {
        /// Its address: a scheme, a host and maybe a port, with no slash at the end.
        url: String,
        /// Namespace and name of the Secret of the cluster with a `token`, or with `username` and `password`.
        secret: Option<(String, String)>,
    },
}

/// A port of a Service in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// `http` or `https`.
    pub scheme: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its port, by number or name.
    pub port: String,
}

// === impl Metrics ===

impl Metrics {
    pub(super) fn read(item: &Field<'_>) -> Result<Option<Self>, FieldError> {
        let (source, queries) = (item.get("metricSource"), item.get("metricQueries"));
        let mut named = Vec::new();
        for query in queries.items()? {
            named.push((query.get("name").required_text()?, query.get("query").required_text()?));
        }
        if !source.is_set() {
            return match named.is_empty() {
                true => Ok(None),
                false => Err(source.error("is missing; say where the metricQueries are asked")),
            };
        }
        if named.is_empty() {
            return Err(queries.error("is missing; name at least one query"));
        }
        let (path, url) = (source.get("path").text()?, source.get("url"));
        let text = url.required_text()?;
        let address = Address::parse(&text).ok_or_else(|| {
            url.error(format!(
                "{:?} is no address; write http(s)://<host>:<port>, and credentials into secretRef",
                shown(&text)
            ))
        })?;
        let path = if path.is_empty() { QUERY } else { &path };
        Ok(Some(Self {
            path: format!("{}/{}", address.base, path.trim_start_matches('/')),
            source: address.server(&source)?,
            queries: named,
        }))
    }

    /// Why numbers cannot be asked for by this version.
    pub(super) fn not_yet(item: &Field<'_>) -> Option<FieldError> {
        let source = item.get("metricSource");
        let url = source.get("url").text().ok()?;
        let service = Address::parse(&url)?.service()?;
        let reason = format!(
            "Service {}/{} is asked through the API server of the cluster, which passes no credentials on; let the Prometheus be asked \
             without, or name an address outside of the cluster",
            service.namespace, service.name
        );
        source.get("secretRef").refuse(&reason).err()
    }
}

/// The parts of an address.
struct Address<'a> {
    scheme: &'a str,
    /// Host and port.
    host: &'a str,
    /// What all paths begin with: nothing, or a slash and no slash at the end.
    base: &'a str,
}

// === impl Address ===

impl<'a> Address<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) =
            url.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme))?;
        let (host, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // No user, no query and no fragment.
        let of_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        let of_base = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-_~".contains(&byte);
        let is_one = !host.is_empty() && host.bytes().all(of_host) && base.bytes().all(of_base);
        is_one.then(|| Self { scheme, host, base: base.trim_end_matches('/') })
    }

    fn server(&self, source: &Field<'_>) -> Result<MetricServer, FieldError> {
        if let Some(service) = self.service() {
            return Ok(MetricServer::Service(service));
        }
        if self.is_inside() {
            return Err(source
                .get("url")
                .error("names no Service of the cluster; write http://<service>.<namespace>.svc:<port>"));
        }
        let secret = source.get("secretRef");
        let secret = match secret.is_set() {
            false => None,
            true => Some((secret.get("namespace").required_text()?, secret.get("name").required_text()?)),
        };
        Ok(MetricServer::Outside { url: format!("{}://{}", self.scheme, self.host), secret })
    }

    /// Whether it is a name that means something within a cluster alone. Elsewhere it would be another cluster's.
    fn is_inside(&self) -> bool {
        let name = self.host.split(':').next().unwrap_or_default().trim_end_matches('.');
        [".svc", ".cluster.local"].iter().any(|end| name.ends_with(end))
    }

    /// Reads `<service>.<namespace>.svc:<port>`, with or without the domain of a cluster.
    fn service(&self) -> Option<ServiceAddress> {
        let port = if self.scheme == "https" { "443" } else { "80" };
        let (host, port) = self.host.split_once(':').unwrap_or((self.host, port));
        let host = host.strip_suffix(".cluster.local").unwrap_or(host).strip_suffix(".svc")?;
        let (name, namespace) = host.split_once('.')?;
        let is_label = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let all = [name, namespace, port].map(|text| is_label(text).then(|| text.to_owned()));
        let [Some(name), Some(namespace), Some(port)] = all else { return None };
        Some(ServiceAddress { scheme: self.scheme.to_owned(), namespace, name, port })
    }
}

/// An address without a user, a password or a query.
fn shown(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    url.rfind('@').map_or(url, |at| &url[at + 1..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::model::Check;

    fn read(fields: Value) -> Result<Metrics, String> {
        let mut check = json!({"name": "ready", "featureID": "Helm", "script": "function evaluate() end"});
        check.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let spec = json!({"validateHealths": [check]});
        let mut all = Check::all(spec.as_object().unwrap()).map_err(|error| error.to_string())?;
        Ok(all.remove(0).metrics.unwrap())
    }

    fn of(source: Value) -> Result<Metrics, String> {
        read(json!({"metricSource": source, "metricQueries": [{"name": "errors", "query": "sum(x)"}]}))
    }

    #[test]
    fn metrics_are_for_scripts() {
        let source = json!({"url": "http://prometheus.monitoring.svc:9090"});
        let metrics = of(source.clone()).unwrap();
        assert_eq!(metrics.path, "/api/v1/query");
        assert_eq!(metrics.queries, [("errors".to_owned(), "sum(x)".to_owned())]);
        let queries = json!([{"name": "errors", "query": "sum(x)"}]);
        let without = json!({"version": "v1", "kind": "Pod", "metricSource": source, "metricQueries": queries, "script": ""});
        assert!(read(without).unwrap_err().contains("metricSource: is read by a script only"));
        assert!(read(json!({"metricQueries": queries})).unwrap_err().contains("metricSource: is missing"));
        assert!(read(json!({"metricSource": source})).unwrap_err().contains("metricQueries: is missing"));
    }

    #[test]
    fn services_are_known_by_their_addresses() {
        let parts = |url| match of(json!({"url": url})).unwrap().source {
            MetricServer::Service(ServiceAddress { scheme, namespace, name, port }) => {
                [scheme, namespace, name, port].join(" ")
            }
            MetricServer::Outside { url, .. } => url,
        };
        assert_eq!(parts("http://p.m.svc:9090/"), "http m p 9090");
        assert_eq!(parts("https://p.m.svc.cluster.local"), "https m p 443");
        assert_eq!(parts("http://p.m.svc"), "http m p 80");
        for other in ["http://example.com", "http://p.m", "https://10.0.0.1:9090", "http://[::1]:80"] {
            assert_eq!(parts(other), other);
        }
    }

    #[test]
    fn a_server_has_a_path_that_all_others_begin_with() {
        let path = |url: &str, path: &str| of(json!({"url": url, "path": path})).unwrap().path;
        assert_eq!(path("https://example.com", ""), "/api/v1/query");
        assert_eq!(path("https://example.com/tenants/a/", "api/v1/query"), "/tenants/a/api/v1/query");
        assert_eq!(path("http://p.m.svc/prometheus", "/q"), "/prometheus/q");
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_password_is_repeated() {
        for other in [
            "http://",
            "ftp://p.m.svc",
            "p.m.svc",
            "http://user:hunter2@example.com",
            "http://p.m.svc:80@example.com",
            "http://example.com?token=hunter2",
            "http://exa mple.com",
        ] {
            let said = of(json!({"url": other})).unwrap_err();
            assert!(said.contains("metricSource.url: ") && said.contains("is no address"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        // Where the deployer stands they would be of another cluster.
        for inside in ["http://a.p.m.svc", "http://p.svc", "http://.m.svc", "http://x.cluster.local:80"] {
            assert!(
                of(json!({"url": inside})).unwrap_err().contains("names no Service of the cluster"),
                "{inside}"
            );
        }
    }

    #[test]
    fn credentials_are_in_a_secret_of_the_cluster() {
        let source = json!({"url": "https://example.com", "secretRef": {"namespace": "n", "name": "s"}});
        let secret = Some(("n".to_owned(), "s".to_owned()));
        assert_eq!(
            of(source).unwrap().source,
            MetricServer::Outside { url: "https://example.com".into(), secret }
        );
        let source = json!({"url": "https://example.com", "secretRef": {"name": "s"}});
        assert!(of(source).unwrap_err().contains("metricSource.secretRef.namespace: is required"));
    }
}
