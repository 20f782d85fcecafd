//! The Jobs that checks run, as they are made in the cluster.

// D-1069: the Job of a check is known by its name, and stays for as long as the check is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sluice_api::model::{Check, JobCheck};
use sluice_api::secrets::is_secret;
use sluice_api::{Digest, ProfileId, marks, object};
use sluice_protocol::rows::Policy;

/// Label: what a Job is run for.
const CHECK: &str = "sluice.dev/check";
/// Annotation: the profile that asks.
const PROFILE: &str = "sluice.dev/check-of";
/// For how long the cluster keeps a Job that has ended, seconds: as long as it is there nobody runs it again.
const KEPT: i64 = 3600;
/// Letters of a Job's own name that are kept; its pods have it as a label, of at most 63 letters.
const NAME: usize = 40;

/// What is checked, for whom and where.
pub(crate) struct JobScope<'a> {
    pub(crate) profile: &'a ProfileId,
    /// Whether it is the management cluster, in which a Profile has its own namespace only.
    pub(crate) is_management: bool,
    /// What tells this asking from others: the content that is checked, or the inventory that goes.
    pub(crate) run: Digest,
}

/// What the checks of a row are about. Values of Secrets are not in it, as the names of Jobs are for everybody.
pub(crate) fn run_of(redeploy: &BTreeSet<String>, policies: &[Policy]) -> Digest {
    let mut parts: Vec<Vec<u8>> = redeploy.iter().map(|token| token.clone().into_bytes()).collect();
    for object in policies.iter().flat_map(|policy| &policy.objects) {
        parts.push(match is_secret(object) {
            true => object::describe(object).into_bytes(),
            false => sluice_go_json::to_vec(object),
        });
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Digest::of(&parts)
}

// === impl JobScope ===

impl JobScope<'_> {
    /// Completes the Job of a check, which comes as somebody has written it: its name follows from what it is run for, so that whoever
    /// takes over finds it.
    pub(crate) fn complete(&self, check: &mut Check) {
        let (point, path) = (check.point.field(), check.path.clone());
        let Some(JobCheck { job, timeout, .. }) = &mut check.job else { return };
        if let Ok(written) = job {
            *job = self.made(written, (point, &path), *timeout).map(Arc::new);
        }
    }

    fn made(&self, written: &Value, (point, path): (&str, &str), timeout: i64) -> Result<Value, String> {
        let mut job = written.clone();
        marks::take_all(&mut job);
        let namespace = self.namespace(&job)?;
        let (mut labels, mut annotations) = (texts(&job, "labels"), texts(&job, "annotations"));
        labels.insert(CHECK.into(), point.into());
        annotations.insert(PROFILE.into(), self.profile.to_string().into());
        let named = [object::name(&job), object::text(&job, &["metadata", "generateName"])];
        let name = named.into_iter().find(|name| !name.is_empty()).unwrap_or("check").to_owned();
        if let Some(all) = job.as_object_mut() {
            all.remove("status");
        }
        let spec = job.get_mut("spec").and_then(Value::as_object_mut).ok_or("it has no spec")?;
        let limit =
            spec.get("activeDeadlineSeconds").and_then(Value::as_i64).map_or(timeout, |own| own.min(timeout));
        spec.insert("activeDeadlineSeconds".into(), limit.into());
        spec.insert("ttlSecondsAfterFinished".into(), KEPT.into());
        job["metadata"] = json!({"namespace": namespace, "labels": labels, "annotations": annotations});
        let (who, what) = (self.profile.to_string(), sluice_go_json::to_vec(&job));
        let digest = Digest::of(&[who.as_bytes(), path.as_bytes(), &what, self.run.as_bytes()]).short();
        let name = name.get(..NAME).unwrap_or(&name).trim_end_matches(['-', '.']);
        job["metadata"]["name"] = format!("{name}-{digest}").into();
        Ok(job)
    }

    fn namespace(&self, job: &Value) -> Result<String, String> {
        let own = &self.profile.namespace;
        let is_bound = self.is_management && !own.is_empty();
        match object::namespace(job) {
            "" if is_bound => Ok(own.clone()),
            "" => Ok("default".to_owned()),
            other if is_bound && other != own => Err(format!(
                "its Job is in namespace {other:?}, and a Profile has only its own one in the management cluster; write {own:?}"
            )),
            other => Ok(other.to_owned()),
        }
    }
}

/// A map of texts of the metadata.
fn texts(object: &Value, field: &str) -> Map<String, Value> {
    object["metadata"][field].as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn written() -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "smoke", "namespace": "web", "uid": "u", "labels": {"app": "x", "projectsveltos.io/reason": "r"}},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}, "status": {"succeeded": 1}})
    }

    fn made(scope: &JobScope<'_>, written: &Value, timeout: &str) -> Result<Value, String> {
        let reference = json!({"kind": "ConfigMap", "namespace": "n", "name": "c"});
        let check =
            json!({"name": "c", "featureID": "Helm", "jobCheck": {"jobRef": reference, "timeout": timeout}});
        let spec = json!({"validateHealths": [check]});
        let mut checks = Check::with_jobs(spec.as_object().unwrap(), &[Arc::new(written.clone())]).unwrap();
        scope.complete(&mut checks[0]);
        checks.remove(0).job.unwrap().job.map(|job| Value::clone(&job))
    }

    fn scope(profile: &ProfileId) -> JobScope<'_> {
        JobScope { profile, is_management: false, run: Digest::of(&[b"1"]) }
    }

    #[test]
    fn a_job_ends_in_time_and_says_whose_it_is() {
        let profile = ProfileId::cluster("p");
        let job = made(&scope(&profile), &written(), "2m").unwrap();
        let name = object::name(&job);
        assert!(name.starts_with("smoke-") && name.len() == 18, "{name}");
        let labels = json!({"app": "x", "sluice.dev/check": "validateHealths"});
        let annotations = json!({"sluice.dev/check-of": "ClusterProfile p"});
        assert_eq!(
            job["metadata"],
            json!({"namespace": "web", "name": name, "labels": labels, "annotations": annotations})
        );
        assert_eq!(
            (&job["spec"]["activeDeadlineSeconds"], &job["spec"]["ttlSecondsAfterFinished"]),
            (&json!(120), &json!(3600))
        );
        assert!(job.get("status").is_none());
        let mut shorter = written();
        shorter["spec"]["activeDeadlineSeconds"] = json!(5);
        assert_eq!(made(&scope(&profile), &shorter, "2m").unwrap()["spec"]["activeDeadlineSeconds"], 5);
    }

    #[test]
    fn a_name_follows_from_what_is_asked_and_for_whom() {
        let (profile, other) = (ProfileId::cluster("p"), ProfileId::new("n", "p"));
        let name = |scope: &JobScope<'_>, job: &Value, timeout: &str| {
            object::name(&made(scope, job, timeout).unwrap()).to_owned()
        };
        let first = name(&scope(&profile), &written(), "2m");
        assert_eq!(name(&scope(&profile), &written(), "2m"), first);
        let mut changed = written();
        changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("j");
        let run = JobScope { run: Digest::of(&[b"2"]), ..scope(&profile) };
        for (scope, job, timeout) in [
            (&scope(&other), &written(), "2m"),
            (&scope(&profile), &changed, "2m"),
            (&scope(&profile), &written(), "3m"),
            (&run, &written(), "2m"),
        ] {
            assert_ne!(name(scope, job, timeout), first);
        }
        let mut long = written();
        long["metadata"]["name"] = "a".repeat(60).into();
        assert_eq!(name(&scope(&profile), &long, "").len(), 53);
    }

    #[test]
    fn a_profile_has_its_own_namespace_in_the_management_cluster() {
        let profile = ProfileId::new("team", "p");
        let here = JobScope { is_management: true, ..scope(&profile) };
        assert!(made(&here, &written(), "").unwrap_err().contains("a Profile has only its own one"));
        let mut without = written();
        without["metadata"].as_object_mut().unwrap().remove("namespace");
        assert_eq!(object::namespace(&made(&here, &without, "").unwrap()), "team");
        assert_eq!(object::namespace(&made(&scope(&profile), &without, "").unwrap()), "default");
    }

    #[test]
    fn other_content_is_another_run_and_values_of_secrets_are_not_in_it() {
        let of = |object: Value| {
            run_of(&BTreeSet::new(), &[Policy { objects: vec![object], ..Policy::default() }])
        };
        let object = |kind: &str, value: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "n"}, "data": {"a": value}});
        assert_ne!(of(object("ConfigMap", "1")), of(object("ConfigMap", "2")));
        assert_eq!(of(object("Secret", "1")), of(object("Secret", "2")));
    }
}
