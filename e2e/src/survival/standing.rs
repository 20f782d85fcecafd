//! What a test may demand to be the same before and after: who owns what, and which add-ons are there.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use sluice_api::{Gvk, object};

use super::installation::Installation;
use crate::cluster_client::is_deployed;

/// What was there at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// How often shards restarted, by replica and reason.
    restarts: BTreeMap<String, f64>,
    /// Shards that each replica works on.
    owned: BTreeMap<String, f64>,
    /// The uid of every add-on whose cause is there all the time.
    steady: BTreeMap<String, String>,
    /// Generation and resourceVersion of those whose cause is never edited: they change with every write that changes anything.
    versions: BTreeMap<String, String>,
}

// === impl Standing ===

impl Standing {
    /// What is there now.
    ///
    /// # Errors
    /// The replica or the cluster that does not answer.
    pub async fn of(installation: &Installation) -> anyhow::Result<Self> {
        let (mut restarts, mut owned) = (BTreeMap::new(), BTreeMap::new());
        for (name, replica) in installation.stack.replicas() {
            let asked = || format!("the metrics of {name}");
            for (labels, count) in replica.series("sluice_shard_restarts_total").await.with_context(asked)? {
                restarts.insert(format!("{name} {labels}"), count);
            }
            owned.insert(name.clone(), replica.metric("sluice_shards_owned", &[]).await.with_context(asked)?);
        }
        let (mut steady, mut versions) = (BTreeMap::new(), BTreeMap::new());
        let policies = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
        for (cluster, member) in &installation.fleet.members {
            for policy in member.client.list(&policies).await? {
                let name = object::name(&policy);
                let text = |field: &str| object::text(&policy, &["metadata", field]).to_owned();
                let place = format!("{cluster} {name}");
                if !is_deployed(&policy) {
                    continue;
                }
                if name.starts_with("front-steady-") {
                    steady.insert(place, text("uid"));
                } else if name.starts_with("front-still-") {
                    let generation = &policy["metadata"]["generation"];
                    versions.insert(place, format!("{generation} {}", text("resourceVersion")));
                }
            }
        }
        Ok(Self { restarts, owned, steady, versions })
    }

    /// Whether the add-ons of what was there all the time are the same objects as before.
    ///
    /// # Errors
    /// Those that are not.
    pub fn same_addons(&self, before: &Self) -> anyhow::Result<()> {
        if before.steady.is_empty() {
            bail!("there was no add-on to compare; the test has no steady Services");
        }
        let gone = before.steady.iter().filter(|(place, uid)| self.steady.get(*place) != Some(uid));
        let gone: Vec<&str> = gone.map(|(place, _)| place.as_str()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        bail!("add-ons were deleted although their cause lived: {}", gone.join(", "))
    }

    /// Whether nothing was written to these add-ons; how many there are.
    ///
    /// # Errors
    /// Those that were written to.
    pub fn same_versions(&self, before: &Self) -> anyhow::Result<usize> {
        let changed =
            before.versions.iter().filter(|(place, version)| self.versions.get(*place) != Some(version));
        let changed: Vec<&str> = changed.map(|(place, _)| place.as_str()).collect();
        if !changed.is_empty() {
            bail!("{} add-ons were written to although nothing changed, {} first", changed.len(), changed[0]);
        }
        Ok(before.versions.len())
    }

    /// Whether nobody took a shard over, and no shard restarted.
    ///
    /// # Errors
    /// What is different.
    pub fn same_owners(&self, before: &Self) -> anyhow::Result<()> {
        let mut different = String::new();
        for (named, now) in &self.restarts {
            let more = now - before.restarts.get(named).unwrap_or(&0.0);
            if more != 0.0 {
                write!(different, "{more} shards of {named} restarted; ")?;
            }
        }
        if self.owned != before.owned {
            write!(different, "shards were owned as {:?} and are as {:?}", before.owned, self.owned)?;
        }
        if different.is_empty() { Ok(()) } else { bail!("the fault was noticed by stages: {different}") }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn mk_standing(restarts: f64, owned: f64, uid: &str) -> Standing {
        Standing {
            restarts: BTreeMap::from([("matcher-1 {reason=\"lease\"}".to_owned(), restarts)]),
            owned: BTreeMap::from([("matcher-1".to_owned(), owned)]),
            steady: BTreeMap::from([("default/cluster-1 front-steady-0".to_owned(), uid.to_owned())]),
            versions: BTreeMap::from([("default/cluster-1 front-steady-0".to_owned(), format!("1 {uid}"))]),
        }
    }

    #[test]
    fn an_add_on_that_was_made_anew_is_named() {
        let before = mk_standing(1.0, 8.0, "a");
        assert!(mk_standing(5.0, 9.0, "a").same_addons(&before).is_ok());
        let error = mk_standing(1.0, 8.0, "b").same_addons(&before).unwrap_err();
        assert!(error.to_string().contains("front-steady-0"));
        assert_eq!(mk_standing(2.0, 8.0, "a").same_versions(&before).unwrap(), 1);
        assert!(mk_standing(1.0, 8.0, "b").same_versions(&before).is_err());
    }

    #[test]
    fn a_shard_that_began_again_or_moved_is_told() {
        let before = mk_standing(1.0, 8.0, "a");
        assert!(before.same_owners(&before).is_ok());
        assert!(
            mk_standing(3.0, 8.0, "a").same_owners(&before).unwrap_err().to_string().contains("2 shards")
        );
        assert!(mk_standing(1.0, 9.0, "a").same_owners(&before).is_err());
    }
}
