//! A Job that decides a check.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::annotation::micros;
use super::super::profile::PolicyRef;
use super::super::read::Field;
use super::{Check, CheckPoint};
use crate::error::FieldError;

/// For how long a Job may run where nothing is said, microseconds.
const TIMEOUT: i64 = 300_000_000;
const SECOND: i64 = 1_000_000;

/// A Job that decides a check: that it completes passes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCheck {
    /// The object that it is written in, as the check names it.
    pub reference: String,
    /// For how long it may run, whole seconds.
    pub timeout: i64,
    /// The Job, or why it cannot be made. No field says it: it is what the object holds.
    pub job: Result<Arc<Value>, String>,
}

// === impl JobCheck ===

impl JobCheck {
    pub(super) fn read(item: &Field<'_>) -> Result<Option<Self>, FieldError> {
        let check = item.get("jobCheck");
        if !check.is_set() {
            return Ok(None);
        }
        for field in ["script", "evaluateCEL", "metricSource"] {
            if item.get(field).refuse("").is_err() {
                let reason =
                    format!("cannot be set together with {field}: a Job decides alone; remove one of them");
                return Err(check.error(reason));
            }
        }
        let (reference, timeout) = (reference(&check)?, check.get("timeout"));
        let timeout = match timeout.text()?.as_str() {
            "" => TIMEOUT,
            text => micros(text).filter(|micros| *micros >= SECOND).ok_or_else(|| {
                timeout.error(format!(
                    "{text:?} is no time of a second or more; write numbers with units, such as 90s or 5m"
                ))
            })?,
        };
        let PolicyRef { kind, namespace, name, .. } = reference;
        let reference = format!("{kind} {namespace}{}{name}", if namespace.is_empty() { "" } else { "/" });
        let job = Err("nobody has said what it is; upgrade the renderers".to_owned());
        Ok(Some(Self { reference, timeout: timeout / SECOND, job }))
    }

    /// The objects that Jobs are written in, in the order of the checks.
    pub(in super::super) fn references(spec: &Field<'_>) -> Result<Vec<PolicyRef>, FieldError> {
        let mut references = Vec::new();
        for point in CheckPoint::ALL {
            for item in spec.get(point.field()).items()? {
                let check = item.get("jobCheck");
                if check.is_set() {
                    references.push(reference(&check)?);
                }
            }
        }
        Ok(references)
    }
}

fn reference(check: &Field<'_>) -> Result<PolicyRef, FieldError> {
    PolicyRef::read(&check.get("jobRef"))
}

impl Check {
    /// The checks of a spec, with what those objects hold that Jobs are written in, in the order of the checks.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn with_jobs(spec: &Map<String, Value>, jobs: &[Arc<Value>]) -> Result<Vec<Self>, FieldError> {
        let (mut all, mut jobs) = (Self::all(spec)?, jobs.iter());
        for check in all.iter_mut().filter_map(|check| check.job.as_mut()) {
            if let Some(job) = jobs.next() {
                check.job = Ok(job.clone());
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn check(fields: Value) -> Value {
        let reference = json!({"kind": "ConfigMap", "namespace": "n", "name": "smoke"});
        let mut check = json!({"name": "smoke", "featureID": "Helm", "jobCheck": {"jobRef": reference}});
        check.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        check
    }

    fn read(check: Value) -> Result<Check, String> {
        let spec = json!({"validateHealths": [check]});
        Check::all(spec.as_object().unwrap()).map(|mut all| all.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_job_is_written_in_another_object_and_has_five_minutes() {
        let job = read(check(json!({}))).unwrap().job.unwrap();
        assert_eq!((job.reference.as_str(), job.timeout), ("ConfigMap n/smoke", 300));
        assert!(job.job.unwrap_err().contains("nobody has said"));
        let reference = json!({"kind": "Secret", "name": "s"});
        let job =
            read(check(json!({"jobCheck": {"jobRef": reference, "timeout": "1m30s"}}))).unwrap().job.unwrap();
        assert_eq!((job.reference.as_str(), job.timeout), ("Secret s", 90));
    }

    #[test]
    fn a_job_decides_alone() {
        let wrong = |fields| read(check(fields)).unwrap_err();
        assert!(wrong(json!({"script": "x"})).contains("jobCheck: cannot be set together with script"));
        let rules = json!([{"name": "r", "rule": "true"}]);
        assert!(wrong(json!({"evaluateCEL": rules})).contains("together with evaluateCEL"));
        let timeout = |text: &str| {
            wrong(json!({"jobCheck": {"jobRef": {"kind": "Secret", "name": "s"}, "timeout": text}}))
        };
        for text in ["5", "0s", "10ms", "soon"] {
            assert!(timeout(text).contains("jobCheck.timeout: "), "{text}");
        }
        let kind = json!({"jobCheck": {"jobRef": {"kind": "Bucket", "name": "s"}}});
        assert!(wrong(kind).contains("jobCheck.jobRef.kind: "));
        assert!(wrong(json!({"jobCheck": {"jobRef": {}}})).contains("jobCheck.jobRef.kind: is required"));
    }

    #[test]
    fn every_check_gets_its_own_job() {
        let pods = json!({"name": "pods", "featureID": "Helm", "version": "v1", "kind": "Pod"});
        let spec =
            json!({"preDeployChecks": [check(json!({})), pods], "postDeleteChecks": [check(json!({}))]});
        let jobs = [json!({"a": 1}), json!({"b": 2})].map(Arc::new);
        let all = Check::with_jobs(spec.as_object().unwrap(), &jobs).unwrap();
        let jobs: Vec<_> = all.into_iter().map(|check| check.job.map(|job| job.job.unwrap())).collect();
        assert_eq!(jobs, [Some(Arc::new(json!({"a": 1}))), None, Some(Arc::new(json!({"b": 2})))]);
    }
}
