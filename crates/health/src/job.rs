//! How a Job has ended.

use serde_json::Value;
use sluice_api::object;

use crate::seen::Outcome;

/// What a Job says of the check that it decides; `None` until it has ended.
pub fn job_outcome(job: &Value) -> Option<Outcome> {
    let conditions = job["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let find = |kind: &str| conditions.iter().find(|one| one["type"] == kind && one["status"] == "True");
    if find("Complete").is_some() {
        return Some(Ok(()));
    }
    let failed = find("Failed")?;
    let said: Vec<_> = ["reason", "message"]
        .into_iter()
        .map(|field| object::text(failed, &[field]))
        .filter(|text| !text.is_empty())
        .collect();
    let (namespace, name) = (object::namespace(job), object::name(job));
    Some(Err(format!(
        "Job {namespace}/{name} has failed{}{}; `kubectl logs -n {namespace} job/{name}` may say why",
        if said.is_empty() { "" } else { ": " },
        said.join(": ")
    )))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn job(conditions: Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "web", "name": "smoke"}, "status": {"conditions": conditions}})
    }

    #[test]
    fn a_job_says_nothing_until_it_has_ended() {
        assert_eq!(job_outcome(&json!({"kind": "Job"})), None);
        assert_eq!(job_outcome(&job(json!([{"type": "Suspended", "status": "True"}]))), None);
        assert_eq!(job_outcome(&job(json!([{"type": "Complete", "status": "False"}]))), None);
        assert_eq!(
            job_outcome(&job(json!([{"type": "FailureTarget", "status": "True"}]))),
            None,
            "its pods may still run"
        );
    }

    #[test]
    fn what_completes_passes_and_what_fails_says_why() {
        let complete =
            json!([{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]);
        assert_eq!(job_outcome(&job(complete)), Some(Ok(())));
        let failed = json!([{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}]);
        let said = job_outcome(&job(failed)).unwrap().unwrap_err();
        assert!(
            said.starts_with("Job web/smoke has failed: DeadlineExceeded: too long; `kubectl logs"),
            "{said}"
        );
    }
}
