//! Putting the finalizer onto one registration, or taking it off.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::ClusterRef;
use sluice_api::model::{WITHDRAW_FINALIZER, registration};
use sluice_deployer_core::Finalizing;
use sluice_kube::{remedy_of_denial, segment};

use crate::failure::root;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Field manager of the finalizer.
const MANAGER: &str = "sluice-deployer";

/// Puts or takes it, while it is `allowed`, and says whether it did: of a registration that has gone, or is another one by now, nothing
/// is to be done.
///
/// # Errors
/// What is wrong and what to do. It is tried again.
pub(super) async fn write(
    management: &Client,
    one: &Finalizing,
    allowed: impl Fn() -> bool,
) -> Result<bool, String> {
    let written = tokio::time::timeout(PATIENCE, try_write(management, one, allowed)).await;
    match written {
        Ok(Ok(is_written)) => Ok(is_written),
        Ok(Err(error)) if is_gone(&error) => Ok(false),
        Ok(Err(error)) => Err(refused(&error)),
        Err(_) => Err(failed("the management cluster has not answered within 10 s")),
    }
}

async fn try_write(
    management: &Client,
    one: &Finalizing,
    allowed: impl Fn() -> bool,
) -> Result<bool, kube::Error> {
    let Some((api, name)) = target(management, &one.cluster) else { return Ok(false) };
    // A patch that changes nothing answers what is there, and needs no other right than the one to write.
    let there = patched(&api, &name, &json!({})).await?;
    // Whoever has the cluster by now does what this one may not do any more.
    let Some(finalizers) = finalizers(&there, one).filter(|_| allowed()) else { return Ok(false) };
    // Where somebody else has written it in between, this is a conflict.
    let metadata = json!({"resourceVersion": there.resource_version, "finalizers": finalizers});
    patched(&api, &name, &json!({ "metadata": metadata })).await.map(|_| true)
}

/// The finalizers that the registration should have; nothing where it is another one, has these, or may not get ours any more.
fn finalizers(there: &ObjectMeta, one: &Finalizing) -> Option<Vec<String>> {
    let mut all = there.finalizers.clone().unwrap_or_default();
    let (is_kept, puts) = (all.iter().any(|finalizer| finalizer == WITHDRAW_FINALIZER), one.why.is_none());
    let is_late = puts && there.deletion_timestamp.is_some();
    if there.uid.as_ref() != Some(&one.uid) || is_kept == puts || is_late {
        return None;
    }
    match puts {
        true => all.push(WITHDRAW_FINALIZER.to_owned()),
        false => all.retain(|finalizer| finalizer != WITHDRAW_FINALIZER),
    }
    Some(all)
}

fn target(management: &Client, cluster: &ClusterRef) -> Option<(Api<DynamicObject>, String)> {
    let key = registration(cluster)?;
    let gvk = GroupVersionKind::gvk(&key.gvk.group, &key.gvk.version, &key.gvk.kind);
    let api = Api::namespaced_with(management.clone(), &key.namespace, &ApiResource::from_gvk(&gvk));
    Some((api, segment(&key.name).into_owned()))
}

async fn patched(api: &Api<DynamicObject>, name: &str, patch: &Value) -> Result<ObjectMeta, kube::Error> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch_metadata(name, &params, &Patch::Merge(patch)).await.map(|there| there.metadata)
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

fn refused(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => {
            failed(&format!("{}{}", status.message, remedy_of_denial(&status.message)))
        }
        error => failed(&root(error).to_string()),
    }
}

fn failed(why: &str) -> String {
    format!("the finalizer {WITHDRAW_FINALIZER} cannot be written: {why}; it is tried again")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_deployer_core::LetGo;
    use sluice_kube::fake_api::FakeApi;

    use super::*;

    const PATH: &str = "/apis/lib.projectsveltos.io/v1beta1/namespaces/eu/sveltosclusters/a";

    fn one(why: Option<LetGo>) -> Finalizing {
        Finalizing { cluster: ClusterRef::sveltos("eu", "a"), uid: "u7".into(), why }
    }

    fn metadata(uid: &str, finalizers: &[&str], deleted: bool) -> String {
        let deleted = deleted.then_some("2026-01-01T00:00:00Z");
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "a", "uid": uid,
            "resourceVersion": "5", "finalizers": finalizers, "deletionTimestamp": deleted}})
        .to_string()
    }

    /// What comes of it where this is there, and what was written.
    async fn done(there: String, why: Option<LetGo>, allowed: bool) -> (Result<bool, String>, Vec<Value>) {
        drop(sluice_runtime::install_defaults());
        let server = FakeApi::start(move |_| (200, there.clone()));
        let ended = write(&server.client(), &one(why), || allowed).await;
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.method == "PATCH" && request.path.starts_with(PATH)));
        let written = requests.iter().skip(1).map(|request| serde_json::from_str(&request.body).unwrap());
        (ended, written.collect())
    }

    fn written(finalizers: &[&str]) -> Vec<Value> {
        vec![json!({"metadata": {"resourceVersion": "5", "finalizers": finalizers}})]
    }

    #[tokio::test]
    async fn it_is_put_beside_those_of_others_and_taken_from_among_them() {
        let without = metadata("u7", &["x"], false);
        assert_eq!(done(without, None, true).await, (Ok(true), written(&["x", "sluice.dev/withdraw"])));
        let with = metadata("u7", &["sluice.dev/withdraw", "x"], true);
        assert_eq!(done(with, Some(LetGo::Done), true).await, (Ok(true), written(&["x"])));
    }

    #[tokio::test]
    async fn nothing_is_written_where_it_is_so_or_too_late_or_another_one_or_somebody_elses() {
        let kept = || metadata("u7", &["sluice.dev/withdraw"], false);
        for (there, why, allowed) in [
            (kept(), None, true),
            (metadata("u7", &[], true), None, true),
            (metadata("u8", &[], false), None, true),
            (metadata("u8", &["sluice.dev/withdraw"], true), Some(LetGo::Done), true),
            (metadata("u7", &["x"], true), Some(LetGo::Done), true),
            (kept(), Some(LetGo::NotAsked), false),
        ] {
            assert_eq!(done(there.clone(), why, allowed).await, (Ok(false), Vec::new()), "{there}");
        }
    }

    #[tokio::test]
    async fn a_right_that_is_missing_is_named_and_what_has_gone_is_fine() {
        drop(sluice_runtime::install_defaults());
        for (code, reason, expected) in [(404, "NotFound", None), (403, "Forbidden", Some("cannot patch"))] {
            let message =
                "sveltosclusters \"a\" is forbidden: User \"s\" cannot patch resource \"sveltosclusters\"";
            let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                "message": message});
            let server = FakeApi::start(move |_| (code, body.to_string()));
            let ended = write(&server.client(), &one(None), || true).await;
            match expected {
                None => assert_eq!(ended, Ok(false)),
                Some(text) => assert!(ended.unwrap_err().contains(text)),
            }
        }
    }
}
