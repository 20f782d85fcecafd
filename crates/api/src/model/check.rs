//! Checks: what must be true in a cluster before something is deployed there, after it, and around its removal.

use serde_json::{Map, Value};

use super::event_source::CelRule;
use super::feature::Feature;
use super::read::Field;
use crate::error::FieldError;
use crate::object::Gvk;
use crate::selector::Selector;

/// When something is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckPoint {
    /// Before anything of a feature is written.
    PreDeploy,
    /// Once all of it is there.
    Health,
    /// Before any of it is removed.
    PreDelete,
    /// Once all of it is gone.
    PostDelete,
}

/// One entry of a list of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// When.
    pub point: CheckPoint,
    /// What it is called in messages.
    pub name: String,
    /// What waits for it, and nothing else does.
    pub feature: Feature,
    /// What is looked at; without it the script alone is asked.
    pub objects: Option<CheckedObjects>,
    /// Lua source with a function `evaluate` that says whether an object is `healthy`.
    pub script: Option<String>,
    /// Rules in CEL, of which one must be true of each object.
    pub rules: Vec<CelRule>,
    /// What the script knows besides the object.
    pub metrics: Option<Metrics>,
    /// Path of the entry, for messages.
    pub path: String,
}

/// Which objects of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedObjects {
    /// Their kind.
    pub gvk: Gvk,
    /// Their namespace; empty is every one.
    pub namespace: String,
    /// Their labels; empty is all.
    pub labels: Selector,
}

/// Numbers that a Prometheus has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Where it is.
    pub service: ServiceAddress,
    /// What is asked there.
    pub path: String,
    /// Names that the script knows the numbers by, with the queries.
    pub queries: Vec<(String, String)>,
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

// === impl CheckPoint ===

impl CheckPoint {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PreDeploy, Self::Health, Self::PreDelete, Self::PostDelete];

    /// The field of a spec.
    pub fn field(self) -> &'static str {
        match self {
            Self::PreDeploy => "preDeployChecks",
            Self::Health => "validateHealths",
            Self::PreDelete => "preDeleteChecks",
            Self::PostDelete => "postDeleteChecks",
        }
    }

    /// Whether it is about a removal.
    pub fn is_of_removal(self) -> bool {
        matches!(self, Self::PreDelete | Self::PostDelete)
    }

    /// Whether something must be there to be looked at. After a removal there may be nothing.
    pub fn needs_objects(self) -> bool {
        !self.is_of_removal()
    }
}

// === impl Check ===

/// Where a Prometheus answers, if nothing is said.
const QUERY: &str = "/api/v1/query";

impl Check {
    /// All checks of a spec.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn all(spec: &Map<String, Value>) -> Result<Vec<Self>, FieldError> {
        let asked = |point: &CheckPoint| spec.contains_key(point.field());
        if !CheckPoint::ALL.iter().any(asked) {
            return Ok(Vec::new());
        }
        let root = Value::Object(Map::from_iter([("spec".to_owned(), Value::Object(spec.clone()))]));
        Self::read_all(&Field::spec(&root))
    }

    pub(super) fn read_all(spec: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        let mut all = Vec::new();
        for point in CheckPoint::ALL {
            for item in spec.get(point.field()).items()? {
                all.extend(Self::read(point, &item)?);
            }
        }
        Ok(all)
    }

    /// What of the lists this version cannot act upon.
    pub(super) fn unsupported(spec: &Field<'_>) -> Result<Vec<FieldError>, FieldError> {
        let mut unsupported = Vec::new();
        for point in CheckPoint::ALL {
            for item in spec.get(point.field()).items()? {
                unsupported.extend(not_yet(&item));
            }
        }
        Ok(unsupported)
    }

    fn read(point: CheckPoint, item: &Field<'_>) -> Result<Option<Self>, FieldError> {
        if not_yet(item).is_some() {
            return Ok(None);
        }
        let feature = item.get("featureID");
        let named = feature.required_text()?;
        let script = Some(item.get("script").text()?).filter(|text| !text.trim().is_empty());
        let rules = item.get("evaluateCEL").items()?.iter().map(CelRule::read).collect::<Result<_, _>>()?;
        let objects = CheckedObjects::read(item)?;
        if objects.is_none() && script.is_none() {
            return Err(item.get("kind").error(
                "is missing; name what is looked at, or set script, which is asked without an object",
            ));
        }
        let metrics = Metrics::read(item)?;
        if metrics.is_some() && script.is_none() {
            return Err(item.get("metricSource").error("is read by a script only; set script"));
        }
        Ok(Some(Self {
            point,
            name: item.get("name").text()?,
            feature: Feature::named(&named).ok_or_else(|| {
                feature.error(format!("unknown feature {named:?}; use Resources, Helm or Kustomize"))
            })?,
            objects,
            script,
            rules,
            metrics,
            path: item.path().to_owned(),
        }))
    }

    /// What it is called in messages: the field, and its name.
    pub fn title(&self) -> String {
        if self.name.is_empty() { self.path.clone() } else { format!("{} {:?}", self.path, self.name) }
    }
}

/// Why a check cannot be asked by this version.
fn not_yet(item: &Field<'_>) -> Option<FieldError> {
    let job = item.get("jobCheck").refuse("Jobs of checks are not run by this version").err();
    job.or_else(|| {
        let source = item.get("metricSource");
        let secret = source
            .get("secretRef")
            .refuse("numbers are asked for through the API server of the cluster, which passes no credentials on; let the Prometheus be asked without");
        secret.err().or_else(|| {
            let url = source.get("url");
            let text = url.text().ok().filter(|text| !text.is_empty())?;
            let reason = "only Services of the cluster are asked by this version: http://<service>.<namespace>.svc:<port>";
            ServiceAddress::parse(&text).is_none().then(|| url.error(reason))
        })
    })
}

// === impl ServiceAddress ===

impl ServiceAddress {
    /// Reads `http://<service>.<namespace>.svc:<port>`, with or without the domain of a cluster and without a path.
    fn parse(url: &str) -> Option<Self> {
        let (scheme, host) =
            url.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme))?;
        let host = host.trim_end_matches('/');
        let (host, port) =
            host.split_once(':').unwrap_or((host, if scheme == "https" { "443" } else { "80" }));
        let host = host.strip_suffix(".cluster.local").unwrap_or(host).strip_suffix(".svc")?;
        let (name, namespace) = host.split_once('.')?;
        let is_label = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let all = [name, namespace, port].map(|text| is_label(text).then(|| text.to_owned()));
        let [Some(name), Some(namespace), Some(port)] = all else { return None };
        Some(Self { scheme: scheme.to_owned(), namespace, name, port })
    }
}

// === impl CheckedObjects ===

impl CheckedObjects {
    fn read(item: &Field<'_>) -> Result<Option<Self>, FieldError> {
        if item.get("kind").text()?.is_empty() {
            return Ok(None);
        }
        let gvk = Gvk {
            group: item.get("group").text()?,
            version: item.get("version").required_text()?,
            kind: item.get("kind").required_text()?,
        };
        let mut labels = Selector::default();
        item.get("labelFilters").add_filters(&mut labels)?;
        Ok(Some(Self { gvk, namespace: item.get("namespace").text()?, labels }))
    }
}

// === impl Metrics ===

impl Metrics {
    fn read(item: &Field<'_>) -> Result<Option<Self>, FieldError> {
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
        Ok(Some(Self {
            service: ServiceAddress::parse(&url.required_text()?)
                .ok_or_else(|| url.error("is no Service of the cluster"))?,
            path: if path.is_empty() { QUERY.to_owned() } else { path },
            queries: named,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(check: Value) -> Result<Vec<Check>, String> {
        let spec = json!({"validateHealths": [check]});
        Check::all(spec.as_object().unwrap()).map_err(|error| error.to_string())
    }

    fn check(fields: Value) -> Value {
        let mut check = json!({"name": "ready", "featureID": "Helm"});
        check.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        check
    }

    #[test]
    fn a_check_says_what_is_looked_at_and_what_waits_for_it() {
        let fields = json!({"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "web",
            "labelFilters": [{"key": "app", "operation": "Equal", "value": "web"}], "script": "function evaluate() end",
            "evaluateCEL": [{"name": "r", "rule": "true"}]});
        let all = read(check(fields)).unwrap();
        let objects = all[0].objects.clone().unwrap();
        assert_eq!((objects.gvk.to_string().as_str(), &*objects.namespace), ("apps/v1/Deployment", "web"));
        assert_eq!(objects.labels.to_string(), "app=web");
        assert_eq!(
            (all[0].feature, all[0].point, all[0].rules.len()),
            (Feature::Helm, CheckPoint::Health, 1)
        );
        assert_eq!(all[0].title(), "spec.validateHealths[0] \"ready\"");
    }

    #[test]
    fn every_list_is_read_in_its_place() {
        let one = check(json!({"version": "v1", "kind": "Pod"}));
        let spec = json!({"preDeployChecks": [one], "validateHealths": [one], "preDeleteChecks": [one, one], "postDeleteChecks": [one]});
        let all = Check::all(spec.as_object().unwrap()).unwrap();
        let paths: Vec<_> = all.iter().map(|check| check.path.trim_start_matches("spec.")).collect();
        let wanted = [
            "preDeployChecks[0]",
            "validateHealths[0]",
            "preDeleteChecks[0]",
            "preDeleteChecks[1]",
            "postDeleteChecks[0]",
        ];
        assert_eq!(paths, wanted);
        assert!(Check::all(&Map::new()).unwrap().is_empty());
    }

    #[test]
    fn metrics_are_for_scripts() {
        let source = json!({"url": "http://prometheus.monitoring.svc:9090"});
        let queries = json!([{"name": "errors", "query": "sum(x)"}]);
        let script = "function evaluate() end";
        let all =
            read(check(json!({"metricSource": source, "metricQueries": queries, "script": script}))).unwrap();
        let metrics = all[0].metrics.clone().unwrap();
        assert_eq!((metrics.path.as_str(), metrics.service.name.as_str()), ("/api/v1/query", "prometheus"));
        let wrong = |fields| read(check(fields)).unwrap_err();
        let kind = json!({"version": "v1", "kind": "Pod", "metricSource": source, "metricQueries": queries});
        assert!(wrong(kind).contains("metricSource: is read by a script only"));
        assert!(
            wrong(json!({"metricQueries": queries, "script": script})).contains("metricSource: is missing")
        );
        assert!(
            wrong(json!({"metricSource": source, "script": script})).contains("metricQueries: is missing")
        );
    }

    #[test]
    fn services_are_known_by_their_addresses() {
        let parts = |url| {
            let ServiceAddress { scheme, namespace, name, port } = ServiceAddress::parse(url)?;
            Some([scheme, namespace, name, port].join(" "))
        };
        assert_eq!(parts("http://p.m.svc:9090/").as_deref(), Some("http m p 9090"));
        assert_eq!(parts("https://p.m.svc.cluster.local").as_deref(), Some("https m p 443"));
        assert_eq!(parts("http://p.m.svc").as_deref(), Some("http m p 80"));
        for other in [
            "http://example.com",
            "http://svc",
            "http://.m.svc",
            "ftp://p.m.svc",
            "http://a.p.m.svc",
            "http://p.m.svc:1/../x",
            "p.m.svc",
            "http://p.m.svc:80@example.com",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn a_check_that_cannot_be_asked_yet_is_told_of() {
        let queries = json!([{"name": "errors", "query": "sum(x)"}]);
        let with = |source: Value| {
            check(
                json!({"script": "function evaluate() end", "metricSource": source, "metricQueries": queries}),
            )
        };
        let job = check(json!({"jobCheck": {"jobRef": {"kind": "Secret", "namespace": "n", "name": "j"}}}));
        let inside = "http://p.m.svc";
        let secret = json!({"url": inside, "secretRef": {"namespace": "n", "name": "s"}});
        let all =
            [job, with(secret), with(json!({"url": "http://example.com"})), with(json!({"url": inside}))];
        let root = json!({"spec": {"validateHealths": all}});
        let told = Check::unsupported(&Field::spec(&root)).unwrap();
        let fields: Vec<_> =
            told.iter().map(|error| error.field.trim_start_matches("spec.validateHealths")).collect();
        assert_eq!(fields, ["[0].jobCheck", "[1].metricSource.secretRef", "[2].metricSource.url"]);
        assert_eq!(Check::read_all(&Field::spec(&root)).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let wrong = |check| read(check).unwrap_err();
        assert!(wrong(check(json!({}))).contains("spec.validateHealths[0].kind: is missing"));
        assert!(wrong(check(json!({"evaluateCEL": [{"rule": "true"}]}))).contains("kind: is missing"));
        assert!(wrong(check(json!({"kind": "Pod"}))).contains("version"));
        let unknown = json!({"featureID": "Chart", "version": "v1", "kind": "Pod"});
        assert!(wrong(unknown).contains("unknown feature \"Chart\""));
    }
}
