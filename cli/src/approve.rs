//! `sluice approve`: what waits until somebody says so goes on.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_api::model::{APPROVALS, NAMESPACE, outdated};
use sluice_kube::Raw;

use crate::patched;
use crate::print::say;
use crate::reach::Management;

/// Arguments of `sluice approve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice problems
  sluice approve 3f04ae5117e8

A change that withdraws much of a fleet at once waits, and `sluice problems` says what it is called. It is written into the ConfigMap
projectsveltos/sluice-approvals, and counts for an hour and for just that.")]
pub(crate) struct Args {
    /// What it is called; of several shards each has its own.
    #[arg(required = true, value_name = "DIGEST", value_parser = digest)]
    digests: Vec<String>,
    #[command(flatten)]
    management: Management,
}

impl Args {
    /// Approves it.
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let client = self.management.client().await?;
        let Some(api) = patched::api(&client, &Gvk::new("", "v1", "ConfigMap"), Some(NAMESPACE)).await?
        else {
            bail!("the management cluster has no ConfigMaps");
        };
        approve(&api, &self.digests, Timestamp::now())
            .await
            .with_context(|| format!("writing ConfigMap {NAMESPACE}/{APPROVALS}"))?;
        say!("{} is approved", self.digests.join(", "));
        Ok(())
    }
}

async fn approve(api: &Api<Raw>, digests: &[String], now: Timestamp) -> kube::Result<()> {
    let there = api.get_opt(APPROVALS).await?;
    let data = data(there.as_ref().map(|there| &there.value), digests, now);
    if there.is_some() {
        let patch = json!({"data": data});
        return api.patch(APPROVALS, &PatchParams::default(), &Patch::Merge(&patch)).await.map(drop);
    }
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": APPROVALS, "namespace": NAMESPACE}, "data": data});
    api.create(&PostParams::default(), &Raw::from(made)).await.map(drop)
}

/// What changes in the ConfigMap: what counts no more goes.
fn data(there: Option<&Value>, digests: &[String], now: Timestamp) -> BTreeMap<String, Value> {
    let gone = there.map(|there| outdated(there, now.as_microsecond())).unwrap_or_default();
    let gone = gone.into_iter().map(|name| (name, Value::Null));
    let said = digests.iter().map(|digest| (digest.clone(), json!(now.to_string())));
    gone.chain(said).collect()
}

fn digest(text: &str) -> Result<String, String> {
    let is_one = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_one = is_one.then(|| text.to_ascii_lowercase());
    is_one.ok_or_else(|| "write what `sluice problems` says, twelve digits from 0 to f".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::model::approves;

    use super::*;

    #[test]
    fn what_is_approved_counts_and_what_is_outdated_goes() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let mut there = json!({"data": {"old": "2025-01-01T12:00:00Z", "new": "2026-01-01T11:59:00Z"}});
        let patch = json!({"data": data(Some(&there), &["abc".into()], now)});
        json_patch::merge(&mut there, &patch);
        let counts = |name: &str| approves(&there, name, now.as_microsecond());
        assert!(counts("abc") && counts("new"));
        assert_eq!(there["data"].as_object().unwrap().len(), 2);
    }

    #[test]
    fn a_digest_is_what_problems_say() {
        assert_eq!(digest("3F04ae5117e8"), Ok("3f04ae5117e8".to_owned()));
        for wrong in ["", "3f04ae5117e", "3f04ae5117e88", "3f04ae5117eg"] {
            assert!(digest(wrong).is_err(), "{wrong}");
        }
    }
}
