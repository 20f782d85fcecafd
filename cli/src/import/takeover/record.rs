//! What is written down in a cluster so that it can be given back: what profiles were called, and who had written releases.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_api::object;
use sluice_deployer_core::Kept;

use super::fields::Writer;

/// The record of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// What Sveltos calls a profile on the objects that it deploys, by what Sluice calls it.
    #[serde(default)]
    pub(super) profiles: BTreeMap<String, String>,
    /// Who had written a release, by `namespace/name`.
    #[serde(default)]
    pub(super) releases: BTreeMap<String, Writer>,
}

impl Record {
    /// Name of the ConfigMap that holds it: the management cluster may have one for each of its two parts.
    pub(super) fn name(kept: Kept) -> &'static str {
        match kept {
            Kept::Registered => "sluice-import",
            Kept::Management => "sluice-local-import",
        }
    }

    /// As a ConfigMap.
    pub(super) fn to_object(&self, kept: Kept) -> Result<Value, serde_json::Error> {
        Ok(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": Self::name(kept), "namespace": NAMESPACE},
            "data": {"import": serde_json::to_string(self)?}}))
    }

    /// Reads it back.
    pub(super) fn from_object(config_map: &Value) -> anyhow::Result<Self> {
        let text = object::text(config_map, &["data", "import"]);
        serde_json::from_str(text)
            .with_context(|| format!("{} is no record of an import", object::describe(config_map)))
    }

    /// Adds what another one has, which was written before: it counts.
    pub(super) fn completed_by(mut self, former: Self) -> Self {
        self.profiles.extend(former.profiles);
        self.releases.extend(former.releases);
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn it_is_read_back_and_the_first_one_counts() {
        let of = |former: &str| Record {
            profiles: BTreeMap::from([("p".to_owned(), former.to_owned())]),
            releases: BTreeMap::from([("web/site".to_owned(), Writer::applying("manager"))]),
        };
        let record = of("a");
        assert_eq!(Record::from_object(&record.to_object(Kept::Registered).unwrap()).unwrap(), record);
        assert_eq!(of("p").completed_by(record.clone()), record, "a second run sees new names only");
        assert!(Record::from_object(&json!({})).is_err());
    }
}
