//! Checks: what must be true in a cluster before something is deployed there, after it, and around its removal.

use serde_json::{Map, Value};

use super::event_source::CelRule;
use super::feature::Feature;
use super::read::Field;
use crate::error::FieldError;
use crate::object::Gvk;
use crate::selector::Selector;

pub use job::JobCheck;
pub use metrics::{MetricServer, Metrics, ServiceAddress};

mod job;
mod metrics;

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
    /// A Job that is run in place of all that.
    pub job: Option<JobCheck>,
    /// Whether it is for a tenant, who may not reach everything that the one who asks does. No field says so: it follows from the profile.
    pub of_tenant: bool,
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
                unsupported.extend(Metrics::not_yet(&item));
            }
        }
        Ok(unsupported)
    }

    fn read(point: CheckPoint, item: &Field<'_>) -> Result<Option<Self>, FieldError> {
        if Metrics::not_yet(item).is_some() {
            return Ok(None);
        }
        let feature = item.get("featureID");
        let named = feature.required_text()?;
        let script = Some(item.get("script").text()?).filter(|text| !text.trim().is_empty());
        let rules = item.get("evaluateCEL").items()?.iter().map(CelRule::read).collect::<Result<_, _>>()?;
        let objects = CheckedObjects::read(item)?;
        let job = JobCheck::read(item)?;
        if objects.is_none() && script.is_none() && job.is_none() {
            return Err(item.get("kind").error(
                "is missing; name what is looked at, or set script, which is asked without an object, or jobCheck",
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
            job,
            of_tenant: false,
            path: item.path().to_owned(),
        }))
    }

    /// What it is called in messages: the field, and its name.
    pub fn title(&self) -> String {
        if self.name.is_empty() { self.path.clone() } else { format!("{} {:?}", self.path, self.name) }
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
    fn a_check_that_cannot_be_asked_yet_is_told_of() {
        let queries = json!([{"name": "errors", "query": "sum(x)"}]);
        let with = |source: Value| {
            check(
                json!({"script": "function evaluate() end", "metricSource": source, "metricQueries": queries}),
            )
        };
        let inside = "http://p.m.svc";
        let secret = json!({"url": inside, "secretRef": {"namespace": "n", "name": "s"}});
        let all = [with(secret), with(json!({"url": "http://example.com"})), with(json!({"url": inside}))];
        let root = json!({"spec": {"validateHealths": all}});
        let told = Check::unsupported(&Field::spec(&root)).unwrap();
        let fields: Vec<_> =
            told.iter().map(|error| error.field.trim_start_matches("spec.validateHealths")).collect();
        assert_eq!(fields, ["[0].metricSource.secretRef"]);
        assert_eq!(Check::read_all(&Field::spec(&root)).unwrap().len(), 2);
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
