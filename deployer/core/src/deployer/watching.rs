//! What is wrong with watches of one kind in a cluster: one problem, whatever they are for.

use std::collections::BTreeMap;

use sluice_api::{ClusterRef, Gvk};
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::Deployer;
use crate::messages::Effect;

/// What a kind is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watching {
    /// Whether somebody else changes what is deployed.
    Drift,
    /// Whether what pods read is another version.
    Sources,
    /// What it holds then.
    Contents,
}

/// What is wrong, by the cluster and the kind.
pub(super) type Troubles = BTreeMap<(ClusterRef, Gvk), BTreeMap<Watching, String>>;

impl Deployer {
    /// A cluster is reached in another way from now on, or not any more: what was wrong with its watches is over with them.
    pub(super) fn switch(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let over: Vec<_> = self.troubles.extract_if(.., |(of, _), _| of == cluster).collect();
        for ((_, gvk), _) in over {
            self.note(ProblemKey::on(cluster, About::Watch(gvk)), None, step);
        }
        step.effect(Effect::Switch(cluster.clone()));
    }

    /// Something is wrong with what a kind is watched for, or no longer.
    pub(super) fn note_watch(
        &mut self,
        cluster: &ClusterRef,
        gvk: &Gvk,
        watching: Watching,
        trouble: Option<String>,
        step: &mut Step<Effect>,
    ) {
        let of_kind = (cluster.clone(), gvk.clone());
        let all = self.troubles.entry(of_kind.clone()).or_default();
        match trouble {
            Some(text) => drop(all.insert(watching, text)),
            None => drop(all.remove(&watching)),
        }
        let texts: Vec<_> = all.values().cloned().collect();
        if texts.is_empty() {
            self.troubles.remove(&of_kind);
        }
        let fault = (!texts.is_empty()).then(|| Fault::from(texts.join("; ")));
        self.note(ProblemKey::on(cluster, About::Watch(gvk.clone())), fault, step);
    }
}
